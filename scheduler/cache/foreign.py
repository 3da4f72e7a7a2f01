"""Pods of PodGroups that ask for another scheduler: no part of the state, but the reason why their jobs never start."""

from __future__ import annotations

from typing import TYPE_CHECKING

from api import names
from scheduler.explain import obstacles

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from generated.core.v1 import Pod
    from scheduler.explain.obstacles import Obstacle
    from scheduler.state.job import Job

_OVER = frozenset({"Succeeded", "Failed"})


class ForeignPods:
    """
    A handler of an informer of pods, which keeps those that wait for another scheduler.

    It is fed by the event loop and asked by the scheduling thread, which looks at a copy.
    """

    def __init__(self, scheduler_names: Collection[str]) -> None:
        self._own = tuple(scheduler_names)
        self._by_job: dict[str, dict[str, str]] = {}
        """By job: the scheduler that each of its pods asks for, by uid."""

    def on_add(self, obj: Pod, initial: bool) -> None:  # noqa: FBT001  # the seam of every handler
        """A pod appears."""
        del initial
        job = self._job_of(obj)
        if job:
            self._by_job.setdefault(job, {})[obj.metadata.uid] = obj.spec.scheduler_name

    def on_update(self, old: Pod, new: Pod) -> None:
        """A pod got its node, ends, or joins a job."""
        if self._job_of(old) != self._job_of(new) or old.metadata.uid != new.metadata.uid:
            self.on_delete(old)
            self.on_add(new, initial=False)

    def on_delete(self, obj: Pod) -> None:
        """A pod is gone."""
        job = _group_of(obj)
        held = self._by_job.get(job)
        if held is None:
            return
        held.pop(obj.metadata.uid, None)
        if not held:
            del self._by_job[job]

    def known(self, job: Job) -> Sequence[Obstacle]:
        """What of a job this scheduler leaves to others."""
        return obstacles.other_scheduler(list(self._by_job.get(job.id, {}).values()), self._own)

    def _job_of(self, pod: Pod) -> str:
        """The job of a pod that waits for another scheduler; empty for any other pod."""
        spec = pod.spec
        if spec.node_name or spec.scheduler_name in self._own or pod.status.phase in _OVER:
            return ""
        return _group_of(pod)


def _group_of(pod: Pod) -> str:
    meta = pod.metadata
    name = meta.annotations.get(names.GROUP_NAME_ANNOTATION, "")
    return f"{meta.namespace}/{name}" if name else ""
