"""What happened to a job, and why something is done about it."""

from __future__ import annotations

from typing import NamedTuple

from api import names
from generated.bus.v1alpha1 import Event
from generated.core.v1 import Pod
from runtime.objects import Key


class Target(NamedTuple):
    """What a targeted restart is about; empty where the request doesn't say."""

    task: str = ""
    pod: str = ""
    partition: str = ""


class Request(NamedTuple):
    """One thing that happened to a job. Equal ones are one."""

    event: str = Event.OUT_OF_SYNC
    action: str = ""
    """What a Command, or a policy some time ago, has asked for; else policies decide now."""
    job_uid: str = ""
    version: int | None = None
    """The job's version that the pod was created with; None for what is no pod's doing."""
    target: Target = Target()
    pod_uid: str = ""
    exit_code: int = 0
    is_found: bool = False
    """Seen as a fact when this process began to look, not as a change: counts only where nothing reacted yet."""

    @property
    def is_plain(self) -> bool:
        """Whether nothing but a look at the job can follow."""
        return not self.action and self.event in {Event.OUT_OF_SYNC, Event.POD_RUNNING, ""}

    def describe(self) -> str:
        """For people: the event, where, and with which exit code."""
        if self.event == Event.COMMAND_ISSUED:
            return f"command {self.action}"
        parts = [self.event]
        if self.target.pod:
            parts.append(f"of pod {self.target.pod}")
        elif self.target.task:
            parts.append(f"of task {self.target.task}")
        if self.exit_code:
            parts.append(f"with exit code {self.exit_code}")
        return " ".join(parts)


SYNC = Request()


def of_pod(pod: Pod, event: str, *, job_uid: str, exit_code: int = 0, is_found: bool = False) -> Request:
    """What happened to a pod of a job."""
    annotations = pod.metadata.annotations
    task = annotations.get(names.TASK_SPEC_KEY, "")
    partition = pod.metadata.labels.get(names.PARTITION_ID_LABEL, "")
    return Request(
        event=event,
        job_uid=job_uid,
        version=int(annotations[names.JOB_VERSION_ANNOTATION]),
        target=Target(task, pod.metadata.name, partition),
        pod_uid=pod.metadata.uid,
        exit_code=exit_code,
        is_found=is_found,
    )


def job_key(pod: Pod) -> Key:
    """The job that a pod says to be of."""
    return Key(pod.metadata.namespace, pod.metadata.annotations[names.JOB_NAME_KEY])
