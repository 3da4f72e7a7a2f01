"""The defaults of jobs, queues and PodGroups (webhooks.md 4.2, 6.1, 7.1)."""

from __future__ import annotations

from typing import Any, Final

from api import names
from api.names import JobPlugin
from generated.batch.v1alpha1 import JOBS as JOB_KIND
from generated.scheduling.v1beta1 import POD_GROUPS as GROUP_KIND
from generated.scheduling.v1beta1 import QUEUES as QUEUE_KIND
from runtime.patches import pointer
from webhooks.jobs.defaults import NEED_SERVICE
from webhooks.options import Options
from webhooks.policies.policy import NOTHING, Mutation, given, literal
from webhooks.queues.defaults import DEFAULT_WEIGHT


def _when(condition: str, *additions: tuple[str, str]) -> str:
    """Values, in CEL, to put at paths if the condition holds."""
    patches = ", ".join(f"JSONPatch{{op: 'add', path: {literal(path)}, value: {value}}}" for path, value in additions)
    return f"{condition} ? [{patches}] : []"


_SPEC: Final = _when("!has(object.spec) || dyn(object.spec) == null", ("/spec", "Object.spec{}"))
"""What the other additions need."""


def _unless_given(path: str, empty: Any, value: str) -> str:
    where = "/" + path.replace(".", "/")
    return _when(f"{given(f'object.{path}', literal(empty))} == {literal(empty)}", (where, value))


def _tasks(condition: str, field: str, value: str) -> str:
    """A field of each task `t` with index `i` for which the condition holds."""
    patch = f"JSONPatch{{op: 'add', path: '/spec/tasks/' + string(i) + '/{field}', value: {value}}}"
    return f"variables.tasks.transformList(i, t, {condition}, {patch})"


_REPLICAS: Final = given("t.replicas", "0")
_PARTITIONS: Final = given("t.partitionPolicy.minPartitions", "0")
_SIZE: Final = given("t.partitionPolicy.partitionSize", "0")
_LEAST: Final = f"int({_PARTITIONS} > 0 && {_SIZE} > 0 ? {_PARTITIONS} * {_SIZE} : {_REPLICAS})"
_HOST_NETWORK: Final = (
    f"{given('t.template.spec.hostNetwork', 'false')} && {given('t.template.spec.dnsPolicy', NOTHING)} == ''"
)


def _plugin(name: str, *needed_by: str) -> str:
    needs = " || ".join(f"{literal(each)} in variables.plugins" for each in needed_by)
    return _when(f"!({literal(name)} in variables.plugins) && ({needs})", (f"/spec/plugins/{name}", "dyn([])"))


JOBS: Final = Mutation(
    "volcano-job-mutation-policy",
    JOB_KIND,
    (
        _SPEC,
        _unless_given("spec.queue", "", literal(names.DEFAULT_QUEUE)),
        _unless_given("spec.schedulerName", "", literal(Options().scheduler_names[0])),
        _unless_given("spec.maxRetry", 0, str(names.DEFAULT_MAX_RETRY)),
        _tasks(f"{given('t.name', NOTHING)} == ''", "name", "'default' + string(i)"),
        _tasks(_HOST_NETWORK, "template/spec/dnsPolicy", literal(names.DNS_WITH_HOST_NETWORK)),
        _tasks(f"{given('t.minAvailable', 'null')} == null", "minAvailable", _LEAST),
        _tasks(f"{given('t.maxRetry', '0')} == 0", "maxRetry", str(names.DEFAULT_MAX_RETRY)),
        _unless_given("spec.minAvailable", 0, f"variables.tasks.map(t, int({given('t.minAvailable', _LEAST)})).sum()"),
        _plugin(JobPlugin.SVC, *NEED_SERVICE),
        _plugin(JobPlugin.SSH, JobPlugin.MPI),
    ),
    {"tasks": given("object.spec.tasks", "[]"), "plugins": given("object.spec.plugins", "{}")},
)


def _annotation(name: str) -> str:
    key = literal(name)
    return (
        f"has(object.metadata.annotations) && {key} in object.metadata.annotations"
        f" ? object.metadata.annotations[{key}] : ''"
    )


QUEUES: Final = Mutation(
    "volcano-queue-mutation-policy",
    QUEUE_KIND,
    (
        _SPEC,
        _when(
            "variables.path != '' && variables.weights != ''"
            f" && variables.path.split('/')[0] != {literal(names.ROOT_QUEUE)}",
            (
                pointer("metadata", "annotations", names.HIERARCHY_ANNOTATION),
                f"'{names.ROOT_QUEUE}/' + variables.path",
            ),
            (pointer("metadata", "annotations", names.HIERARCHY_WEIGHTS_ANNOTATION), "'1/' + variables.weights"),
        ),
        _when(f"{given('object.spec.reclaimable', 'null')} == null", ("/spec/reclaimable", "true")),
        _unless_given("spec.weight", 0, str(DEFAULT_WEIGHT)),
    ),
    {"path": _annotation(names.HIERARCHY_ANNOTATION), "weights": _annotation(names.HIERARCHY_WEIGHTS_ANNOTATION)},
)
_QUEUE_KEY: Final = literal(names.GROUP_QUEUE_NAME_ANNOTATION)
POD_GROUPS: Final = Mutation(
    "volcano-podgroup-mutation-policy",
    GROUP_KIND,
    (
        _when(
            f"{given('object.spec.queue', NOTHING)} == {literal(names.DEFAULT_QUEUE)} && variables.queue != ''",
            ("/spec/queue", "variables.queue"),
        ),
    ),
    {
        "queue": f"has(namespaceObject.metadata.annotations) && {_QUEUE_KEY} in namespaceObject.metadata.annotations"
        f" ? namespaceObject.metadata.annotations[{_QUEUE_KEY}] : ''"
    },
)
