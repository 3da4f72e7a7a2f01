"""Probes reach pods and nothing else."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import msgspec
import pytest

from controllers.jobflow.probes import Prober
from generated.batch.v1alpha1 import Job, TaskState
from generated.core.v1 import Pod
from generated.flow.v1alpha1 import HttpGet, Probe, TaskStatus, TcpSocket
from tests.scripted_server import Answer, ScriptedServer, answer, hang
from tests.unit.controllers.job.samples import a_job, a_pod

JOB = a_job()


def pod(address: str = "127.0.0.1", task: str = "t", name: str = "j-t-0") -> Pod:
    found = a_pod(name, task=task)
    return msgspec.structs.replace(found, status=msgspec.structs.replace(found.status, pod_ip=address))


@asynccontextmanager
async def http_server(reply: Answer) -> AsyncIterator[ScriptedServer]:
    async with ScriptedServer(reply) as server:
        yield server


async def asks(probe: Probe, *pods: Pod, job: Job = JOB) -> bool:
    return await Prober(lambda _: list(pods), seconds=0.5).passes(probe, [job])


@pytest.mark.parametrize(
    ("reply", "passes"),
    [(answer(200), True), (answer(308), True), (answer(404), False), (answer(500), False), (hang, False)],
    ids=["200", "308", "404", "500", "silence"],
)
async def test_a_request_passes_by_its_code(reply: Answer, passes: bool) -> None:
    async with http_server(reply) as server:
        probe = Probe(http_get_list=(HttpGet(task_name="t", path="/ready", port=server.port),))
        assert await asks(probe, pod()) is passes
        assert server.received[0].target == "/ready"


async def test_a_redirect_is_not_followed() -> None:
    async with ScriptedServer(answer(302, b"", Location="/elsewhere")) as server:
        probe = Probe(http_get_list=(HttpGet(task_name="t", path="x", port=server.port),))
        assert await asks(probe, pod())
        assert [received.target for received in server.received] == ["/x"]


async def test_every_pod_of_the_task_is_asked() -> None:
    async with ScriptedServer(answer(200), answer(500)) as server:
        probe = Probe(http_get_list=(HttpGet(task_name="t", path="/", port=server.port),))
        pods = pod(), pod(name="j-t-1"), pod(name="j-o-0", task="other", address="192.0.2.1")
        assert not await asks(probe, *pods)
        assert len(server.received) == 2


@pytest.mark.parametrize("pods", [(), (pod(task="other"),), (pod(address=""),)], ids=["none", "another", "no address"])
async def test_a_task_without_reachable_pods_does_not_pass(pods: tuple[Pod, ...]) -> None:
    assert not await asks(Probe(tcp_socket_list=(TcpSocket(task_name="t", port=1),)), *pods)


async def test_a_port_that_accepts_passes_and_a_closed_one_does_not() -> None:
    server = await asyncio.start_server(lambda _, writer: writer.close(), "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    probe = Probe(tcp_socket_list=(TcpSocket(task_name="t", port=port),))
    assert await asks(probe, pod())
    server.close()
    await server.wait_closed()
    assert not await asks(probe, pod())


@pytest.mark.parametrize(
    ("phase", "count", "passes"), [("Running", 1, True), ("Running", 0, False), ("Succeeded", 1, False)]
)
async def test_a_task_may_have_to_be_in_a_phase(phase: str, count: int, passes: bool) -> None:
    job = a_job(status={"task_status_count": {"t": TaskState(phase={phase: count})}})
    probe = Probe(task_status_list=(TaskStatus(task_name="t", phase="Running"),))
    assert await asks(probe, job=job) is passes


async def test_a_probe_that_asks_for_nothing_passes() -> None:
    assert await asks(Probe())
