"""Operating the scheduler on the real control plane: configuration, dumps, metrics, its end and its violent end."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from cluster import ControlPlane
from cluster.processes import wait_until
from tests.integration.schedulers import CONFIGURATION, PODS, ROOT, Gangs, Scheduler

EVENTS = "/api/v1/namespaces/{}/events"
LEASES = "/apis/coordination.k8s.io/v1/namespaces/{}/leases/{}"
QUEUES = "/apis/scheduling.volcano.sh/v1beta1/queues"
LEASE_SECONDS, PERIOD = 4.0, 1.0
AVOIDER = """
from scheduler.plugin import Plugin

class Avoider(Plugin):
    def on_session_open(self, session):
        session.add_predicate(self.name, lambda task, node: None if node.name == {node!r} else "node(s) are avoided")
"""


@pytest.fixture
def begin(kubeconfig: Path, namespace: str, tmp_path: Path) -> Iterator[Callable[..., Scheduler]]:
    made: list[Scheduler] = []

    def start(*flags: str, elects: bool = False) -> Scheduler:
        made.append(Scheduler(kubeconfig, namespace, tmp_path, *flags, elects=elects))
        return made[-1]

    yield start
    for scheduler in made:
        scheduler.kill()


@pytest.fixture
def nodes(kwok_nodes: Callable[..., list[str]]) -> list[str]:
    return kwok_nodes(3, resources={"cpu": "4", "memory": "8Gi"})


@pytest.fixture
def gangs(control_plane: ControlPlane, namespace: str, nodes: list[str]) -> Gangs:
    return Gangs(control_plane, namespace, nodes)


def test_a_changed_configuration_counts_at_once_and_a_bad_one_is_told_and_passed_over(
    control_plane: ControlPlane, namespace: str, begin: Callable[..., Scheduler], gangs: Gangs
) -> None:
    scheduler = begin()
    assert wait_until(lambda: scheduler.metric("volcano_scheduler_config_valid") == 1.0, 60)
    scheduler.configuration.write_text("actions: fly")
    assert wait_until(lambda: scheduler.metric("volcano_scheduler_config_valid") == 0.0, 90)

    def told() -> bool:
        events: list[dict[str, Any]] = control_plane.api.get(EVENTS.format(namespace))["items"]
        return any(
            event["reason"] == "InvalidConfiguration"
            and event["type"] == "Warning"
            and "failed to find Action fly" in event["message"]
            for event in events
        )

    assert wait_until(told, 90)
    gangs.create("first", 2, "1")
    assert wait_until(lambda: gangs.bound("first") == 2, 60)
    scheduler.configuration.write_text(CONFIGURATION.replace("enqueue, allocate, backfill", "enqueue"))
    assert wait_until(lambda: scheduler.metric("volcano_scheduler_config_valid") == 1.0, 90)
    gangs.create("second", 2, "1")
    assert wait_until(lambda: gangs.phase("second") == "Inqueue", 60)
    assert gangs.bound("second") == 0
    scheduler.configuration.write_text(CONFIGURATION)
    assert wait_until(lambda: gangs.bound("second") == 2, 60)


def test_a_custom_plugin_decides_and_a_change_of_its_file_counts(
    tmp_path: Path, begin: Callable[..., Scheduler], gangs: Gangs, nodes: list[str], control_plane: ControlPlane
) -> None:
    plugins = tmp_path / "plugins"
    plugins.mkdir()
    (plugins / "avoider.py").write_text(AVOIDER.format(node=nodes[1]))
    (tmp_path / "scheduler.conf").write_text(
        CONFIGURATION.replace("{name: binpack}", "{name: binpack}, {name: avoider}")
    )
    begin(f"--plugins-dir={plugins}")
    gangs.create("first", 2, "1")
    assert wait_until(lambda: gangs.bound("first") == 2, 60)
    (plugins / "avoider.py").write_text("(")  # the last good one stays
    gangs.create("second", 1, "1")
    assert wait_until(lambda: gangs.bound("second") == 1, 60)
    assert set(gangs.places("first") + gangs.places("second")) == {nodes[1]}
    (plugins / "avoider.py").write_text(AVOIDER.format(node=nodes[2]))
    gangs.create("third", 1, "4")
    assert wait_until(lambda: gangs.places("third") == [nodes[2]], 60)


@pytest.mark.parametrize(
    ("flag", "message"),
    [
        ("--scheduler-conf=/nowhere/scheduler.conf", "the directory /nowhere does not exist"),
        ("--plugins-dir={}", "docs/migrate.md"),
    ],
)
def test_what_cannot_begin_ends_with_1_before_anything_is_written(
    tmp_path: Path, begin: Callable[..., Scheduler], control_plane: ControlPlane, flag: str, message: str
) -> None:
    (tmp_path / "go.so").write_bytes(b"\x7fELF")
    queue = "never-made"
    scheduler = begin(f"--default-queue={queue}", flag.format(tmp_path))
    assert scheduler.process.wait(60) == 1
    assert message in scheduler.log.read_text()
    assert queue not in {found["metadata"]["name"] for found in control_plane.api.get(QUEUES)["items"]}


def test_a_dump_replays_to_the_same_decisions_and_the_state_can_be_logged(
    begin: Callable[..., Scheduler], gangs: Gangs
) -> None:
    scheduler = begin()
    gangs.create("first", 2, "1")
    gangs.create("large", 2, "100")
    assert wait_until(lambda: gangs.bound("first") == 2 and bool(gangs.message("large")), 60)
    scheduler.process.send_signal(signal.SIGUSR1)
    assert wait_until(lambda: bool(list(scheduler.directory.glob("snapshot-*.json"))), 90)
    (dump,) = scheduler.directory.glob("snapshot-*.json")
    nodes = json.loads(dump.read_text().splitlines()[0])
    assert set(gangs.places("first")) <= set(nodes)
    done = subprocess.run(
        [sys.executable, "-m", "scheduler", "replay", str(dump)], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout.splitlines()[-1]) == (0, "the same decisions as recorded"), done
    scheduler.process.send_signal(signal.SIGUSR2)
    assert wait_until(lambda: "dump memory peak=" in scheduler.log.read_text(), 90)
    assert "/large queue=default" in scheduler.log.read_text()


def test_the_leader_gives_its_lease_back_at_a_signal_and_ends_with_0(
    begin: Callable[..., Scheduler], control_plane: ControlPlane, namespace: str, gangs: Gangs
) -> None:
    scheduler = begin(elects=True)
    gangs.create("first", 2, "1")
    assert wait_until(lambda: gangs.bound("first") == 2, 60)
    path = LEASES.format(namespace, "volcano")
    assert control_plane.api.get(path)["spec"]["holderIdentity"]
    assert scheduler.end() == 0
    assert not control_plane.api.get(path)["spec"].get("holderIdentity")


def test_queues_are_told_what_they_hold_and_series_end_with_their_job(
    begin: Callable[..., Scheduler], control_plane: ControlPlane, namespace: str, gangs: Gangs
) -> None:
    scheduler = begin()
    queue = f"q-{namespace}"
    control_plane.api.create(QUEUES, {
        "apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "Queue", "metadata": {"name": queue},
        "spec": {"weight": 1},
    })  # fmt: skip

    def allocated() -> dict[str, str]:
        found: dict[str, Any] = control_plane.api.get(f"{QUEUES}/{queue}")
        held: dict[str, str] = found.get("status", {}).get("allocated", {})
        return held

    series = f'volcano_e2e_job_scheduling_start_time{{job_name="first",job_namespace="{namespace}",queue="{queue}"}}'
    try:
        gangs.create("first", 3, "500m", queue=queue)
        assert wait_until(lambda: allocated().get("cpu") == "1500m", 60), allocated()
        assert allocated()["pods"] == "3"
        assert scheduler.metric(series) is not None
        gangs.delete("first")
        assert wait_until(lambda: allocated() == {"cpu": "0", "memory": "0"}, 60), allocated()
        assert wait_until(lambda: scheduler.metric(series) is None, 90)
        assert scheduler.metric("volcano_e2e_scheduling_latency_milliseconds_count")
    finally:
        control_plane.api.delete(f"{QUEUES}/{queue}")


def test_only_nodes_that_the_selector_names_are_used_and_a_label_that_goes_takes_the_node_along(
    begin: Callable[..., Scheduler], control_plane: ControlPlane, gangs: Gangs, nodes: list[str], namespace: str
) -> None:
    def label(node: str, value: str | None) -> None:
        control_plane.api.merge(f"/api/v1/nodes/{node}", {"metadata": {"labels": {"pool": value}}})

    label(nodes[2], namespace)
    begin(f"--node-selector=pool:{namespace}", "--node-selector=pool:other")
    gangs.create("first", 2, "1")
    assert wait_until(lambda: gangs.places("first") == [nodes[2]] * 2, 60)
    label(nodes[0], namespace)
    label(nodes[2], None)
    gangs.create("second", 2, "1")
    assert wait_until(lambda: gangs.places("second") == [nodes[0]] * 2, 60)


SLOW = ("--kube-api-qps=4", "--kube-api-burst=1")
"""So few requests a second that a kill comes between two binds."""
FAST_LEASE = (
    f"--leader-elect-lease-duration={LEASE_SECONDS:.0f}s", "--leader-elect-renew-deadline=3s",
    "--leader-elect-retry-period=1s",
)  # fmt: skip


def left_partly_bound(scheduler: Scheduler, gangs: Gangs, pods: int) -> int:
    """Kill a scheduler between two binds of a gang; how many were bound."""
    gangs.create("gang", pods, "1")
    assert wait_until(lambda: gangs.bound("gang") >= 1, 60)
    scheduler.kill()
    bound = gangs.bound("gang")
    assert 0 < bound < pods
    return bound


def test_a_gang_left_partly_bound_is_completed_soon_after_the_restart(
    begin: Callable[..., Scheduler], gangs: Gangs
) -> None:
    scheduler = begin(*SLOW, *FAST_LEASE, elects=True)
    left_partly_bound(scheduler, gangs, 8)
    scheduler.start("--kube-api-qps=2000", "--kube-api-burst=2000")
    assert wait_until(lambda: scheduler.metric("volcano_scheduler_config_valid") is not None, 60)  # it is up
    assert wait_until(lambda: gangs.bound("gang") == 8, LEASE_SECONDS + 3 * PERIOD)


def test_without_room_a_gang_left_partly_bound_says_what_it_lacks(
    begin: Callable[..., Scheduler], gangs: Gangs, control_plane: ControlPlane, namespace: str, nodes: list[str]
) -> None:
    scheduler = begin(*SLOW)
    bound = left_partly_bound(scheduler, gangs, 8)
    free = dict.fromkeys(nodes, 4)
    for node in gangs.places("gang"):
        free[node] -= 1
    for node, cpus in free.items():
        control_plane.api.create(PODS.format(namespace), {
            "metadata": {"name": f"filler-{node}"},
            "spec": {"nodeName": node, "containers": [
                {"name": "c", "image": "x", "resources": {"requests": {"cpu": f"{cpus}"}}},
            ]},
        })  # fmt: skip
    scheduler.start("--kube-api-qps=2000", "--kube-api-burst=2000")
    missing = 8 - bound
    text = f"; partially bound: {missing} missing, which need cpu {missing * 1000:.2f}, memory 0.00"
    assert wait_until(lambda: text in gangs.message("gang"), 60), gangs.message("gang")
    assert gangs.bound("gang") == bound
