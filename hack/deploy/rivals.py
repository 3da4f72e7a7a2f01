"""
Schedulers that would place the same pods as ours, beside it.

Two schedulers that share a Lease take turns. One without a Lease doesn't know of ours, and both would give away the
same room.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta

from api import names
from hack.deploy import order
from hack.deploy.findings import Check, Finding
from hack.deploy.kubectl import Object

_APP = "volcano-scheduler"
_FLAG = "--scheduler-name="


def find(deployments: Iterable[Object], leases: Iterable[Object], now: datetime) -> Iterator[Finding]:
    """Findings about foreign Deployments of schedulers that run without a Lease."""
    held = {found["metadata"]["namespace"] for found in leases if _is_held(found, now)}
    for found in deployments:
        if not _is_scheduler(found) or _is_ours(found) or not _is_for_our_pods(found):
            continue
        replicas, namespace = found["spec"].get("replicas", 1), found["metadata"]["namespace"]
        if replicas and namespace not in held:
            yield Finding(
                Check.RIVAL,
                f"{order.label(found)} runs {replicas} replicas and holds no lease, so it would schedule beside ours: "
                f"kubectl --namespace={namespace} scale deployment {found['metadata']['name']} --replicas=0",
            )


def _is_scheduler(found: Object) -> bool:
    labels = found["spec"]["template"]["metadata"].get("labels", {})
    return bool(found["metadata"]["name"] == _APP or labels.get("app") == _APP)


def _is_ours(found: Object) -> bool:
    managers = {entry["manager"] for entry in found["metadata"].get("managedFields", ())}
    return names.DEPLOY_FIELD_MANAGER in managers


def _is_for_our_pods(found: Object) -> bool:
    words = [
        word
        for container in found["spec"]["template"]["spec"]["containers"]
        for word in (*container.get("command", ()), *container.get("args", ()))
    ]
    schedules = [word.removeprefix(_FLAG) for word in words if word.startswith(_FLAG)]
    return not schedules or names.DEFAULT_SCHEDULER_NAME in schedules


def _is_held(lease: Object, now: datetime) -> bool:
    spec = lease.get("spec", {})
    if lease["metadata"]["name"] != names.DEFAULT_SCHEDULER_NAME or not spec.get("holderIdentity"):
        return False
    renewed = datetime.fromisoformat(spec["renewTime"]).astimezone(UTC)
    return now - renewed < timedelta(seconds=spec["leaseDurationSeconds"])
