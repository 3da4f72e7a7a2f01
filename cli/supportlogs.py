"""The logs of an installation's own pods, in bounds: for the archive of `vcctl support dump`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import groupby

from cli import fields
from cli.context import Context
from cli.errors import CommandError
from cli.kinds import PODS, Object
from cli.redacting import redacted_text
from cli.requesting import list_objects
from runtime.errors import ApiError, ConnectionFailed, DecodeError

Part = tuple[str, Callable[[], str]]
"""A file's name in the archive, and how to get its text."""

LABEL = "app"
_PREFIX = "volcano-"
MOST_PODS = 5
"""Of each component: an agent runs on every node, and what ails one of them mostly ails all."""
_LINES, _BYTES = 5_000, 4 * 1024 * 1024
"""Of each container, the newest."""


def parts(context: Context, namespace: str) -> Iterator[Part]:
    """
    One file for each container, and one for its previous run if there was one.

    What there is no log of is a part as well, whose text can't be had.
    """
    try:
        pods, _ = list_objects(context, PODS, namespace, labels=LABEL)
    except (ApiError, ConnectionFailed, DecodeError) as error:
        yield "logs", _missing(str(error))
        return
    ours = sorted((pod for pod in pods if fields.name(pod) and _component(pod).startswith(_PREFIX)), key=_component)
    if not ours:
        yield "logs", _missing(f"no pods with a label {LABEL}={_PREFIX}... in namespace {namespace}")
    for component, several in groupby(ours, key=_component):
        chosen = sorted(several, key=lambda pod: (-_restarts(pod), fields.name(pod)))
        for pod in chosen[:MOST_PODS]:
            yield from _of_pod(context, namespace, pod)
        if len(chosen) > MOST_PODS:
            yield f"logs of {component}", _missing(f"{len(chosen) - MOST_PODS} more pods")


def _of_pod(context: Context, namespace: str, pod: Object) -> Iterator[Part]:
    again = {fields.text(status, "name") for status in _statuses(pod) if fields.number(status, "restartCount")}
    for words in ("initContainers", "containers"):
        for container in fields.items(pod, "spec", words):
            name = fields.text(container, "name")
            place = f"logs/{fields.name(pod)}/{name}"
            yield f"{place}.log", _reader(context, namespace, pod, name)
            if name in again:
                yield f"{place}.previous.log", _reader(context, namespace, pod, name, previous="true")


def _reader(context: Context, namespace: str, pod: Object, container: str, **more: str) -> Callable[[], str]:
    query = {"container": container, "limitBytes": str(_BYTES), "tailLines": str(_LINES), "timestamps": "true", **more}
    path = PODS.path(namespace, fields.name(pod), "log")
    return lambda: redacted_text(context.client.raw(path, query).decode("utf-8", "replace"))


def _missing(reason: str) -> Callable[[], str]:
    def read() -> str:
        raise CommandError(reason)

    return read


def _component(pod: Object) -> str:
    return fields.text(fields.labels_of(pod), LABEL)


def _statuses(pod: Object) -> list[Object]:
    return [*fields.items(pod, "status", "initContainerStatuses"), *fields.items(pod, "status", "containerStatuses")]


def _restarts(pod: Object) -> int:
    return sum(fields.number(status, "restartCount") for status in _statuses(pod))
