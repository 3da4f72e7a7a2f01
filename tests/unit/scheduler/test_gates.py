"""Queues that let pods in by opening their scheduling gate (scheduler.md 11.7, plugins.md 7.6)."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import msgspec
import pytest

from api import names
from generated.core.v1 import Pod
from generated.scheduling.v1beta1 import PodGroup, Queue
from scheduler.actions import BUILT_IN as ACTIONS
from scheduler.budget import Budget
from scheduler.cache.facts import Facts
from scheduler.contract.decisions import Bind, OpenGate
from scheduler.cycle import Result, run_cycle
from scheduler.dump.files import read
from scheduler.dump.record import decisions_of
from scheduler.dump.replay import replay
from scheduler.dump.taking import Taking
from scheduler.gates import Gates
from scheduler.memory import Memory
from scheduler.settings.loading import built_in
from scheduler.state.cluster import Cluster
from tests.unit.scheduler.build import memory_of
from tests.unit.scheduler.cache.test_facts import node
from tests.unit.scheduler.plugins.questions import tiers

GATE = names.QUEUE_ALLOCATION_GATE
ACTION_LIST = "enqueue, allocate, preempt, reclaim, backfill"
FLAT = tiers("priority; gang", "predicates; capacity", actions=ACTION_LIST)
TREE = tiers("priority; gang", "predicates; {name: capacity, enableHierarchy: true}", actions=ACTION_LIST)


class Bench:
    """Jobs of pods behind gates, the cycles over them, and what these decide. A node has 10 CPUs."""

    def __init__(self, text: str = FLAT, *, is_on: bool = True, **capabilities: str) -> None:
        self.facts = Facts(Cluster(), scheduler_names=("volcano",), default_queue="default")
        self.facts.apply(("Node", None, node(cpu="10", pods="100")))
        self.text = text
        self.memory = self._memory(Gates(self.facts.cluster, is_on=is_on))
        self.pods: dict[str, Pod] = {}
        self.queue("root")
        for name, cpu in capabilities.items():
            self.queue(name, capability={"cpu": cpu})

    def _memory(self, gates: Gates) -> Memory:
        memory = memory_of(self.facts.cluster, self.text)
        memory.gates = gates
        return memory

    def restart(self) -> None:
        self.memory = self._memory(Gates(self.facts.cluster, is_on=True))

    def queue(self, name: str, **spec: Any) -> None:
        self.facts.apply(("Queue", None, msgspec.convert(
            {"metadata": {"name": name, "uid": name}, "spec": spec, "status": {"state": "Open"}}, Queue
        )))  # fmt: skip

    def job(self, name: str, minimum: int = 1, queue: str = "q", **spec: Any) -> None:
        self.facts.apply(("PodGroup", None, msgspec.convert(
            {"metadata": {"name": name, "namespace": "ns", "uid": name}, "spec": {
                "minMember": minimum, "queue": queue, **spec,
            }, "status": {"phase": "Inqueue"}}, PodGroup
        )))  # fmt: skip

    def pod(
        self,
        name: str,
        *gates: str,
        asks: str | None = "true",
        cpu: str | None = "1",
        spec: dict[str, Any] | None = None,
    ) -> None:
        """A pod; its job is what stands before the first dash."""
        annotations = {"scheduling.k8s.io/group-name": name.partition("-")[0], "volcano.sh/task-spec": "w"}
        if asks is not None:
            annotations[GATE] = asks
        self.see(msgspec.convert({
            "metadata": {"name": name, "namespace": "ns", "uid": f"uid-{name}", "annotations": annotations},
            "spec": {
                "schedulerName": "volcano", "schedulingGates": [{"name": gate} for gate in gates],
                "containers": [{"name": "c", "resources": {"requests": {"cpu": cpu} if cpu else {}}}], **(spec or {}),
            },
            "status": {"phase": "Pending"},
        }, Pod))  # fmt: skip

    def see(self, pod: Pod) -> None:
        self.facts.apply(("Pod", self.pods.get(pod.metadata.name), pod))
        self.pods[pod.metadata.name] = pod

    def ungate(self, name: str) -> None:
        """The API server's answer to the removal of a gate."""
        pod = self.pods[name]
        self.see(msgspec.structs.replace(pod, spec=msgspec.structs.replace(pod.spec, scheduling_gates=())))

    def cycle(self) -> Result:
        result = run_cycle(self.facts.cluster, self.memory, ACTIONS, uid="s", now=0.0)
        assert not self.memory.failures
        return result

    def opened(self) -> list[str]:
        return opened(self.cycle())


def opened(result: Result) -> list[str]:
    return [decision.task.name for decision in result.decisions if isinstance(decision, OpenGate)]


def bound(result: Result) -> list[str]:
    return [decision.task.name for decision in result.decisions if isinstance(decision, Bind)]


@pytest.mark.parametrize(
    ("gates", "asks", "is_on", "expected"),
    [
        ((GATE,), "true", True, ["j-0"]),
        ((GATE,), "true", False, []),
        ((GATE,), None, True, []),
        ((GATE,), "True", True, []),
        ((GATE, "other"), "true", True, []),
        (("other",), "true", True, []),
        ((), "true", True, []),
    ],
)
def test_only_a_pod_that_asks_and_has_this_gate_alone_is_let_in(
    gates: tuple[str, ...], asks: str | None, is_on: bool, expected: list[str]
) -> None:
    bench = Bench(is_on=is_on, q="4")
    bench.job("j")
    bench.pod("j-0", *gates, asks=asks)
    result = bench.cycle()
    assert opened(result) == expected
    assert bound(result) == ([] if gates else ["j-0"])


def test_a_gate_that_nobody_asked_to_open_is_warned_of(caplog: pytest.LogCaptureFixture) -> None:
    bench = Bench(q="4")
    bench.job("j")
    bench.pod("j-0", GATE, asks=None)
    with caplog.at_level(logging.WARNING):
        bench.cycle()
    assert f"{GATE}=true" in caplog.text
    assert "pod=ns/j-0" in caplog.text


def test_with_the_feature_off_the_pod_waits_in_silence(caplog: pytest.LogCaptureFixture) -> None:
    bench = Bench(is_on=False, q="4")
    bench.job("j")
    bench.pod("j-0", GATE)
    with caplog.at_level(logging.WARNING):
        assert bench.opened() == []
    assert caplog.text == ""


def test_as_many_are_let_in_as_the_queue_has_room_for_and_none_twice() -> None:
    bench = Bench(q="2")
    bench.job("j")
    for number in range(4):
        bench.pod(f"j-{number}", GATE)
    assert bench.opened() == ["j-0", "j-1"]
    assert bench.opened() == []


def test_a_refused_pod_is_told_why_by_its_job_but_its_condition_is_left_alone() -> None:
    bench = Bench(q="1")
    bench.job("j", minimum=2)
    for number in range(2):
        bench.pod(f"j-{number}", GATE)
    result = bench.cycle()
    assert opened(result) == ["j-0"]
    assert result.outcome.tasks == ()


def test_the_room_of_an_opened_gate_is_kept_until_the_pod_takes_it() -> None:
    bench = Bench(q="2")
    bench.job("a")
    bench.pod("a-0", GATE)
    bench.pod("a-1", GATE)
    assert bench.opened() == ["a-0", "a-1"]
    # A job that comes first by its priority finds the queue full, before and after the gates are gone.
    bench.job("b")
    bench.facts.cluster.jobs["ns/b"].priority = 100
    bench.pod("b-0", asks=None)
    assert bound(bench.cycle()) == []
    bench.ungate("a-0")
    bench.ungate("a-1")
    result = bench.cycle()
    assert bound(result) == ["a-0", "a-1"]
    assert bound(bench.cycle()) == []


def test_after_a_restart_the_same_is_decided_again() -> None:
    bench = Bench(q="2")
    bench.job("a")
    for number in range(3):
        bench.pod(f"a-{number}", GATE)
    assert bench.opened() == ["a-0", "a-1"]
    bench.ungate("a-0")
    bench.restart()
    result = bench.cycle()
    assert (opened(result), bound(result)) == (["a-1"], ["a-0"])


def test_a_removal_that_failed_is_decided_again_with_the_room_of_then() -> None:
    bench = Bench(q="1")
    bench.job("a")
    bench.pod("a-0", GATE)
    assert bench.opened() == ["a-0"]
    version = bench.facts.cluster.version
    bench.memory.gates.refused("uid-a-0")
    assert bench.facts.cluster.version > version
    assert bench.opened() == ["a-0"]
    bench.memory.gates.refused("uid-nobody")


def test_a_pod_that_is_gone_gives_its_room_back() -> None:
    bench = Bench(q="1")
    bench.job("a")
    for number in range(2):
        bench.pod(f"a-{number}", GATE)
    assert bench.opened() == ["a-0"]
    bench.facts.apply(("Pod", bench.pods["a-0"], None))
    assert bench.opened() == ["a-1"]


def test_queues_above_keep_the_room_as_well() -> None:
    bench = Bench(TREE)
    bench.queue("top", capability={"cpu": "2"}, parent="root")
    bench.queue("left", parent="top")
    bench.queue("right", parent="top")
    for name, queue in (("a", "left"), ("b", "right")):
        bench.job(name, queue=queue)
        for number in range(2):
            bench.pod(f"{name}-{number}", GATE)
    first = bench.opened()
    assert len(first) == 2
    for name in first:
        bench.ungate(name)
    result = bench.cycle()
    assert (bound(result), opened(result)) == (first, [])


@pytest.mark.parametrize("gate", [GATE, "other"])
def test_no_other_action_places_a_gated_pod(gate: str) -> None:
    bench = Bench(q="4")
    bench.job("j", minimum=2)
    bench.pod("j-0", gate, asks=None)
    bench.pod("j-1", gate, asks=None, cpu=None)
    assert bench.cycle().decisions == ()


def test_gated_pods_are_not_swept_along_by_the_run_of_their_equals() -> None:
    bench = Bench(q="8")
    bench.job("j")
    for number in range(6):
        bench.pod(f"j-{number}", *((GATE,) if number % 2 else ()), asks="true" if number % 2 else None)
    result = bench.cycle()
    assert bound(result) == ["j-0", "j-2", "j-4"]
    assert opened(result) == ["j-1", "j-3", "j-5"]


def test_a_job_with_a_network_topology_is_let_in_too() -> None:
    bench = Bench(tiers("priority; gang", "predicates; capacity; network-topology-aware", actions=ACTION_LIST), q="3")
    bench.job("j", minimum=2, networkTopology={"mode": "hard", "highestTierAllowed": 1})
    for number in range(2):
        bench.pod(f"j-{number}", GATE)
    assert bench.opened() == ["j-0", "j-1"]
    bench.ungate("j-0")
    bench.ungate("j-1")
    assert bound(bench.cycle()) == ["j-0", "j-1"]


def test_a_dump_knows_of_gates_on_their_way_out(tmp_path: Path) -> None:
    bench = Bench(q="2")
    bench.job("j")
    for number in range(3):
        bench.pod(f"j-{number}", GATE)
    bench.memory.gates.granted.add("uid-j-0")
    taking = Taking(bench.facts.cluster, bench.memory, uid="s", now=0.0, configuration=bench.text)
    result = bench.cycle()
    assert opened(result) == ["j-1"]
    path = tmp_path / "snapshot.json"
    path.write_bytes(taking.finish(Budget.replayed(None), result))
    dump = read(path)
    assert decisions_of(replay(dump, built_in())) == dump.cycle.decisions == decisions_of(result)
    assert [str(decision) for decision in dump.cycle.decisions] == ["open the gate of ns/j-1"]
