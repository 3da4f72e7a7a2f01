"""From changes of objects to what has happened to a job (controllers.md 3.1). Handlers only take note."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from controllers.job.commands import Order, order_of
from controllers.job.counts import FAILED, PENDING, RUNNING, SUCCEEDED, is_out_of_sync, task_of
from controllers.job.facts import (
    exit_code,
    has_task_failed,
    is_left_to_eviction,
    is_superfluous,
    is_task_completed,
    pods_of_completed,
)
from controllers.job.policies import reacts_to
from controllers.job.reader import Reader, owner_uid
from controllers.job.requests import SYNC, Request, job_key, of_pod
from controllers.job.waiting import is_pod_ready, waiting_condition
from controllers.job.world import is_let_in
from generated.batch.v1alpha1 import JOBS, Job, JobPhase
from generated.bus.v1alpha1 import Command, Event
from generated.core.v1 import PersistentVolumeClaim, Pod
from generated.meta.v1 import OwnerReference
from generated.scheduling.v1beta1 import PodGroup, PodGroupPhase, Queue
from runtime.objects import Key, key_of

BURST_SECONDS: Final = 0.1
"""How long events that ask for nothing but a look are collected."""

Note = Callable[[Key, Request, float], None]
"""Takes note of a request, to be looked at after so many seconds; below zero: behind everything urgent."""
PATIENT: Final = -1.0


class OnJob:
    """A job that is new, or whose spec or phase changed, is looked at."""

    def __init__(self, note: Note, gone: Callable[[Job], None], reader: Reader) -> None:
        """`gone` is called for a job that is gone."""
        self._note = note
        self._gone = gone
        self._reader = reader

    def on_add(self, obj: Job, initial: bool) -> None:  # noqa: FBT001  # as Handler
        self._note(key_of(obj), SYNC, PATIENT if initial else 0)

    def on_update(self, old: Job, new: Job) -> None:
        if old.metadata.uid != new.metadata.uid:
            self._gone(old)
        if old.spec != new.spec or _has_news(old, new) or _moved(old, new):
            self._note(key_of(new), SYNC, 0)
        if old.metadata.uid == new.metadata.uid:
            self._note_completed(old, new)

    def on_delete(self, obj: Job) -> None:
        self._gone(obj)

    def _note_completed(self, old: Job, new: Job) -> None:
        """Tasks that were scaled down to what has succeeded are complete: none of their pods may ever tell."""
        for task in _scaled_down(old, new):
            if not reacts_to(new, task, Event.TASK_COMPLETED):
                continue
            pods = self._reader.pods(new)[0].values()
            done = [pod for pod in pods_of_completed(new, task, pods) if not is_out_of_sync(pod)]
            if done and not is_task_completed(old, task, pods):
                uid = new.metadata.uid
                request = of_pod(done[0], Event.TASK_COMPLETED, job_uid=uid, is_found=True)
                self._note(key_of(new), request, 0)


class OnPod:
    """What happens to pods raises the events that policies know."""

    def __init__(self, note: Note, reader: Reader) -> None:
        self._note = note
        self._reader = reader

    def on_add(self, obj: Pod, initial: bool) -> None:  # noqa: FBT001  # as Handler
        uid = owner_uid(obj)
        if not uid:
            return
        event, is_found = Event.OUT_OF_SYNC, False
        if not is_out_of_sync(obj):
            event, is_found = _FOUND.get(obj.status.phase, (Event.OUT_OF_SYNC, False))
        code = exit_code(self._job(obj), obj) if event == Event.POD_FAILED else 0
        self._note_stop(None, obj)
        request = of_pod(obj, event, job_uid=uid, exit_code=code, is_found=is_found)
        self._tell(obj, request, PATIENT if initial else None)

    def on_update(self, old: Pod, new: Pod) -> None:
        uid = owner_uid(new)
        if not uid or old.metadata.resource_version == new.metadata.resource_version:
            return
        self._note_stop(old, new)
        event = self._event(old, new)
        if event == Event.OUT_OF_SYNC and _is_alike(old, new):
            return
        code = exit_code(self._job(new), new) if event == Event.POD_FAILED else 0
        self._tell(new, of_pod(new, event, job_uid=uid, exit_code=code))

    def on_delete(self, obj: Pod) -> None:
        uid = owner_uid(obj)
        if not uid:
            return
        is_unwanted = self._is_unwanted(obj)
        has_completed = obj.status.phase == SUCCEEDED and not self._reader.recent.was_stopped(obj.metadata.uid)
        self._reader.recent.gone(uid, obj)
        event = Event.OUT_OF_SYNC if is_unwanted or has_completed else Event.POD_EVICTED
        self._tell(obj, of_pod(obj, event, job_uid=uid))

    def _tell(self, pod: Pod, request: Request, delay: float | None = None) -> None:
        if delay is None:
            delay = BURST_SECONDS if request.is_plain or request.event == Event.POD_PENDING else 0
        key = job_key(pod)
        # identical looks at a job are one; only what policies may react to keeps its details
        self._note(key, SYNC if request.is_plain and request.event != Event.POD_RUNNING else request, delay)

    def _note_stop(self, old: Pod | None, new: Pod) -> None:
        """
        Remember a pod that succeeds after it was told to go: many programs answer that with exit code 0.

        A pod that has succeeded before is gone at once when it is deleted. Times would tell less: clocks of nodes differ.
        """
        is_end = new.status.phase == SUCCEEDED and (old is None or old.status.phase != SUCCEEDED)
        if is_end and new.metadata.deletion_timestamp is not None:
            self._reader.recent.stopped(new.metadata.uid)

    def _event(self, old: Pod, new: Pod) -> str:
        before, after = old.status.phase, new.status.phase
        if self._is_unwanted(new) or (after != before and self._waits_for_eviction(new)):
            return Event.OUT_OF_SYNC
        if after == FAILED and before != FAILED:
            return Event.POD_FAILED
        if after == SUCCEEDED and before != SUCCEEDED:
            return Event.TASK_COMPLETED if self._is_completed(new) else Event.OUT_OF_SYNC
        if after not in {RUNNING, PENDING}:
            return Event.OUT_OF_SYNC
        if before != after:
            return Event.POD_RUNNING if after == RUNNING else Event.POD_PENDING
        return Event.TASK_FAILED if self._has_failed(new) else Event.OUT_OF_SYNC

    def _waits_for_eviction(self, pod: Pod) -> bool:
        """A pod that ends because it is being evicted is an eviction, if a policy wants to hear of those."""
        job = self._job(pod)
        return pod.status.phase in {FAILED, SUCCEEDED} and job is not None and is_left_to_eviction(job, pod)

    def _is_completed(self, pod: Pod) -> bool:
        job = self._job(pod)
        if job is None or not reacts_to(job, task_of(pod), Event.TASK_COMPLETED):
            return False
        return is_task_completed(job, task_of(pod), self._reader.pods(job)[0].values())

    def _has_failed(self, pod: Pod) -> bool:
        job = self._job(pod)
        if job is None or not reacts_to(job, task_of(pod), Event.TASK_FAILED):
            return False
        return has_task_failed(job, task_of(pod), self._reader.pods(job)[0].values())

    def _is_unwanted(self, pod: Pod) -> bool:
        """Whether the controller has told the pod to go, or will as soon as it looks: how it ends is no event."""
        if is_out_of_sync(pod) or self._reader.recent.was_deleted(owner_uid(pod), pod.metadata.uid):
            return True
        job = self._job(pod)
        return job is not None and is_superfluous(job, pod)

    def _job(self, pod: Pod) -> Job | None:
        """The job that controls the pod, None when another one of its name has come."""
        job = self._reader.job(job_key(pod))
        return job if job is not None and job.metadata.uid == owner_uid(pod) else None


_FOUND: Final = {
    PENDING: (Event.POD_PENDING, False),
    FAILED: (Event.POD_FAILED, True),
    SUCCEEDED: (Event.TASK_COMPLETED, True),
}
"""The event of a pod seen for the first time, by its phase, and whether it must be checked when its turn comes."""


class OnPodGroup:
    """A pod group that is let in or put back, that breaks, that is told why it waits, or that is gone, wakes its job."""

    def __init__(self, note: Note, reader: Reader) -> None:
        self._note = note
        self._reader = reader

    def on_add(self, obj: PodGroup, initial: bool) -> None:  # noqa: FBT001  # as Handler
        """The job made it itself; but after an outage it may be let in already when it is first seen."""
        if not initial and is_let_in(obj):
            self._note(_job_of(obj), SYNC, 0)

    def on_update(self, old: PodGroup, new: PodGroup) -> None:
        uid, is_new_phase = _job_uid(new), old.status.phase != new.status.phase
        is_broken = is_new_phase and new.status.phase == PodGroupPhase.UNKNOWN
        if is_broken and not self._reader.recent.is_leaving(uid, new):
            self._note(_job_of(new), Request(Event.UNKNOWN, job_uid=uid), 0)
        elif (is_new_phase and not (is_let_in(old) and is_let_in(new))) or _waits_anew(old, new):
            self._note(_job_of(new), SYNC, 0)

    def on_delete(self, obj: PodGroup) -> None:
        for owner in obj.metadata.owner_references:
            if owner.kind == JOBS.kind:
                self._reader.recent.group_gone(owner.uid, obj.metadata.uid)
                self._note(Key(obj.metadata.namespace, owner.name), SYNC, 0)


class OnCommand:
    """Commands for jobs."""

    def __init__(self, order: Callable[[Order], None]) -> None:
        self._order = order

    def on_add(self, obj: Command, initial: bool) -> None:  # noqa: ARG002, FBT001  # as Handler
        order = order_of(obj)
        if order is not None:
            self._order(order)

    def on_update(self, old: Command, new: Command) -> None:
        """A Command is carried out as it came."""

    def on_delete(self, obj: Command) -> None:
        """It was taken, or withdrawn in time."""


class OnWaitedFor:
    """A queue or a claim that appears wakes the jobs that may have waited for it."""

    def __init__(self, note: Note, jobs_of: Callable[[Queue | PersistentVolumeClaim], list[Job]]) -> None:
        self._note = note
        self._jobs_of = jobs_of

    def on_add(self, obj: Queue | PersistentVolumeClaim, initial: bool) -> None:  # noqa: FBT001  # as Handler
        if not initial:
            for job in self._jobs_of(obj):
                self._note(key_of(job), SYNC, 0)

    def on_update(self, old: Queue | PersistentVolumeClaim, new: Queue | PersistentVolumeClaim) -> None:
        """It was there before."""

    def on_delete(self, obj: Queue | PersistentVolumeClaim) -> None:
        """A job that has begun goes on without it."""


def _scaled_down(old: Job, new: Job) -> list[str]:
    """Tasks that have fewer replicas than before."""
    if old.spec == new.spec:
        return []
    before = {task.name: task.replicas for task in old.spec.tasks}
    return [task.name for task in new.spec.tasks if task.replicas < before.get(task.name, 0)]


def _waits_anew(old: PodGroup, new: PodGroup) -> bool:
    """Whether a group is told to wait, or to wait for something else: its job passes that on."""
    if old.status.conditions == new.status.conditions:
        return False
    before, after = waiting_condition(old), waiting_condition(new)
    return after is not None and (before is None or (before.type, before.reason) != (after.type, after.reason))


def _has_news(old: Job, new: Job) -> bool:
    """Whether a job came into another phase; into its first one it comes while it is looked at."""
    before, after = old.status.state.phase, new.status.state.phase
    return before != after and (before, after) != ("", JobPhase.PENDING)


def _is_alike(old: Pod, new: Pod) -> bool:
    """Whether a pod changed in nothing that a look at its job could see, as when it gets its node or its address."""
    return _seen_of(old) == _seen_of(new)


def _seen_of(pod: Pod) -> tuple[object, ...]:
    meta, place = pod.metadata, (pod.metadata.uid, pod.metadata.deletion_timestamp)
    return place, pod.status.phase, is_pod_ready(pod), meta.annotations, meta.labels, meta.owner_references


def _moved(old: Job, new: Job) -> bool:
    """Whether labels or annotations changed, which the pod group follows."""
    before, after = old.metadata, new.metadata
    return (before.labels, before.annotations) != (after.labels, after.annotations)


def _job_of(group: PodGroup) -> Key:
    """The job that a group is of: its last owner of that kind, else the one of its name."""
    owner = _owner_of(group)
    return Key(group.metadata.namespace, owner.name if owner is not None else group.metadata.name)


def _job_uid(group: PodGroup) -> str:
    """UID of that job, empty for a group without owner: what befalls an old group is nothing to a new job."""
    owner = _owner_of(group)
    return owner.uid if owner is not None else ""


def _owner_of(group: PodGroup) -> OwnerReference | None:
    owners = [owner for owner in group.metadata.owner_references if owner.kind == JOBS.kind]
    return owners[-1] if owners else None
