"""What `kubectl get pods` says of a pod: ready containers, one word of status, restarts and age."""

from __future__ import annotations

from typing import NamedTuple

from api import names
from cli import fields, times
from cli.kinds import Object

_SETTLED = ("Succeeded", "Failed")


class Summary(NamedTuple):
    """The words of one row."""

    ready: str
    status: str
    restarts: str
    age: str


class _Tally:
    """What is counted while the containers are walked through."""

    def __init__(self) -> None:
        self.ready = 0
        self.restarts = 0
        self.last_end = ""
        self.sidecar_restarts = 0
        self.sidecar_end = ""

    def ended(self, container: Object) -> None:
        """Count its restarts, and remember the newest end of an earlier run."""
        self.restarts += fields.number(container, "restartCount")
        self.last_end = _later(self.last_end, _last_end(container))

    def sidecar_ended(self, container: Object) -> None:
        self.sidecar_restarts += fields.number(container, "restartCount")
        self.sidecar_end = _later(self.sidecar_end, _last_end(container))


def summary(pod: Object, now: int) -> Summary:
    """The words for a pod; `now` is in nanoseconds since 1970."""
    tally = _Tally()
    sidecars = _sidecars(pod)
    total = len(fields.items(pod, "spec", "containers")) + len(sidecars)
    status = fields.text(pod, "status", "reason") or fields.text(pod, "status", "phase")
    unplaced = fields.text(_condition(pod, names.PodConditionType.POD_SCHEDULED), "reason")
    if unplaced == names.PodReason.SCHEDULING_GATED:
        status = unplaced
    initialising = _initialising(pod, sidecars, tally)
    if not initialising or _is_true(pod, names.PodConditionType.INITIALIZED):
        status = _running(pod, initialising or status, tally)
    else:
        status = initialising
    return Summary(
        ready=f"{tally.ready}/{total}",
        status=_ending(pod, status),
        restarts=_restarts(tally, now),
        age=times.age(fields.text(pod, "metadata", "creationTimestamp"), now),
    )


def _initialising(pod: Object, sidecars: frozenset[str], tally: _Tally) -> str:
    """The status while init containers run, empty when all are done."""
    count = len(fields.items(pod, "spec", "initContainers"))
    for index, container in enumerate(fields.items(pod, "status", "initContainerStatuses")):
        is_sidecar = fields.text(container, "name") in sidecars
        tally.ended(container)
        if is_sidecar:
            tally.sidecar_ended(container)
        terminated = fields.value(container, "state", "terminated")
        if terminated is not None and not fields.number(terminated, "exitCode"):
            continue
        if is_sidecar and fields.is_true(container, "started"):
            tally.ready += fields.is_true(container, "ready")
            continue
        if terminated is not None:
            return f"Init:{fields.text(terminated, 'reason') or _exit(terminated)}"
        waiting = fields.text(container, "state", "waiting", "reason")
        is_named = waiting not in {"", names.PodStatusReason.POD_INITIALIZING}
        return f"Init:{waiting if is_named else f'{index}/{count}'}"
    return ""


def _running(pod: Object, status: str, tally: _Tally) -> str:
    """The status that the containers give."""
    tally.restarts, tally.last_end = tally.sidecar_restarts, tally.sidecar_end
    is_running = False
    for container in reversed(fields.items(pod, "status", "containerStatuses")):
        tally.ended(container)
        waiting = fields.text(container, "state", "waiting", "reason")
        terminated = fields.value(container, "state", "terminated")
        if waiting:
            status = waiting
        elif terminated is not None:
            status = fields.text(terminated, "reason") or _exit(terminated)
        elif fields.is_true(container, "ready") and fields.value(container, "state", "running") is not None:
            is_running = True
            tally.ready += 1
    if status == names.PodStatusReason.COMPLETED and is_running:
        return "Running" if _is_true(pod, names.PodConditionType.READY) else "NotReady"
    return status


def _ending(pod: Object, status: str) -> str:
    if not fields.text(pod, "metadata", "deletionTimestamp"):
        return status
    if fields.text(pod, "status", "reason") == names.PodStatusReason.NODE_LOST:
        return "Unknown"
    return status if fields.text(pod, "status", "phase") in _SETTLED else "Terminating"


def _restarts(tally: _Tally, now: int) -> str:
    if tally.restarts and tally.last_end:
        return f"{tally.restarts} ({times.age(tally.last_end, now)} ago)"
    return str(tally.restarts)


def _exit(terminated: Object) -> str:
    signal = fields.number(terminated, "signal")
    return f"Signal:{signal}" if signal else f"ExitCode:{fields.number(terminated, 'exitCode')}"


def _sidecars(pod: Object) -> frozenset[str]:
    """Names of the init containers that go on running."""
    return frozenset(
        fields.text(container, "name")
        for container in fields.items(pod, "spec", "initContainers")
        if fields.text(container, "restartPolicy") == "Always"
    )


def _condition(pod: Object, kind: str) -> Object:
    found = (item for item in fields.items(pod, "status", "conditions") if fields.text(item, "type") == kind)
    return next(found, {})


def _is_true(pod: Object, kind: str) -> bool:
    return fields.text(_condition(pod, kind), "status") == "True"


def _last_end(container: Object) -> str:
    return fields.text(container, "lastState", "terminated", "finishedAt")


def _later(one: str, other: str) -> str:
    return other if other and times.order(other) > times.order(one) else one
