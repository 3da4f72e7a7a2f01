"""Objects of the API server as the scheduler's state (scheduler.md 4.5 to 4.9)."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from generated.core.v1 import Node, Pod
from generated.scheduling.v1 import PriorityClass
from generated.scheduling.v1beta1 import PodGroup, Queue
from scheduler.actions import BUILT_IN as ACTIONS
from scheduler.cache.facts import Facts
from scheduler.cache.shapes import Shapes
from scheduler.cache.translate import allocatable_of, status_of, task_of
from scheduler.cycle import run_cycle
from scheduler.state.cluster import Cluster
from scheduler.state.status import Status
from scheduler.state.task import Task
from tests.unit.scheduler.build import memory_of


def pod(name: str = "g-w-0", **rest: Any) -> Pod:
    document: dict[str, Any] = {
        "metadata": {
            "name": name,
            "namespace": "ns",
            "uid": f"uid-{name}",
            "annotations": {"scheduling.k8s.io/group-name": "g", "volcano.sh/task-spec": "w"},
            **rest.pop("metadata", {}),
        },
        "spec": {
            "schedulerName": "volcano",
            "containers": [{"name": "c", "resources": {"requests": {"cpu": "1", "memory": "1Gi"}}}],
            **rest.pop("spec", {}),
        },
        "status": {"phase": "Pending", **rest.pop("status", {})},
    }
    return msgspec.convert(document, Pod)


def node(name: str = "n1", **status: Any) -> Node:
    offered = {"cpu": "4", "memory": "8Gi", "pods": "10", **status}
    return msgspec.convert({"metadata": {"name": name}, "status": {"allocatable": offered}}, Node)


def group(uid: str = "u", phase: str = "", **spec: Any) -> PodGroup:
    return msgspec.convert(
        {"metadata": {"name": "g", "namespace": "ns", "uid": uid}, "spec": spec, "status": {"phase": phase}}, PodGroup
    )


def facts() -> Facts:
    made = Facts(Cluster(), scheduler_names=("volcano",), default_queue="default")
    made.apply(("Queue", None, msgspec.convert({"metadata": {"name": "default", "uid": "q"}}, Queue)))
    made.apply(("Node", None, node()))
    made.cluster.settle()
    return made


@pytest.mark.parametrize(
    ("phase", "deleted", "bound", "expected"),
    [
        ("Running", True, True, Status.RELEASING),
        ("Running", False, True, Status.RUNNING),
        ("Pending", True, False, Status.RELEASING),
        ("Pending", False, False, Status.PENDING),
        ("Pending", False, True, Status.BOUND),
        ("Succeeded", True, True, Status.SUCCEEDED),
        ("Failed", False, True, Status.FAILED),
        ("Unknown", False, True, Status.UNKNOWN),
        ("", False, False, Status.UNKNOWN),
    ],
)
def test_a_pod_stands_where_phase_deletion_and_node_say(
    phase: str, deleted: bool, bound: bool, expected: Status
) -> None:
    made = pod(
        metadata={"deletionTimestamp": "2026-01-01T00:00:00Z"} if deleted else {},
        spec={"nodeName": "n1"} if bound else {},
        status={"phase": phase},
    )
    assert status_of(made) is expected


@pytest.mark.parametrize(
    ("metadata", "spec", "expected"),
    [
        ({}, {}, 1),
        ({}, {"priority": 7}, 7),
        ({"annotations": {"volcano.sh/task-priority": "-3"}}, {"priority": 7}, -3),
        ({"annotations": {"volcano.sh/task-priority": "high"}}, {"priority": 7}, 7),
        ({"annotations": {"volcano.sh/task-priority": "99999999999"}}, {}, 1),
    ],
)
def test_the_annotation_overrides_a_pods_priority_when_it_can_be_read(
    metadata: dict[str, Any], spec: dict[str, Any], expected: int
) -> None:
    assert task_of(pod(metadata=metadata, spec=spec), Shapes()).priority == expected


@pytest.mark.parametrize(
    ("metadata", "expected"),
    [
        ({}, True),
        ({"annotations": {"volcano.sh/preemptable": "false"}}, False),
        ({"annotations": {"volcano.sh/preemptable": "maybe"}}, False),
        ({"labels": {"volcano.sh/preemptable": "true"}}, True),
        ({"annotations": {"volcano.sh/preemptable": "true"}, "labels": {"volcano.sh/preemptable": "false"}}, True),
    ],
)
def test_a_pod_is_preemptable_unless_it_says_otherwise(metadata: dict[str, Any], expected: bool) -> None:
    assert task_of(pod(metadata=metadata), Shapes()).preemptable is expected


def test_pods_of_one_template_share_their_shape_and_others_do_not() -> None:
    shapes = Shapes()
    first, second = shapes.of(pod("a", spec={"nodeName": "x"})), shapes.of(pod("b", spec={"nodeName": "y"}))
    assert first is second
    assert shapes.of(pod("c", spec={"nodeSelector": {"k": "v"}})) is not first
    assert shapes.of(pod("d", spec={"tolerations": [{"key": "k"}]})) is not first


def test_a_pod_resized_in_place_has_a_size_of_its_own() -> None:
    status = {"containerStatuses": [{"name": "c", "resources": {"requests": {"cpu": "3"}}}]}
    assert task_of(pod(status=status), Shapes()).request.amounts["cpu"] == 3000


def test_a_pod_occupies_its_node_and_its_job_counts_it() -> None:
    made = facts()
    made.apply(("PodGroup", None, group(minMember=2)))
    made.apply(("Pod", None, pod(spec={"nodeName": "n1"})))
    job = made.cluster.jobs["ns/g"]
    assert (job.min_available, job.queue, job.counts[Status.BOUND]) == (2, "default", 1)
    assert made.cluster.columns.used[0, 0] == 1000
    assert made.cluster.queues["default"].allocated[0] == 1000


def test_pods_before_their_group_wait_for_it() -> None:
    made = facts()
    made.apply(("Pod", None, pod()))
    assert made.cluster.jobs["ns/g"].pod_group is None
    made.apply(("PodGroup", None, group(minMember=1)))
    assert made.cluster.jobs["ns/g"].counts[Status.PENDING] == 1


def test_a_foreign_pod_without_node_is_none_of_ours_and_one_on_a_node_takes_room() -> None:
    made = facts()
    made.apply(("Pod", None, pod("x", spec={"schedulerName": "other"})))
    assert not made.cluster.tasks
    made.apply(("Pod", None, pod("x", spec={"schedulerName": "other", "nodeName": "n1"})))
    assert made.cluster.columns.used[0, 0] == 1000


def test_an_update_that_does_not_know_of_our_bind_yet_is_ignored() -> None:
    made = facts()
    old = pod()
    made.apply(("Pod", None, old))
    task = made.cluster.tasks["uid-g-w-0"]
    made.cluster.remove_task(task.uid)
    task.status = Status.BINDING
    made.cluster.add_task(task, "n1")
    made.apply(("Pod", old, pod(metadata={"labels": {"new": "label"}})))
    assert state_of(made) is Status.BINDING
    made.apply(("Pod", old, pod(spec={"nodeName": "n1"})))
    assert state_of(made) is Status.BOUND


def state_of(made: Facts, uid: str = "uid-g-w-0") -> Status:
    return made.cluster.tasks[uid].status


def binding(made: Facts) -> Task:
    """A pod whose bind to n1 is on its way."""
    made.apply(("PodGroup", None, group(minMember=1)))
    made.apply(("Pod", None, pod()))
    task = made.cluster.tasks["uid-g-w-0"]
    made.cluster.remove_task(task.uid)
    task.status = Status.BINDING
    made.cluster.add_task(task, "n1")
    return task


def totals(cluster: Cluster) -> tuple[Any, ...]:
    job, queue = cluster.jobs["ns/g"], cluster.queues["default"]
    return (
        cluster.columns.dynamic.tolist(),
        job.counts,
        job.role_counts,
        job.account.tolist(),
        queue.account.tolist(),
        sorted(job.tasks),
        sorted(job.pending),
        {name: sorted(node.tasks) for name, node in cluster.node_by_name.items()},
    )


def test_the_news_of_our_own_bind_moves_nobody_and_counts_as_a_pod_seen_for_the_first_time_would() -> None:
    made, anew = facts(), facts()
    task, there = binding(made), pod(spec={"nodeName": "n1"})
    binding(anew)
    before, version = made.cluster.touched.moved.position, made.cluster.version
    made.apply(("Pod", task.pod, there))
    assert made.cluster.tasks[task.uid] is task
    assert task.status is Status.BOUND
    assert task.pod is there
    assert made.cluster.touched.moved.position == before
    assert made.cluster.version > version
    anew.apply(("Pod", None, pod(metadata={"labels": {"other": "label"}}, spec={"nodeName": "n1"})))
    assert totals(made.cluster) == totals(anew.cluster)


@pytest.mark.parametrize(
    "rest",
    [
        {"metadata": {"annotations": {"scheduling.k8s.io/group-name": "g", "volcano.sh/task-spec": "other"}}},
        {"metadata": {"labels": {"new": "label"}}},
        {"spec": {"containers": [{"name": "c", "resources": {"requests": {"cpu": "2", "memory": "1Gi"}}}]}},
        {"status": {"phase": "Running"}},
    ],
)
def test_a_pod_that_is_bound_and_changed_is_read_anew(rest: dict[str, Any]) -> None:
    made = facts()
    task = binding(made)
    changed = pod(**{**rest, "spec": {**rest.get("spec", {}), "nodeName": "n1"}})
    made.apply(("Pod", task.pod, changed))
    found = made.cluster.tasks[task.uid]
    assert found is not task
    assert found.status is status_of(changed)
    assert sum(made.cluster.jobs["ns/g"].counts) == 1


def test_a_pod_that_somebody_else_bound_elsewhere_moves_there() -> None:
    made = facts()
    made.apply(("Node", None, node("n2")))
    task = binding(made)
    made.apply(("Pod", task.pod, pod(spec={"nodeName": "n2"})))
    assert [len(made.cluster.node_by_name[name].tasks) for name in ("n1", "n2")] == [0, 1]


def test_a_failed_bind_lets_the_pod_wait_again() -> None:
    made = facts()
    made.apply(("Pod", None, pod()))
    task = made.cluster.tasks["uid-g-w-0"]
    made.cluster.remove_task(task.uid)
    task.status = Status.BINDING
    made.cluster.add_task(task, "n1")
    made.unbound("uid-g-w-0")
    assert made.cluster.tasks["uid-g-w-0"].status is Status.PENDING
    assert made.cluster.columns.used[0, 0] == 0


def test_a_finished_or_deleted_pod_frees_its_node() -> None:
    made = facts()
    running = pod(spec={"nodeName": "n1"}, status={"phase": "Running"})
    for end in (pod(spec={"nodeName": "n1"}, status={"phase": "Succeeded"}), None):
        made.apply(("Pod", None, running))
        assert made.cluster.columns.used[0, 0] == 1000
        made.apply(("Pod", running, end))
        assert made.cluster.columns.used[0, 0] == 0


def test_tasks_of_a_node_not_seen_yet_count_once_it_comes_and_survive_its_going() -> None:
    made = facts()
    made.apply(("Pod", None, pod(spec={"nodeName": "late"})))
    made.apply(("Node", None, node("late")))
    made.cluster.settle()
    assert made.cluster.columns.used[0, made.cluster.node_by_name["late"].row] == 1000
    made.apply(("Node", node("late"), None))
    made.cluster.settle()
    assert [found.name for found in made.cluster.nodes] == ["n1"]
    assert made.cluster.tasks["uid-g-w-0"].node is not None


def test_a_group_made_again_is_another_job_of_the_same_name() -> None:
    made = facts()
    made.apply(("PodGroup", None, group("one", phase="Running", minMember=1)))
    assert made.cluster.jobs["ns/g"].phase == "Running"
    made.apply(("PodGroup", group("one"), group("two", minMember=3)))
    job = made.cluster.jobs["ns/g"]
    assert (job.uid, job.phase, job.min_available) == ("two", "", 3)
    made.apply(("PodGroup", group("one"), None))
    assert made.cluster.jobs["ns/g"].pod_group is not None


def test_a_group_without_queue_goes_to_the_default_one_and_takes_its_class_priority() -> None:
    made = facts()
    made.apply(("PodGroup", None, group(minMember=1, priorityClassName="high")))
    assert made.cluster.jobs["ns/g"].priority == 0
    high = msgspec.convert({"metadata": {"name": "high"}, "value": 100}, PriorityClass)
    before = made.cluster.version
    made.apply(("PriorityClass", None, high))
    assert made.cluster.version > before  # a cycle follows
    assert (made.cluster.jobs["ns/g"].queue, made.cluster.jobs["ns/g"].priority) == ("default", 100)
    made.apply(("PriorityClass", high, None))
    assert made.cluster.jobs["ns/g"].priority == 0


def test_an_object_that_can_not_be_read_is_reported_and_changes_nothing_else(caplog: pytest.LogCaptureFixture) -> None:
    made = facts()
    bad = pod("bad", spec={"containers": [{"name": "c", "resources": {"requests": {"cpu": "lots"}}}]})
    made.apply(("Pod", None, bad))
    made.apply(("Pod", None, pod("good")))
    assert list(made.cluster.tasks) == ["uid-good"]
    assert "object=ns/bad" in caplog.text


def test_a_heartbeat_of_a_node_is_no_change() -> None:
    made = facts()
    version = made.cluster.version
    made.apply(("Node", node(), node()))
    assert made.cluster.version == version
    made.apply(("Node", node(), node(cpu="8")))
    assert made.cluster.version > version


@pytest.mark.parametrize("phase", ["Pending", "Inqueue"])
@pytest.mark.parametrize("is_group_first", [False, True])
def test_a_waiting_job_that_is_deleted_between_two_cycles_stops_nobody(
    phase: str, is_group_first: bool, caplog: pytest.LogCaptureFixture
) -> None:
    made = facts()
    memory = memory_of(made.cluster)
    waiting = group("large", phase, minMember=9, queue="default")
    made.apply(("PodGroup", None, waiting))
    made.apply(("Pod", None, pod()))
    run_cycle(made.cluster, memory, ACTIONS, uid="1", now=1.0)
    gone = [("PodGroup", waiting, None), ("Pod", pod(), None)]
    for change in gone if is_group_first else reversed(gone):
        made.apply(change)
    run_cycle(made.cluster, memory, ACTIONS, uid="2", now=2.0)

    made.apply(("PodGroup", None, group("small", "Inqueue", minMember=1, queue="default")))
    made.apply(("Pod", None, pod("g-w-1")))
    result = run_cycle(made.cluster, memory, ACTIONS, uid="3", now=3.0)
    assert [decision.task.name for decision in result.decisions] == ["g-w-1"]
    assert not [record for record in caplog.records if record.levelname == "ERROR"]


def test_a_standby_takes_the_phases_that_another_scheduler_gives() -> None:
    made = facts()
    first, second = group("u", "Pending"), group("u", "Running")
    made.follows_phases = True
    made.apply(("PodGroup", None, first))
    made.apply(("PodGroup", first, second))
    assert made.cluster.jobs["ns/g"].phase == "Running"
    made.follows_phases = False
    made.apply(("PodGroup", second, first))
    assert made.cluster.jobs["ns/g"].phase == "Running"


def test_what_a_node_offers_again_is_added_to_its_allocatable() -> None:
    def offered(**annotations: str) -> Any:
        keys = {f"volcano.sh/oversubscription-{name}": value for name, value in annotations.items()}
        found = node(cpu="2", memory="1Gi")
        meta = msgspec.structs.replace(found.metadata, annotations=keys)
        return allocatable_of(msgspec.structs.replace(found, metadata=meta))

    plain = offered()
    assert offered(cpu="4000", memory="1024") == {**plain, "cpu": 6000.0, "memory": plain["memory"] + 1024}
    assert offered(cpu="-1", memory="a lot") == plain
