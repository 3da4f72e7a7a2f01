"""
A whole list of one kind, read a page ahead: while the objects of one page are decoded, the server makes the next.

With 50,000 pods either side is busy for seconds, and by turns they would take as long as both together.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, Generic, TypeVar

import msgspec
from msgspec import Raw

from runtime.cooperation import cooperate
from runtime.errors import Gone
from runtime.pages import Page, Pager

T = TypeVar("T")

_TURNS = 2
"""Of the event loop, until a request is on its way: in one it is made, in the next one written."""

PAGE_SIZE = 2000
"""Objects a page: 8 MB of pods. With 500, as is usual, an API server takes up to half as long again for a list."""

ReadPage = Callable[[int, str], Coroutine[Any, Any, Page[Raw]]]
"""(limit, token) to the page, its objects as texts. Raises Gone for a token that the server has forgotten."""


class Listed(msgspec.Struct, Generic[T], frozen=True):
    """All objects, and where the time went."""

    items: tuple[T, ...]
    resource_version: str
    waited: float
    """Seconds in which there was nothing to decode."""
    decoded: float
    """Seconds of decoding, others' turns on the event loop included."""


async def read_all(read: ReadPage, decode: Callable[[Raw], T], page_size: int) -> Listed[T]:
    """All pages, decoded object by object. Starts over as `Pager` says; raises what `read` and `decode` raise."""
    clock = asyncio.get_running_loop().time
    pager: Pager[T] = Pager(page_size)
    coming = _begin(read(pager.limit, ""))
    waited = decoded = 0.0
    try:
        while not pager.is_complete:
            began = clock()
            try:
                page = await coming
            except Gone as error:
                pager.restart(error)
                coming = _begin(read(pager.limit, ""))
                continue
            finally:
                waited += clock() - began
            pager.check(page.continue_)
            if page.continue_:
                coming = _begin(read(pager.limit, page.continue_))
                for _ in range(_TURNS):
                    await asyncio.sleep(0)
            began = clock()
            pager.take(Page(await _decode_all(page.items, decode), page.resource_version, page.continue_))
            decoded += clock() - began
    finally:
        coming.cancel()
    everything = pager.result()
    return Listed(everything.items, everything.resource_version, waited, decoded)


async def _decode_all(texts: tuple[Raw, ...], decode: Callable[[Raw], T]) -> tuple[T, ...]:
    items: list[T] = []
    for text in texts:
        items.append(decode(text))
        await cooperate()
    return tuple(items)


def _begin(reading: Coroutine[Any, Any, Page[Raw]]) -> asyncio.Task[Page[Raw]]:
    task = asyncio.create_task(reading)
    task.add_done_callback(_look_at)
    return task


def _look_at(task: asyncio.Task[Page[Raw]]) -> None:
    """Should the list be given up meanwhile, a failure is nobody's concern."""
    if not task.cancelled():
        task.exception()
