"""Objects that webhooks and policies must judge alike, each with the words of its mistake."""

from __future__ import annotations

from typing import Any, NamedTuple

Json = dict[str, Any]


class Case(NamedTuple):
    """One object, or a change of one."""

    kind: str
    new: Json
    words: str = ""
    """Part of the message that denies it, or of the spec that defaults make."""
    old: Json | None = None
    denied: bool = False

    def __str__(self) -> str:
        return f"{self.kind} {self.words or self.new}"[:80]


def fine(kind: str, new: Json, old: Json | None = None) -> Case:
    return Case(kind, new, old=old)


def wrong(kind: str, new: Json, words: str, old: Json | None = None) -> Case:
    return Case(kind, new, words, old, denied=True)


def task(name: str = "t", **fields: Any) -> Json:
    template = {"spec": {"containers": [{"name": "c", "image": "busybox"}]}}
    return {"name": name, "replicas": 2, "template": template, **fields}


def job(*tasks: Json, name: str = "j", **spec: Any) -> Json:
    given = {"minAvailable": 1, "queue": "default", "tasks": list(tasks or [task()]), **spec}
    return {"metadata": {"name": name}, "spec": {key: value for key, value in given.items() if value is not None}}


def policies(*given: Json) -> Json:
    return job(policies=list(given))


def queue(name: str = "q", *, path: str = "", weights: str = "", **spec: Any) -> Json:
    annotations = {"volcano.sh/hierarchy": path, "volcano.sh/hierarchy-weights": weights}
    metadata = {"name": name, "annotations": {key: value for key, value in annotations.items() if value}}
    return {"metadata": metadata, "spec": spec}


def group(**spec: Any) -> Json:
    return {"metadata": {"name": "g"}, "spec": {"minMember": 1, "queue": "default", **spec}}


def pod(scheduler: str = "volcano", **annotations: str) -> Json:
    keys = {name.replace("_", "-"): value for name, value in annotations.items()}
    metadata = {"name": "p", "annotations": {f"volcano.sh/jdb-{key}": value for key, value in keys.items()}}
    containers = [{"name": "c", "image": "busybox"}]
    return {"metadata": metadata, "spec": {"schedulerName": scheduler, "containers": containers}}


def hypernode(*patterns: str, members: Any = None) -> Json:
    found = [{"type": "Node", "selector": {"regexMatch": {"pattern": pattern}}} for pattern in patterns]
    return {"metadata": {"name": "h"}, "spec": {"tier": 1, **({"members": members or found} if found else {})}}


def flow(*steps: Any) -> Json:
    flows = [{"name": step} if isinstance(step, str) else {"name": step[0], **_after(step[1:])} for step in steps]
    return {"metadata": {"name": "f"}, "spec": {"flows": flows}}


def _after(targets: Any) -> Json:
    return {"dependsOn": {"targets": list(targets)}}


BOTH = {"mode": "hard", "highestTierAllowed": 1, "highestTierName": "rack"}
TWICE = "must not specify 'highestTierAllowed' and 'highestTierName' in networkTopology simultaneously"
CLAIM = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
PARTITIONS = {"totalPartitions": 2, "partitionSize": 1}
REACT = {"event": "PodFailed", "action": "RestartJob"}

_JOBS = (
    fine("Job", job()),
    fine("Job", job(task(minAvailable=2), task("u", minAvailable=0), minAvailable=4)),
    wrong("Job", {"metadata": {"name": "j"}, "spec": {"queue": "default"}}, "No task specified in job spec"),
    wrong("Job", job(plugins={"mpi": []}), "The specified mpi master task was not found"),
    wrong("Job", job(plugins={"mpi": ["--port=1", "--master=x"]}), "The specified mpi master task was not found"),
    fine("Job", job(plugins={"mpi": ["--master=x", "--master=t"]})),
    fine("Job", job(plugins={"mpi": ["--master", "t"]})),
    fine("Job", job(task("master"), plugins={"mpi": [], "svc": [], "ray": []})),
    wrong("Job", job(plugins={"magic": []}), "unable to find job plugin: magic;"),
    wrong("Job", job(networkTopology=BOTH), TWICE),
    fine("Job", job(networkTopology={"mode": "hard", "highestTierAllowed": 1})),
    wrong("Job", job(task(minAvailable=3)), "'minAvailable' is greater than 'replicas' in task: t, job: j;"),
    wrong("Job", job(task("a"), task("a")), "duplicated task name a;"),
    wrong("Job", job(task("t" * 60)), "create pod with name j-"),
    wrong("Job", job(name="9j", plugins={"svc": []}), "create job with name 9j validate failed"),
    fine("Job", job(name="9j")),
    fine("Job", job(task("head"), name="j" * 54, plugins={"svc": [], "ray": []})),
    wrong("Job", job(task("head"), name="j" * 55, plugins={"svc": [], "ray": []}), "create job with name jj"),
    fine("Job", job(name="j.k", plugins={"env": []})),
    wrong("Job", job(name="j.k", plugins={"ssh": []}), "create job with name j.k validate failed"),
    wrong("Job", job(minAvailable=3), "job 'minAvailable' should not be greater than total replicas in tasks;"),
    fine(
        "Job",
        policies(
            REACT, {"exitCode": 3, "action": "AbortJob"}, {"events": ["PodEvicted"], "action": "RestartPartition"}
        ),
    ),
    fine("Job", policies({"event": "PodFailed", "events": ["PodFailed"], "action": "RestartJob"})),
    wrong("Job", policies({**REACT, "exitCode": 1}), "must not specify event and exitCode simultaneously"),
    wrong("Job", policies({"action": "RestartJob"}), "either event and exitCode should be specified"),
    wrong("Job", policies({"event": "OutOfSync", "action": "RestartJob"}), "invalid policy event"),
    wrong("Job", policies({"event": "PodFailed", "action": "SyncJob"}), "invalid policy action"),
    wrong("Job", policies({"exitCode": 1, "action": "SyncJob"}), "invalid policy action"),
    wrong("Job", policies(REACT, {"events": ["PodFailed"], "action": "AbortJob"}), "duplicate event"),
    wrong("Job", policies(*[{"exitCode": 3, "action": "AbortJob"}] * 2), "duplicate exitCode"),
    wrong("Job", policies({"event": "*", "action": "AbortJob"}, REACT), "if there's * here"),
    fine("Job", policies({"event": "*", "action": "AbortJob"})),
    wrong("Job", job(task(policies=[REACT, REACT])), "duplicate event"),
    fine("Job", job(task(policies=[REACT]), task("u", policies=[REACT]), policies=[REACT])),
    wrong("Job", job(volumes=[{"mountPath": "/a"}]), "either VolumeClaim or VolumeClaimName must be specified;"),
    wrong("Job", job(volumes=[{"mountPath": "/a", "volumeClaimName": "c"}] * 2), "duplicated mountPath"),
    wrong("Job", job(volumes=[{"mountPath": "/a", "volumeClaimName": "c", "volumeClaim": CLAIM}]), "conflict: If you"),
    fine("Job", job(volumes=[{"mountPath": "/a", "volumeClaim": CLAIM}, {"mountPath": "/b", "volumeClaimName": "c"}])),
    fine("Job", job(task(partitionPolicy=PARTITIONS))),
    wrong("Job", job(task(partitionPolicy={**PARTITIONS, "networkTopology": BOTH})), TWICE),
    wrong("Job", job(task(replicas=3, partitionPolicy=PARTITIONS)), "'Replicas' are not equal to TotalPartitions"),
    wrong(
        "Job",
        job(task(minAvailable=2, partitionPolicy={**PARTITIONS, "minPartitions": 1})),
        "'MinAvailable' is not equal to MinPartitions*PartitionSize",
    ),
)
_QUEUES = (
    fine("Queue", queue()),
    fine("Queue", queue(capability={"cpu": "4", "pods": 10, "nvidia.com/gpu": "2"}, deserved={"cpu": 2})),
    fine("Queue", queue(guarantee={"resource": {"cpu": "1000m"}}, deserved={"cpu": "1"}, capability={"cpu": 1})),
    wrong(
        "Queue", queue(capability={"cpu": "-1"}), 'capability.cpu: Invalid value: "-1": must be greater than or equal'
    ),
    wrong("Queue", queue(deserved={"pods": "1500m"}), 'deserved.pods: Invalid value: "1500m": must be an integer'),
    wrong("Queue", queue(deserved={"nvidia.com/gpu": "1.5"}), "must be an integer"),
    wrong("Queue", queue(guarantee={"resource": {"cpu": "2"}}, deserved={"cpu": "1"}), "must be >= guarantee[cpu]=2"),
    wrong("Queue", queue(guarantee={"resource": {"cpu": "2"}}), "must be >= guarantee[cpu]=2"),
    wrong("Queue", queue(deserved={"cpu": "3"}, capability={"cpu": "2"}), "must be <= capability[cpu]=2"),
    fine("Queue", queue(path="root/a", weights="1/2")),
    wrong("Queue", queue(path="root/a", weights="1"), "must have the same length"),
    wrong("Queue", queue(path="root/a", weights="1/x"), "must be a number larger than 0"),
    wrong("Queue", queue(path="root/a", weights="1/0"), "must be a number larger than 0"),
    wrong("Queue", queue(path="root/a", weights="1/-2"), "must be a number larger than 0"),
    wrong("Queue", queue(path="root//a", weights="1/1/1"), "must not have empty parts"),
    wrong("Queue", queue(parent="q"), "queue q cannot use itself as parent"),
    wrong("Queue", queue("root", parent="default"), "root queue's parent must stay empty"),
)
_OTHERS = (
    fine("PodGroup", group()),
    fine("PodGroup", group(networkTopology={"mode": "hard", "highestTierAllowed": 1})),
    wrong("PodGroup", group(networkTopology=BOTH), f"{TWICE}."),
    wrong(
        "PodGroup", group(subGroupPolicy=[{"name": "s", "networkTopology": BOTH}]), "in subGroupPolicy 's': must not"
    ),
    fine("Pod", pod(min_available="2")),
    fine("Pod", pod(min_available="+5")),
    fine("Pod", pod(max_unavailable="99%")),
    fine("Pod", pod("default-scheduler", min_available="x")),
    fine("Pod", pod()),
    wrong("Pod", pod(min_available="0"), "it must be a positive integer"),
    wrong("Pod", pod(min_available="-1"), "it must be a positive integer"),
    wrong("Pod", pod(max_unavailable="100%"), "it must be a valid percentage which between 1% ~ 99%"),
    wrong("Pod", pod(max_unavailable="4294967296"), "it must be a valid percentage"),
    wrong("Pod", pod(min_available="5.5%"), "invalid value"),
    wrong("Pod", pod(min_available="x"), "invalid value"),
    wrong("Pod", pod(min_available="1", max_unavailable="1"), "not allow configure multiple annotations"),
    fine("HyperNode", hypernode(r"^node-\d+$", "(?P<n>a)")),
    wrong("HyperNode", hypernode(), "member must have at least one member"),
    wrong("HyperNode", hypernode("ok", "a(b"), "missing closing )"),
    wrong("HyperNode", hypernode("(?=a)"), "error parsing regexp"),
    fine("JobFlow", flow("a", ("b", "a"), ("c", "a", "b"))),
    fine("JobFlow", flow()),
    wrong("JobFlow", flow("a", ("b", "a", "x")), "jobflow Flow is not DAG: vertex is not defined: x"),
    wrong("JobFlow", flow(("a", "a")), "jobflow Flow is not DAG"),
)
CREATIONS: tuple[Case, ...] = (*_JOBS, *_QUEUES, *_OTHERS)

_OLD = job(task(), task("u"), minAvailable=2, volumes=[{"mountPath": "/a", "volumeClaim": CLAIM}])
_FIXED = "job updates may not change fields other than"


def changed(**spec: Any) -> Json:
    return {"spec": {**_OLD["spec"], **spec}}


def _scaled(**fields: Any) -> Json:
    return changed(tasks=[task(**fields), task("u")])


def _host(**spec: Any) -> Json:
    """A template whose pods share the network of their node."""
    return {"spec": {"containers": [{"name": "c", "image": "busybox"}], "hostNetwork": True, **spec}}


_FILLED = job(
    {**task("default0", minAvailable=2, maxRetry=3), "template": _host(dnsPolicy="ClusterFirstWithHostNet")},
    task("u", minAvailable=2, maxRetry=3, policies=[REACT]),
    maxRetry=3,
    plugins={"svc": []},
    schedulerName="volcano",
)
"""As admission stores a job; in a change of it, None takes a field away."""
_BARE = {"minAvailable": None, "maxRetry": None}


def _applied(first: Json | None = None, second: Json | None = None, **spec: Any) -> Json:
    """As its author wrote the job, who never saw what admission filled in."""
    bare = {"name": None, "replicas": 2, "template": _host(dnsPolicy=None), **_BARE}
    return {"spec": {"tasks": [{**bare, **(first or {})}, {**task("u"), **_BARE, **(second or {})}], **spec}}


_LONG = task("t" * 53)
"""In a job of 7 letters, pods 0-9 of this task have names that pods may have."""

UPDATES: tuple[Case, ...] = (
    fine("Job", {"metadata": {"labels": {"a": "b"}}}, _OLD),
    fine("Job", changed(minAvailable=1, priorityClassName="high"), _OLD),
    fine("Job", _scaled(replicas=5, minAvailable=3), _OLD),
    fine("Job", _applied(), _FILLED),
    fine("Job", _applied({"replicas": 7}, queue=None, maxRetry=None, minAvailable=1), _FILLED),
    fine("Job", _applied({"replicas": 7}, queue="default", policies=[], volumes=[]), _FILLED),
    fine("Job", _applied({"replicas": 7, "maxRetry": 0}), _FILLED),
    fine("Job", _applied({"template": _host(dnsPolicy="ClusterFirstWithHostNet")}, {"replicas": 1}), _FILLED),
    wrong("Job", _applied({"name": "other"}), _FIXED, _FILLED),
    wrong("Job", _applied({"maxRetry": 4}), _FIXED, _FILLED),
    wrong("Job", _applied(maxRetry=4), _FIXED, _FILLED),
    wrong("Job", _applied({"template": _host(dnsPolicy="Default")}), _FIXED, _FILLED),
    wrong("Job", _applied({"template": _host(dnsPolicy=None, hostNetwork=None)}), _FIXED, _FILLED),
    wrong("Job", _applied({"template": _host(dnsPolicy=None, nodeName="n")}), _FIXED, _FILLED),
    wrong("Job", _applied({}, {"policies": None}), _FIXED, _FILLED),
    wrong("Job", _applied(plugins=None), _FIXED, _FILLED),
    wrong("Job", _applied(schedulerName=None), _FIXED, _FILLED),
    wrong("Job", changed(tasks=[task("u"), task()]), _FIXED, _OLD),
    wrong(
        "Job",
        _scaled(replicas=5, maxRetry=None),
        _FIXED,
        job(task(maxRetry=7), task("u"), minAvailable=2, volumes=_OLD["spec"]["volumes"]),
    ),
    wrong("Job", _scaled(replicas=1, minAvailable=2), "'minAvailable' must be <= 'replicas' in task", _OLD),
    fine("Job", job(_LONG | {"replicas": 10}), job(_LONG)),
    wrong("Job", job(_LONG | {"replicas": 11}), "create pod with name", job(_LONG)),
    fine("Job", job({**task(replicas=1000), "name": None}), job(task("default0"))),
    wrong("Job", changed(minAvailable=9), "job 'minAvailable' must not be greater than total replicas", _OLD),
    wrong("Job", changed(tasks=[task()]), "job updates may not add or remove tasks", _OLD),
    wrong("Job", changed(queue="other"), _FIXED, _OLD),
    wrong("Job", changed(plugins={"svc": []}), _FIXED, _OLD),
    wrong("Job", changed(policies=[REACT]), _FIXED, _OLD),
    wrong("Job", _scaled(maxRetry=9), _FIXED, _OLD),
    wrong("Job", _scaled(template={"spec": {"containers": [{"name": "c", "image": "other"}]}}), _FIXED, _OLD),
    wrong("Job", changed(volumes=[{"mountPath": "/b", "volumeClaim": CLAIM}]), _FIXED, _OLD),
    fine("Job", changed(volumes=[{"mountPath": "/a", "volumeClaim": CLAIM, "volumeClaimName": "made"}]), _OLD),
    wrong("Job", changed(volumes=[]), _FIXED, _OLD),
    fine("Queue", {"spec": {"weight": 3}}, queue(weight=1)),
    wrong("Queue", {"spec": {"weight": 3, "capability": {"cpu": "-1"}}}, "must be greater than or equal", queue()),
    wrong("JobFlow", flow(("a", "a")), "jobflow Flow is not DAG", flow("a")),
    fine("JobFlow", {"spec": flow("a", "b")["spec"]}, flow("a")),
)
UPDATES = tuple(
    case._replace(new={key: value for key, value in case.new.items() if key != "metadata"})
    if case.new.get("metadata", {}).get("name")
    else case
    for case in UPDATES
)

MUTATIONS: tuple[Case, ...] = (
    Case("Job", {"metadata": {"name": "j"}, "spec": {"tasks": [task()]}}, "'minAvailable': 2"),
    Case(
        "Job", {"metadata": {"name": "j"}, "spec": {"tasks": [task(), task("u", minAvailable=1)]}}, "'minAvailable': 3"
    ),
    Case("Job", {"metadata": {"name": "j"}, "spec": {"tasks": [task("")], "queue": ""}}, "'name': 'default0'"),
    Case("Job", job(task("master"), plugins={"mpi": ["--port=1"]}), "'ssh': []"),
    Case("Job", job(plugins={"ray": []}), "'svc': []"),
    Case(
        "Job",
        job(task(template={"spec": {"hostNetwork": True, "containers": [{"name": "c", "image": "busybox"}]}})),
        "'dnsPolicy': 'ClusterFirstWithHostNet'",
    ),
    Case(
        "Job",
        job(task(replicas=4, partitionPolicy={"totalPartitions": 2, "partitionSize": 2, "minPartitions": 1})),
        "'minAvailable': 2",
    ),
    Case("Queue", queue(path="sci/dev", weights="1/2"), "'reclaimable': True"),
    Case("PodGroup", group(), "'queue': 'research'"),
    Case("PodGroup", group(queue="own"), "'queue': 'own'"),
)
