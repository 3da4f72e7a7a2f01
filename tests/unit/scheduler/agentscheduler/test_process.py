"""The parts of the fast path's process that need no server."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from generated.fakes.fakes import Fakes
from runtime.metrics import REGISTRY
from scheduler.agentscheduler.options import parser
from scheduler.agentscheduler.process import AgentProcess, AgentPublisher
from scheduler.cache.feed import RESOURCES
from scheduler.cache.writers import Writers
from scheduler.settings.options import feature_gates
from scheduler.shards import Mode
from tests.unit.scheduler.agentscheduler.bench import Bench, own_pod
from tests.unit.scheduler.cache.test_writers import Said


@pytest.mark.parametrize(("mode", "watches_shards"), [(Mode.NONE, False), (Mode.HARD, True)])
def test_nothing_of_jobs_and_queues_is_watched(mode: Mode, watches_shards: bool) -> None:
    gates = feature_gates()
    process = AgentProcess(parser(gates).parse([]), gates)
    kinds = process._kinds(Bench(mode=mode).facts)
    assert {"Pod", "Node", "PersistentVolumeClaim", "Namespace", "ReplicaSet"} <= kinds
    assert kinds <= {resource.kind for resource in RESOURCES}
    assert not kinds & {"PodGroup", "Queue", "PriorityClass", "HyperNode"}
    assert ("NodeShard" in kinds) is watches_shards


def test_what_is_kept_as_a_job_is_none_in_the_metrics() -> None:
    bench = Bench("n1")
    bench.pod(own_pod("a"))
    bench.turn()
    AgentPublisher(bench.cluster).cycle(bench.results[-1], 1000.0, {})
    samples = [sample for family in REGISTRY.collect() for sample in family.samples]
    assert not [sample for sample in samples if "agent-scheduler" in sample.labels.values()]


@pytest.mark.parametrize(("carries", "expected"), [(True, {"team": "x"}), (False, None)])
async def test_a_binding_repeats_the_annotations_of_its_pod(carries: bool, expected: dict[str, str] | None) -> None:
    bench, fakes = Bench("n1"), Fakes()
    said: Any = Said()
    writers = Writers(
        fakes.clients, said, unbound=bench.scheduler.unbound, clock=lambda: 1000.0, carries_annotations=carries
    )
    running = asyncio.create_task(writers.run())
    bench.pod(own_pod("a", metadata={"annotations": {"team": "x"}}))
    bench.turn()
    writers.submit(bench.results[-1])
    async with asyncio.timeout(10):
        await writers.drain()
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)
    (write,) = fakes.writes
    assert (write.name, write.subresource) == ("a", "binding")
    assert write.body["metadata"].get("annotations") == expected


async def test_a_pod_without_a_node_gets_condition_and_event() -> None:
    bench, fakes = Bench("n1"), Fakes()
    said: Any = Said()
    writers = Writers(fakes.clients, said, unbound=bench.scheduler.unbound, clock=lambda: 1000.0)
    running = asyncio.create_task(writers.run())
    bench.pod(own_pod("a", cpu="100"))
    bench.turn()
    writers.submit(bench.results[-1])
    async with asyncio.timeout(10):
        await writers.drain()
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)
    (write,) = fakes.writes
    (condition,) = write.body["status"]["conditions"]
    assert (write.name, write.subresource) == ("a", "status")
    assert (condition["type"], condition["status"], condition["reason"]) == ("PodScheduled", "False", "Unschedulable")
    assert condition["message"] == "0/1 nodes are unavailable: 1 Insufficient cpu."
