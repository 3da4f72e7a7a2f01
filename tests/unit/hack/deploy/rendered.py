"""Overlays as they are rendered, each once a test run, and shortcuts into them."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import Any

from hack.deploy import rendering
from hack.deploy.kubectl import Object

COMBINATIONS = [  # production has the other features already
    *((environment, "") for environment in rendering.environments()),
    *(("dev", feature) for feature in rendering.features() if feature != "network-policy"),
    ("production", "policies"),
]


@cache
def rendered(environment: str, feature: str = "") -> tuple[Object, ...]:
    """The objects of an overlay with one more feature. Not to be changed: tests share them."""
    return tuple(rendering.render(environment, [feature] if feature else []))


def of_kind(found: Iterable[Object], *kinds: str) -> list[Object]:
    return [one for one in found if one["kind"] in kinds]


def deployments(found: Iterable[Object]) -> dict[str, Any]:
    """The pod specs of all Deployments, by name."""
    return {one["metadata"]["name"]: one["spec"]["template"]["spec"] for one in of_kind(found, "Deployment")}
