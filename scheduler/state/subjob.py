"""
Sub-jobs: the groups that a PodGroup's policies divide its pods into, each with a minimum and a place of its own.

A job without policies is one sub-job. The grouping is made when someone asks for it and kept on the job; what it
remembers of places (`allocated`, `nominated`) outlives regrouping as long as the sub-job's id stays.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from runtime import integers
from runtime.selector import InvalidSelector, Selector, from_label_selector
from scheduler.state.status import ALLOCATED, Status

if TYPE_CHECKING:
    from collections.abc import Mapping

    from generated.scheduling.v1beta1 import NetworkTopologySpec, SubGroupPolicySpec
    from scheduler.state.job import Job
    from scheduler.state.task import Task

_READY = ALLOCATED | {Status.SUCCEEDED}
_LONGEST = 128
_CHARACTERS = "bcdfghjklmnpqrstvwxz2456789"


class SubJob:
    """
    Some tasks of a job. `group` is the policy's id, common to its sub-jobs; both ids are the job's for the default one.

    `allocated` is the hypernode that holds its placed tasks, `nominated` the one that evictions cleared for it; empty
    where there is none. `match_index` orders the sub-jobs of a policy.
    """

    __slots__ = ("allocated", "group", "job", "match_index", "nominated", "policy", "tasks", "uid")

    def __init__(self, job: Job, uid: str, group: str, policy: SubGroupPolicySpec | None, match_index: int) -> None:
        self.job = job
        self.uid = uid
        self.group = group
        self.policy = policy
        self.match_index = match_index
        self.tasks: dict[str, Task] = {}
        self.allocated = ""
        self.nominated = ""

    def __repr__(self) -> str:
        return f"<SubJob {self.uid}, {len(self.tasks)} tasks>"

    @property
    def min_available(self) -> int:
        """Tasks that it needs to start."""
        if self.policy is not None:
            return 1 if self.policy.sub_group_size is None else self.policy.sub_group_size
        return 1 if policies_of(self.job) else self.job.min_available

    @property
    def topology(self) -> NetworkTopologySpec | None:
        """How close its pods must be, as its policy or else its job says."""
        if self.policy is not None:
            return self.policy.network_topology
        return self.job.pod_group.spec.network_topology if self.job.pod_group is not None else None

    @property
    def priority(self) -> int:
        """The highest priority of its tasks, at least 0."""
        return max(0, max((task.priority for task in self.tasks.values()), default=0))

    @property
    def _is_whole_job(self) -> bool:
        return self.policy is None and not policies_of(self.job)

    @property
    def ready_count(self) -> int:
        """Tasks that have their place, and pending ones that ask for nothing."""
        if self._is_whole_job:
            return self.job.ready_count + self.job.pending_for_free
        free = sum(task.status is Status.PENDING and task.is_best_effort for task in self.tasks.values())
        return free + sum(task.status in _READY for task in self.tasks.values())

    @property
    def waiting_count(self) -> int:
        """Tasks that wait on a node for resources being released."""
        if self._is_whole_job:
            return self.job.waiting_count
        return sum(task.status is Status.PIPELINED for task in self.tasks.values())

    @property
    def missing(self) -> int:
        """Placements that its minimum still needs."""
        return max(0, self.min_available - self.ready_count)

    def is_ready(self) -> bool:
        """Whether its minimum stands."""
        return self.ready_count >= self.min_available

    def is_pipelined(self) -> bool:
        """Whether its minimum stands once releasing resources are free."""
        return self.waiting_count + self.ready_count >= self.min_available

    @property
    def standing(self) -> list[Task]:
        """Its tasks in allocated statuses."""
        return [task for task in self.tasks.values() if task.status in ALLOCATED]


class Grouping:
    """The sub-jobs of a job by id. `allocated` is the hypernode that holds all of them, empty where there is none."""

    __slots__ = ("allocated", "is_stale", "policies", "sub_jobs", "topology")

    def __init__(self, policies: tuple[SubGroupPolicySpec, ...], topology: NetworkTopologySpec | None) -> None:
        self.policies = policies
        self.topology = topology
        self.sub_jobs: dict[str, SubJob] = {}
        self.allocated = ""
        self.is_stale = False


def policies_of(job: Job) -> tuple[SubGroupPolicySpec, ...]:
    """The sub-group policies of a job's PodGroup."""
    return job.pod_group.spec.sub_group_policy if job.pod_group is not None else ()


def has_topology(job: Job) -> bool:
    """Whether the PodGroup says anything of the network, or of sub-groups."""
    if job.pod_group is None:
        return False
    spec = job.pod_group.spec
    return spec.network_topology is not None or bool(spec.sub_group_policy)


def grouping_of(job: Job) -> Grouping:
    """The sub-jobs of a job as its tasks and policies are now."""
    known = job.grouping
    policies = policies_of(job)
    topology = job.pod_group.spec.network_topology if job.pod_group is not None else None
    if known is not None and not known.is_stale and known.policies == policies and known.topology == topology:
        return known
    fresh = job.grouping = _group(job, Grouping(policies, topology))
    if known is not None:
        _remember(known, fresh)
    return fresh


def _group(job: Job, grouping: Grouping) -> Grouping:
    rules = [_Rule(job, policy) for policy in grouping.policies]
    for task in job.tasks.values():
        labels: Mapping[str, str] = task.pod.metadata.labels if task.pod is not None else {}
        found = next((place for rule in rules if (place := rule.place(labels)) is not None), None)
        uid, group, policy, index = found if found is not None else (job.id, job.id, None, 0)
        sub_job = grouping.sub_jobs.get(uid)
        if sub_job is None:
            sub_job = grouping.sub_jobs[uid] = SubJob(job, uid, group, policy, index)
        sub_job.tasks[task.uid] = task
    for sub_job in grouping.sub_jobs.values():
        is_bound = sub_job.topology is not None
        for task in sub_job.tasks.values():
            task.has_topology = is_bound
    return grouping


def _remember(old: Grouping, new: Grouping) -> None:
    if old.policies != new.policies:
        return
    new.allocated = old.allocated
    for uid, sub_job in new.sub_jobs.items():
        before = old.sub_jobs.get(uid)
        if before is not None:
            sub_job.allocated, sub_job.nominated = before.allocated, before.nominated


class _Rule:
    """One policy in usable form. Without keys it takes no pod (compat: SUB-1)."""

    def __init__(self, job: Job, policy: SubGroupPolicySpec) -> None:
        self._policy = policy
        self._group = f"{job.id}/{policy.name}"
        self._prefix = f"{job.id}/{policy.name}-"
        selector = from_label_selector(policy.label_selector) if policy.label_selector is not None else None
        self._selector: Selector | None = selector if isinstance(selector, Selector) else None
        self._takes_none = isinstance(selector, InvalidSelector) or not policy.match_label_keys

    def place(self, labels: Mapping[str, str]) -> tuple[str, str, SubGroupPolicySpec | None, int] | None:
        """Id, group, policy and match index of the sub-job of a pod with these labels; None when it isn't ours."""
        if self._takes_none or (self._selector is not None and not self._selector.matches(labels)):
            return None
        values = [labels.get(key, "") for key in self._policy.match_label_keys]
        if not all(values):
            return None
        return self._prefix + joined(values), self._group, self._policy, _whole_number(values[0])


def joined(values: Iterable[str]) -> str:
    """What names a sub-job: its label values, or a short hash of them where they are long (scheduler.md 5.4)."""
    text = "-".join(values)
    if len(text.encode()) <= _LONGEST:
        return text
    digits = str(_fnv32a(text.encode()))
    return "".join(_CHARACTERS[ord(digit) % len(_CHARACTERS)] for digit in digits)


def _fnv32a(data: bytes) -> int:
    value = 0x811C9DC5
    for byte in data:
        value = ((value ^ byte) * 0x01000193) & 0xFFFFFFFF
    return value


def _whole_number(text: str) -> int:
    return integers.read(text, 64) or 0


# What gangs ask of sub-groups.


def sub_groups_valid(job: Job) -> bool:
    """Whether each policy has as many sub-jobs as it needs."""
    return _enough(job, lambda _: True)


def sub_groups_ready(job: Job) -> bool:
    """Whether enough sub-jobs of each policy stand."""
    return _enough(job, SubJob.is_ready)


def sub_groups_pipelined(job: Job) -> bool:
    """Whether enough sub-jobs of each policy stand once releasing resources are free."""
    return _enough(job, SubJob.is_pipelined)


def needed_sub_jobs(job: Job) -> dict[str, int]:
    """By group: how many sub-jobs it needs, groups that need none left out."""
    return {f"{job.id}/{policy.name}": policy.min_sub_groups for policy in policies_of(job) if policy.min_sub_groups}


def _enough(job: Job, counts: Callable[[SubJob], bool]) -> bool:
    needed = needed_sub_jobs(job)
    if not needed:
        return True
    found = dict.fromkeys(needed, 0)
    for sub_job in grouping_of(job).sub_jobs.values():
        if sub_job.group in found and counts(sub_job):
            found[sub_job.group] += 1
    return all(found[group] >= minimum for group, minimum in needed.items())
