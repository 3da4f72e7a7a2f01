"""Handlers that remember what they heard, for the tests of caches and informers."""

from __future__ import annotations

from collections.abc import Callable

from tests.unit.runtime.models import Pod


class Recorder:
    """Notes every call as a short text: `+a1` added at version 1, `~a1>2` updated, `-a2` deleted; `!` marks initial."""

    def __init__(self, on_call: Callable[[], None] = lambda: None) -> None:
        self.heard: list[str] = []
        self._on_call = on_call

    def on_add(self, obj: Pod, initial: bool) -> None:
        self.heard.append(f"{'!' if initial else ''}+{obj.metadata.name}{obj.metadata.resource_version}")
        self._on_call()

    def on_update(self, old: Pod, new: Pod) -> None:
        self.heard.append(f"~{new.metadata.name}{old.metadata.resource_version}>{new.metadata.resource_version}")
        self._on_call()

    def on_delete(self, obj: Pod) -> None:
        self.heard.append(f"-{obj.metadata.name}{obj.metadata.resource_version}")
        self._on_call()

    def take(self) -> list[str]:
        """What was heard since the last time."""
        heard, self.heard = self.heard, []
        return heard


class Thrower(Recorder):
    """A handler with a defect."""

    def __init__(self) -> None:
        super().__init__(self._throw)

    @staticmethod
    def _throw() -> None:
        raise RuntimeError("a defect")
