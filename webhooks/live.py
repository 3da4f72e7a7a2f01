"""
All objects of a kind as the API server has them now, for verdicts that a cache a moment behind would get wrong.

What is applied in one file arrives faster than the watch tells of it. Whether a queue fits beside its siblings, or has
children, must not depend on that.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, Generic, TypeVar

from runtime.client import Client
from runtime.errors import ApiError, ConnectionFailed, DecodeError
from runtime.model import Model
from runtime.resource import Resource

T = TypeVar("T", bound=Model)


class ListFailed(Exception):  # noqa: N818  # named for what happened, as runtime.errors are
    """The API server gave no list in time. Says of what, and why."""


class LiveList(Generic[T]):
    """
    Lists one kind, at most one list at a time.

    Who asks while a list is under way waits for the next one, with all others who do: the one under way may have
    been read before what they have to see. Belongs to its loop.
    """

    def __init__(self, client: Client, resource: Resource[T], seconds: float) -> None:
        """`seconds` bounds a list."""
        self._client = client
        self._resource = resource
        self._seconds = seconds
        self._running: asyncio.Task[tuple[T, ...]] | None = None
        self._following: asyncio.Task[tuple[T, ...]] | None = None

    async def items(self) -> tuple[T, ...]:
        """The objects, read after this was called. Raises ListFailed."""
        if self._running is None or self._running.done():
            self._running = task = _started(self._read())
        elif self._following is None or self._following.done():
            self._following = task = _started(self._read_after(self._running))
        else:
            task = self._following
        return await asyncio.shield(task)  # others may wait for it, too

    async def _read_after(self, earlier: asyncio.Task[tuple[T, ...]]) -> tuple[T, ...]:
        await asyncio.wait([earlier])
        self._running, self._following = self._following, None
        return await self._read()

    async def _read(self) -> tuple[T, ...]:
        try:
            async with asyncio.timeout(self._seconds):
                return (await self._client.list(self._resource)).items
        except TimeoutError as error:
            problem = f"the API server did not answer within {self._seconds:g} s"
            raise ListFailed(f"{self._resource.plural} can't be listed: {problem}") from error
        except (ApiError, ConnectionFailed, DecodeError) as error:
            raise ListFailed(f"{self._resource.plural} can't be listed: {error}") from error


def _started(work: Coroutine[Any, Any, tuple[T, ...]]) -> asyncio.Task[tuple[T, ...]]:
    """A task whose failure is nobody's when all who waited for it have gone."""
    task = asyncio.create_task(work)
    task.add_done_callback(lambda done: done.cancelled() or done.exception())
    return task
