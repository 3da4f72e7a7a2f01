"""Lives of jobs whose users change their mind: names taken again, sizes changed, work suspended and resumed."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable

import pytest
from msgspec.structs import replace

from generated.batch.v1alpha1 import LifecyclePolicy
from generated.clients.clientset import Clientset
from generated.core.v1 import Pod
from runtime.patches import JsonPatch, MergePatch
from runtime.patches import replace as replaced
from tests.integration.controllers import eventually
from tests.integration.scenarios import AGAIN, a_task, command, evict, fail, film, played, uids, with_tasks
from tests.integration.test_job_controller import Case
from tests.integration.test_job_controller import clients as clients  # noqa: PLC0414  # a fixture

HOLD = "tests.stromboli.sh/hold"


@pytest.fixture
async def case(clients: Clientset, namespace: str, kwok_nodes: Callable[..., list[str]]) -> AsyncIterator[Case]:
    (node,) = kwok_nodes()
    async with played(clients, namespace, node) as stage:
        yield stage


async def test_a_job_that_takes_the_name_of_one_whose_parts_are_still_going(case: Case) -> None:
    """It waits for the names without spending retries, then has its own service, pods and policies."""
    policy = LifecyclePolicy(event="PodEvicted", action="RestartJob")
    job = with_tasks(a_task(replicas=3), policies=(policy,), plugins={"svc": ()})
    jobs, pods, services = case.clients.batch_v1alpha1.jobs, case.clients.core_v1.pods, case.clients.core_v1.services
    await jobs.create(job, case.namespace)
    await film(case, "Running")
    held, free = (MergePatch({"metadata": {"finalizers": holders}}) for holders in ([HOLD], []))
    await pods.patch("j-t-1", case.namespace, held)
    await services.patch("j", case.namespace, held)
    await jobs.delete("j", case.namespace, propagation="Background")
    await case.has_pods("j-t-1")
    created = await jobs.create(job, case.namespace)
    told = await eventually(case.read, lambda job: job.status.state.reason == "PluginNotAvailable")
    assert "waits until it is gone" in told.status.state.message
    await services.patch("j", case.namespace, free)

    async def own() -> list[Pod]:
        uid = created.metadata.uid
        return [pod for pod in await case.pods() if pod.metadata.owner_references[0].uid == uid]

    await eventually(own, lambda found: {pod.metadata.name for pod in found} == {"j-t-0", "j-t-2"})
    waiting = (await case.read()).status
    assert (waiting.version, waiting.retry_count, waiting.state.phase) == (0, 0, "Pending")
    await pods.patch("j-t-1", case.namespace, free)
    await film(case, "Running")
    assert len(await own()) == 3
    shown = asyncio.create_task(film(case, *AGAIN))
    await evict(case, "j-t-1")
    await shown
    status = (await case.read()).status
    assert (status.version, status.retry_count) == (1, 1)
    service = await eventually(lambda: services.get("j", case.namespace), lambda found: True)
    assert service.metadata.owner_references[0].uid == created.metadata.uid


async def test_hosts_follow_a_job_that_is_scaled_up_to_nothing_and_up_again(case: Case) -> None:
    """The whole spec is replaced, as clients in Go do it that leave out zeros."""
    await case.clients.batch_v1alpha1.jobs.create(with_tasks(a_task(), plugins={"svc": ()}), case.namespace)
    await film(case, "Running")
    for replicas in (4, 0, 2):
        spec = (await case.read()).spec
        task = replace(spec.tasks[0], replicas=replicas, min_available=replicas)
        spec = replace(spec, min_available=replicas, tasks=(task,))
        await case.clients.batch_v1alpha1.jobs.patch("j", case.namespace, JsonPatch([replaced("/spec", spec)]))
        names = [f"j-t-{ordinal}" for ordinal in range(replicas)]

        async def hosts() -> dict[str, str]:
            return dict((await case.clients.core_v1.config_maps.get("j-svc", case.namespace)).data)

        expected = {
            "t.host": "\n".join(f"{name}.j" for name in names),
            "VC_T_HOSTS": ",".join(f"{name}.j" for name in names),
            "VC_T_NUM": str(replicas),
        }
        await eventually(hosts, lambda found: found == expected)  # noqa: B023
        await case.has_pods(*names)
        settled = await eventually(case.read, lambda job: job.status.running == replicas)  # noqa: B023
        assert (settled.status.state.phase, settled.status.retry_count) == ("Running", 0)


async def test_a_job_may_be_suspended_at_once_and_resumed(case: Case) -> None:
    await case.clients.batch_v1alpha1.jobs.create(with_tasks(a_task()), case.namespace)
    await command(case, "AbortJob")
    await film(case, "Aborted")
    assert await case.pods() == ()
    await command(case, "ResumeJob")
    await film(case, "Running")


async def test_a_job_is_suspended_and_resumed_more_often_than_it_may_restart(case: Case) -> None:
    policy = LifecyclePolicy(event="PodFailed", action="RestartJob")
    job = with_tasks(a_task(), policies=(policy,), max_retry=1)
    await case.clients.batch_v1alpha1.jobs.create(job, case.namespace)
    await film(case, "Running")
    for _ in range(2):
        shown = asyncio.create_task(film(case, "Aborting", "Aborted"))
        await command(case, "AbortJob")
        await shown
        shown = asyncio.create_task(film(case, *AGAIN[1:]))
        await command(case, "ResumeJob")
        await shown
    assert (await case.read()).status.retry_count == 2
    await fail(case, "j-t-0")
    await film(case, "Failed")


async def test_a_suspension_reaches_a_job_that_is_restarting(case: Case) -> None:
    policy = LifecyclePolicy(event="PodEvicted", action="RestartJob")
    await case.clients.batch_v1alpha1.jobs.create(with_tasks(a_task(), policies=(policy,)), case.namespace)
    await film(case, "Running")
    pods = case.clients.core_v1.pods
    await pods.patch("j-t-1", case.namespace, MergePatch({"metadata": {"finalizers": [HOLD]}}))
    await evict(case, "j-t-0")
    await film(case, "Restarting")
    await command(case, "AbortJob")
    await film(case, "Aborting")
    await pods.patch("j-t-1", case.namespace, MergePatch({"metadata": {"finalizers": []}}))
    await film(case, "Aborted")
    assert (await case.read()).status.retry_count == 1
    assert await uids(case) == {}
