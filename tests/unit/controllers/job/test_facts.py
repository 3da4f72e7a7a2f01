"""Facts about pods and tasks."""

from __future__ import annotations

import pytest

from controllers.job.facts import failed_at, has_task_failed, is_due, is_task_completed, still_holds
from controllers.job.requests import Request, Target
from generated.batch.v1alpha1 import LifecyclePolicy
from generated.core.v1 import ContainerState, ContainerStateTerminated, ContainerStatus, Pod
from tests.unit.controllers.job.samples import a_job, a_pod, a_task, containers

POD = "j-t-0"


def of(event: str, version: int = 0, uid: str = f"uid-{POD}") -> Request:
    return Request(event, version=version, target=Target("t", POD), pod_uid=uid)


@pytest.mark.parametrize(
    ("phases", "replicas", "is_completed"),
    [
        (["Succeeded", "Succeeded"], 2, True),
        (["Succeeded", "Succeeded", "Running"], 2, True),
        (["Succeeded", "Failed"], 2, False),
        ([], 0, False),
        (["Succeeded"], 0, False),
    ],
)
def test_a_task_is_complete_when_as_many_pods_succeeded_as_it_has(
    phases: list[str],
    replicas: int,
    is_completed: bool,  # a column
) -> None:
    pods = [a_pod(f"j-t-{i}", phase) for i, phase in enumerate(phases)]
    pods.append(a_pod("j-w-0", "Succeeded", task="w"))
    assert is_task_completed(a_job(a_task(replicas=replicas)), "t", pods) == is_completed
    assert not is_task_completed(a_job(a_task(replicas=replicas)), "w", pods)


@pytest.mark.parametrize(
    ("max_retry", "restarts", "phase", "has_failed"),
    [
        (0, (3,), "Running", True),
        (0, (2,), "Running", False),
        (0, (1, 2), "Pending", True),
        (5, (4,), "Running", False),
        (5, (5,), "Running", True),
        (0, (9,), "Failed", False),
        (-1, (9,), "Running", False),
    ],
)
def test_a_task_has_failed_when_its_containers_restarted_too_often(
    max_retry: int,
    restarts: tuple[int, ...],
    phase: str,
    has_failed: bool,  # a column
) -> None:
    pods = [a_pod(f"j-t-{i}", phase, container_statuses=containers(count)) for i, count in enumerate(restarts)]
    assert has_task_failed(a_job(a_task(max_retry=max_retry)), "t", pods) == has_failed
    assert not has_task_failed(a_job(a_task(replicas=0)), "t", pods)
    assert not has_task_failed(a_job(), "t", [])


def test_init_containers_restart_too() -> None:
    pod = a_pod(POD, init_container_statuses=containers(2), container_statuses=containers(1))
    assert has_task_failed(a_job(), "t", [pod])


@pytest.mark.parametrize(
    ("phase", "pod", "event", "holds"),
    [
        ("Running", a_pod(POD, "Failed"), "PodFailed", True),
        ("Pending", a_pod(POD, "Failed"), "PodFailed", True),
        ("", a_pod(POD, "Failed"), "PodFailed", True),
        ("Restarting", a_pod(POD, "Failed"), "PodFailed", False),
        ("Completed", a_pod(POD, "Failed"), "PodFailed", False),
        ("Running", a_pod(POD, "Failed", is_marked=True), "PodFailed", False),
        ("Running", a_pod(POD, "Running"), "PodFailed", False),
        ("Running", a_pod("j-t-9", "Failed"), "PodFailed", False),
        ("Running", a_pod(POD, "Succeeded"), "TaskCompleted", True),
        ("Aborting", a_pod(POD, "Succeeded"), "TaskCompleted", False),
    ],
)
def test_what_was_found_holds_as_long_as_nothing_reacted(
    phase: str, pod: Pod, event: str, holds: bool
) -> None:  # a column
    job = a_job(a_task(replicas=1), phase=phase)
    assert still_holds(of(event), job, {pod.metadata.name: pod}) == holds


@pytest.mark.parametrize("phase", ["Failed", "Succeeded"])
def test_what_was_found_of_a_pod_on_its_way_out_is_left_to_the_policy_for_evictions(phase: str) -> None:
    event = "PodFailed" if phase == "Failed" else "TaskCompleted"
    pod = a_pod(POD, phase, is_terminating=True)
    eviction = (LifecyclePolicy(event="PodEvicted", action="RestartJob"),)
    assert still_holds(of(event), a_job(a_task(replicas=1), phase="Running"), {POD: pod})
    assert not still_holds(of(event), a_job(a_task(replicas=1), phase="Running", policies=eviction), {POD: pod})


def test_a_pod_on_its_way_out_completes_no_task_when_a_policy_hears_of_evictions() -> None:
    pods = [a_pod(POD, "Succeeded"), a_pod("j-t-1", "Succeeded", is_terminating=True)]
    eviction = (LifecyclePolicy(event="PodEvicted", action="RestartJob"),)
    assert is_task_completed(a_job(a_task(replicas=2)), "t", pods)
    assert not is_task_completed(a_job(a_task(replicas=2), policies=eviction), "t", pods)


def test_pods_beyond_the_replicas_of_their_task_count_for_nothing() -> None:
    beyond = [a_pod(f"j-t-{i}", "Succeeded") for i in (1, 2)]
    assert not is_task_completed(a_job(a_task(replicas=1)), "t", [a_pod(POD), *beyond])
    restarted = a_pod("j-t-1", container_statuses=containers(9))
    assert not has_task_failed(a_job(a_task(replicas=1)), "t", [a_pod(POD), restarted])
    job, failed = a_job(a_task(replicas=1), phase="Running"), a_pod("j-t-1", "Failed")
    request = Request("PodFailed", target=Target("t", "j-t-1"), pod_uid="uid-j-t-1")
    assert not still_holds(request, job, {"j-t-1": failed})


def test_what_was_found_of_another_pod_of_the_name_does_not_hold() -> None:
    assert not still_holds(of("PodFailed", uid="old"), a_job(phase="Running"), {POD: a_pod(POD, "Failed")})


@pytest.mark.parametrize(
    ("event", "uid", "phase", "due"),
    [
        ("PodPending", f"uid-{POD}", "Pending", True),
        ("PodPending", f"uid-{POD}", "Running", False),
        ("PodPending", "old", "Pending", False),
        ("PodPending", f"uid-{POD}", None, False),
        ("PodFailed", f"uid-{POD}", "Failed", True),
        ("PodFailed", f"uid-{POD}", "Running", False),
        ("PodFailed", "old", "Running", False),
        ("PodFailed", "old", "Pending", True),
        ("PodFailed", f"uid-{POD}", None, True),
        ("PodEvicted", "old", "Running", False),
        ("PodEvicted", "old", "Pending", True),
        ("PodEvicted", f"uid-{POD}", None, True),
        ("TaskFailed", f"uid-{POD}", "Running", True),
        ("Unknown", "", None, True),
    ],
)
def test_a_delayed_action_is_due_while_its_cause_lasts(
    event: str, uid: str, phase: str | None, due: bool
) -> None:  # a column
    pods = {POD: a_pod(POD, phase)} if phase is not None else {}
    assert is_due(of(event, uid=uid), a_job(), pods, frozenset()) == due


def test_nothing_is_due_for_a_pod_that_was_told_to_go() -> None:
    pending, failed = {POD: a_pod(POD, "Pending")}, {POD: a_pod(POD, "Failed")}
    assert not is_due(of("PodPending"), a_job(), pending, frozenset({f"uid-{POD}"}))
    assert not is_due(of("PodFailed"), a_job(), failed, frozenset({f"uid-{POD}"}))
    assert not is_due(of("PodPending"), a_job(), {POD: a_pod(POD, "Pending", is_terminating=True)}, frozenset())


def test_when_a_pod_failed_is_when_its_last_container_ended() -> None:
    def end(time: str | None) -> ContainerStatus:
        return ContainerStatus(state=ContainerState(terminated=ContainerStateTerminated(finished_at=time)))

    pod = a_pod(POD, "Failed", container_statuses=(end("1970-01-01T00:01:00Z"), end("1970-01-01T00:00:30Z"), end(None)))
    assert failed_at(pod) == 60.0
    assert failed_at(a_pod(POD, "Failed", container_statuses=(ContainerStatus(),))) is None


def test_nothing_is_due_for_pods_of_an_earlier_version() -> None:
    job = a_job(status={"version": 2})
    assert not is_due(of("PodPending", version=1), job, {POD: a_pod(POD, "Pending")}, frozenset())
    assert is_due(of("PodPending", version=2), job, {POD: a_pod(POD, "Pending")}, frozenset())
