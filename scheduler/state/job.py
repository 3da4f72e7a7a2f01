"""
One job: a PodGroup with its pods, and the counts that gang scheduling asks for.

Counts by status and by role are kept in step with every change, so that "is it ready" costs no walk over tasks.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from scheduler.state.account import Accounted
from scheduler.state.limits import Numbers, readable
from scheduler.state.status import Status

if TYPE_CHECKING:
    from generated.scheduling.v1beta1 import PodGroup
    from scheduler.state.subjob import Grouping
    from scheduler.state.task import Task

_READY = (Status.BOUND, Status.BINDING, Status.RUNNING, Status.ALLOCATED, Status.SUCCEEDED)
_VALID = (*_READY, Status.PIPELINED, Status.PENDING)


class Job(Accounted):
    """
    A PodGroup and its pods. The definitions of the counts are those of scheduler.md 5.5.

    What its tasks hold and want stands in its account (`Accounted`). `pending` holds the tasks in that status by uid.
    `created` is in unix seconds. `grouping` are its sub-jobs as far as someone asked for them: see `subjob`.
    """

    __slots__ = (
        "_minimum",
        "best_effort_pending",
        "counts",
        "created",
        "grouping",
        "id",
        "min_available",
        "name",
        "namespace",
        "pending",
        "phase",
        "pod_group",
        "priority",
        "queue",
        "role_counts",
        "role_minimum",
        "tasks",
        "uid",
    )

    def __init__(self, job_id: str) -> None:
        super().__init__()
        self.id = job_id
        self.namespace, _, self.name = job_id.partition("/")
        self.uid = ""
        self.pod_group: PodGroup | None = None
        self.queue = ""
        self.phase = ""
        self.priority = 0
        self.created = 0.0
        self.min_available = 0
        self.role_minimum: Mapping[str, int] = {}
        self.tasks: dict[str, Task] = {}
        self.pending: dict[str, Task] = {}
        self.counts = [0] * len(Status)
        self.role_counts: dict[str, list[int]] = {}
        self.best_effort_pending: Counter[str] = Counter()
        self.grouping: Grouping | None = None
        self._minimum: tuple[object, Numbers] | None = None

    def __repr__(self) -> str:
        return f"<Job {self.id} {self.phase or 'new'}, {len(self.tasks)} tasks>"

    def count(self, statuses: Iterable[Status]) -> int:
        """Number of tasks in any of the statuses."""
        return sum(self.counts[status] for status in statuses)

    @property
    def ready_count(self) -> int:
        """Tasks that have their place: bound or further, or allocated in this session."""
        counts = self.counts
        return counts[4] + counts[3] + counts[5] + counts[1] + counts[7]

    @property
    def waiting_count(self) -> int:
        """Tasks that wait on a node for resources being released."""
        return self.counts[Status.PIPELINED]

    @property
    def pending_for_free(self) -> int:
        """Pending tasks that ask for nothing: they count as ready, backfill will place them."""
        return self.best_effort_pending.total()

    @property
    def valid_count(self) -> int:
        """Tasks that could still take part in the gang."""
        return self.count(_VALID)

    def is_ready(self) -> bool:
        """Whether the gang minimum stands."""
        return self.ready_count + self.pending_for_free >= self.min_available

    def is_pipelined(self) -> bool:
        """Whether the gang minimum stands once releasing resources are free."""
        return self.waiting_count + self.ready_count + self.pending_for_free >= self.min_available

    def is_starving(self) -> bool:
        """Whether fewer than the minimum have or await a place; best-effort pods don't count here."""
        return self.waiting_count + self.ready_count < self.min_available

    def _bypasses_roles(self) -> bool:
        # A job whose minimum is below the sum of its roles' minimums wants any pods, not those of each role.
        return self.min_available < sum(self.role_minimum.values())

    def _role_count(self, role: str, statuses: Iterable[Status]) -> int:
        counts = self.role_counts.get(role)
        return sum(counts[status] for status in statuses) if counts else 0

    def roles_valid(self) -> bool:
        """Whether each role has enough pods that could be placed."""
        return self._bypasses_roles() or all(
            self._role_count(role, _VALID) >= minimum for role, minimum in self.role_minimum.items()
        )

    def roles_ready(self) -> bool:
        """Whether each role's minimum stands."""
        return self._bypasses_roles() or all(
            self.role_ready_count(role) >= minimum for role, minimum in self.role_minimum.items()
        )

    def roles_pipelined(self) -> bool:
        """Whether each role's minimum stands once releasing resources are free."""
        return not self.lacking_roles()

    def lacking_roles(self) -> dict[str, int]:
        """How many tasks of which role are still to find a place, now or once releasing resources are free."""
        if self._bypasses_roles():
            return {}
        placed = {
            role: self._role_count(role, (*_READY, Status.PIPELINED)) + self.best_effort_pending[role]
            for role in self.role_minimum
        }
        return {role: least - placed[role] for role, least in self.role_minimum.items() if least > placed[role]}

    def role_ready_count(self, role: str) -> int:
        """Tasks of a role that have their place, or ask for nothing."""
        return self._role_count(role, _READY) + self.best_effort_pending[role]

    @property
    def asks_for_minimum(self) -> bool:
        """Whether the PodGroup names resources that must be free before the job may enter its queue."""
        return self.pod_group is not None and self.pod_group.spec.min_resources is not None

    @property
    def minimum(self) -> Numbers | None:
        """These resources; None when none are named, which is not the same as naming nothing."""
        raw = self.pod_group.spec.min_resources if self.pod_group is not None else None
        if raw is None:
            return None
        if self._minimum is None or self._minimum[0] is not raw:
            self._minimum = raw, readable(raw, f"minResources of {self.id}")
        return self._minimum[1]

    def ready_deficit(self) -> int:
        """At least this many further placements are needed before the gang can be ready; 0 when it may be."""
        missing = self.min_available - self.ready_count - self.pending_for_free
        if self._bypasses_roles():
            return max(0, missing)
        roles = sum(max(0, minimum - self.role_ready_count(role)) for role, minimum in self.role_minimum.items())
        return max(0, missing, roles)

    def enter(self, task: Task, status: Status, step: int) -> None:
        """Count a task in (1) or out (-1) of a status."""
        self.counts[status] += step
        role = self.role_counts.get(task.role)
        if role is None:
            role = self.role_counts[task.role] = [0] * len(Status)
        role[status] += step
        if status is Status.PENDING:
            if step > 0:
                self.pending[task.uid] = task
            else:
                del self.pending[task.uid]
            if task.request.is_best_effort:
                self.best_effort_pending[task.role] += step
