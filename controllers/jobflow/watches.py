"""What wakes the JobFlow controller: flows, their jobs, and templates that appear."""

from __future__ import annotations

from collections.abc import Callable

from controllers.jobflow.reader import Reader, flow_key
from generated.batch.v1alpha1 import Job
from generated.flow.v1alpha1 import FlowPhase, JobFlow, JobTemplate, RetainPolicy
from runtime.objects import Key, key_of
from runtime.queue import WorkQueue


class OnFlow:
    """Flows that come, change what they ask for, or have succeeded and want their jobs gone."""

    def __init__(self, queue: WorkQueue[Key], forget: Callable[[JobFlow], None]) -> None:
        """`forget` is called for a flow that is gone."""
        self._queue = queue
        self._forget = forget

    def on_add(self, obj: JobFlow, initial: bool) -> None:  # noqa: FBT001  # as Handler
        self._queue.add(key_of(obj), is_urgent=not initial)

    def on_update(self, old: JobFlow, new: JobFlow) -> None:
        succeeded = new.status.state.phase == FlowPhase.SUCCEED and old.status.state.phase != FlowPhase.SUCCEED
        if old.spec != new.spec or (succeeded and new.spec.job_retain_policy == RetainPolicy.DELETE):
            self._queue.add(key_of(new))

    def on_delete(self, obj: JobFlow) -> None:
        self._forget(obj)


class OnJob:
    """Jobs of flows, whatever happens to them, and jobs of others that go and leave a name to a flow."""

    def __init__(self, queue: WorkQueue[Key], reader: Reader, gone: Callable[[Job], None]) -> None:
        """`gone` is called for a job that is gone, before its flow is woken."""
        self._queue = queue
        self._reader = reader
        self._gone = gone

    def on_add(self, obj: Job, initial: bool) -> None:  # noqa: FBT001  # as Handler
        if not initial:  # the flow itself is looked at when this process starts
            self._wake(obj)

    def on_update(self, old: Job, new: Job) -> None:
        if old.metadata.resource_version != new.metadata.resource_version:
            self._wake(new)

    def on_delete(self, obj: Job) -> None:
        self._gone(obj)
        self._wake(obj)
        for flow in self._reader.flows_naming(obj):
            self._queue.add(key_of(flow))

    def _wake(self, job: Job) -> None:
        key = flow_key(job)
        if key is not None:
            self._queue.add(key)


class OnTemplate:
    """Templates that flows may wait for."""

    def __init__(self, queue: WorkQueue[Key], reader: Reader) -> None:
        self._queue = queue
        self._reader = reader

    def on_add(self, obj: JobTemplate, initial: bool) -> None:  # noqa: FBT001  # as Handler
        if not initial:
            for flow in self._reader.flows_with(obj):
                self._queue.add(key_of(flow))

    def on_update(self, old: JobTemplate, new: JobTemplate) -> None:
        """Jobs that were made keep what they were made from."""

    def on_delete(self, obj: JobTemplate) -> None:
        """The same."""
