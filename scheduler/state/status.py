"""Where a task stands, as the scheduler sees it (scheduler.md 4.5.1)."""

from __future__ import annotations

from enum import IntEnum


class Status(IntEnum):
    """A pod's state; Allocated, Pipelined and Binding exist only inside the scheduler."""

    PENDING = 0
    ALLOCATED = 1
    """A node was chosen in this session."""
    PIPELINED = 2
    """Waits on a node for resources that are being released."""
    BINDING = 3
    """The bind was handed to the writers."""
    BOUND = 4
    RUNNING = 5
    RELEASING = 6
    SUCCEEDED = 7
    FAILED = 8
    UNKNOWN = 9

    @property
    def label(self) -> str:
        """The word used in messages: `Pending`, `Running` ..."""
        return _LABELS[self]


_LABELS = tuple(status.name.capitalize() for status in Status)

ALLOCATED = frozenset({Status.BOUND, Status.BINDING, Status.RUNNING, Status.ALLOCATED})
"""Statuses whose request counts as the job's and queue's allocated amount."""

EVICTABLE = frozenset({Status.BOUND, Status.RUNNING})
"""Statuses of tasks that may be made to leave."""

COMPLETED = frozenset({Status.SUCCEEDED, Status.FAILED})
SCHEDULED = frozenset({Status.RUNNING, Status.BOUND, Status.FAILED, Status.SUCCEEDED})
OFF_NODE = frozenset({Status.PENDING, Status.SUCCEEDED, Status.FAILED})
"""Statuses in which a task holds nothing on a node."""
