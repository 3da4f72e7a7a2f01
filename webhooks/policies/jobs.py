"""Jobs, as far as expressions can judge them (webhooks.md 4)."""

from __future__ import annotations

from typing import Final

from api import names
from api.jobs import USER_ACTIONS, USER_EVENTS
from api.names import JOB_PLUGINS, JobPlugin
from generated.batch.v1alpha1 import JOBS
from generated.bus.v1alpha1 import Event
from webhooks import wellformed
from webhooks.jobs import spec, topology
from webhooks.jobs.policies import CHOICES
from webhooks.policies import updates
from webhooks.policies.policy import CHANGED, NOTHING, Policy, Rule, given, literal, on

_SUBDOMAIN: Final = r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$"
_LABEL_1035: Final = "^[a-z]([-a-z0-9]*[a-z0-9])?$"
_REPLICAS: Final = given("t.replicas", "0")
_LEAST: Final = given("t.minAvailable", "0")
_POD: Final = (
    f"object.metadata.name + '-' + {given('t.name', NOTHING)} + '-' + string({_REPLICAS} > 0 ? {_REPLICAS} - 1 : 0)"
)
_OLD_NAME, _OLD_REPLICAS = given("o.name", NOTHING), given("o.replicas", "0")
_GROWN_POD: Final = f"object.metadata.name + '-' + {_OLD_NAME} + '-' + string({_REPLICAS} - 1)"
_OLD_POD: Final = (
    f"object.metadata.name + '-' + {_OLD_NAME} + '-' + string({_OLD_REPLICAS} > 0 ? {_OLD_REPLICAS} - 1 : 0)"
)
_LONGEST_RAY: Final = wellformed.LABEL_LENGTH - len(names.ray_head_service_name(""))
_EVENTS: Final = f"({given('p.events', '[]')} + (has(p.event) && p.event != '' ? [p.event] : []))"
_OTHER_EVENTS: Final = _EVENTS.replace("p.", "q.")
_HAS_CODE: Final = "(has(p.exitCode) && dyn(p.exitCode) != null)"
_ACTION: Final = given("p.action", NOTHING)

_VARIABLES: Final = {
    "tasks": given("object.spec.tasks", "[]"),
    "plugins": given("object.spec.plugins", "{}"),
    "volumes": given("object.spec.volumes", "[]"),
    "replicas": f"variables.tasks.map(t, int({_REPLICAS})).sum()",
    "policies": f"[{given('object.spec.policies', '[]')}] + variables.tasks.map(t, {given('t.policies', '[]')})",
    "oldTasks": f"request.operation == 'UPDATE' ? {given('oldObject.spec.tasks', '[]')} : []",
}


def _told(problem: str, text: str) -> str:
    """A message about the first task `t` that has the problem."""
    return f"variables.tasks.filter(t, {problem}).map(t, {text})[0]"


def _task_rule(operation: str, problem: str, message: str, text: str = "") -> Rule:
    holds = on(operation, f"!variables.tasks.exists(t, {problem})")
    return Rule(holds, message, _told(problem, text) if text else "")


def _in_task(text: str) -> str:
    return f"{literal(text + ' in task: ')} + {given('t.name', NOTHING)} + ', job: ' + object.metadata.name"


def _policy_rule(problem: str, message: str) -> Rule:
    """About each policy `p` in each list `l`."""
    return Rule(on("CREATE", f"!variables.policies.exists(l, l.exists(p, {problem}))"), message + ";" + CHOICES)


_LIFECYCLE: Final = (
    _policy_rule(f"size({_EVENTS}) > 0 && {_HAS_CODE}", "must not specify event and exitCode simultaneously"),
    _policy_rule(f"size({_EVENTS}) == 0 && !{_HAS_CODE}", "either event and exitCode should be specified"),
    _policy_rule(f"{_EVENTS}.exists(e, !(e in {literal(USER_EVENTS)}))", "invalid policy event"),
    _policy_rule(
        f"(size({_EVENTS}) > 0 || {_ACTION} != '') && !({_ACTION} in {literal(USER_ACTIONS)})", "invalid policy action"
    ),
    _policy_rule(
        f"{_EVENTS}.exists(e, l.filter(q, e in {_OTHER_EVENTS}).size() > 1)", "duplicate event across different policy"
    ),
    _policy_rule(f"{_HAS_CODE} && p.exitCode == 0", "0 is not a valid error code"),
    _policy_rule(
        f"{_HAS_CODE} && l.filter(q, has(q.exitCode) && q.exitCode == p.exitCode).size() > 1", "duplicate exitCode"
    ),
    _policy_rule(
        f"{literal(Event.ANY)} in {_EVENTS} && l.exists(q, {_OTHER_EVENTS}.exists(e, e != {literal(Event.ANY)}))",
        "if there's * here, no other policy should be here",
    ),
)
_MASTERS: Final = f"{given('variables.plugins.mpi', '[]')}"
_MASTER: Final = (
    f"({_MASTERS}.exists(a, a.matches('^--?master='))"
    f" ? {_MASTERS}.filter(a, a.matches('^--?master=')).map(a, a.substring(a.indexOf('=') + 1))"
    " : ['master'])"
)
_CREATE: Final = (
    Rule(on("CREATE", "size(variables.tasks) > 0"), spec.NO_TASKS),
    Rule(
        on(
            "CREATE",
            f"!({literal(JobPlugin.MPI)} in variables.plugins)"
            f" || {_MASTERS}.exists(a, a in ['--master', '-master'])"
            f" || variables.tasks.exists(t, has(t.name) && t.name == {_MASTER}[size({_MASTER}) - 1])",
        ),
        spec.NO_MASTER,
    ),
    _task_rule(
        "CREATE",
        f"{_LEAST} > {_REPLICAS}",
        "'minAvailable' is greater than 'replicas' in task",
        _in_task("'minAvailable' is greater than 'replicas'") + " + ';'",
    ),
    _task_rule(
        "CREATE",
        "variables.tasks.filter(o, has(o.name) && has(t.name) && o.name == t.name).size() > 1",
        "duplicated task name",
        "'duplicated task name ' + t.name + ';'",
    ),
    _task_rule(
        "CREATE",
        f"size({_POD}) > {wellformed.LABEL_LENGTH} || !({_POD}).matches({literal('@')})".replace("@", _SUBDOMAIN),
        "create pod with name validate failed",
        f"'create pod with name ' + {_POD} + ' validate failed;'",
    ),
    Rule(
        on(
            "CREATE",
            f"size(object.metadata.name) <= {wellformed.LABEL_LENGTH} && (!({literal(JobPlugin.SVC)} in"
            f" variables.plugins) || object.metadata.name.matches({literal(_LABEL_1035)}))"
            f" && (!({literal(JobPlugin.RAY)} in variables.plugins) || size(object.metadata.name) <= {_LONGEST_RAY})"
            f" && (!({literal(JobPlugin.SSH)} in variables.plugins) || !object.metadata.name.contains('.'))",
        ),
        "create job with name validate failed",
        "'create job with name ' + object.metadata.name + ' validate failed'",
    ),
    Rule(
        on("CREATE", f"{given('object.spec.minAvailable', '0')} <= variables.replicas"),
        "job 'minAvailable' should not be greater than total replicas in tasks;",
    ),
    Rule(
        on("CREATE", f"variables.plugins.all(name, name in {literal(JOB_PLUGINS)})"),
        "unable to find job plugin",
        f"'unable to find job plugin: ' + variables.plugins.filter(name, !(name in {literal(JOB_PLUGINS)}))[0] + ';'",
    ),
)
_VOLUMES: Final = (
    Rule(on("CREATE", f"variables.volumes.all(v, {given('v.mountPath', NOTHING)} != '')"), "mountPath is required;"),
    Rule(
        on("CREATE", "variables.volumes.all(v, variables.volumes.filter(o, o.mountPath == v.mountPath).size() == 1)"),
        "duplicated mountPath found",
    ),
    Rule(
        on(
            "CREATE",
            "variables.volumes.all(v, (has(v.volumeClaim) && dyn(v.volumeClaim) != null) ||"
            f" {given('v.volumeClaimName', NOTHING)} != '')",
        ),
        "either VolumeClaim or VolumeClaimName must be specified;",
    ),
    Rule(
        on(
            "CREATE",
            "variables.volumes.all(v, !has(v.volumeClaim) || dyn(v.volumeClaim) == null ||"
            f" {given('v.volumeClaimName', NOTHING)} == '')",
        ),
        "conflict: If you want to use an existing PVC, just specify VolumeClaimName."
        "If you want to create a new PVC, you do not need to specify VolumeClaimName",
    ),
)
_TIERS: Final = (
    f"{given('@.networkTopology.highestTierName', NOTHING)} != '' && has(@.networkTopology.highestTierAllowed)"
    " && dyn(@.networkTopology.highestTierAllowed) != null"
)
_PARTITIONS: Final = "(has(t.partitionPolicy) && dyn(t.partitionPolicy) != null)"
_TOTAL, _SIZE = (given(f"t.partitionPolicy.{name}", "0") for name in ("totalPartitions", "partitionSize"))
_MIN: Final = given("t.partitionPolicy.minPartitions", "0")
_BOTH: Final = (
    Rule(f"!({_TIERS.replace('@', 'object.spec')})", topology.TIER_TWICE),
    Rule(
        f"!variables.tasks.exists(t, {_PARTITIONS} && {_TIERS.replace('@', 't.partitionPolicy')})",
        topology.TIER_TWICE,
    ),
    Rule(
        f"!variables.tasks.exists(t, {_PARTITIONS} && ({_TOTAL} <= 0 || {_SIZE} <= 0))",
        "'TotalPartitions' and 'PartitionSize' must be greater than 0",
    ),
    Rule(
        f"!variables.tasks.exists(t, {_PARTITIONS} && {_REPLICAS} != {_TOTAL} * {_SIZE})",
        "'Replicas' are not equal to TotalPartitions*PartitionSize",
    ),
    Rule(
        f"!variables.tasks.exists(t, {_PARTITIONS} && has(t.minAvailable) && {_MIN} > 0"
        f" && {_MIN} * {_SIZE} != {_LEAST})",
        "'MinAvailable' is not equal to MinPartitions*PartitionSize",
    ),
)

_UPDATE: Final = (
    _task_rule("UPDATE", f"{_LEAST} > {_REPLICAS}", "'minAvailable' must be <= 'replicas' in task"),
    Rule(
        on("UPDATE", f"{given('object.spec.minAvailable', '0')} <= variables.replicas"),
        "job 'minAvailable' must not be greater than total replicas",
    ),
    *updates.RULES,
    Rule(
        on(
            "UPDATE",
            f"variables.tasks.all(i, t, i >= size(variables.oldTasks) || [variables.oldTasks[i]].all(o, {_REPLICAS} <="
            f" {_OLD_REPLICAS} || size({_GROWN_POD}) <= {wellformed.LABEL_LENGTH}"
            f" || size({_OLD_POD}) > {wellformed.LABEL_LENGTH}))",
        ),
        f"create pod with name validate failed: with so many replicas it has more than {wellformed.LABEL_LENGTH} characters",
    ),
)
POLICY: Final[Policy] = Policy(
    "job-validation-policy",
    JOBS,
    ("CREATE", "UPDATE"),
    (*_CREATE, *_LIFECYCLE, *_VOLUMES, *_BOTH, *_UPDATE),
    _VARIABLES,
    CHANGED,
)
