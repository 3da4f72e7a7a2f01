"""
The rows of `test_crd_schemas.py`: what each kind takes, as it is stored, and what it refuses, with which words.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from cluster import ControlPlane

PATHS = {
    "Job": "/apis/batch.volcano.sh/v1alpha1/namespaces/{}/jobs",
    "CronJob": "/apis/batch.volcano.sh/v1alpha1/namespaces/{}/cronjobs",
    "Command": "/apis/bus.volcano.sh/v1alpha1/namespaces/{}/commands",
    "PodGroup": "/apis/scheduling.volcano.sh/v1beta1/namespaces/{}/podgroups",
    "Queue": "/apis/scheduling.volcano.sh/v1beta1/queues",
    "JobFlow": "/apis/flow.volcano.sh/v1alpha1/namespaces/{}/jobflows",
    "JobTemplate": "/apis/flow.volcano.sh/v1alpha1/namespaces/{}/jobtemplates",
    "HyperNode": "/apis/topology.volcano.sh/v1alpha1/hypernodes",
    "Numatopology": "/apis/nodeinfo.volcano.sh/v1alpha1/numatopologies",
    "NodeShard": "/apis/shard.volcano.sh/v1alpha1/nodeshards",
    "ColocationConfiguration": "/apis/config.volcano.sh/v1alpha1/namespaces/{}/colocationconfigurations",
}
DRY_RUN = {"dryRun": "All"}
JOB_DEFAULTS = {"maxRetry": 3, "queue": "default"}
UNCHANGED: Any = object()


def collection(kind: str, namespace: str = "default") -> str:
    return PATHS[kind].format(namespace)


def manifest(kind: str, name: str, body: dict[str, Any]) -> dict[str, Any]:
    group, version = PATHS[kind].split("/")[2:4]
    head: dict[str, Any] = {"apiVersion": f"{group}/{version}", "kind": kind, "metadata": {"name": name}}
    return {**head, **body, "metadata": {**head["metadata"], **body.get("metadata", {})}}


def dry_create(plane: ControlPlane, kind: str, body: dict[str, Any]) -> dict[str, Any]:
    answer: dict[str, Any] = plane.api.request(
        "POST", collection(kind), manifest(kind, "sample", body), query={**DRY_RUN, "fieldValidation": "Strict"}
    )
    return {key: value for key, value in answer.items() if key not in ("apiVersion", "kind", "metadata")}


@dataclass(frozen=True)
class Taken:
    """`body` is accepted and stored as `stored`, or as it was sent."""

    title: str
    kind: str
    body: dict[str, Any]
    stored: Any = UNCHANGED


@dataclass(frozen=True)
class Refused:
    """`body` is answered with 422 and a message that has all of `words`."""

    title: str
    kind: str
    body: dict[str, Any]
    words: tuple[str, ...] = field(default=())


def job(**spec: Any) -> dict[str, Any]:
    return {"spec": spec}


def stored_job(**spec: Any) -> dict[str, Any]:
    return {"spec": {**JOB_DEFAULTS, **spec}}


def task(**fields: Any) -> dict[str, Any]:
    return job(tasks=[fields])


def pod(**spec: Any) -> dict[str, Any]:
    return task(template={"spec": {"containers": [], **spec}})


def container(**fields: Any) -> dict[str, Any]:
    return pod(containers=[{"name": "a", **fields}])


def requests(cpu: Any) -> dict[str, Any]:
    return container(resources={"requests": {"cpu": cpu}})


def taken_job(title: str, body: dict[str, Any], stored: Any = None) -> Taken:
    """Accepted; unless said otherwise stored with the two defaults of a job."""
    return Taken(title, "Job", body, stored or {**body, "spec": {**JOB_DEFAULTS, **body["spec"]}})


def refused_job(title: str, body: dict[str, Any], *words: str) -> Refused:
    return Refused(title, "Job", body, words)


DUPLICATE = "Duplicate value"
BOTH_TIERS = {"mode": "hard", "highestTierAllowed": 1, "highestTierName": "rack"}
PARTITIONS = {"totalPartitions": 2, "partitionSize": 1}

TAKEN_JOBS = [
    Taken("no spec gets no defaults", "Job", {}, {}),
    Taken("a null spec gets no defaults", "Job", {"spec": None}, {}),
    taken_job("an empty spec gets its defaults", {"spec": {}}),
    taken_job("an empty task", task()),
    taken_job("an empty template", task(template={})),
    taken_job("no containers in the list", pod()),
    taken_job("a container without image", container()),
    taken_job("an unknown restart policy", pod(restartPolicy="Sometimes")),
    taken_job("two tasks of one name", job(tasks=[{"name": "a"}, {"name": "a"}])),
    taken_job("an unknown action", job(policies=[{"event": "PodFailed", "action": "Dance"}])),
    taken_job("an unknown iteration", task(dependsOn={"name": ["a"], "iteration": "some"})),
    taken_job("a timeout that is no duration", job(policies=[{"event": "*", "timeout": "xyz"}])),
    taken_job("an estimate that is no duration", job(runningEstimate="long")),
    taken_job("both tiers", job(networkTopology=BOTH_TIERS)),
    taken_job("1.0 for an integer", job(minAvailable=1.0), stored_job(minAvailable=1)),
    taken_job("a null queue gets the default", job(queue=None), stored_job()),
    taken_job("a null plugin is dropped", job(plugins={"svc": None}), stored_job(plugins={})),
    taken_job("a plugin without arguments", job(plugins={"svc": []})),
    taken_job("a null time to live is dropped", job(ttlSecondsAfterFinished=None), stored_job()),
    taken_job("a time to live of 0", job(ttlSecondsAfterFinished=0)),
    taken_job("maxRetry 0", job(maxRetry=0), stored_job(maxRetry=0)),
    taken_job("an empty topology", job(networkTopology={}), stored_job(networkTopology={"mode": "hard"})),
    taken_job(
        "partitions get a minimum",
        task(partitionPolicy=PARTITIONS),
        stored_job(tasks=[{"partitionPolicy": {**PARTITIONS, "minPartitions": 0}}]),
    ),
    taken_job("an empty scheduler name", job(schedulerName="")),
    taken_job("a scheduler name of 63 characters", job(schedulerName="s" * 63)),
    taken_job("an exit code of 0", job(policies=[{"exitCode": 0}])),
    taken_job("a whole number of CPUs", requests(2)),
    taken_job("a text of CPUs", requests("500m")),
    taken_job(
        "the protocol of a port gets its default",
        container(ports=[{"containerPort": 80}]),
        stored_job(
            tasks=[
                {
                    "template": {
                        "spec": {"containers": [{"name": "a", "ports": [{"containerPort": 80, "protocol": "TCP"}]}]}
                    }
                }
            ]
        ),
    ),
    taken_job(
        "a port of both protocols",
        container(ports=[{"containerPort": 80, "protocol": "TCP"}, {"containerPort": 80, "protocol": "UDP"}]),
    ),
    taken_job("a claim without anything", job(volumes=[{"mountPath": "/a", "volumeClaim": {}}])),
    taken_job("a status is dropped", {"spec": {}, "status": {"state": {"phase": "Running"}}}, stored_job()),
    taken_job("even an invalid status is dropped", {"spec": {}, "status": {"state": {"phase": "Nope"}}}, stored_job()),
]
REFUSED_JOBS = [
    refused_job(
        "no tasks in the list",
        job(tasks=[]),
        "spec.tasks: Invalid value: 0: spec.tasks in body should have at least 1 items",
    ),
    refused_job("a pod without containers", task(template={"spec": {}}), "containers: Required value"),
    refused_job("null containers", task(template={"spec": {"containers": None}}), "containers: Required value"),
    refused_job("two containers of one name", pod(containers=[{"name": "A"}] * 2), DUPLICATE, '{"name":"A"}'),
    refused_job("two variables of one name", container(env=[{"name": "A"}] * 2), DUPLICATE, '{"name":"A"}'),
    refused_job("a port twice", container(ports=[{"containerPort": 80, "protocol": "TCP"}] * 2), DUPLICATE),
    refused_job("a mount path twice", container(volumeMounts=[{"name": "v", "mountPath": "/a"}] * 2), DUPLICATE),
    refused_job("a negative minimum", job(minAvailable=-1), "spec.minAvailable", "greater than or equal to 0"),
    refused_job("a text for a number", job(minAvailable="1"), "must be of type integer"),
    refused_job("a number above int32", job(minAvailable=2147483648), "spec.minAvailable", "int32"),
    refused_job("minSuccess 0", job(minSuccess=0), "spec.minSuccess", "greater than or equal to 1"),
    refused_job("an empty queue", job(queue=""), "spec.queue", "should match"),
    refused_job("a queue in capitals", job(queue="Q1"), "spec.queue", "should match"),
    refused_job("a queue with a line break", job(queue="q\n"), "spec.queue", "should match"),
    refused_job("a queue of 254 characters", job(queue="q" * 254), "Too long: may not be more than 253 bytes"),
    refused_job("an empty priority class", job(priorityClassName=""), "spec.priorityClassName", "should match"),
    refused_job("a plugin with one argument for a list", job(plugins={"svc": "x"}), "must be of type array"),
    refused_job("a plugin argument that is no text", job(plugins={"svc": [1]}), "must be of type string"),
    refused_job("a null plugin argument", job(plugins={"svc": [None]}), "must be of type string"),
    refused_job(
        "an unknown topology mode", job(networkTopology={"mode": "x"}), "Unsupported value", '"hard"', '"soft"'
    ),
    refused_job("a negative tier", job(networkTopology={"highestTierAllowed": -1}), "greater than or equal to 0"),
    refused_job(
        "an empty partition policy",
        task(partitionPolicy={}),
        "partitionPolicy.partitionSize: Required value",
        "partitionPolicy.totalPartitions: Required value",
    ),
    refused_job("partitions of no pods", task(partitionPolicy={**PARTITIONS, "partitionSize": 0}), "partitionSize"),
    refused_job("a volume without mount path", job(volumes=[{}]), "mountPath: Required value"),
    refused_job("a mount path with a colon", job(volumes=[{"mountPath": "/a:b"}]), "should match"),
    refused_job(
        "a bad quantity in a claim",
        job(volumes=[{"mountPath": "/a", "volumeClaim": {"resources": {"requests": {"storage": "1ki"}}}}]),
        "should match",
    ),
    refused_job("a scheduler name of 64 characters", job(schedulerName="s" * 64), "may not be more than 63 bytes"),
    refused_job("half a CPU as a number", requests(0.5), "must be of type integer,string", '"number"'),
    refused_job("a number for a label", task(template={"metadata": {"labels": {"a": 1}}}), "must be of type string"),
    refused_job("an empty task name", task(name=""), "name", "should match"),
    refused_job("a task name with a dot", task(name="a.b"), "name", "should match"),
    refused_job("negative replicas", task(replicas=-1), "replicas"),
    refused_job("an empty NUMA policy", task(topologyPolicy=""), "Unsupported value"),
    refused_job("an empty event", job(policies=[{"event": ""}]), "Unsupported value"),
    refused_job("an unknown event in a list", task(policies=[{"events": ["PodFailed", "x"]}]), "Unsupported value"),
]


def group(**spec: Any) -> dict[str, Any]:
    return {"spec": {"queue": "default", **spec}}


def taken_group(title: str, body: dict[str, Any], stored: Any = UNCHANGED) -> Taken:
    return Taken(title, "PodGroup", body, stored)


def refused_group(title: str, body: dict[str, Any], *words: str) -> Refused:
    return Refused(title, "PodGroup", body, words)


def condition(**fields: Any) -> dict[str, Any]:
    return {"status": {"conditions": [fields]}}


TAKEN_GROUPS = [
    taken_group("no spec gets no queue", {}),
    taken_group("an empty spec gets its queue", {"spec": {}}, group()),
    taken_group("a status is kept", {"status": {"phase": "Running", "running": 2}}),
    taken_group("a condition of any type and status", condition(type="Odd", status="Maybe")),
    *(
        taken_group(f"the time {time}", condition(lastTransitionTime=time))
        for time in (
            "2024-01-01T00:00:00Z",
            "2024-01-01T00:00:00.5Z",
            "2024-01-01T00:00:00+02:00",
            "2024-01-01t00:00:00z",
        )
    ),
    taken_group("a negative minimum of a task", group(minTaskMember={"a": -1})),
    taken_group("a null minimum of a task is dropped", group(minTaskMember={"a": None}), group(minTaskMember={})),
    taken_group("a priority class of any text", group(priorityClassName="Foo Bar")),
    taken_group(
        "an empty subgroup policy gets its defaults",
        group(subGroupPolicy=[{}]),
        group(subGroupPolicy=[{"subGroupSize": 1, "minSubGroups": 0}]),
    ),
    taken_group(
        "an unknown operator of a selector",
        group(
            subGroupPolicy=[
                {
                    "subGroupSize": 1,
                    "minSubGroups": 0,
                    "labelSelector": {"matchExpressions": [{"key": "a", "operator": "Wrong"}]},
                }
            ]
        ),
    ),
]
REFUSED_GROUPS = [
    refused_group("an empty phase", {"status": {"phase": ""}}, "status.phase", "Unsupported value"),
    refused_group("an unknown phase", {"status": {"phase": "Nope"}}, "status.phase", "Unsupported value"),
    refused_group("a date without time", condition(lastTransitionTime="2024-01-01"), "date-time"),
    refused_group("a negative minimum", group(minMember=-1), "spec.minMember"),
    refused_group("an empty queue", group(queue=""), "spec.queue", "should match"),
    refused_group("subgroups of no pods", group(subGroupPolicy=[{"subGroupSize": 0}]), "subGroupSize"),
    refused_group("a bad quantity", group(minResources={"cpu": "1ki"}), "should match"),
    refused_group("negative counters", {"status": {"running": -1}}, "status.running"),
]

GOOD_QUANTITIES = [4, "4", "+1", ".5", "1.", "1E", "1e-5", "1e1.5", "1e400", "-1", 9223372036854775807]
BAD_QUANTITIES = ["1ki", "1KI", "1mi", "5e", "1 ", "1_000", "100%", "", 9223372036854775808, 0.5]


def queue(**spec: Any) -> dict[str, Any]:
    return {"spec": {"weight": 1, "dequeueStrategy": "traverse", **spec}}


def refused_queue(title: str, body: dict[str, Any], *words: str) -> Refused:
    return Refused(title, "Queue", body, words)


TAKEN_QUEUES = [
    Taken("no spec gets no defaults", "Queue", {}, {}),
    Taken("an empty spec gets its defaults", "Queue", {"spec": {}}, queue()),
    *(Taken(f"the quantity {value!r}", "Queue", queue(capability={"cpu": value})) for value in GOOD_QUANTITIES),
    Taken("a cluster of negative weight", "Queue", queue(extendClusters=[{"name": "a", "weight": -1}])),
    Taken(
        "a node group twice",
        "Queue",
        queue(affinity={"nodeGroupAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": ["a", "a"]}}),
    ),
    Taken("any type", "Queue", queue(type="Free Text")),
]
REFUSED_QUEUES = [
    refused_queue("weight 0", queue(weight=0), "should be greater than or equal to 1"),
    refused_queue("weight 65536", queue(weight=65536), "should be less than or equal to 65535"),
    refused_queue("an empty parent", queue(parent=""), "spec.parent", "should match"),
    refused_queue("a parent in capitals", queue(parent="Root"), "spec.parent", "should match"),
    refused_queue("an empty strategy", queue(dequeueStrategy=""), "Unsupported value"),
    refused_queue("a strategy in capitals", queue(dequeueStrategy="FIFO"), "Unsupported value"),
    refused_queue("a negative priority", queue(priority=-1), "spec.priority"),
    refused_queue("a text for a flag", queue(reclaimable="true"), "must be of type boolean"),
    *(refused_queue(f"the quantity {value!r}", queue(deserved={"cpu": value})) for value in BAD_QUANTITIES),
]

TARGET = {"apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job", "name": "a", "uid": "u"}
CRON = {"schedule": "* * * * *", "jobTemplate": {}}
CRON_DEFAULTS = {
    "concurrencyPolicy": "Allow",
    "failedJobsHistoryLimit": 1,
    "successfulJobsHistoryLimit": 3,
    "suspend": False,
}
META_CONDITION = {
    "type": "Ready",
    "status": "True",
    "reason": "Fine",
    "message": "",
    "lastTransitionTime": "2024-01-01T00:00:00Z",
}


def cron(**spec: Any) -> dict[str, Any]:
    return {"spec": {**CRON, **CRON_DEFAULTS, **spec}}


def flow(**fields: Any) -> dict[str, Any]:
    return {"spec": {"flows": [{"name": "a", **fields}]}}


def probe(**fields: Any) -> dict[str, Any]:
    return flow(dependsOn={"probe": fields})


def hypernode(*members: Any, **spec: Any) -> dict[str, Any]:
    return {"spec": {"tier": 1, **spec, **({"members": list(members)} if members else {})}}


def member(**selector: Any) -> dict[str, Any]:
    return {"type": "Node", "selector": selector}


def numa(**cpu: Any) -> dict[str, Any]:
    return {"spec": {"cpuDetail": {"0": cpu}}}


def qos(**ratios: Any) -> dict[str, Any]:
    return {"spec": {"memoryQos": {"highRatio": 100, "lowRatio": 0, "minRatio": 0, **ratios}}}


EITHER = "Either ExactMatch or RegexMatch or LabelMatch must be specified"
ONLY_ONE = "Only one of ExactMatch, RegexMatch, or LabelMatch can be specified"

TAKEN_OTHERS = [
    Taken("without target", "Command", {"action": "AnyThing", "reason": "r", "message": "m"}),
    Taken("with a whole target", "Command", {"target": TARGET}),
    Taken("defaults", "CronJob", {"spec": CRON}, cron()),
    Taken("an empty schedule", "CronJob", cron(schedule="")),
    Taken("a schedule that is none", "CronJob", cron(schedule="soon")),
    Taken("a name of 60 characters", "CronJob", {**cron(), "metadata": {"name": "c" * 60}}, cron()),
    Taken(
        "the job in the template gets a job's defaults",
        "CronJob",
        cron(jobTemplate={"spec": {}}),
        cron(jobTemplate={"spec": JOB_DEFAULTS}),
    ),
    Taken("no flows", "JobFlow", {"spec": {}}),
    Taken("two flows of one name", "JobFlow", {"spec": {"flows": [{"name": "a"}, {"name": "a"}]}}),
    Taken(
        "a patch gets a job's defaults", "JobFlow", flow(patch={"jobSpec": {}}), flow(patch={"jobSpec": JOB_DEFAULTS})
    ),
    Taken("a request without port", "JobFlow", probe(httpGetList=[{"path": "/"}])),
    Taken("its spec is a job's", "JobTemplate", job(minAvailable=1), stored_job(minAvailable=1)),
    Taken("no spec", "HyperNode", {}),
    Taken("a tier alone", "HyperNode", hypernode()),
    Taken("a member without selector", "HyperNode", hypernode({"type": "Node"})),
    Taken("a pattern that is no expression", "HyperNode", hypernode(member(regexMatch={"pattern": "(["}))),
    Taken(
        "labels of hypernodes", "HyperNode", hypernode({"type": "HyperNode", "selector": {"labelMatch": {}}}), UNCHANGED
    ),
    Taken("an empty spec", "ColocationConfiguration", {"spec": {}}),
    Taken("ratios get their defaults", "ColocationConfiguration", {"spec": {"memoryQos": {}}}, qos()),
    Taken("no nodes in the list", "NodeShard", {"spec": {"nodesDesired": []}}),
    Taken(
        "a negative capacity and unknown policies",
        "Numatopology",
        {"spec": {"numares": {"cpu": {"capacity": -1}}, "policies": {"Mine": "x"}}},
    ),
]
REFUSED_OTHERS = [
    Refused(
        "half a target",
        "Command",
        {"target": {"kind": "Job"}},
        ("target.apiVersion: Required value", "target.name: Required value", "target.uid: Required value"),
    ),
    Refused("no schedule", "CronJob", {"spec": {"jobTemplate": {}}}, ("spec.schedule: Required value",)),
    Refused("no template", "CronJob", {"spec": {"schedule": ""}}, ("spec.jobTemplate: Required value",)),
    Refused("a policy in small letters", "CronJob", cron(concurrencyPolicy="allow"), ("Unsupported value",)),
    Refused("a negative deadline", "CronJob", cron(startingDeadlineSeconds=-1), ("startingDeadlineSeconds",)),
    Refused("a flow without name", "JobFlow", {"spec": {"flows": [{}]}}, ("name: Required value",)),
    Refused("a flow with an empty name", "JobFlow", {"spec": {"flows": [{"name": ""}]}}, ("at least 1 chars long",)),
    Refused("a socket without port", "JobFlow", probe(tcpSocketList=[{}]), ("port: Required value",)),
    Refused("port 65536", "JobFlow", probe(tcpSocketList=[{"port": 65536}]), ("less than or equal to 65535",)),
    Refused(
        "an empty header",
        "JobFlow",
        probe(httpGetList=[{"httpHeader": {}}]),
        ("httpHeader.name: Required value", "httpHeader.value: Required value"),
    ),
    Refused("a retain policy in capitals", "JobFlow", {"spec": {"jobRetainPolicy": "Retain"}}, ("Unsupported value",)),
    Refused("minSuccess 0", "JobTemplate", job(minSuccess=0), ("spec.minSuccess",)),
    Refused("a spec without tier", "HyperNode", {"spec": {}}, ("spec.tier: Required value",)),
    Refused("a negative tier", "HyperNode", hypernode(tier=-1), ("spec.tier",)),
    Refused("no members in the list", "HyperNode", {"spec": {"tier": 1, "members": []}}, ("at least 1 items",)),
    Refused("an empty selector", "HyperNode", hypernode(member()), (EITHER,)),
    Refused(
        "two selectors",
        "HyperNode",
        hypernode(member(exactMatch={"name": "a"}, regexMatch={"pattern": "a"})),
        (ONLY_ONE,),
    ),
    Refused(
        "a missing field hides the rules",
        "HyperNode",
        {"spec": {"members": [member()]}},
        ("some validation rules were not checked because the object was invalid",),
    ),
    Refused("an empty exact name", "HyperNode", hypernode(member(exactMatch={"name": ""})), ("exactMatch.name",)),
    Refused("an unknown member type", "HyperNode", hypernode({"type": "Rack"}), ("Unsupported value",)),
    Refused("no spec", "ColocationConfiguration", {}, ("spec: Required value",)),
    Refused("a ratio of 101", "ColocationConfiguration", qos(highRatio=101), ("less than or equal to 100",)),
    Refused("no spec", "NodeShard", {}, ("spec: Required value",)),
    Refused("no nodes", "NodeShard", {"spec": {}}, ("spec.nodesDesired: Required value",)),
    Refused("null nodes", "NodeShard", {"spec": {"nodesDesired": None}}, ("spec.nodesDesired: Required value",)),
    *(
        Refused(f"a negative {part}", "Numatopology", numa(**{part: -1}), (part,))
        for part in ("core", "socket", "numa")
    ),
]
