"""Failures of the local control plane. Each message names the file, process or port and says what to do."""

from __future__ import annotations

from collections import deque
from pathlib import Path

TAIL_LINES = 20
_SEARCHED_LINES = 500  # a panic prints its stack after the reason


class ClusterError(Exception):
    """Base of every failure that the command prints as one message, without a traceback."""


class UsageError(ClusterError):
    """A flag or argument makes no sense. Names the flag and what it takes."""


class BinaryError(ClusterError):
    """A binary is nowhere to be had: neither found, nor downloaded, nor built."""


class StateError(ClusterError):
    """The state directory cannot be read or written, or holds something unexpected."""


class NotRunningError(ClusterError):
    """The named control plane does not run."""


class AlreadyRunningError(ClusterError):
    """A control plane of that name runs, so no second one is started."""


class StartError(ClusterError):
    """The control plane did not come up."""


class ComponentFailed(StartError):  # noqa: N818  # named for what happened
    """A component ended by itself. Holds its name and log so that a caller can look closer."""

    def __init__(self, component: str, how: str, log: Path) -> None:
        self.component = component
        self.log = log
        recent = tail(log, _SEARCHED_LINES)
        self.is_port_conflict = any("address already in use" in line for line in recent)
        """Whether another process took the port between choosing and binding it."""
        cause = " (the disk is full)" if any("no space left on device" in line for line in recent) else ""
        lines = "".join(f"\n    {line}" for line in recent[-TAIL_LINES:]) or "\n    (the log is empty)"
        super().__init__(f"{component} {how}{cause}; the end of {log}:{lines}")


def tail(path: Path, lines: int = TAIL_LINES) -> list[str]:
    """The last lines of a log, none when it cannot be read."""
    try:
        with path.open(encoding="utf-8", errors="replace") as file:
            return [line.rstrip("\n") for line in deque(file, maxlen=lines)]
    except OSError:
        return []
