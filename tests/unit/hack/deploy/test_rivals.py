from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from hack.deploy import rivals
from hack.deploy.findings import Check

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def deployment(name: str = "volcano-scheduler", **changes: Any) -> dict[str, Any]:
    settings: dict[str, Any] = {"replicas": 2, "app": "volcano-scheduler", "args": (), "manager": "helm"} | changes
    return {
        "apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {"name": name, "namespace": "batch", "managedFields": [{"manager": settings["manager"]}]},
        "spec": {
            "replicas": settings["replicas"],
            "template": {
                "metadata": {"labels": {"app": settings["app"]}},
                "spec": {"containers": [{"args": list(settings["args"])}]},
            },
        },
    }  # fmt: skip


def lease(age: float, name: str = "volcano", holder: str = "host_1") -> dict[str, Any]:
    renewed = (NOW - timedelta(seconds=age)).isoformat().replace("+00:00", "Z")
    return {
        "metadata": {"name": name, "namespace": "batch"},
        "spec": {"holderIdentity": holder, "leaseDurationSeconds": 15, "renewTime": renewed},
    }


@pytest.mark.parametrize(
    ("found", "leases", "is_rival"),
    [
        (deployment(), [], True),
        (deployment("mine"), [], True),
        (deployment(app="other"), [], True),
        (deployment("mine", app="other"), [], False),
        (deployment(replicas=0), [], False),
        (deployment(manager="stromboli-deploy"), [], False),
        (deployment(), [lease(3)], False),
        (deployment(), [lease(16)], True),
        (deployment(), [lease(3, holder="")], True),
        (deployment(), [lease(3, name="other")], True),
        (deployment(args=["--scheduler-name=other"]), [], False),
        (deployment(args=["--scheduler-name=other", "--scheduler-name=volcano"]), [], True),
    ],
)
def test_a_scheduler_with_replicas_and_no_lease_is_a_rival(
    found: dict[str, Any], leases: list[dict[str, Any]], is_rival: bool
) -> None:
    findings = list(rivals.find([found], leases, NOW))
    assert [finding.check for finding in findings] == [Check.RIVAL] * is_rival


def test_the_finding_says_what_to_do() -> None:
    [finding] = rivals.find([deployment()], [], NOW)
    assert finding.message == (
        "Deployment batch/volcano-scheduler runs 2 replicas and holds no lease, so it would schedule beside ours: "
        "kubectl --namespace=batch scale deployment volcano-scheduler --replicas=0"
    )
