"""
What may change in a job that exists, as far as expressions can say (webhooks.md 4.10).

Two specs are compared by what controllers understand, as `webhooks.jobs.defaults.understood` does it: `kubectl apply`
sends the list of tasks as its author wrote it, without what admission filled in.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import msgspec

from api import names
from generated.batch.v1alpha1 import JobSpec, TaskSpec
from webhooks.jobs import updates
from webhooks.policies.policy import NOTHING, Rule, every, given, literal, on

_ZEROS: Final[dict[type, str]] = {str: NOTHING, tuple: "[]", int: "0", type(None): "null"}
"""What CEL calls the empty value of a type."""
_FREE: Final = frozenset(("minAvailable", "priorityClassName", "replicas", "tasks", "volumes"))
_UNDERSTOOD: Final = frozenset(("maxRetry", "name", "queue", "template"))
"""Fields in which nothing stands for something."""
_DNS: Final = literal("dnsPolicy")
_TASK_NAME: Final = literal(names.default_task_name(0)[:-1])
"""The name of a nameless task, without its place in the job."""


def _unchanged(model: type[msgspec.Struct], new: str, old: str) -> Iterator[str]:
    """That each field that isn't free says the same in both; absent, null and empty are one."""
    for one in msgspec.structs.fields(model):
        if one.encode_name not in _FREE | _UNDERSTOOD:
            empty = _ZEROS.get(type(one.default), "{}")
            yield _same(f"{new}.{one.encode_name}", f"{old}.{one.encode_name}", empty)


def _same(new: str, old: str, empty: str) -> str:
    return f"{given(new, empty)} == {given(old, empty)}"


def _alike(meaning: str) -> str:
    """That `@`, a task, means the same in both."""
    return f"{meaning.replace('@', 't')} == {meaning.replace('@', 'o')}"


def _or(path: str, empty: str, meaning: str) -> str:
    """The value, or what an empty one means."""
    found = given(path, empty)
    return f"({found} == {empty} ? dyn({meaning}) : {found})"


def _covers(one: str, other: str) -> str:
    """That one map holds what the other one does, whose name servers the pods ask left aside."""
    return f"{one}.all(k, v, k == {_DNS} || (k in {other} && {other}[k] == v))"


_MAX_RETRY: Final = str(names.DEFAULT_MAX_RETRY)
_NEW_RETRY, _OLD_RETRY = (given(f"{job}.spec.maxRetry", "-1") for job in ("object", "oldObject"))
_SAME_RETRY: Final = (
    f"{_NEW_RETRY} == {_OLD_RETRY} || ({_NEW_RETRY} == -1 && {_OLD_RETRY} in [0, {_MAX_RETRY}])"
    f" || ({_OLD_RETRY} == -1 && {_NEW_RETRY} in [0, {_MAX_RETRY}])"
)
_QUEUES: Final = (_or(f"{job}.spec.queue", NOTHING, literal(names.DEFAULT_QUEUE)) for job in ("object", "oldObject"))
_NAME_SERVERS: Final = (
    f"({given('@.template.spec.hostNetwork', 'false')}"
    f" ? {_or('@.template.spec.dnsPolicy', NOTHING, literal(names.DNS_WITH_HOST_NETWORK))}"
    f" : {given('@.template.spec.dnsPolicy', NOTHING)})"
)
_NEW_POD, _OLD_POD = (given(f"{task}.template.spec", "{}") for task in "to")
_SAME_TEMPLATE: Final = f"{_same('t.template', 'o.template', '{}')} || " + every(
    (
        _alike(_NAME_SERVERS),
        _same("t.template.metadata", "o.template.metadata", "{}"),
        _covers(_NEW_POD, _OLD_POD),
        _covers(_OLD_POD, _NEW_POD),
    )
)
_SAME_TASK: Final = every(
    (
        *_unchanged(TaskSpec, "t", "o"),
        _alike(_or("@.name", NOTHING, f"{_TASK_NAME} + string(i)")),
        _alike(_or("@.maxRetry", "0", _MAX_RETRY)),
        _SAME_TEMPLATE,
    )
)
_SAME_VOLUME: Final = (
    "v.mountPath == o.mountPath"
    f" && {_same('v.volumeClaim', 'o.volumeClaim', 'null')}"
    f" && ({given('v.volumeClaim', 'null')} != null || {_same('v.volumeClaimName', 'o.volumeClaimName', NOTHING)})"
)
_OLD_VOLUMES: Final = given("oldObject.spec.volumes", "[]")
RULES: Final = (
    Rule(on("UPDATE", "size(variables.tasks) == size(variables.oldTasks)"), updates.TASKS_ARE_FIXED),
    Rule(
        on(
            "UPDATE",
            every(
                (
                    *_unchanged(JobSpec, "object.spec", "oldObject.spec"),
                    " == ".join(_QUEUES),
                    _SAME_RETRY,
                    f"variables.tasks.all(i, t, i >= size(variables.oldTasks) || [variables.oldTasks[i]].all(o, {_SAME_TASK}))",
                    f"size(variables.volumes) == size({_OLD_VOLUMES})",
                    f"variables.volumes.all(i, v, [{_OLD_VOLUMES}[i]].all(o, {_SAME_VOLUME}))",
                )
            ),
        ),
        updates.FIXED,
    ),
)
