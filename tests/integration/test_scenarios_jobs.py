"""What jobs do when something happens to their pods: each policy's reaction as a watch shows it, and which pods stay."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest
from msgspec.structs import replace

from generated.batch.v1alpha1 import LifecyclePolicy, PartitionPolicySpec
from generated.clients.clientset import Clientset
from runtime.patches import MergePatch
from tests.integration.controllers import end, eventually
from tests.integration.scenarios import (
    AGAIN,
    a_task,
    evict,
    fail,
    film,
    let_in,
    place,
    played,
    playing,
    stop_well,
    uids,
    with_tasks,
)
from tests.integration.test_job_controller import Case
from tests.integration.test_job_controller import clients as clients  # noqa: PLC0414  # a fixture


@pytest.fixture
async def case(clients: Clientset, namespace: str, kwok_nodes: Callable[..., list[str]]) -> AsyncIterator[Case]:
    (node,) = kwok_nodes()
    async with played(clients, namespace, node) as stage:
        yield stage


async def break_group(case: Case, _: str) -> None:
    groups = case.clients.scheduling_v1beta1.pod_groups
    [group] = (await groups.list(case.namespace)).items
    await groups.patch(group.metadata.name, case.namespace, MergePatch({"status": {"phase": "Unknown"}}))


async def complete(case: Case, pod: str) -> None:
    """The task of the pod, whose other pod is the second one."""
    for ordinal in "01":
        await end(case.clients, case.namespace, f"{pod[:-1]}{ordinal}", "Succeeded")


async def crash(case: Case, pod: str) -> None:
    """Three times, and run on."""
    status = {"name": "c", "image": "i", "imageID": "", "ready": True, "restartCount": 3, "state": {"running": {}}}
    patch = MergePatch({"status": {"containerStatuses": [status]}})
    await case.clients.core_v1.pods.patch_status(pod, case.namespace, patch)


async def fail_with_3(case: Case, pod: str) -> None:
    await fail(case, pod, 3)


@pytest.mark.parametrize(
    ("policy", "happens", "phases"),
    [
        (LifecyclePolicy(event="PodEvicted", action="RestartJob"), evict, AGAIN),
        (
            LifecyclePolicy(events=("PodEvicted", "PodFailed"), action="TerminateJob"),
            evict,
            ("Terminating", "Terminated"),
        ),
        (LifecyclePolicy(event="PodEvicted", action="AbortJob"), evict, ("Aborting", "Aborted")),
        (LifecyclePolicy(event="PodEvicted", action="RestartJob"), stop_well, AGAIN),
        (LifecyclePolicy(event="*", action="RestartJob"), evict, AGAIN),
        (LifecyclePolicy(event="PodFailed", action="CompleteJob"), fail, ("Completing", "Completed")),
        (LifecyclePolicy(exit_code=3, action="RestartJob"), fail_with_3, AGAIN),
        (LifecyclePolicy(event="PodFailed", action="AbortJob", timeout="1s"), fail, ("Aborting", "Aborted")),
        (LifecyclePolicy(event="TaskCompleted", action="CompleteJob"), complete, ("Completing", "Completed")),
        (LifecyclePolicy(event="TaskFailed", action="TerminateJob"), crash, ("Terminating", "Terminated")),
        (LifecyclePolicy(event="Unknown", action="RestartJob"), break_group, AGAIN),
        (LifecyclePolicy(event="Unknown", action="AbortJob"), break_group, ("Aborting", "Aborted")),
    ],
    ids=lambda value: getattr(value, "action", ""),
)
async def test_each_phase_of_a_reaction_is_shown_with_its_counters(
    case: Case, policy: LifecyclePolicy, happens: Callable[[Case, str], Any], phases: tuple[str, ...]
) -> None:
    job = with_tasks(a_task("stays"), a_task("goes"), policies=(policy,))
    await case.clients.batch_v1alpha1.jobs.create(job, case.namespace)
    await film(case, "Pending", "Running")
    shown = asyncio.create_task(film(case, *phases))
    await happens(case, "j-goes-0")
    await shown
    assert (await case.read()).status.retry_count == (phases is AGAIN)


async def test_the_policy_of_a_task_wins_over_the_jobs(case: Case) -> None:
    own = LifecyclePolicy(event="PodFailed", action="RestartJob")
    job = with_tasks(a_task("a", policies=(own,)), policies=(LifecyclePolicy(event="PodFailed", action="AbortJob"),))
    await case.clients.batch_v1alpha1.jobs.create(job, case.namespace)
    await film(case, "Running")
    shown = asyncio.create_task(film(case, *AGAIN))
    await fail(case, "j-a-1")
    await shown


@pytest.mark.parametrize(
    ("action", "delay", "again"),
    [
        ("RestartPod", "1s", {"j-w-0"}),
        ("RestartTask", "", {"j-w-0", "j-w-1", "j-w-2", "j-w-3"}),
        ("RestartPartition", "", {"j-w-0", "j-w-1"}),
    ],
)
async def test_a_targeted_restart_leaves_all_others_alone(case: Case, action: str, delay: str, again: set[str]) -> None:
    policy = LifecyclePolicy(event="PodEvicted", action=action, timeout=delay)
    partitions = PartitionPolicySpec(total_partitions=2, partition_size=2)
    worker = a_task("w", 4, **({"partition_policy": partitions} if action == "RestartPartition" else {}))
    job = with_tasks(worker, a_task("other", 1), policies=(policy,))
    await case.clients.batch_v1alpha1.jobs.create(job, case.namespace)
    await film(case, "Running")
    before = await uids(case)
    assert len(before) == 5
    await evict(case, "j-w-0")

    def is_done(now: dict[str, str]) -> bool:
        return now.keys() == before.keys() and {name for name in now if now[name] != before[name]} == again

    await eventually(lambda: uids(case), is_done)
    settled = await eventually(case.read, lambda job: job.status.state.phase == "Running" and job.status.running == 5)
    assert settled.status.version == 0


@pytest.mark.parametrize("action", ["RestartPod", "RestartTask"])
async def test_pods_that_do_not_start_are_tried_again_without_their_neighbours(
    clients: Clientset, namespace: str, kwok_nodes: Callable[..., list[str]], action: str
) -> None:
    (node,) = kwok_nodes()
    policy = LifecyclePolicy(event="PodPending", action=action, timeout="1s")
    job = with_tasks(a_task("stuck", 2, policies=(policy,)), a_task("other", 1))
    case = Case(clients, namespace)

    async def pods() -> dict[str, str]:
        return {pod.metadata.name: pod.metadata.uid for pod in await case.pods()}

    async with playing(let_in(clients, namespace)):
        await clients.batch_v1alpha1.jobs.create(replace(job, spec=replace(job.spec, max_retry=99)), namespace)
        first = await eventually(pods, lambda found: len(found) == 3)
        stuck = ("j-stuck-0", "j-stuck-1")
        await eventually(pods, lambda found: all(found.get(name, first[name]) != first[name] for name in stuck))
        async with playing(place(clients, namespace, node)):
            await film(case, "Running")
            settled = await eventually(lambda: uids(case), lambda found: len(found) == 3)
    assert settled["j-other-0"] == first["j-other-0"]
    status = (await case.read()).status
    assert (status.version, status.retry_count > 0) == (0, True)


async def test_what_failed_in_the_last_run_stays_to_be_looked_at(case: Case) -> None:
    policies = tuple(LifecyclePolicy(event=event, action="RestartJob") for event in ("PodEvicted", "PodFailed"))
    job = with_tasks(a_task("runs", 1), a_task("fails", 1), policies=policies, max_retry=2, min_success=2)
    await case.clients.batch_v1alpha1.jobs.create(job, case.namespace)
    await film(case, "Running")
    shown = asyncio.create_task(film(case, *AGAIN))
    await fail(case, "j-fails-0")
    await shown
    await fail(case, "j-fails-0")
    await film(case, "Failed")
    assert (await case.read()).status.retry_count == 2
    (left,) = await case.has_pods("j-fails-0")
    assert left.metadata.deletion_timestamp is None


async def test_enough_successes_complete_a_job_and_end_the_rest(case: Case) -> None:
    job = with_tasks(a_task("short", 3), a_task("long", 2), min_success=2)
    await case.clients.batch_v1alpha1.jobs.create(replace(job, spec=replace(job.spec, min_available=2)), case.namespace)
    await eventually(lambda: uids(case), lambda found: len(found) == 5)
    for pod in ("j-short-0", "j-short-1"):
        await end(case.clients, case.namespace, pod, "Succeeded")
    await film(case, "Completed")
    await case.has_pods("j-short-0", "j-short-1")
    assert (await case.read()).status.succeeded == 2
