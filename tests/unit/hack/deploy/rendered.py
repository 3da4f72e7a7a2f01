"""Overlays as they are rendered, each once a test run, and shortcuts into them."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import Any

from api import names
from hack.deploy import rendering
from hack.deploy.kubectl import Object

COMBINATIONS = [  # production has the other features already
    *((environment, "") for environment in rendering.environments()),
    *(("dev", feature) for feature in rendering.features() if feature != "network-policy"),
    *(("production", feature) for feature in ("policies", "hypernode", "agent-scheduler")),
]
LEASES = {
    "volcano-scheduler": names.DEFAULT_SCHEDULER_NAME, "volcano-controllers": names.Lease.CONTROLLERS,
    "volcano-hypernode-controller": "volcano-hypernode-controller-manager",
    "volcano-agent-scheduler": names.AGENT_SCHEDULER_NAME,
}  # fmt: skip
"""Those of the chart by Deployment, so that ours and Volcano's take turns."""


@cache
def rendered(environment: str, feature: str = "") -> tuple[Object, ...]:
    """The objects of an overlay with one more feature, or several by commas. Not to be changed: tests share them."""
    return tuple(rendering.render(environment, feature.split(",") if feature else []))


def of_kind(found: Iterable[Object], *kinds: str) -> list[Object]:
    return [one for one in found if one["kind"] in kinds]


def deployments(found: Iterable[Object]) -> dict[str, Any]:
    """The pod specs of all Deployments, by name."""
    return {one["metadata"]["name"]: one["spec"]["template"]["spec"] for one in of_kind(found, "Deployment")}
