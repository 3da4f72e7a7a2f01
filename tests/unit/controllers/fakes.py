"""What controllers get in unit tests in place of the recorder of events."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from generated.fakes.fakes import Fakes
from runtime.events import EventRecorder
from runtime.model import Model
from runtime.objects import Object
from runtime.requests import Request
from runtime.resource import Resource
from runtime.responses import Response
from runtime.wire import Status


class Events(EventRecorder):
    """Notes events: (type, name of the object, reason, message)."""

    def __init__(self) -> None:
        self.seen: list[tuple[str, str, str, str]] = []

    def normal(self, resource: Resource[Any], obj: Object, reason: str, message: str) -> None:
        self.seen.append(("Normal", obj.metadata.name, reason, message))

    def warning(self, resource: Resource[Any], obj: Object, reason: str, message: str) -> None:
        self.seen.append(("Warning", obj.metadata.name, reason, message))


def status(code: int, reason: str) -> Status:
    """An answer of the server that refuses."""
    return Status(status="Failure", code=code, reason=reason, message=f"refused: {reason}")


def readable(fakes: Fakes, plural: str, obj: Model | Exception) -> None:
    """Let the recorder answer live reads of one kind with this object, or fail them."""
    transport = fakes.recorder.transport
    send = transport.send

    async def answer(request: Request, *, guard: Callable[[], None] | None = None) -> Response:
        if request.method == "GET" and f"/{plural}/" in request.path:
            if isinstance(obj, Exception):
                raise obj
            return Response(status=200, body=msgspec.json.encode(obj))
        return await send(request, guard=guard)

    transport.send = answer  # type: ignore[method-assign]  # a recorder can't answer reads
