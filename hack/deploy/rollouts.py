"""How far a workload has come, and what holds it up, in words for who waits for it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from hack.deploy.kubectl import Object

_COUNTS = {
    "Deployment": ("updatedReplicas", "availableReplicas", "replicas"),
    "StatefulSet": ("updatedReplicas", "availableReplicas", "replicas"),
    "DaemonSet": ("updatedNumberScheduled", "numberAvailable", "currentNumberScheduled"),
}
"""By kind: the fields of the status that count pods as wanted now, those that are available, and all."""
_LIMIT = 300
"""Characters of somebody else's words."""


def unfinished(workload: Object) -> str:
    """Why the rollout of a workload isn't done; empty when it is."""
    status = workload.get("status", {})
    if status.get("observedGeneration", 0) < workload["metadata"].get("generation", 0):
        return "no controller has looked at it yet: is there a kube-controller-manager?"
    wanted = _wanted(workload)
    new, available, all_of_them = (status.get(field, 0) for field in _COUNTS[workload["kind"]])
    if new < wanted:
        return f"{new} of {wanted} pods made"
    if available < wanted:
        return f"{available} of {wanted} pods ready"
    return f"{all_of_them - new} old pods still to go" if all_of_them > new else ""


def obstacles(workload: Object, pods: Iterable[Object]) -> list[str]:
    """What holds it up, each thing once: pods that can't be made, placed or started, or aren't ready."""
    refusals = [
        f"pods can't be made: {condition.get('message', '')}"
        for condition in workload.get("status", {}).get("conditions", ())
        if condition["type"] == "ReplicaFailure" and condition["status"] == "True"
    ]
    found: dict[str, list[str]] = {}
    has_new = workload.get("status", {}).get(_COUNTS[workload["kind"]][0], 0) > 0
    for pod in _newest(_pods_of(workload, pods)) if has_new else ():
        if text := _obstacle(pod):
            found.setdefault(_short(text), []).append(pod["metadata"]["name"])
    return [*map(_short, refusals), *(f"{text} ({_named(names)})" for text, names in found.items())]


def _pods_of(workload: Object, pods: Iterable[Object]) -> list[Object]:
    labels = workload["spec"]["selector"]["matchLabels"].items()
    namespace = workload["metadata"]["namespace"]
    return [
        pod
        for pod in pods
        if pod["metadata"]["namespace"] == namespace and labels <= pod["metadata"].get("labels", {}).items()
    ]


def _newest(pods: Sequence[Object]) -> list[Object]:
    """
    The pods of the newest template, where their controller notes on each pod which one it is made of.

    Whatever is wrong with older ones, they hold nothing up: they go when the new ones are ready.
    """
    revisions: dict[str, str] = {}
    for pod in pods:
        mark, born = _revision(pod), pod["metadata"].get("creationTimestamp", "")
        revisions[mark] = max(born, revisions.get(mark, ""))
    newest = max(revisions, key=lambda mark: revisions[mark], default="")
    return [pod for pod in pods if _revision(pod) == newest]


def _revision(pod: Object) -> str:
    labels = pod["metadata"].get("labels", {})
    return str(labels.get("pod-template-hash") or labels.get("controller-revision-hash") or "")


def _named(pods: Sequence[str]) -> str:
    return f"{'pod' if len(pods) == 1 else 'pods'} {', '.join(pods)}"


def _wanted(workload: Object) -> int:
    if workload["kind"] == "DaemonSet":
        return int(workload.get("status", {}).get("desiredNumberScheduled", 0))
    return int(workload["spec"].get("replicas", 1))


def _obstacle(pod: Object) -> str:
    """What is wrong with a pod; empty when it is ready or on its way out."""
    status, conditions = pod.get("status", {}), _conditions(pod)
    if "deletionTimestamp" in pod["metadata"] or conditions.get("Ready", {}).get("status") == "True":
        return ""
    placed = conditions.get("PodScheduled", {})
    if placed.get("status") == "False":
        return f"no node: {placed.get('message', '')}"
    if not pod["spec"].get("nodeName"):
        return "no node: no scheduler has looked at it yet"
    for container in (*status.get("initContainerStatuses", ()), *status.get("containerStatuses", ())):
        if text := _trouble(container):
            return text
    return f"{status.get('phase', 'Pending')}, not ready yet"


def _trouble(container: Object) -> str:
    """Why a container doesn't run, and how it ended the last time."""
    waiting = container.get("state", {}).get("waiting")
    ended = container.get("state", {}).get("terminated") or container.get("lastState", {}).get("terminated")
    if waiting and waiting.get("reason") not in {None, "ContainerCreating", "PodInitializing"}:
        words = [waiting["reason"], waiting.get("message"), f"last exit code {ended['exitCode']}" if ended else ""]
        return f"waiting: {', '.join(filter(None, words))}"
    if ended and not waiting and not container.get("ready"):
        return f"started {container.get('restartCount', 0)} times again, last exit code {ended['exitCode']}"
    return ""


def _conditions(pod: Object) -> dict[str, Object]:
    return {condition["type"]: condition for condition in pod.get("status", {}).get("conditions", ())}


def _short(text: str) -> str:
    line = " ".join(text.split()).removesuffix(": ")
    return line if len(line) <= _LIMIT else f"{line[: _LIMIT - 3]}..."
