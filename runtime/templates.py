"""
Parts that are alike but for one text, decoded once.

The pods of a job have one spec until they are bound; then a thousand of them have a thousand, which differ in the name
of the node. Here a new text is looked up by all of it but that name, and costs a copy in place of a decode.

That a name stands where it seems to stand is proved once a template, not assumed: the text must decode to a part with
that name, and the text with an empty one to the same part without it. Texts of one template differ in the characters
of this one string only.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from secrets import token_bytes
from typing import Any

from msgspec.structs import FieldInfo, force_setattr

_plain_string = re.compile(rb'"([ !#-\[\]-~]*)"').match
"""Matches a string in which nothing is escaped."""
_SALT = token_bytes(32)
FEW = 256
"""So many templates are kept in any case."""
_SWEEP_STEPS = 2
"""Templates looked at for each new one beyond those."""


class Templates:
    """
    Decodes the texts of one struct that differ in the string `varying` and little else.

    `word` makes the one str of a name's UTF-8. Templates that aren't asked for are forgotten as others come.
    """

    def __init__(self, decode: Callable[[bytes], Any], varying: FieldInfo, word: Callable[[bytes], str]) -> None:
        self._decode = decode
        self._name = varying.name
        self._word = word
        self._member = b'"%s":' % varying.encode_name.encode()
        self._known: dict[int, Any] = {}
        self._used: set[int] = set()
        self._hand: Iterator[int] = iter(())

    def __len__(self) -> int:
        return len(self._known)

    def get(self, text: bytes) -> Any:
        """A part of this text, the caller's own; what is inside it is shared. Raises what `decode` raises."""
        begin = end = 0
        name = None
        member = text.rfind(self._member)  # the last one counts, as for the decoder
        if member >= 0:
            name = _plain_string(text, member + len(self._member))
            if name is None:
                return self._decode(text)
            begin, end = name.span(1)
        key = hash(b"".join((_SALT, b"%d:" % begin, text[:begin], text[end:])))
        template = self._known.get(key)
        if template is None:
            return self._learn(key, text, name)
        self._used.add(key)
        part = template.__copy__()
        if name is not None:
            force_setattr(part, self._name, self._word(name[1]))
        return part

    def _learn(self, key: int, text: bytes, name: re.Match[bytes] | None) -> Any:
        part = self._decode(text)
        template = self._decode(text if name is None else text[: name.start(1)] + text[name.end(1) :])
        if name is None or self._is_proved(template, part, name[1].decode()):
            self._known[key] = template
            self._used.add(key)
            for _ in range(_SWEEP_STEPS if len(self._known) > FEW else 0):
                self._step()
        return part

    def _is_proved(self, template: Any, part: Any, name: str) -> bool:
        """Whether the name is the field's, and all else is the same without it. An empty one proves nothing."""
        if not name or getattr(part, self._name) != name or getattr(template, self._name):
            return False
        whole = template.__copy__()
        force_setattr(whole, self._name, name)
        return bool(whole == part)

    def _step(self) -> None:
        """Look at the next template, and forget it if nobody asked for it since the last look."""
        key = next(self._hand, None)
        if key is None:
            self._hand = iter(list(self._known))
        elif key in self._used:
            self._used.discard(key)
        else:
            self._known.pop(key, None)
