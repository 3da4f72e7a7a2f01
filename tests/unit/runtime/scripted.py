"""
A client whose answers a test writes down beforehand: what reflectors and informers do with each of them is the matter.

How a real server behaves is tested on a real one, in `tests/integration`.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import msgspec

from runtime.client import Client
from runtime.errors import ApiError, from_status
from runtime.pages import Page
from runtime.wire import Status, StatusCause, StatusDetails
from tests.unit.runtime.models import text

HANG = object()
"""In a watch: nothing more comes until the reader goes away."""


def failure(code: int, reason: str = "", *, retry_after: int = 0, cause: str = "") -> ApiError:
    causes = (StatusCause(reason=cause),) if cause else ()
    details = StatusDetails(retry_after_seconds=retry_after, causes=causes)
    return from_status(Status(status="Failure", code=code, reason=reason, message=f"scripted {code}", details=details))


@dataclass
class Listing:
    """A page of a list."""

    items: Sequence[object] = ()
    version: str = "1"
    continue_: str = ""


@dataclass
class ScriptedClient:
    """Answers lists and watches in the order written down. When a script ends, watches hang; lists must not come."""

    lists: list[Listing | Exception] = field(default_factory=list)
    watches: list[Iterable[object] | Exception] = field(default_factory=list)
    calls: list[tuple[float, str, dict[str, Any]]] = field(default_factory=list)
    """(loop time, `list` or `watch`, arguments)"""
    open_watches: int = 0
    is_closed: bool = False

    @property
    def transport(self) -> ScriptedClient:
        return self

    def as_client(self) -> Client:
        client: Any = self
        result: Client = client
        return result

    def times(self, verb: str) -> list[float]:
        return [when for when, called, _ in self.calls if called == verb]

    def arguments(self, verb: str, name: str) -> list[Any]:
        return [arguments[name] for _, called, arguments in self.calls if called == verb]

    def _note(self, verb: str, arguments: dict[str, Any]) -> None:
        self.calls.append((asyncio.get_running_loop().time(), verb, arguments))

    async def list_page(
        self, resource: Any, namespace: str | None = None, *, decode: Callable[[msgspec.Raw], Any], **arguments: Any
    ) -> Page[Any]:
        self._note("list", {"resource": resource, "namespace": namespace, **arguments})
        await asyncio.sleep(0)
        answer = self.lists.pop(0)
        if isinstance(answer, Exception):
            raise answer
        raw = [msgspec.Raw(item if isinstance(item, bytes) else text(item)) for item in answer.items]
        return Page(tuple(map(decode, raw)), answer.version, answer.continue_)

    @asynccontextmanager
    async def watch(self, resource: Any, namespace: str | None = None, **arguments: Any) -> AsyncIterator[Any]:
        self._note("watch", {"resource": resource, "namespace": namespace, **arguments})
        await asyncio.sleep(0)
        script = self.watches.pop(0) if self.watches else [HANG]
        if isinstance(script, Exception):
            raise script
        self.open_watches += 1
        try:
            yield ScriptedStream(script)
        finally:
            self.open_watches -= 1


class ScriptedStream:
    """Gives batches of lines; a number is a pause in seconds, an exception breaks off."""

    def __init__(self, script: Iterable[object]) -> None:
        self._script = script

    async def batches(self) -> AsyncIterator[list[bytes]]:
        for step in self._script:
            if step is HANG:
                await asyncio.get_running_loop().create_future()
            elif isinstance(step, Exception):
                raise step
            elif isinstance(step, int | float):
                await asyncio.sleep(step)
            elif isinstance(step, bytes):
                yield [step]
            else:
                assert isinstance(step, list)
                yield step
