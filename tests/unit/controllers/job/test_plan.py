"""What is done about a job: the cases of the specification, each as (job, pods, request) to status and writes."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from controllers.job.machine import cell
from controllers.job.plan import Plan, is_hopeless, plan
from controllers.job.requests import SYNC, Request, Target
from controllers.job.status import initial
from controllers.job.world import MOST_PODS, World, places
from generated.batch.v1alpha1 import DependsOn, Job, PartitionPolicySpec, TaskState
from tests.unit.controllers.job.samples import NOW, a_group, a_job, a_pod, a_task, a_world, containers, with_counts


def act(world: World, action: str = "SyncJob", request: Request = SYNC) -> Plan:
    return plan(world, cell(world.job.status.state.phase, action), request, action, NOW)


def created(made: Plan) -> list[str]:
    return [place.pod for place in made.create]


def deleted(made: Plan) -> list[str]:
    return [pod.metadata.name for pod in made.delete]


def phase(made: Plan) -> str:
    return made.status.state.phase


def test_a_job_that_is_not_admitted_gets_no_pods() -> None:
    for group in (None, a_group(""), a_group("Pending")):
        made = act(a_world(a_job(phase="Pending"), group=group))
        assert (created(made), deleted(made), phase(made)) == ([], [], "Pending")


def test_an_admitted_job_gets_every_pod_that_it_lacks() -> None:
    made = act(a_world(a_job(a_task(replicas=2), a_task("w", 1), phase="Pending"), a_pod("j-t-1")))
    assert created(made) == ["j-t-0", "j-w-0"]
    assert (made.status.running, made.status.pending) == (1, 2)
    assert {task: state.phase for task, state in made.status.task_status_count.items()} == {
        "t": {"Running": 1, "Pending": 1},
        "w": {"Pending": 1},
    }


def test_names_that_foreign_pods_hold_are_left_alone_until_they_are_free() -> None:
    made = act(a_world(a_job(phase="Pending"), taken=frozenset({"j-t-1"})))
    assert created(made) == ["j-t-0", "j-t-2"]
    assert made.status.pending == 2
    assert (made.status.state.reason, made.status.state.message) == (
        "PodNameTaken",
        "waits until other pods named j-t-1 are gone",
    )


def test_a_job_whose_plugins_lack_something_counts_its_pods_and_creates_none() -> None:
    job = a_job(a_task(replicas=3), phase="Running", status={"running": 3}, min_available=1)
    made = act(a_world(job, a_pod("j-t-0", "Succeeded"), a_pod("j-t-1"), is_frozen=True))
    assert created(made) == []
    assert (made.status.running, made.status.succeeded, made.status.pending) == (1, 1, 0)


@pytest.mark.parametrize("ending", ["Completed", "Failed", "Terminated"])
def test_when_a_finished_job_finished_stays_when_its_pods_go(ending: str) -> None:
    job = a_job(phase=ending, status=with_counts(Succeeded=3))
    job = msgspec.structs.replace(
        job,
        status=msgspec.structs.replace(
            job.status, state=msgspec.structs.replace(job.status.state, last_transition_time="2026-05-01T11:00:00Z")
        ),
    )
    made = act(a_world(job, a_pod("j-t-0", "Succeeded")))
    assert made.status.succeeded == 1
    assert made.status.state.last_transition_time == "2026-05-01T11:00:00Z"


def test_no_more_pods_are_thought_of_than_a_cluster_holds() -> None:
    assert len(places(a_job(a_task(replicas=10), a_task("w", 2_147_483_647)))) == MOST_PODS


def test_a_job_that_is_being_deleted_is_left_alone() -> None:
    job = a_job(phase="Running")

    leaving = msgspec.structs.replace(
        job, metadata=msgspec.structs.replace(job.metadata, deletion_timestamp="2026-01-01T00:00:00Z")
    )
    for action in ("SyncJob", "RestartJob", "RestartPod"):
        assert act(a_world(leaving, a_pod("j-t-0")), action) == Plan(leaving.status)


@pytest.mark.parametrize(
    ("pod", "is_deleted", "terminating"),
    [
        (a_pod("j-t-0"), False, 0),
        (a_pod("j-t-0", is_terminating=True), False, 1),
        (a_pod("j-t-0", is_marked=True), True, 1),
        (a_pod("j-t-7"), True, 1),
        (a_pod("j-t-7", is_terminating=True), False, 1),
        (a_pod("j-old-0", task="old"), False, 0),
    ],
)
def test_pods_beyond_the_replicas_and_marked_ones_are_deleted(
    pod: Any, is_deleted: bool, terminating: int
) -> None:  # a column
    made = act(a_world(a_job(a_task(replicas=1), phase="Running"), pod))
    assert (bool(made.delete), made.status.terminating) == (is_deleted, terminating)
    assert not made.mark
    assert made.status.running == (1 if pod.metadata.name == "j-t-0" and not terminating else 0)


def test_a_pod_whose_deletion_was_asked_for_is_not_deleted_again() -> None:
    made = act(a_world(a_job(a_task(replicas=0), phase="Running"), a_pod("j-t-0"), deleted=frozenset({"uid-j-t-0"})))
    assert (deleted(made), made.status.terminating) == ([], 1)


@pytest.mark.parametrize(
    ("retry_count", "gone", "terminating"), [(0, ["j-t-0", "j-t-1", "j-t-2"], 3), (2, ["j-t-2"], 1)]
)
def test_a_restart_kills_all_pods_but_the_last_one_keeps_what_ended(
    retry_count: int, gone: list[str], terminating: int
) -> None:
    job = a_job(phase="Running", max_retry=3, status={"retry_count": retry_count, "version": 4})
    pods = (a_pod("j-t-0", "Failed"), a_pod("j-t-1", "Succeeded"), a_pod("j-t-2"))
    made = act(a_world(job, *pods), "RestartJob", Request("PodFailed", target=Target("t", "j-t-0")))
    assert (deleted(made), [pod.metadata.name for pod in made.mark], made.drops_group) == (gone, gone, True)
    status = made.status
    assert (phase(made), status.retry_count, status.version, status.terminating) == (
        "Restarting",
        retry_count + 1,
        5,
        terminating,
    )
    assert (status.failed, status.succeeded) == ((1, 1) if retry_count else (0, 0))


def test_a_restart_of_a_pod_leaves_the_others_and_the_group() -> None:
    job = a_job(phase="Running", max_retry=3)
    pods = (a_pod("j-t-0", "Failed"), a_pod("j-t-1", "Succeeded"), a_pod("j-t-2"))
    request = Request("PodFailed", target=Target("t", "j-t-0"))
    made = act(a_world(job, *pods), "RestartPod", request)
    assert (deleted(made), made.drops_group) == (["j-t-0"], False)
    status = made.status
    assert (phase(made), status.retry_count, status.version) == ("Restarting", 1, 0)
    assert (status.running, status.succeeded, status.failed, status.terminating) == (1, 1, 0, 1)


@pytest.mark.parametrize("action", ["RestartPod", "RestartTask"])
def test_a_restart_of_nothing_still_restarts(action: str) -> None:
    made = act(a_world(a_job(phase="Running"), a_pod("j-t-0")), action, Request("CommandIssued", action=action))
    assert (deleted(made), phase(made), made.status.retry_count) == ([], "Restarting", 1)


def test_a_restart_of_a_task_takes_its_pods_whatever_their_phase() -> None:
    job = a_job(a_task(replicas=2), a_task("w", 1), phase="Running")
    pods = (a_pod("j-t-0", "Succeeded"), a_pod("j-t-1", is_terminating=True), a_pod("j-w-0", task="w"))
    made = act(a_world(job, *pods), "RestartTask", Request("TaskFailed", target=Target("t", "j-t-0")))
    assert (deleted(made), [pod.metadata.name for pod in made.mark]) == (["j-t-0"], ["j-t-0", "j-t-1"])
    assert (made.status.terminating, made.status.running) == (2, 1)


@pytest.mark.parametrize(("partition", "gone"), [("0", ["j-t-0", "j-t-1"]), ("1", ["j-t-2"]), ("", None), ("9", None)])
def test_a_restart_of_a_partition_takes_its_pods_or_does_nothing(partition: str, gone: list[str] | None) -> None:
    task = a_task(partition_policy=PartitionPolicySpec(total_partitions=2, partition_size=2))
    job = a_job(task, phase="Running")
    pods = (a_pod("j-t-0", partition="0"), a_pod("j-t-1", partition="0"), a_pod("j-t-2", partition="1"))
    made = act(a_world(job, *pods), "RestartPartition", Request("PodFailed", target=Target("t", "j-t-0", partition)))
    if gone is None:
        assert made == Plan(job.status)
    else:
        assert (deleted(made), phase(made)) == (gone, "Restarting")


def test_a_restart_of_a_partition_of_a_task_without_partitions_does_nothing() -> None:
    job = a_job(phase="Running")
    world = a_world(job, a_pod("j-t-0", partition="0"))
    assert act(world, "RestartPartition", Request(target=Target("t", "j-t-0", "0"))) == Plan(job.status)


@pytest.mark.parametrize(
    ("alive", "phase_after"), [(["Running"], "Completing"), ([], "Completed"), (["Failed"], "Completed")]
)
def test_a_completing_job_is_completed_when_no_pod_is_left(alive: list[str], phase_after: str) -> None:
    pods = [a_pod(f"j-t-{i}", each) for i, each in enumerate(alive)]
    assert phase(act(a_world(a_job(phase="Completing"), *pods))) == phase_after


def test_a_finished_job_loses_pods_that_could_still_run_and_counts_the_others() -> None:
    job = a_job(phase="Completed", status={"version": 1, **with_counts(Succeeded=2)})
    pods = (a_pod("j-t-0", "Succeeded"), a_pod("j-t-1", "Succeeded"), a_pod("j-t-2"))
    made = act(a_world(job, *pods))
    assert (deleted(made), phase(made), made.status.version) == (["j-t-2"], "Completed", 2)
    assert (made.status.succeeded, made.status.terminating) == (2, 1)


@pytest.mark.parametrize("phase_", ["Completed", "Failed", "Terminated", "Aborted"])
@pytest.mark.parametrize("action", ["SyncJob", "RestartJob", "AbortJob", "whatever"])
def test_a_settled_job_changes_nothing(phase_: str, action: str) -> None:
    job = a_job(phase=phase_, status=with_counts(Succeeded=3))
    pods = [a_pod(f"j-t-{i}", "Succeeded") for i in range(3)]
    made = act(a_world(job, *pods, group=None), action)
    assert (made.status, made.create, made.delete, made.mark) == (job.status, (), (), ())


def test_a_running_job_without_changes_keeps_its_status() -> None:
    job = a_job(phase="Running", status=with_counts(Running=3))
    made = act(a_world(job, *(a_pod(f"j-t-{i}") for i in range(3))))
    assert made == Plan(job.status)


@pytest.mark.parametrize("admitted", [True, False])
def test_a_job_out_of_retries_fails_before_a_pod_is_created(admitted: bool) -> None:  # a column
    job = a_job(phase="Restarting", max_retry=3, status={"retry_count": 3})
    made = act(a_world(job, group=a_group() if admitted else None))
    assert (created(made), phase(made), made.status.state.reason) == ([], "Failed", "MaxRetryReached")
    assert is_hopeless(job)


def test_a_restarting_job_waits_until_enough_old_pods_are_gone() -> None:
    job = a_job(phase="Restarting", min_available=2, status={"terminating": 3, "retry_count": 1})
    old = [a_pod(f"j-t-{i}", is_terminating=True) for i in range(2)]
    assert phase(act(a_world(job, *old, group=None))) == "Restarting"
    made = act(a_world(job, old[0], group=None))
    assert (phase(made), made.status.terminating) == ("Pending", 1)
    assert not is_hopeless(job)


def test_kept_pods_make_no_unadmitted_job_run_or_finish() -> None:
    pods = [a_pod(f"j-t-{i}", "Succeeded") for i in range(3)]
    made = act(a_world(a_job(phase="Pending"), *pods, group=None))
    assert (phase(made), made.status.succeeded) == ("Pending", 3)


def test_a_resumed_job_keeps_what_failed_and_creates_the_rest() -> None:
    job = a_job(phase="Restarting", status={"retry_count": 1})
    made = act(a_world(job, a_pod("j-t-0", "Failed")))
    assert (created(made), made.status.failed) == (["j-t-1", "j-t-2"], 1)


@pytest.mark.parametrize(("replicas", "group"), [(200_000, "Running"), (2, "Pending")])
def test_a_completed_task_is_remembered_where_nothing_is_created(replicas: int, group: str) -> None:
    states = {"a": TaskState(phase={"Succeeded": 2}), "b": TaskState(phase={"Running": 2})}
    job = a_job(
        a_task("a", 2), a_task("b", replicas), phase="Running", min_available=3,
        status={"task_status_count": states, "succeeded": 2, "running": 2},
    )  # fmt: skip
    pods = [a_pod("j-a-1", "Succeeded", task="a"), *(a_pod(f"j-b-{index}", task="b") for index in range(2))]
    made = act(a_world(job, *pods, group=a_group(group)))
    assert made == Plan(job.status)


def test_a_succeeded_pod_of_a_completed_task_is_not_run_again_when_it_is_deleted() -> None:
    job = a_job(a_task(), a_task("w", 1), phase="Running", status=with_counts(Succeeded=3))
    pods = (a_pod("j-t-0", "Succeeded"), a_pod("j-t-1", "Succeeded"), a_pod("j-w-0", task="w"))
    made = act(a_world(job, *pods))
    assert (created(made), made.status.succeeded) == ([], 3)
    restarting = a_job(a_task(), a_task("w", 1), phase="Restarting", status=with_counts(Succeeded=3))
    assert created(act(a_world(restarting, *pods))) == ["j-t-2"]


def _depending(*names: str, iteration: str = "all") -> Job:
    tasks = (
        a_task("a", 1, 1),
        a_task("b", 2, 1),
        a_task("c", 1, depends_on=DependsOn(name=names, iteration=iteration)),
    )
    return a_job(*tasks, phase="Running", min_available=2)


READY = {"container_statuses": containers(0)}
UNREADY = {"container_statuses": containers(0, ready=False)}


@pytest.mark.parametrize(
    ("names_", "iteration", "a", "b", "is_created"),
    [
        (("a",), "all", {}, None, True),
        (("a",), "all", READY, None, True),
        (("a",), "all", UNREADY, None, False),
        (("a",), "all", None, None, False),
        (("a", "b"), "all", READY, None, False),
        (("a", "b"), "all", READY, READY, True),
        (("a", "b"), "any", READY, None, True),
        (("a", "b"), "any", None, None, False),
        (("nobody",), "all", READY, READY, False),
        (("nobody",), "any", READY, READY, False),
        ((), "all", None, None, True),
    ],
)
def test_a_task_waits_for_those_that_it_depends_on(
    names_: tuple[str, ...],
    iteration: str,
    a: Any,
    b: Any,
    is_created: bool,  # a column
) -> None:
    pods = [a_pod("j-a-0", task="a", **a)] if a is not None else []
    pods += [a_pod("j-b-0", task="b", **b)] if b is not None else []
    made = act(a_world(_depending(*names_, iteration=iteration), *pods))
    assert ("j-c-0" in created(made)) == is_created
    assert (made.status.state.reason == "DependencyNotReady") == (not is_created)
    if not is_created:
        assert made.status.state.message.startswith("task c waits for ")


@pytest.mark.parametrize(("phase_", "reason"), [("Running", "MinAvailableMet"), ("Pending", "Created")])
def test_an_obstacle_that_is_gone_is_no_longer_told(phase_: str, reason: str) -> None:
    job = a_job(a_task(replicas=2), phase=phase_, min_available=0 if phase_ == "Running" else 2)
    state = msgspec.structs.replace(job.status.state, reason="DependencyNotReady", message="task t waits")
    job = msgspec.structs.replace(job, status=msgspec.structs.replace(job.status, state=state))
    made = act(a_world(job, a_pod("j-t-0"), a_pod("j-t-1", "Pending")))
    assert (made.status.state.reason, made.status.state.phase) == (reason, phase_)


@pytest.mark.parametrize(
    ("group", "message"),
    [
        ("Pending", "waits for its pod group to be admitted"),
        ("Inqueue", "its pod group is admitted, waits for its pods to run"),
    ],
)
def test_a_job_that_is_let_in_no_longer_says_that_it_waits_for_that(group: str, message: str) -> None:
    job = a_job(phase="Pending")
    job = msgspec.structs.replace(job, status=initial(job, NOW))
    made = act(a_world(job, group=a_group(group)))
    assert (made.status.state.phase, made.status.state.reason, made.status.state.message) == (
        "Pending", "Created", message,
    )  # fmt: skip


def test_pods_without_a_known_phase_count_as_unknown() -> None:
    made = act(a_world(a_job(phase="Running"), a_pod("j-t-0", ""), a_pod("j-t-1", "Strange"), a_pod("j-t-2")))
    assert (made.status.unknown, made.status.running) == (2, 1)
    assert made.status.task_status_count["t"].phase == {"Unknown": 2, "Running": 1}
