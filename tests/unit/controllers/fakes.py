"""What controllers get in unit tests in place of the recorder of events."""

from __future__ import annotations

from typing import Any

from runtime.events import EventRecorder
from runtime.objects import Object
from runtime.resource import Resource
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
