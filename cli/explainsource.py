"""
The scheduler's own explanation of a PodGroup, fetched through the API server.

The service in front of the scheduler is asked first. It may lead to a replica that only stands by, or not exist; then
the scheduler's pods are asked one by one.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import msgspec

from cli import fields
from cli.context import Context
from cli.kinds import PODS
from cli.requesting import list_objects
from runtime.errors import ApiError, ConnectionFailed

APP_LABELS = "app=volcano-scheduler"


class Answer(NamedTuple):
    """What the scheduler says, or why it says nothing."""

    content: Any = None
    problem: str = ""


def ask(context: Context, namespace: str, group: str) -> Answer:
    """The explanation of one PodGroup, as the scheduler gives it. Never raises for a scheduler that can't be asked."""
    problem = ""
    for place in _places(context):
        try:
            body = context.client.raw(f"{place}/proxy/explain/{namespace}/{group}")
            return Answer(msgspec.json.decode(body))
        except (ApiError, ConnectionFailed) as error:
            problem = problem or str(error)
        except msgspec.DecodeError:
            problem = problem or f"{place}: the answer is no JSON"
    return Answer(problem=problem or "no scheduler found")


def _places(context: Context) -> Iterator[str]:
    """Paths of what may answer, in the order in which to try."""
    flags = context.flags
    where, port = flags.text("scheduler-namespace"), flags.number("scheduler-port")
    yield f"/api/v1/namespaces/{where}/services/{flags.text('scheduler-service')}:{port}"
    try:
        pods, _ = list_objects(context, PODS, where, labels=APP_LABELS)
    except (ApiError, ConnectionFailed):
        return
    for pod in pods:
        if fields.text(pod, "status", "phase") == "Running":
            yield f"/api/v1/namespaces/{where}/pods/{fields.name(pod)}:{port}"
