"""Changes of a pod document that several plugins make. A pod is changed in place: it belongs to its builder."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any


def containers(pod: Mapping[str, Any], *, init: bool) -> list[dict[str, Any]]:
    """The containers of a pod; with `init` its init containers after them."""
    spec = pod["spec"]
    found: list[dict[str, Any]] = list(spec.get("containers") or ())
    return found + list(spec.get("initContainers") or ()) if init else found


def append(owner: dict[str, Any], key: str, items: Iterable[Mapping[str, Any]]) -> None:
    """Add to a list that may be absent or null."""
    owner[key] = [*(owner.get(key) or ()), *items]


def add_environment(pod: Mapping[str, Any], variables: Iterable[Mapping[str, Any]], *, init: bool) -> None:
    """Append variables, `{name, value}` or `{name, valueFrom}`, to every container."""
    given = [dict(variable) for variable in variables]
    for container in containers(pod, init=init):
        append(container, "env", given)


def variable(name: str, value: str) -> dict[str, str]:
    return {"name": name, "value": value}


def add_port(container: dict[str, Any], name: str, number: int) -> None:
    """Declare a port unless that number is declared already."""
    if all(port.get("containerPort") != number for port in container.get("ports") or ()):
        append(container, "ports", [{"name": name, "containerPort": number}])


def add_volume(pod: Mapping[str, Any], volume: Mapping[str, Any], mount: Mapping[str, Any]) -> None:
    """A volume that all containers and init containers mount."""
    append(pod["spec"], "volumes", [volume])
    for container in containers(pod, init=True):
        append(container, "volumeMounts", [dict(mount)])
