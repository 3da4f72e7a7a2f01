"""Jobs as plain JSON."""

from __future__ import annotations

from typing import Any

Json = dict[str, Any]


def container(**fields: Any) -> Json:
    return {"name": "c", "image": "busybox", **fields}


def task(name: str = "t", **fields: Any) -> Json:
    return {"name": name, "replicas": 1, "template": {"spec": {"containers": [container()]}}, **fields}


def job(*tasks: Json, name: str = "j", **spec: Any) -> Json:
    filled = {"minAvailable": 1, "queue": "default", "tasks": list(tasks or [task()]), **spec}
    return {
        "apiVersion": "batch.volcano.sh/v1alpha1",
        "kind": "Job",
        "metadata": {"name": name, "namespace": "n"},
        "spec": filled,
    }


def pod(**spec: Any) -> Json:
    """A template with these in its spec."""
    return {"spec": {"containers": [container()], **spec}}


def policies(*given: Json) -> list[Json]:
    return list(given)
