"""conformance: pods that the cluster itself lives by are never evicted (plugins.md 4)."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from api import names
from scheduler.contract.arguments import Declared
from scheduler.plugin import Plugin

if TYPE_CHECKING:
    from collections.abc import Sequence

    from scheduler.session import Session
    from scheduler.state.task import Task

CRITICAL_CLASSES = frozenset({names.CLUSTER_CRITICAL_PRIORITY_CLASS, names.NODE_CRITICAL_PRIORITY_CLASS})


class Conformance(Plugin):
    """Keeps critical pods out of every choice of victims."""

    name = "conformance"
    outlives_session = True
    lets_jobs_sleep = True
    declares: ClassVar[Declared] = {}

    def on_session_open(self, session: Session) -> None:
        """Register the same answer for all evictions."""
        session.add_preemptable(self.name, _ordinary)
        session.add_reclaimable(self.name, _ordinary)
        session.add_unified_evictable(self.name, _ordinary)


def _ordinary(_: object, candidates: Sequence[Task]) -> list[Task]:
    return [task for task in candidates if not is_critical(task)]


def is_critical(task: Task) -> bool:
    """Whether a pod is one of the cluster's own."""
    return task.namespace == names.SYSTEM_NAMESPACE or task.shape.spec.priority_class_name in CRITICAL_CLASSES
