from __future__ import annotations

import copy
from typing import Any

import pytest

from generated.batch.v1alpha1 import JOBS
from runtime.errors import ConnectionFailed
from tests.unit.webhooks.jobs.samples import container, job, pod, task
from tests.unit.webhooks.reviews import Server, World, answer, body, message, queue
from webhooks.jobs.validation import JobRules
from webhooks.options import Options
from webhooks.readers import LookupFailed

Json = dict[str, Any]
CHOICES = (
    " valid events are [* PodFailed PodEvicted PodPending Unknown TaskCompleted TaskFailed JobUpdated],"
    " valid actions are [AbortJob RestartJob RestartTask RestartPod RestartPartition TerminateJob CompleteJob ResumeJob];"
)
KEY = (
    "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric"
    " character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is"
    " '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
)
SUBDOMAIN = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and"
    " end with an alphanumeric character (e.g. 'example.com', regex used for validation is"
    r" '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
)
DAG = "job has dependencies between tasks, but doesn't form a directed acyclic graph(DAG)"
TIERS = "must not specify 'highestTierAllowed' and 'highestTierName' in networkTopology simultaneously"


def one_error(text: str) -> str:
    return f"1 error occurred:\n\t* {text}\n\n"


def created(obj: Json, world: World | None = None) -> str:
    return message(answer((world or World()).endpoint(JobRules), body(JOBS, obj)))


def policy(**fields: Any) -> Json:
    return job(task(policies=[fields]))


def of_pod(**spec: Any) -> Json:
    return job(task(template=pod(**spec)))


def partitioned(replicas: int = 4, *, least: int | None = None, **fields: Any) -> Json:
    numbers = {"totalPartitions": 2, "partitionSize": 2, **fields}
    given: Json = {} if least is None else {"minAvailable": least}
    return job(task(replicas=replicas, partitionPolicy=numbers, **given))


def volumes(*given: Json) -> Json:
    return job(volumes=list(given))


CLAIM = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}

ACCEPTED: dict[str, Json] = {
    "a plain job": job(),
    "no minAvailable of the task": job(task(replicas=3), minAvailable=3),
    "tier 0 alone": job(networkTopology={"highestTierAllowed": 0}),
    "tier by name": job(networkTopology={"highestTierName": "rack"}),
    "exit codes beside any event": job(
        policies=[{"event": "*", "action": "RestartJob"}, {"exitCode": 3, "action": "AbortJob"}]
    ),
    "one event twice in one policy": policy(events=["PodFailed", "PodFailed"], event="PodFailed", action="RestartJob"),
    "restart of a partition": policy(event="PodFailed", action="RestartPartition"),
    "an exit code without an action": policy(exitCode=3),
    "whole cpus": job(
        task(topologyPolicy="restricted", template=pod(containers=[container(resources={"requests": {"cpu": 2}})]))
    ),
    "whole cpus as a limit": job(
        task(topologyPolicy="best-effort", template=pod(containers=[container(resources={"limits": {"cpu": "2000m"}})]))
    ),
    "no cpus without a policy": job(task(topologyPolicy="none")),
    "partitions": partitioned(),
    "partitions all needed": partitioned(least=4),
    "partitions half needed": partitioned(least=2, minPartitions=1),
    "a claim by name": volumes({"mountPath": "/a", "volumeClaimName": "c"}),
    "a claim": volumes({"mountPath": "/a", "volumeClaim": CLAIM}),
    "plugins": job(plugins={"ssh": [], "env": [], "svc": ["--publish-not-ready-addresses"]}),
    "mpi with its master": job(task("master"), plugins={"mpi": [], "svc": [], "ssh": []}),
    "mpi with another master": job(task("boss"), plugins={"mpi": ["--master=boss", "--port=23"], "svc": [], "ssh": []}),
    "mpi with a flag in two words": job(task("boss"), plugins={"mpi": ["-master", "boss"], "svc": [], "ssh": []}),
    "dependencies": job(task("a"), task("b", dependsOn={"name": ["a"]}), task("c", dependsOn={"name": ["a", "b"]})),
    "a dependency twice": job(task("a"), task("b", dependsOn={"name": ["a", "a"]})),
    "an empty dependency": job(task("a", dependsOn={})),
    "a queue without a state": job(queue="new"),
    "no queue": job(queue=""),
    "a name that a Service can not have": job(name="1job"),
    "a ray job with the longest name": job(task("head"), name="j" * 54, plugins={"svc": [], "ray": []}),
    "an ssh job with the longest name": job(name="j" * 59, plugins={"ssh": []}),
    "a name with dots": job(name="j.k", volumes=[{"mountPath": "/a", "volumeClaimName": "c"}]),
    "no pods at all": job(task(replicas=0), task("u", replicas=0), minAvailable=0),
}

DENIED: dict[str, tuple[Json, str]] = {
    "no tasks": ({"metadata": {"name": "j"}, "spec": {}}, "No task specified in job spec"),
    "nothing": ({}, "No task specified in job spec"),
    "no mpi master": (job(plugins={"mpi": []}), "The specified mpi master task was not found"),
    "mpi master behind a bad flag": (
        job(task("boss"), plugins={"mpi": ["--foo", "--master=boss"]}),
        "The specified mpi master task was not found",
    ),
    "two tiers": (job(networkTopology={"highestTierAllowed": 0, "highestTierName": "r"}), f"{TIERS};"),
    "more needed than there are": (
        job(task(replicas=1, minAvailable=2)),
        "'minAvailable' is greater than 'replicas' in task: t, job: j;",
    ),
    "a task twice": (job(task(), task()), "duplicated task name t;"),
    "a task twice and more": (
        job(task(), task(policies=[{}])),
        "duplicated task name t;" + one_error("either event and exitCode should be specified") + CHOICES,
    ),
    "event and exit code": (
        policy(event="PodFailed", exitCode=1, action="AbortJob"),
        one_error("must not specify event and exitCode simultaneously") + CHOICES,
    ),
    "neither": (policy(action="AbortJob"), one_error("either event and exitCode should be specified") + CHOICES),
    "a forbidden event": (
        policy(event="OutOfSync", action="AbortJob"),
        one_error('spec.tasks.policies: Invalid value: "OutOfSync": invalid policy event') + CHOICES,
    ),
    "a forbidden action": (
        policy(event="PodFailed", action="SyncJob"),
        one_error('spec.tasks.policies: Invalid value: "SyncJob": invalid policy action') + CHOICES,
    ),
    "no action": (
        policy(event="PodFailed"),
        one_error('spec.tasks.policies: Invalid value: "": invalid policy action') + CHOICES,
    ),
    "an unknown action of an exit code": (
        policy(exitCode=3, action="Explode"),
        one_error('spec.tasks.policies: Invalid value: "Explode": invalid policy action') + CHOICES,
    ),
    "a policy with a timeout that is none": (
        job(task(policies=[{"event": "PodPending", "action": "AbortJob", "timeout": "5min"}])),
        one_error('spec.tasks.policies.timeout: Invalid value: "5min": time: unknown unit "min" in duration "5min"')
        + CHOICES,
    ),
    "an estimate that is no duration": (
        job(runningEstimate="soon"),
        'spec.runningEstimate: Invalid value: "soon": time: invalid duration "soon";',
    ),
    "an event in two policies": (
        job(policies=[{"event": "PodFailed", "action": "AbortJob"}, {"events": ["PodFailed"], "action": "RestartJob"}]),
        one_error("duplicate event PodFailed  across different policy") + CHOICES,
    ),
    "exit code 0": (policy(exitCode=0, action="AbortJob"), one_error("0 is not a valid error code") + CHOICES),
    "an exit code twice": (
        job(policies=[{"exitCode": 3, "action": "AbortJob"}, {"exitCode": 3, "action": "AbortJob"}]),
        one_error("duplicate exitCode 3") + CHOICES,
    ),
    "any event and another": (
        job(policies=[{"event": "*", "action": "AbortJob"}, {"event": "PodFailed", "action": "RestartJob"}]),
        one_error("if there's * here, no other policy should be here") + CHOICES,
    ),
    "any event, another, and a mistake": (
        policy(events=["*", "PodFailed", "Nonsense"], action="AbortJob"),
        '2 errors occurred:\n\t* spec.tasks.policies: Invalid value: "Nonsense": invalid policy event\n'
        "\t* if there's * here, no other policy should be here\n\n" + CHOICES,
    ),
    "a pod name": (
        job(name="j_"),
        f"create pod with name j_-t-0 validate failed [{SUBDOMAIN}];create job with name j_ validate failed [{KEY}]",
    ),
    "a pod name that is long by its last number": (
        job(task("t" * 30, replicas=1001), name="j" * 28),
        f"create pod with name {'j' * 28}-{'t' * 30}-1000 validate failed [name part must be no more than 63 bytes];",
    ),
    "a name that no Service can have": (
        job(name="1j", plugins={"svc": []}),
        (
            "create job with name 1j validate failed [a DNS-1035 label must consist of lower case alphanumeric characters or"
            " '-', start with an alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or"
            " 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')]"
        ),
    ),
    "a name with which the Service of ray is too long": (
        job(task("head"), name="j" * 55, plugins={"svc": [], "ray": []}),
        (
            f"create job with name {'j' * 55} validate failed [service {'j' * 55}-head-svc:"
            " must be no more than 63 characters]"
        ),
    ),
    "a name that no volume of ssh can have": (
        job(name="j.k", plugins={"ssh": []}),
        "create job with name j.k validate failed [volume j.k-ssh: must not contain dots]",
    ),
    "no containers": (of_pod(containers=[]), "spec.task[0].template.spec.containers: Required value."),
    "two mistakes in a pod": (
        of_pod(containers=[container(image="")], restartPolicy="Foo"),
        (
            "spec.task[0].template.spec.containers[0].image: Required value. template.spec.restartPolicy: Unsupported value:"
            ' "Foo": supported values: "Always", "OnFailure", "Never".'
        ),
    ),
    "a mistake in the second task": (
        job(task(), task("u", template=pod(containers=[container(image="")]))),
        "spec.task[1].template.spec.containers[0].image: Required value.",
    ),
    "a task name": (
        job(task("Bad_Name")),
        (
            f"create pod with name j-Bad_Name-0 validate failed [{SUBDOMAIN}];"
            f'spec.task[0].metadata.name: Invalid value: "Bad_Name": {SUBDOMAIN}.'
        ),
    ),
    "half a cpu": (
        job(
            task(
                topologyPolicy="restricted",
                template=pod(
                    initContainers=[{**container(), "name": "i"}],
                    containers=[container(resources={"requests": {"cpu": "1"}})],
                ),
            )
        ),
        "the cpu request isn't an integer in spec.task[0] container[1].",
    ),
    "no partitions": (partitioned(totalPartitions=0), "'TotalPartitions' must be greater than 0 in task: t, job: j"),
    "partitions of nothing": (
        partitioned(partitionSize=0),
        "'PartitionSize' must be greater than 0 in task: t, job: j",
    ),
    "pods beside partitions": (
        partitioned(replicas=5),
        "'Replicas' are not equal to TotalPartitions*PartitionSize in task: t, job: j",
    ),
    "half a partition": (
        partitioned(least=3, minPartitions=1),
        "'MinAvailable' is not equal to MinPartitions*PartitionSize in task: t, job: j",
    ),
    "two tiers of a partition": (
        partitioned(networkTopology={"highestTierAllowed": 1, "highestTierName": "r"}),
        f"{TIERS};",
    ),
    "more needed than all tasks have": (
        job(minAvailable=2),
        "job 'minAvailable' should not be greater than total replicas in tasks;",
    ),
    "an unknown plugin": (job(plugins={"big": []}), "unable to find job plugin: big;"),
    "no mount path": (volumes({"volumeClaimName": "c"}), "mountPath is required;"),
    "a mount path twice": (
        volumes({"mountPath": "/a", "volumeClaimName": "c"}, {"mountPath": "/a", "volumeClaimName": "d"}),
        "duplicated mountPath: /a;",
    ),
    "no claim": (volumes({"mountPath": "/a"}), "either VolumeClaim or VolumeClaimName must be specified;"),
    "two claims": (
        volumes({"mountPath": "/a", "volumeClaimName": "c", "volumeClaim": CLAIM}),
        (
            "conflict: If you want to use an existing PVC, just specify VolumeClaimName."
            "If you want to create a new PVC, you do not need to specify VolumeClaimName"
        ),
    ),
    "a claim name": (
        volumes({"mountPath": "/a", "volumeClaimName": "C_"}),
        f"invalid VolumeClaimName C_ : [{SUBDOMAIN}]",
    ),
    "a claim without modes": (
        volumes({"mountPath": "/a", "volumeClaim": {"resources": {"requests": {"storage": "1Gi"}}}}),
        "spec.volumes[0].volumeClaim.accessModes: Required value: at least 1 access mode is required;",
    ),
    "an unknown queue": (
        job(queue="q"),
        'unable to find job queue: queue.scheduling.volcano.sh "q" not found;',
    ),
    "a closed queue": (
        job(queue="closed"),
        "can only submit job to queue with state `Open`, queue `closed` status is `Closed`;",
    ),
    "the root queue": (job(queue="root"), "can not submit job to root queue;"),
    "a circle": (
        job(task("a", dependsOn={"name": ["b"]}), task("b", dependsOn={"name": ["a"]})),
        f"{DAG}: a -> b -> a;",
    ),
    "a task that waits for itself": (job(task("a", dependsOn={"name": ["a"]})), f"{DAG}: a -> a;"),
    "an unknown dependency": (
        job(task("a", dependsOn={"name": ["zz"]})),
        f"{DAG}: unknown task zz in dependsOn of task a;",
    ),
    "several": (
        job(task(replicas=1, minAvailable=2), minAvailable=5, queue="q", plugins={"big": []}),
        (
            "'minAvailable' is greater than 'replicas' in task: t, job: j; job 'minAvailable' should not be greater than"
            " total replicas in tasks; unable to find job plugin: big;"
            ' unable to find job queue: queue.scheduling.volcano.sh "q" not found;'
        ),
    ),
}


@pytest.mark.parametrize("name", ACCEPTED)
def test_what_can_run_is_let_in(name: str) -> None:
    assert created(ACCEPTED[name]) == ""


@pytest.mark.parametrize("name", DENIED)
def test_what_can_not_run_is_denied_with_the_text_that_clients_know(name: str) -> None:
    obj, expected = DENIED[name]
    assert created(obj) == expected


def test_a_parent_queue_takes_no_jobs() -> None:
    world = World(queue("p"), queue("a", parent="p"), queue("b", parent="p"))
    assert created(job(queue="p"), world) == "can only submit job to leaf queue, queue `p` has 2 child queues;"


def test_a_queue_that_was_made_a_moment_ago_is_read_from_the_server() -> None:
    world = World(server=Server(fresh=queue("fresh", state="")))
    assert created(job(queue="fresh"), world) == ""
    assert world.server.asked == ["fresh"]


def test_a_queue_in_the_cache_is_not_asked_for() -> None:
    world = World()
    assert created(job(), world) == ""
    assert world.server.asked == []


def test_without_an_answer_nothing_is_said_of_the_job() -> None:
    world = World(server=Server(q=ConnectionFailed("refused")))
    with pytest.raises(LookupFailed, match="Queue q is not in the cache"):
        created(job(queue="q"), world)


def test_arguments_that_plugins_leave_out_are_shown_beside_the_verdict() -> None:
    world = World()
    response = answer(world.endpoint(JobRules), body(JOBS, job(plugins={"svc": ["--publish"], "env": ["x"]})))
    assert response.allowed
    svc, env = response.warnings or ("", "")
    assert svc == (
        "job plugin svc: invalid argument --publish: no such flag; known: --publish-not-ready-addresses,"
        " --disable-network-policy, --inject-hosts-env; it and all arguments behind it are ignored"
    )
    assert env == "job plugin env: invalid argument x: is no flag; it and all arguments behind it are ignored"


@pytest.mark.parametrize(
    ("plugins", "task_name", "warning"),
    [
        ({"ray": []}, "head", ""),
        ({"ray": ["--head=boss"]}, "boss", ""),
        ({"svc": []}, "worker", ""),
        ({"ray": []}, "worker", "head"),
        ({"ray": ["--head=boss"]}, "head", "boss"),
    ],
)
def test_a_ray_job_without_the_task_that_all_others_join_is_warned_of(
    plugins: Json, task_name: str, warning: str
) -> None:
    response = answer(World().endpoint(JobRules), body(JOBS, job(task(task_name), plugins=plugins)))
    assert response.allowed
    told = [text for text in response.warnings or () if "ray" in text]
    expected = f"job plugin ray: there is no task {warning}, without which no pod is made; --head names another task"
    assert told == ([expected] if warning else [])


def test_a_field_of_the_wrong_type_is_named() -> None:
    assert created(job(minAvailable="many")) == 'spec.minAvailable: Invalid value: "many": expected integer, got string'


def test_equal_templates_are_judged_alike_and_different_ones_apart() -> None:
    endpoint = World().endpoint(JobRules)
    good, bad = job(), of_pod(containers=[container(image="")])
    for _ in range(2):
        assert message(answer(endpoint, body(JOBS, good))) == ""
        assert message(answer(endpoint, body(JOBS, bad))) != ""


# UPDATE


def updated(new: Json, old: Json | None = None, **options: Any) -> str:
    world = World(options=Options(**options))
    return message(answer(world.endpoint(JobRules), body(JOBS, new, old or job(task(replicas=2)))))


FIXED = "job updates may not change fields other than `minAvailable`, `tasks[*].replicas under spec` and `PriorityClassName`"
OLD = job(task(replicas=2))
STORED = job(task(replicas=4, minAvailable=4, maxRetry=3), minAvailable=4, maxRetry=3, schedulerName="volcano")
"""As admission filled it in for an author who wrote nothing of it; `kubectl apply` sends the list of tasks without."""


def applied(*tasks: Json, **spec: Any) -> Json:
    """STORED, its list of tasks replaced by one as its author wrote it."""
    return job(*tasks, **{"minAvailable": 4, "maxRetry": 3, "schedulerName": "volcano", **spec})


LAST_ONE = task("t" * 58, replicas=2)
"""In job j, pods 0-99 of this task have names that pods may have."""
HOST = {"hostNetwork": True}
HOST_STORED = {**HOST, "dnsPolicy": "ClusterFirstWithHostNet"}
ALLOWED_UPDATES: dict[str, tuple[Json, Json]] = {
    "nothing": (OLD, OLD),
    "labels": ({**OLD, "metadata": {"name": "j", "labels": {"a": "b"}}}, OLD),
    "replicas": (job(task(replicas=3)), OLD),
    "minAvailable of the task": (job(task(replicas=2, minAvailable=1)), OLD),
    "minAvailable of the job": (job(task(replicas=2), minAvailable=2), OLD),
    "priority": (job(task(replicas=2), priorityClassName="high"), OLD),
    "an amount in another spelling": (
        job(task(replicas=3, template=pod(containers=[container(resources={"requests": {"cpu": "1000m"}})]))),
        job(task(replicas=2, template=pod(containers=[container(resources={"requests": {"cpu": 1}})]))),
    ),
    "empty for absent": (job(task(replicas=3, policies=[]), plugins={}, maxRetry=0), OLD),
    "the name of a claim that was made": (
        job(task(replicas=3), volumes=[{"mountPath": "/a", "volumeClaim": CLAIM, "volumeClaimName": "made"}]),
        job(task(replicas=2), volumes=[{"mountPath": "/a", "volumeClaim": CLAIM}]),
    ),
    "more replicas, what was filled in left out": (applied(task(replicas=5)), STORED),
    "fewer replicas, what was filled in left out": (applied(task(replicas=3), minAvailable=2), STORED),
    "what was filled in left out": (applied(task(replicas=4)), STORED),
    "what was filled in written out": (STORED, applied(task(replicas=3))),
    "explicit 0 retries of a task": (applied(task(replicas=5, maxRetry=0)), STORED),
    "retries of the job left out": (applied(task(replicas=5), maxRetry=None), STORED),
    "the names of tasks left out": (
        applied(task("", replicas=5), task("")),
        applied(task("default0", replicas=4), task("default1")),
    ),
    "the default queue left out": (applied(task(replicas=5), queue=""), STORED),
    "a minimum that its author took back": (
        applied(task(replicas=4)),
        job(task(replicas=4, minAvailable=1, maxRetry=3), minAvailable=4, maxRetry=3, schedulerName="volcano"),
    ),
    "the name servers of the host network left out": (
        applied(task(replicas=5, template=pod(**HOST))),
        applied(task(replicas=4, minAvailable=4, maxRetry=3, template=pod(**HOST_STORED))),
    ),
    "labels of a job that breaks newer rules, what was filled in left out": (
        {**job(task(replicas=1), minAvailable=2), "metadata": {"name": "j", "labels": {"a": "b"}}},
        job(task(replicas=1, minAvailable=1, maxRetry=3), minAvailable=2),
    ),
    "a finalizer of a job that breaks newer rules": (
        {**job(task(replicas=1, minAvailable=2)), "metadata": {"name": "j", "finalizers": []}},
        job(task(replicas=1, minAvailable=2)),
    ),
    "as many replicas as pods can be named": (job(LAST_ONE | {"replicas": 100}), job(LAST_ONE)),
    "replicas of a task whose pods had bad names already": (
        job(LAST_ONE | {"replicas": 1001}),
        job(LAST_ONE | {"replicas": 1000}),
    ),
    "fewer replicas of such a task": (job(LAST_ONE | {"replicas": 101}), job(LAST_ONE | {"replicas": 1000})),
    "anything of a job on its way out": (
        {**job(queue="other"), "metadata": {"name": "j", "deletionTimestamp": "2026-01-01T00:00:00Z"}},
        OLD,
    ),
}
DENIED_UPDATES: dict[str, tuple[Json, Json, str]] = {
    "replicas below 0": (job(task(replicas=-1)), OLD, "'replicas' must be >= 0 in task: t"),
    "minAvailable below 0": (job(task(replicas=2, minAvailable=-1)), OLD, "'minAvailable' must be >= 0 in task: t"),
    "more than replicas": (
        job(task(replicas=2, minAvailable=3)),
        OLD,
        "'minAvailable' must be <= 'replicas' in task: t",
    ),
    "partitions": (
        partitioned(replicas=5),
        partitioned(),
        "'Replicas' are not equal to TotalPartitions*PartitionSize in task: t, job: j",
    ),
    "more than all": (
        job(task(replicas=2), minAvailable=3),
        OLD,
        "job 'minAvailable' must not be greater than total replicas: 3 > 2, at most 2 can be asked for",
    ),
    "as many as before of fewer": (
        job(task(replicas=1), minAvailable=2),
        job(task(replicas=2), minAvailable=2),
        "job 'minAvailable' must not be greater than total replicas: 2 > 1, lower spec.minAvailable as well",
    ),
    "fewer replicas than a minimum that was filled in": (
        applied(task(replicas=3)),
        STORED,
        "job 'minAvailable' must not be greater than total replicas: 4 > 3, lower spec.minAvailable as well",
    ),
    "retries of a task": (applied(task(replicas=5, maxRetry=5)), STORED, f"{FIXED}: spec.tasks[0].maxRetry"),
    "retries of a task left out that were no default": (
        applied(task(replicas=5)),
        job(task(replicas=4, maxRetry=7), minAvailable=4, maxRetry=3, schedulerName="volcano"),
        f"{FIXED}: spec.tasks[0].maxRetry",
    ),
    "no retries of the job": (applied(task(replicas=5), maxRetry=0), STORED, f"{FIXED}: spec.maxRetry"),
    "the scheduler left out": (applied(task(replicas=5), schedulerName=""), STORED, f"{FIXED}: spec.schedulerName"),
    "the name of a task left out that was no default": (
        applied(task("", replicas=5)),
        applied(task("t", replicas=4)),
        f"{FIXED}: spec.tasks[0].name",
    ),
    "a plugin that was filled in left out": (
        applied(task("master", replicas=5), plugins={"mpi": []}),
        applied(task("master", replicas=4), plugins={"mpi": [], "svc": [], "ssh": []}),
        f"{FIXED}: spec.plugins[svc]",
    ),
    "other name servers of the host network": (
        applied(task(replicas=5, template=pod(**HOST, dnsPolicy="Default"))),
        applied(task(replicas=4, template=pod(**HOST_STORED))),
        f"{FIXED}: spec.tasks[0].template.spec.dnsPolicy",
    ),
    "less than nothing": (job(task(replicas=2), minAvailable=-1), OLD, "job 'minAvailable' must be >= 0"),
    "two tiers": (
        job(task(replicas=2), networkTopology={"highestTierAllowed": 1, "highestTierName": "r"}),
        OLD,
        TIERS,
    ),
    "another task": (job(task(replicas=2), task("u")), OLD, "job updates may not add or remove tasks"),
    "another queue": (job(task(replicas=2), queue="q"), OLD, f"{FIXED}: spec.queue"),
    "another name": (job(task("u", replicas=2)), OLD, f"{FIXED}: spec.tasks[0].name"),
    "another plugin": (job(task(replicas=2), plugins={"svc": []}), OLD, f"{FIXED}: spec.plugins[svc]"),
    "another image": (
        job(task(replicas=2, template=pod(containers=[container(image="x")]))),
        OLD,
        f"{FIXED}: spec.tasks[0].template.spec.containers[0].image",
    ),
    "another amount": (
        job(task(replicas=2, template=pod(containers=[container(resources={"limits": {"cpu": 1}})]))),
        job(task(replicas=2, template=pod(containers=[container(resources={"limits": {"cpu": 2}})]))),
        f"{FIXED}: spec.tasks[0].template.spec.containers[0].resources.limits[cpu]",
    ),
    "another claim by name": (
        job(volumes=[{"mountPath": "/a", "volumeClaimName": "c"}]),
        job(volumes=[{"mountPath": "/a", "volumeClaimName": "d"}]),
        f"{FIXED}: spec.volumes[0].volumeClaimName",
    ),
    "more replicas than pods can be named": (
        job(LAST_ONE | {"replicas": 101}),
        job(LAST_ONE),
        f"create pod with name j-{'t' * 58}-100 validate failed [name part must be no more than 63 bytes];",
    ),
    "more replicas than pods can be named, what was filled in left out": (
        applied(task("", replicas=101), name="j" * 51),
        applied(task("default0", replicas=4), name="j" * 51),
        f"create pod with name {'j' * 51}-default0-100 validate failed [name part must be no more than 63 bytes];",
    ),
    "tasks in another order": (
        job(task("a"), task("b")),
        job(task("b"), task("a")),
        f"{FIXED}: spec.tasks[0].name",
    ),
}


@pytest.mark.parametrize("name", ALLOWED_UPDATES)
def test_what_may_change_may(name: str) -> None:
    new, old = ALLOWED_UPDATES[name]
    assert updated(new, old) == ""


@pytest.mark.parametrize("name", DENIED_UPDATES)
def test_what_may_not_change_is_named(name: str) -> None:
    new, old, expected = DENIED_UPDATES[name]
    assert updated(new, old) == expected


@pytest.mark.parametrize(
    ("phase", "image", "expected"),
    [
        ("", "x", ""),
        ("Pending", "x", ""),
        ("Aborted", "x", ""),
        ("Running", "x", f"{FIXED}: spec.tasks[0].template.spec.containers[0].image"),
        ("Pending", "", "spec.task[0].template.spec.containers[0].image: Required value."),
    ],
)
def test_where_it_is_asked_for_pods_may_change_before_there_are_any(phase: str, image: str, expected: str) -> None:
    old = copy.deepcopy(OLD)
    old["status"] = {"state": {"phase": phase}}
    new = job(task(replicas=2, template=pod(containers=[container(image=image)])))
    assert updated(new, old, allows_template_updates=True) == expected


@pytest.mark.parametrize("operation", ["DELETE", "CONNECT"])
def test_other_operations_are_not_for_it(operation: str) -> None:
    text = body(JOBS, job(), operation=operation)
    assert message(answer(World().endpoint(JobRules), text)) == "expect operation to be 'CREATE' or 'UPDATE'"


def test_another_resource_is_not_for_it() -> None:
    text = body(JOBS, job(), resource={"group": "", "version": "v1", "resource": "pods"})
    assert message(answer(World().endpoint(JobRules), text)) == "expect resource to be {batch.volcano.sh v1alpha1 jobs}"
