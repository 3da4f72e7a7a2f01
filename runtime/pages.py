"""
Lists in pages, where one bad object never costs the others.

The whole page is decoded at once; only when that fails is it taken apart and read object by object, and what
can't be read is named instead of raised.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any, Generic, TypeVar

import msgspec

from runtime.decoding import decoder_of
from runtime.errors import DecodeError, Gone
from runtime.nesting import Cut
from runtime.objects import Key
from runtime.reading import MALFORMED, explain, head_of
from runtime.resource import Resource
from runtime.wire import ListMeta, Wire

T = TypeVar("T")


MOST_PAGES = 20_000
"""Pages after which a list counts as one without end: ten million objects at the usual 500 a page."""
_MOST_RESTARTS = 2
"""The second one reads without pages."""


class Unreadable(msgspec.Struct, frozen=True):
    """An object that its model can't hold. `error` names the object and the field."""

    key: Key
    error: DecodeError


class Page(msgspec.Struct, Generic[T], frozen=True):
    """One page of a list, or all of them put together."""

    items: tuple[T, ...]
    resource_version: str
    """Version of the whole list; a watch starts from it."""
    continue_: str = ""
    """Token of the next page, empty at the end."""
    unreadable: tuple[Unreadable, ...] = ()


class _Items(Wire, Generic[T], frozen=True, gc=False):
    """A list answer. Go servers write null for a list without elements."""

    metadata: ListMeta = ListMeta()
    items: tuple[T, ...] | None = None


@lru_cache(maxsize=256)
def _kept(model: Any) -> msgspec.json.Decoder[Any]:
    return msgspec.json.Decoder(_Items[model])


def _whole(model: type[T]) -> msgspec.json.Decoder[_Items[T]]:
    key: Any = model  # mypy takes type[T] for unhashable
    decoder: msgspec.json.Decoder[_Items[T]] = _kept(key)
    return decoder


_parts = msgspec.json.Decoder(_Items[msgspec.Raw])


def read_page(resource: Resource[T], body: bytes, decode: Callable[[msgspec.Raw], T] | None = None) -> Page[T]:
    """
    Read a list answer. `decode` replaces the model's own decoder and gets each object's text.

    Raises DecodeError when the body is no list at all.
    """
    if decode is not None:
        return _read_each(resource, body, decode)
    try:
        whole = _whole(resource.model).decode(body)
    except MALFORMED:  # perhaps in one object only
        return _read_each(resource, body, decoder_of(resource.model).decode)
    return Page(whole.items or (), whole.metadata.resource_version, whole.metadata.continue_)


def _read_each(resource: Resource[T], body: bytes, decode: Callable[[msgspec.Raw], T]) -> Page[T]:
    try:
        parts = _split(body)
    except MALFORMED as error:
        raise _no_list(resource, error) from error
    items: list[T] = []
    unreadable: list[Unreadable] = []
    for raw in parts.items or ():
        try:
            items.append(decode(raw))
        except Exception as error:  # noqa: BLE001  # whatever a decoder throws concerns this one object
            unreadable.append(_unreadable(resource, raw, error))
    return Page(tuple(items), parts.metadata.resource_version, parts.metadata.continue_, tuple(unreadable))


def _split(body: bytes) -> _Items[msgspec.Raw]:
    """The text of each object, however deep one of them is nested: that is the concern of whoever decodes it."""
    try:
        return _parts.decode(body)
    except RecursionError:
        cut = Cut(body)
        parts = _parts.decode(cut.text)
        items = tuple(msgspec.Raw(cut.restored(bytes(raw))) for raw in parts.items or ())
        return _Items(metadata=parts.metadata, items=items)


def _unreadable(resource: Resource[Any], raw: msgspec.Raw, error: Exception) -> Unreadable:
    head = head_of(raw)
    return Unreadable(Key(head.metadata.namespace, head.metadata.name), explain(resource, head, error))


def _no_list(resource: Resource[Any], error: Exception) -> DecodeError:
    return DecodeError(f"{resource.qualified_name}: the answer is no list: {error}")


class Pager(Generic[T]):
    """
    Puts the pages of one list together, without doing the reading.

    A token that expires in mid-list starts the list over; when that happens again, paging is slower than the
    server forgets, and everything is read in one go. What expires even then is the caller's to try again later.
    """

    def __init__(self, page_size: int = 500) -> None:
        self.limit = page_size
        self.continue_ = ""
        self.is_complete = False
        self._restarts = 0
        self._items: list[T] = []
        self._unreadable: list[Unreadable] = []
        self._resource_version = ""
        self._tokens: set[str] = set()

    def take(self, page: Page[T]) -> None:
        """
        Add the page that `limit` and `continue_` asked for.

        Raises DecodeError as `check` does.
        """
        self.check(page.continue_)
        if page.continue_:
            self._tokens.add(page.continue_)
        self._items += page.items
        self._unreadable += page.unreadable
        self._resource_version = page.resource_version
        self.continue_ = page.continue_
        self.is_complete = not page.continue_

    def check(self, token: str) -> None:
        """Raises DecodeError when the list has no end: a token that comes back, or too many pages."""
        if token in self._tokens:
            raise DecodeError(f"the list has no end: page {len(self._tokens) + 1} leads back to one read before")
        if len(self._tokens) >= MOST_PAGES:
            raise DecodeError(f"the list has no end: more than {MOST_PAGES} pages")

    def restart(self, error: Gone) -> None:
        """Begin again after 410. Raises `error` when it didn't concern a continue token, or not paging didn't help."""
        if not self.continue_ or self._restarts >= _MOST_RESTARTS:
            raise error
        self._restarts += 1
        if self._restarts > 1:
            self.limit = 0
        self.continue_ = ""
        self._tokens.clear()
        self._items.clear()
        self._unreadable.clear()

    def result(self) -> Page[T]:
        """All pages as one; the version is that of the last page."""
        return Page(tuple(self._items), self._resource_version, unreadable=tuple(self._unreadable))
