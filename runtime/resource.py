"""
What the machine needs to know of a kind.

Generated modules hold one `Resource` a kind (`generated.batch.v1alpha1.JOBS`); clients, informers and
the admission server take it as their first argument and learn everything else from it.
"""

from __future__ import annotations

import json
import re
from typing import Any, Final, Generic, TypeVar
from urllib.parse import quote

import msgspec

from runtime.errors import InvalidName
from runtime.wire import Status

T = TypeVar("T")
M = TypeVar("M")

_MAY_NOT_BE: Final = (".", "..")
_MAY_NOT_CONTAIN: Final = ("/", "%")
_is_plain = re.compile(r"[a-z0-9][-a-z0-9.]*").fullmatch


class Resource(msgspec.Struct, Generic[T], frozen=True):
    """One served kind: its address under the API server and the model that its objects decode to."""

    group: str
    """API group, empty for the core group."""
    version: str
    kind: str
    plural: str
    model: type[T]
    namespaced: bool = True
    has_status: bool = False
    """Whether the kind has the status subresource."""
    singular: str = ""
    list_kind: str = ""
    short_names: tuple[str, ...] = ()

    @property
    def api_version(self) -> str:
        """`group/version`, or the bare version for the core group."""
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def qualified_name(self) -> str:
        """`plural.group`, as kubectl and the server's messages spell it."""
        return f"{self.plural}.{self.group}" if self.group else self.plural

    def path(self, namespace: str | None = None, name: str | None = None, subresource: str | None = None) -> str:
        """
        Build the URL path of the collection, of one object or of its subresource.

        A namespaced kind without a namespace gives the collection across all namespaces.
        Raises ValueError when an object of a namespaced kind is named without its namespace, and InvalidName for a
        name that would lead elsewhere.
        """
        if name is not None and self.namespaced and not namespace:
            raise ValueError(f"{self.kind} {name!r} is namespaced: a namespace is needed")
        parts = [f"/apis/{self.group}/{self.version}" if self.group else f"/api/{self.version}"]
        if self.namespaced and namespace:
            parts.append(f"namespaces/{_segment('namespace', namespace)}")
        parts.append(self.plural)
        if name is not None:
            parts.append(_segment("resource name", name))
        if subresource is not None:
            parts.append(subresource)
        return "/".join(parts)

    def with_model(self, model: type[M]) -> Resource[M]:
        """The same kind decoded to another model, for readers that need less, or the raw text of a part."""
        changed: Any = msgspec.structs.replace(self, model=model)
        result: Resource[M] = changed
        return result


def _segment(what: str, name: str) -> str:
    """A name as a part of a path. Raises InvalidName, in the words of Go's clients."""
    if _is_plain(name):  # as nearly all are: two or three names a request
        return name
    if not name:
        raise _invalid(f"{what} may not be empty")
    if name in _MAY_NOT_BE:
        raise _invalid(f"invalid {what} {json.dumps(name)}: [may not be '{name}']")
    found = [f"may not contain '{character}'" for character in _MAY_NOT_CONTAIN if character in name]
    if found:
        raise _invalid(f"invalid {what} {json.dumps(name)}: [{' '.join(found)}]")
    return quote(name, safe="")


def _invalid(message: str) -> InvalidName:
    return InvalidName(Status(status="Failure", message=message, reason="NotFound", code=404))
