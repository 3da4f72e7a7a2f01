"""A recorded cycle run again decides the same, whatever the cluster."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from generated.topology.v1alpha1 import HyperNode
from runtime.selector import from_labels
from scheduler.actions import BUILT_IN as ACTIONS
from scheduler.budget import Budget
from scheduler.cycle import Result, run_cycle
from scheduler.dump import parts
from scheduler.dump.files import DumpError, read, write
from scheduler.dump.record import decisions_of
from scheduler.dump.replay import main, replay
from scheduler.dump.taking import Taking
from scheduler.evicting.nominations import Nomination
from scheduler.memory import Memory
from scheduler.placing.sampling import Sampling
from scheduler.settings.loading import built_in
from scheduler.state.claims import VolumeClaim
from scheduler.state.status import Status
from tests.unit.scheduler.build import FIVE_PLUGINS, GIB, World, memory_of, random_world, shape
from tests.unit.scheduler.cache.test_facts import facts, group, pod

HYPER = {"metadata": {"name": "s0", "uid": "h"}, "spec": {"tier": 1, "tierName": "rack", "members": [
    {"type": "Node", "selector": {"exactMatch": {"name": "node-00"}}},
]}}  # fmt: skip


def recorded(
    world: World, memory: Memory, over_at: int | None = None, uid: str = "session-9"
) -> tuple[bytes, Result, Budget]:
    taking = Taking(world.cluster, memory, uid=uid, now=1234.5, configuration=FIVE_PLUGINS)
    budget = Budget.replayed(over_at)
    result = run_cycle(world.cluster, memory, ACTIONS, uid=uid, now=1234.5, expired=budget)
    return taking.finish(budget, result), result, budget


def file_of(directory: Path, content: bytes) -> Path:
    return write(directory, content, 77.9)


def words(result: Result) -> list[str]:
    """Everything that a session says, to compare."""
    jobs = [
        f"{job.job.id} {job.phase} {job.running} {job.succeeded} {job.failed} {job.condition} {job.event}"
        for job in result.outcome.jobs
    ]
    return [*jobs, *(f"{task.task.key} {task.reason} {task.message} {task.nominated}" for task in result.outcome.tasks)]


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from([0.0, 0.1]), st.integers(0, 2), st.one_of(st.none(), st.integers(1, 6)))
def test_a_replay_decides_and_says_the_same(
    tmp_path_factory: pytest.TempPathFactory, seed: int, odd: float, cycles: int, over_at: int | None
) -> None:
    world = random_world(seed, odd)
    memory = memory_of(world.cluster)
    memory.sampling = Sampling(50, 2, cursor=seed % 7) if seed % 3 == 0 else None
    for number in range(cycles):
        # What earlier cycles leave behind: pods being bound, statements taken back, totals with rests of arithmetic.
        run_cycle(world.cluster, memory, ACTIONS, uid=f"session-{number}", now=float(number))
        for task in list(world.cluster.tasks.values())[seed % 5 :: 5]:
            world.cluster.remove_task(task.uid)
    path = file_of(tmp_path_factory.mktemp("dumps"), recorded(world, memory, over_at)[0])
    dump = read(path)
    first, second = replay(dump, built_in()), replay(dump, built_in())
    assert decisions_of(first) == decisions_of(second) == dump.cycle.decisions
    assert words(first) == words(second)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10**6))
def test_what_a_replayed_cycle_says_is_what_the_first_one_said(seed: int) -> None:
    world = random_world(seed)
    memory = memory_of(world.cluster)
    state = parts.take(world.cluster, memory)
    result = run_cycle(world.cluster, memory, ACTIONS, uid="s", now=1.0)
    again = parts.put(state).cluster
    assert words(run_cycle(again, memory_of(again), ACTIONS, uid="s", now=1.0)) == words(result)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from([0.0, 0.3]))
def test_the_state_comes_back_to_the_last_bit(seed: int, odd: float) -> None:
    world = random_world(seed, odd)
    memory = memory_of(world.cluster)
    run_cycle(world.cluster, memory, ACTIONS, uid="s", now=1.0)
    for task in list(world.cluster.tasks.values())[:2]:
        memory.nominations.by_task[task.uid] = Nomination(
            task.uid, task.key, task.job, "n", "preempt", {"v": "ns/v"}, since=3.0
        )
    for place, selector in enumerate(({"app": "a"}, {"app": "b", "tier": "c"})):
        world.cluster.workloads.set_service("ns", f"s{place}", selector)
        world.cluster.workloads.set_owner("ns", ("ReplicaSet", f"r{place}"), from_labels(selector))  # type: ignore[arg-type]  # valid
    world.cluster.claims.set("ns/claim", VolumeClaim(is_bound=False, phase="Pending"))
    world.cluster.sight.set_namespace("ns", {"team": "x"})
    taken = parts.take(world.cluster, memory)
    restored = parts.put(taken)
    again = memory_of(restored.cluster)
    restored.remember(again)
    assert msgspec.json.encode(parts.take(restored.cluster, again)) == msgspec.json.encode(taken)


def test_facts_of_the_api_server_come_back_with_their_objects() -> None:
    found = facts()
    found.apply(("PodGroup", None, group(minMember=2)))
    for name in ("g-w-0", "g-w-1"):
        found.apply(("Pod", None, pod(name, spec={"hostname": name})))
    found.apply(("Pod", None, pod("g-w-2", spec={"nodeName": "nowhere"}, status={"phase": "Running"})))
    again = parts.put(parts.take(found.cluster, memory_of(found.cluster))).cluster
    assert [task.pod for task in again.tasks.values()] == [task.pod for task in found.cluster.tasks.values()]
    assert again.tasks["uid-g-w-0"].shape is again.tasks["uid-g-w-1"].shape
    assert again.jobs["ns/g"].pod_group == group(minMember=2)
    assert again.node_by_name["nowhere"].object is None
    assert again.tasks["uid-g-w-2"].status is Status.RUNNING


def test_a_cycle_whose_time_was_over_is_over_at_the_same_job(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    world = World()
    world.node("n", cpu=8000.0)
    for name in ("a", "b", "c"):
        world.gang(name, [("w", 1, shape())])
    # With the shipped order one question is asked before each visit of a job.
    content, result, budget = recorded(world, memory_of(world.cluster), over_at=2)
    assert (len(result.decisions), result.last_job, budget.over_at) == (1, "ns/a", 2)
    assert main([str(file_of(tmp_path, content))]) == 0
    shown = capsys.readouterr().out
    assert shown.splitlines() == [
        "session session-9: 1 decisions",
        "bind ns/a-w-0 to n",
        "the time of the cycle was over after job ns/a: the rest of the jobs waited for the next one",
        "the same decisions as recorded",
    ]


def test_the_cycle_of_a_dump_visits_the_jobs_that_sleep_as_its_replay_will(tmp_path: Path) -> None:
    world = World()
    world.node("n", cpu=8000.0)
    world.gang("a", [("w", 1, shape(cpu=9000.0))])
    memory = memory_of(world.cluster)
    run_cycle(world.cluster, memory, ACTIONS, uid="session-8", now=1234.0)
    assert "ns/a" in memory.dormancy
    for name in ("b", "c"):
        world.gang(name, [("w", 1, shape())])
    content, result, _ = recorded(world, memory, over_at=3)
    assert [decision.task.name for decision in result.decisions] == ["b-w-0"], "the first question was for the sleeper"
    dump = read(file_of(tmp_path, content))
    assert decisions_of(replay(dump, built_in())) == dump.cycle.decisions


def test_other_decisions_than_recorded_are_shown_and_change_the_exit_code(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    world = World()
    world.node("n")
    world.gang("a", [("w", 1, shape())])
    content = recorded(world, memory_of(world.cluster))[0].replace(b'"node":"n","group"', b'"node":"m","group"')
    assert main([str(file_of(tmp_path, content))]) == 1
    assert "recorded were 1 other decisions:\nbind ns/a-w-0 to m\n" in capsys.readouterr().out


def whole() -> bytes:
    world = World()
    world.node("n")
    world.gang("a", [("w", 2, shape())])
    return recorded(world, memory_of(world.cluster))[0]


def foreign() -> bytes:
    return b'{"n":{"Name":"n"}}\n{}\n[]\n{}\n{}\n{"ns/g":{"Name":"g"}}\n'


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "has no state that could be replayed"),
        (b"hello", "has no state that could be replayed"),
        (foreign(), "another scheduler wrote it"),
        (b"\x00\xff\n" * 12, "line 7: no dump of this scheduler"),
        (b"[1]\n" * 12, "line 7: no dump of this scheduler"),
        (whole().replace(b"scheduler dump 1", b"scheduler dump 9"), "is of format 'stromboli scheduler dump 9'"),
        (whole()[:-1], "is incomplete"),
        (whole()[: len(whole()) * 2 // 3], "is incomplete"),
        (whole().rsplit(b"\n", 2)[0] + b"\n", "is incomplete"),
        (whole().replace(b'{"part":"tasks"', b'{"part":"tusks"'), "lacks the parts tasks"),
        (whole().replace(b'"nonzero":[', b'"nonzero":["x",'), "Expected"),
        (whole().replace(b'"shape":0', b'"shape":7'), "contradicts itself"),
        (whole().replace(b"actions: ", b"actions: fly, "), "failed to find Action fly"),
    ],
)
def test_a_file_that_cannot_be_replayed_is_told_with_its_name(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], content: bytes, message: str
) -> None:
    path = tmp_path / "snapshot-1.json"
    path.write_bytes(content)
    assert main([str(path)]) == 2
    assert message in capsys.readouterr().err


def test_a_file_that_is_not_there_and_a_line_without_one_end_with_2(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([str(tmp_path / "x.json")]) == 2
    assert "can't be read: No such file" in capsys.readouterr().err
    with pytest.raises(SystemExit) as ended:
        main([])
    assert ended.value.code == 2


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_a_dump_cut_anywhere_is_refused(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    content = whole()
    path = tmp_path_factory.mktemp("cut") / "snapshot-1.json"
    path.write_bytes(content[: data.draw(st.integers(0, len(content) - 1))])
    with pytest.raises(DumpError):
        read(path)


def test_the_first_lines_are_those_of_the_go_scheduler(tmp_path: Path) -> None:
    world = random_world(3)
    world.cluster.hypernodes.set(msgspec.convert(HYPER, HyperNode))
    world.cluster.hypernodes.view(world.cluster)
    path = file_of(tmp_path, recorded(world, memory_of(world.cluster))[0])
    assert path.name == "snapshot-77.json"
    assert path.stat().st_mode & 0o777 == 0o644
    lines: list[Any] = [json.loads(line) for line in path.read_text().splitlines()]
    nodes, tiers, tier_names, real, hypernodes, jobs = lines[:6]
    assert sorted(nodes) == [node.name for node in world.cluster.nodes]
    assert nodes["node-00"]["Allocatable"]["MilliCPU"] in {2000.0, 4000.0, 8000.0}
    assert (tiers, tier_names, real) == ({"1": ["s0"]}, ["rack"], {"s0": ["node-00"]})
    assert hypernodes == {"s0": {"Name": "s0", "Tier": 1}}
    assert sorted(jobs) == sorted(world.cluster.jobs)
    assert read(path).parts["hypernodes"][0].metadata.name == "s0"


def test_a_dump_that_cannot_be_written_leaves_no_file(tmp_path: Path) -> None:
    (tmp_path / "snapshot-1.json").mkdir()
    with pytest.raises(OSError, match="snapshot-1"):
        write(tmp_path, b"x", 1.0)
    assert [path.name for path in tmp_path.iterdir()] == ["snapshot-1.json"]


def test_amounts_of_a_node_add_up_in_the_overview(tmp_path: Path) -> None:
    world = World()
    world.node("n", cpu=4000.0, memory=8 * GIB, scalars={"nvidia.com/gpu": 2000.0})
    world.running("p", "n", shape(cpu=1000.0, memory=GIB))
    path = file_of(tmp_path, recorded(world, memory_of(world.cluster))[0])
    node = json.loads(path.read_text().splitlines()[0])["n"]
    assert (node["Idle"]["MilliCPU"], node["Used"]["MilliCPU"]) == (3000.0, 1000.0)
    assert node["Allocatable"]["ScalarResources"] == {"pods": 110.0, "nvidia.com/gpu": 2000.0}
    assert node["Tasks"]["other/p"]["Status"] == "Running"
