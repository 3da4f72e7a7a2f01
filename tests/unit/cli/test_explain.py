"""`vcctl job explain`, with and without the scheduler's own answer."""

from __future__ import annotations

import json
from typing import Any

import pytest

from cli.outline import outline
from tests.unit.cli.harness import BATCH, SCHEDULING, Server, job, queue, refused, run

J1 = f"{BATCH}/namespaces/default/jobs/j1"
GROUP = f"{SCHEDULING}/namespaces/default/podgroups/j1-u-j1"
PODS = "/api/v1/namespaces/default/pods"
EVENTS = "/api/v1/namespaces/default/events"
SYSTEM = "/api/v1/namespaces/volcano-system"
SERVICE = f"{SYSTEM}/services/volcano-scheduler-service:8080/proxy/explain/default/j1-u-j1"
MESSAGE = "0/2 nodes are available: 2 Insufficient cpu."


def waiting_pod(name: str) -> dict[str, Any]:
    return {
        "metadata": {"name": name, "annotations": {"volcano.sh/task-spec": "t"}},
        "status": {
            "phase": "Pending",
            "conditions": [{"type": "PodScheduled", "status": "False", "message": MESSAGE}],
        },
    }


def group() -> dict[str, Any]:
    condition = {
        "type": "Unschedulable",
        "status": "True",
        "reason": "NotEnoughResources",
        "message": "1/2 tasks in gang",
    }
    return {
        "metadata": {"name": "j1-u-j1", "namespace": "default"},
        "spec": {"minMember": 2, "queue": "q1"},
        "status": {"phase": "Inqueue", "conditions": [condition]},
    }


@pytest.fixture
def server() -> Server:
    made = Server().on(f"GET {J1}", job(phase="Pending")).on(f"GET {GROUP}", group()).items(EVENTS)
    made.items(PODS, waiting_pod("a"), waiting_pod("b"), {"metadata": {"annotations": {"volcano.sh/task-spec": "x"}}})
    return made.on(f"GET {SCHEDULING}/queues/q1", queue(capability={"memory": "8Gi", "cpu": "4"}))


HEAD = [
    "Job:       default/j1",
    "Phase:     Pending",
    "PodGroup:  j1-u-j1: Inqueue, 2 pods needed, 0 running",
    "  Unschedulable: NotEnoughResources: 1/2 tasks in gang",
    "Queue:     q1: Open, weight 3",
    "  Capability: cpu 4, memory 8Gi",
    "Tasks:",
    "  t: 3 wanted, 2 Pending",
    f"    2 x {MESSAGE}",
]


def test_the_schedulers_answer_is_shown_as_it_comes(server: Server) -> None:
    answer = {"summary": "needs 3 cpu", "filters": [{"name": "NodeResourcesFit", "nodes": 2}], "nothing": None}
    server.on(f"GET {SERVICE}", answer)
    lines = run("job", "explain", "-N", "j1", server=server).lines
    assert lines == [
        *HEAD,
        "Scheduler:",
        "  Summary: needs 3 cpu",
        "  Filters:",
        "    - Name: NodeResourcesFit",
        "      Nodes: 2",
        "Events: \t<none>",
    ]


def test_an_answer_whose_fields_are_known_reads_as_text(server: Server) -> None:
    answer = {
        "summary": "2 pods find no node: needs 8 nvidia.com/gpu, the best node n-3 has 6 free",
        "causes": [{"kind": "NoPlace", "text": "..."}],
        "needs": ["2 nvidia.com/gpu more free on node n-3"],
        "gang": {"minMember": 2, "ready": 0, "missing": 2, "statuses": {"Pending": 2}, "roles": []},
        "queue": {"name": "q1", "weight": 3, "share": 0.5, "plugin": "proportion", "deserved": {"cpu": "4"}},
    }
    server.on(f"GET {SERVICE}", answer)
    assert run("job", "explain", "-N", "j1", server=server).lines == [
        *HEAD,
        "Scheduler:",
        "  Why: 2 pods find no node: needs 8 nvidia.com/gpu, the best node n-3 has 6 free",
        "  What would make it start:",
        "    - 2 nvidia.com/gpu more free on node n-3",
        "  Gang: 0 of 2 needed pods have their place, 2 missing (2 Pending)",
        "  Queue: q1, weight 3, share 0.5 by proportion",
        "    deserved: cpu 4",
        "Events: \t<none>",
    ]


@pytest.mark.parametrize(
    ("phase", "told"),
    [
        ("Inqueue", "its pod group is admitted, waits for its pods to run"),
        ("Pending", "waits for its pod group to be admitted"),
        ("", "waits for its pod group to be admitted"),
    ],
)
def test_a_job_whose_group_is_let_in_is_not_said_to_wait_for_that(server: Server, phase: str, told: str) -> None:
    state = {"phase": "Pending", "reason": "Created", "message": "waits for its pod group to be admitted"}
    server.on(f"GET {J1}", job(status={"state": state})).on(f"GET {GROUP}", group() | {"status": {"phase": phase}})
    lines = run("job", "explain", "-N", "j1", "--no-scheduler", server=server).lines
    assert lines[1] == f"Phase:     Pending (Created: {told})"


def test_a_standby_behind_the_service_leads_to_the_pods(server: Server) -> None:
    running = {"metadata": {"name": "s-1"}, "status": {"phase": "Running"}}
    server.items(f"{SYSTEM}/pods", {"metadata": {"name": "s-0"}, "status": {"phase": "Pending"}}, running)
    server.on(f"GET {SYSTEM}/pods/s-1:8080/proxy/explain/default/j1-u-j1", {"why": "the leader knows"})
    assert "  Why: the leader knows" in run("job", "explain", "-N", "j1", server=server).lines


@pytest.mark.parametrize(
    "answer", [(503, {"status": "Failure", "code": 503, "message": "no endpoints"}), refused(), b"<html>"]
)
def test_without_an_answer_conditions_and_events_tell(server: Server, answer: Any) -> None:
    server.on(f"GET {SERVICE}", answer)
    result = run("job", "explain", "-N", "j1", server=server)
    assert result.code == 0
    assert result.lines[: len(HEAD)] == HEAD
    assert result.lines[len(HEAD)].startswith("Scheduler: no answer (")
    assert result.lines[-1] == "Events: \t<none>"


def test_the_scheduler_is_left_alone_on_demand(server: Server) -> None:
    assert run("job", "explain", "-N", "j1", "--no-scheduler", server=server).lines == [*HEAD, "Events: \t<none>"]
    assert not [target for target in server.targets if "proxy" in target]


def test_all_of_it_as_json(server: Server) -> None:
    server.on(f"GET {SERVICE}", {"a": 1})
    found = json.loads(run("job", "explain", "-N", "j1", "-o", "json", server=server).out)
    assert found["scheduler"] == {"a": 1}
    assert found["tasks"] == [{"name": "t", "replicas": 3, "pods": {"Pending": 2}, "unschedulable": {MESSAGE: 2}}]
    assert found["queue"]["capability"] == {"cpu": "4", "memory": "8Gi"}


def test_a_group_of_another_name_is_found_by_its_owner(server: Server) -> None:
    own = group()
    own["metadata"] |= {"name": "odd", "ownerReferences": [{"uid": "u-j1"}]}
    gone = (404, {"status": "Failure", "reason": "NotFound", "code": 404, "message": "gone"})
    server.on(f"GET {GROUP}", gone).items(f"{SCHEDULING}/namespaces/default/podgroups", {"metadata": {}}, own)
    lines = run("job", "explain", "-N", "j1", "--no-scheduler", server=server).lines
    assert lines[2] == "PodGroup:  odd: Inqueue, 2 pods needed, 0 running"


@pytest.mark.parametrize(
    ("least", "ready", "told"),
    [
        (4, False, "  the gang counts 3 pods of task worker that wait for task master"),
        (1, False, "  3 pods of task worker wait for task master"),
        (4, True, ""),
    ],
)
def test_a_task_that_waits_for_another_is_told(least: int, ready: bool, told: str) -> None:
    tasks = [
        {"name": "master", "replicas": 1},
        {"name": "worker", "replicas": 3, "dependsOn": {"name": ["master"]}},
    ]
    own = group()
    own["spec"]["minMember"] = least
    master = {
        "metadata": {"annotations": {"volcano.sh/task-spec": "master"}},
        "status": {"phase": "Running", "containerStatuses": [{"ready": ready}]},
    }
    made = Server().on(f"GET {J1}", job(phase="Pending", spec={"tasks": tasks})).on(f"GET {GROUP}", own).items(EVENTS)
    made.items(PODS, master).on(f"GET {SCHEDULING}/queues/q1", queue())
    lines = run("job", "explain", "-N", "j1", "--no-scheduler", server=made).lines
    place = lines.index("  worker: 3 wanted, no pods")
    if not told:
        assert lines[place + 1].startswith("Events")
        return
    assert lines[place + 1] == told
    assert ("minAvailable of the job lowered to at most 1" in lines[place + 2]) is (least == 4)
    found = json.loads(run("job", "explain", "-N", "j1", "--no-scheduler", "-o", "json", server=made).out)
    assert found["tasks"][1]["waitsFor"] == ["master"]


def test_before_a_job_is_let_in_the_tasks_that_wait_for_none_count_as_makeable() -> None:
    tasks = [
        {"name": "master", "replicas": 2},
        {"name": "worker", "replicas": 1, "dependsOn": {"name": ["master"]}},
    ]
    own = group()
    own["spec"]["minMember"] = 3
    made = Server().on(f"GET {J1}", job(phase="Pending", spec={"tasks": tasks})).on(f"GET {GROUP}", own).items(EVENTS)
    made.items(PODS).on(f"GET {SCHEDULING}/queues/q1", queue())
    lines = run("job", "explain", "-N", "j1", "--no-scheduler", server=made).lines
    assert "  the gang counts 1 pod of task worker that waits for task master" in lines
    assert any("minAvailable of the job lowered to at most 2" in line for line in lines)


@pytest.mark.parametrize("phase", ["Completed", "Aborted"])
def test_tasks_of_a_job_that_has_ended_wait_for_none(phase: str) -> None:
    tasks = [{"name": "master", "replicas": 1}, {"name": "worker", "replicas": 1, "dependsOn": {"name": ["master"]}}]
    made = Server().on(f"GET {J1}", job(phase=phase, spec={"tasks": tasks})).items(EVENTS).items(PODS)
    made.items(f"{SCHEDULING}/namespaces/default/podgroups")
    assert "master to be ready" not in run("job", "explain", "-N", "j1", server=made).out


GONE = (404, {"status": "Failure", "reason": "NotFound", "code": 404, "message": "gone"})
CLASSES = "/apis/scheduling.k8s.io/v1/priorityclasses"


@pytest.mark.parametrize(
    ("spec", "places"),
    [
        ({"priorityClassName": "high"}, ["spec.priorityClassName"]),
        (
            {"tasks": [{"name": "t", "template": {"spec": {"priorityClassName": "high"}}}]},
            ["spec.tasks[0].template.spec.priorityClassName"],
        ),
        ({"priorityClassName": "there"}, []),
        ({}, []),
    ],
    ids=["of the job", "of a task", "one that exists", "none"],
)
def test_a_priority_class_that_does_not_exist_is_named(server: Server, spec: Any, places: list[str]) -> None:
    server.on(f"GET {J1}", job(phase="Pending", spec=spec))
    server.on(f"GET {CLASSES}/there", {}).on(f"GET {CLASSES}/high", GONE)
    result = run("job", "explain", "-N", "j1", "--no-scheduler", server=server)
    told = [line for line in result.lines if line.startswith("Priority: ")]
    assert told == [
        f'Priority:  there is no PriorityClass "high", so pods with it can\'t be made: create it, or change {place}'
        for place in places
    ]
    found = json.loads(run("job", "explain", "-N", "j1", "--no-scheduler", "-o", "json", server=server).out)
    assert [one["name"] for one in found.get("missingPriorityClasses", [])] == ["high"] * len(places)


def test_a_job_that_has_ended_needs_no_priority_class(server: Server) -> None:
    server.on(f"GET {J1}", job(phase="Completed", spec={"priorityClassName": "high"}))
    server.on(f"GET {CLASSES}/high", GONE)
    assert "PriorityClass" not in run("job", "explain", "-N", "j1", server=server).out


def test_who_may_not_read_priority_classes_is_told_so(server: Server) -> None:
    server.on(f"GET {J1}", job(phase="Pending", spec={"priorityClassName": "high"}))
    server.fail(f"GET {CLASSES}/high", 403, "priorityclasses is forbidden", "Forbidden")
    result = run("job", "explain", "-N", "j1", "--no-scheduler", server=server)
    assert (result.code, result.err) == (0, "priority classes are left out: priorityclasses is forbidden\n")


def test_what_is_missing_is_said() -> None:
    made = Server().on(f"GET {J1}", job(phase="")).items(EVENTS).items(PODS)
    made.items(f"{SCHEDULING}/namespaces/default/podgroups")
    lines = run("job", "explain", "-N", "j1", server=made).lines
    assert lines[1] == "Phase:     none yet"
    assert lines[2].startswith("PodGroup:  none yet: the job controller makes it")
    assert lines[3] == 'Queue:     default: there is no queue "default": create it, or put the job into another'
    assert lines[5] == "  t: 3 wanted, no pods"


@pytest.mark.parametrize(
    ("phase", "words"),
    [
        ("Completed", "the job has finished, nothing waits"),
        ("Failed", "the job has finished, nothing waits"),
        ("Terminated", "the job has finished, nothing waits"),
        ("Terminating", "the job is ending"),
        ("Aborted", "vcctl job resume"),
        ("Restarting", "the controller then makes another"),
    ],
)
def test_a_job_whose_pod_group_is_gone_by_right_does_not_blame_the_controller(phase: str, words: str) -> None:
    made = Server().on(f"GET {J1}", job(phase=phase)).items(EVENTS).items(PODS)
    made.items(f"{SCHEDULING}/namespaces/default/podgroups")
    result = run("job", "explain", "-N", "j1", server=made)
    assert words in result.lines[2]
    assert "vc-controller-manager" not in result.out


@pytest.mark.parametrize("by_flag", [True, False])
def test_a_scheduler_outside_the_cluster_is_asked_at_its_address(server: Server, scheduler: Any, by_flag: bool) -> None:
    address, asked = scheduler
    words = ["--scheduler-url", f"{address}/"] if by_flag else []
    environ = {"VCCTL_SCHEDULER_URL": "http://127.0.0.1:1" if by_flag else address}
    result = run("job", "explain", "-N", "j1", *words, server=server, environ=environ)
    assert "  Why: it is asked directly" in result.lines
    assert asked == [("/explain/default/j1-u-j1", None)]
    assert not [target for target in server.targets if "proxy" in target]


def test_what_a_scheduler_outside_the_cluster_refuses_is_told_in_its_words(server: Server, scheduler: Any) -> None:
    own = group()
    own["metadata"] |= {"name": "x"}
    server.on(f"GET {GROUP}", own)
    lines = run("job", "explain", "-N", "j1", "--scheduler-url", scheduler[0], server=server).lines
    assert lines[len(HEAD)].startswith("Scheduler: no answer (podgroup x is not known to this scheduler)")


def test_a_scheduler_that_does_not_listen_is_told_at_once(server: Server) -> None:
    lines = run("job", "explain", "-N", "j1", "--scheduler-url", "http://127.0.0.1:1", server=server).lines
    assert "connection refused" in lines[len(HEAD)]


@pytest.mark.parametrize("address", ["127.0.0.1:8080", "ftp://a", "http://", "http://a:b", "http://a?x=1"])
def test_an_address_that_is_none_is_refused(server: Server, address: str) -> None:
    told = run("job", "explain", "-N", "j1", "--scheduler-url", address, server=server).out
    assert told == (f"Failed to explain job: --scheduler-url: {address} is no address such as http://127.0.0.1:8080\n")
    told = run("job", "explain", "-N", "j1", server=server, environ={"VCCTL_SCHEDULER_URL": address}).out
    assert "VCCTL_SCHEDULER_URL: " in told


def test_a_name_is_needed() -> None:
    message = "job name (specified by --name or -N) is mandatory to explain a particular job"
    assert run("job", "explain").out == f"Failed to explain job: {message}\n"


@pytest.mark.parametrize(
    ("value", "lines"),
    [
        ({"minMember": 2, "isReady": False, "share": 0.5}, ["Min member: 2", "Is ready: no", "Share: 0.5"]),
        ({"empty": {}, "none": None, "text": "", "zero": 0}, ["Zero: 0"]),
        ([{"a": 1, "b": [1, 2]}, "x"], ["- A: 1", "  B:", "    - 1", "    - 2", "- x"]),
        ("word", ["word"]),
        (None, []),
    ],
)
def test_an_outline_of_anything(value: Any, lines: list[str]) -> None:
    assert list(outline(value)) == lines


def test_what_may_not_be_read_is_said_and_left_out(server: Server) -> None:
    for request, what in (
        (f"GET {PODS}", "pods"),
        (f"GET {GROUP}", "podgroups"),
        (f"GET {SCHEDULING}/queues/default", "queues"),
    ):
        server.fail(request, 403, f"{what} is forbidden", "Forbidden")
    result = run("job", "explain", "-N", "j1", server=server)
    assert result.code == 0
    assert result.err == "pods are left out: pods is forbidden\n"
    assert "PodGroup:  podgroups is forbidden" in result.lines
    assert "Queue:     default: queues is forbidden" in result.lines
