"""
Bases of the generated types.

The settings that every model shares stand here once: frozen and invisible to the garbage collector (caches hold
a hundred thousand of them), camelCase on the wire, defaults left out of the text. Type checkers learn of the
inherited settings by `dataclass_transform`; only `kw_only=True` each class must repeat, as msgspec hands it to
no subclass.
"""

from __future__ import annotations

from typing import dataclass_transform

import msgspec


@dataclass_transform(frozen_default=True, kw_only_default=True, field_specifiers=(msgspec.field,))
class Model(msgspec.Struct, frozen=True, gc=False, omit_defaults=True, rename="camel"):
    """
    An object or a part of one, as read from the API server.

    Unknown fields are ignored and absent ones have their zero value, or None where absent has a meaning of its
    own. A default is left out of the text only when it is the very object that the class holds: a decoded `{}` in
    place of a struct stays `{}`.
    """


@dataclass_transform(kw_only_default=True, field_specifiers=(msgspec.field,))
class Builder(msgspec.Struct, omit_defaults=True, rename="camel"):
    """
    What a server-side apply or a merge patch sets: fields left UNSET are absent from the text.

    None is written as null, which makes a merge patch remove the field.
    """
