from __future__ import annotations

import queue
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from cluster import ControlPlane
from cluster.processes import wait_until
from runtime import leasestore
from runtime.kubeconfig import load
from runtime.leader import Elector
from runtime.lease import LeaseLost, Terms

ROOT = Path(__file__).resolve().parents[2]
NAME = "vc-test"
QUICK = Terms(lease_duration=3.0, renew_deadline=2.0, retry_period=0.4)
DEFAULT = Terms()
PATIENT = Terms(lease_duration=300.0, renew_deadline=200.0, retry_period=60.0)
"""Who only polled would learn of a release a minute later."""


class Candidate:
    """An elector and what it told, each with its moment."""

    def __init__(self, kubeconfig: Path, namespace: str, identity: str, terms: Terms) -> None:
        self.told: queue.SimpleQueue[tuple[str, float]] = queue.SimpleQueue()
        self.lost = threading.Event()
        store = leasestore.connect(load(str(kubeconfig)), namespace, NAME, terms)
        self.elector = Elector(store, self, namespace=namespace, name=NAME, identity=identity, terms=terms)

    def on_leading(self) -> None:
        self.told.put(("leading", time.monotonic()))

    def on_lost(self, reason: str) -> None:
        del reason
        self.lost.set()

    def on_leader(self, identity: str) -> None:
        del identity

    def wait_leading(self, seconds: float) -> float:
        """The moment at which it began to lead."""
        word, moment = self.told.get(timeout=seconds)
        assert word == "leading"
        return moment


Start = Callable[..., Candidate]


@pytest.fixture
def start(kubeconfig: Path, namespace: str) -> Iterator[Start]:
    running: list[Candidate] = []

    def begin(identity: str, terms: Terms = QUICK) -> Candidate:
        candidate = Candidate(kubeconfig, namespace, identity, terms)
        candidate.elector.start()
        running.append(candidate)
        return candidate

    yield begin
    for candidate in running:
        candidate.elector.stop()


@pytest.fixture
def path(namespace: str) -> str:
    return f"/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases"


def spec(control_plane: ControlPlane, path: str) -> dict[str, Any]:
    found: dict[str, Any] = control_plane.api.get(f"{path}/{NAME}").get("spec", {})
    return found


def test_the_record_is_the_one_that_other_programs_read(control_plane: ControlPlane, path: str, start: Start) -> None:
    candidate = start("host_1", DEFAULT)
    candidate.wait_leading(10)
    found = spec(control_plane, path)
    assert found["holderIdentity"] == "host_1"
    assert found["leaseDurationSeconds"] == 15
    assert found["leaseTransitions"] == 0
    assert found["renewTime"].endswith("Z")
    assert len(found["renewTime"]) == len("2026-08-01T10:00:00.000000Z")


def test_a_standby_leads_at_the_release_and_does_not_wait_for_its_next_poll(
    control_plane: ControlPlane, path: str, start: Start
) -> None:
    first = start("a", PATIENT)
    first.wait_leading(10)
    second = start("b", PATIENT)
    assert wait_until(lambda: second.elector.leader == "a", 90)
    first.elector.stop()
    second.wait_leading(20)
    found = spec(control_plane, path)
    assert found["holderIdentity"] == "b"
    assert found["leaseTransitions"] == 1


def test_a_release_leaves_an_empty_holder(control_plane: ControlPlane, path: str, start: Start) -> None:
    candidate = start("a")
    candidate.wait_leading(10)
    candidate.elector.stop()
    found = spec(control_plane, path)
    assert found.get("holderIdentity", "") == ""
    assert found["leaseDurationSeconds"] == 1


def test_the_lease_of_a_killed_process_is_taken_after_its_duration(
    kubeconfig: Path, namespace: str, start: Start
) -> None:
    program = (
        "import sys, threading, pathlib; sys.path.insert(0, '.')\n"
        "from tests.integration.test_leader import Candidate, QUICK\n"
        f"c = Candidate(pathlib.Path({str(kubeconfig)!r}), {namespace!r}, 'victim', QUICK)\n"
        "c.elector.start(); c.wait_leading(10); print('leading', flush=True); threading.Event().wait()\n"
    )
    with subprocess.Popen([sys.executable, "-c", program], cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "leading\n"
        successor = start("successor")
        assert wait_until(lambda: successor.elector.leader == "victim", 90)
        killed = time.monotonic()
        process.send_signal(signal.SIGKILL)
        waited = successor.wait_leading(15) - killed
    assert QUICK.lease_duration - QUICK.retry_period - 0.3 < waited
    assert waited < QUICK.lease_duration + 3 * QUICK.retry_period + 1


def test_an_outage_stops_writes_and_ends_nothing(control_plane: ControlPlane, path: str, start: Start) -> None:
    holder = start("a")
    holder.wait_leading(10)
    standby = start("b")
    assert wait_until(lambda: standby.elector.leader == "a", 90)
    holder.elector.fence.check()
    control_plane.kill_apiserver()
    try:
        assert wait_until(lambda: not holder.elector.fence.is_open, QUICK.renew_deadline + 2)
        with pytest.raises(LeaseLost, match="could not be renewed in time"):
            holder.elector.fence.check()
        threading.Event().wait(QUICK.lease_duration)
    finally:
        control_plane.start_apiserver()
    assert wait_until(lambda: holder.elector.fence.is_open or standby.elector.fence.is_open, 90)
    # Whoever came first has it; both may not.
    if standby.elector.is_leader:
        assert holder.lost.wait(10)
    assert not (holder.elector.fence.is_open and standby.elector.fence.is_open)
    assert spec(control_plane, path)["holderIdentity"] in {"a", "b"}


def test_after_an_outage_a_holder_without_rival_goes_on(control_plane: ControlPlane, path: str, start: Start) -> None:
    holder = start("a")
    holder.wait_leading(10)
    control_plane.kill_apiserver()
    try:
        assert wait_until(lambda: not holder.elector.fence.is_open, QUICK.renew_deadline + 2)
    finally:
        control_plane.start_apiserver()
    assert wait_until(lambda: holder.elector.fence.is_open, 90)
    assert not holder.lost.is_set()
    assert spec(control_plane, path)["leaseTransitions"] == 0


def test_a_main_thread_that_is_busy_does_not_cost_the_lease(start: Start) -> None:
    holder = start("a")
    holder.wait_leading(10)
    until = time.monotonic() + 2 * QUICK.lease_duration
    interval = sys.getswitchinterval()
    sys.setswitchinterval(0.0005)
    try:
        while time.monotonic() < until:
            assert holder.elector.fence.is_open
    finally:
        sys.setswitchinterval(interval)
    assert not holder.lost.is_set()


@pytest.mark.parametrize(
    "garbage",
    [
        {},
        {"holderIdentity": "gone", "leaseDurationSeconds": 1},
        {"leaseTransitions": 7},
        {"holderIdentity": "gone", "leaseDurationSeconds": 1, "renewTime": "2099-01-01T00:00:00.000000Z"},
    ],
)
def test_a_lease_that_others_left_is_taken(
    control_plane: ControlPlane, path: str, start: Start, garbage: dict[str, Any]
) -> None:
    control_plane.api.create(path, {"metadata": {"name": NAME, "labels": {"keep": "me"}}, "spec": garbage})
    candidate = start("a")
    candidate.wait_leading(15)
    lease = control_plane.api.get(f"{path}/{NAME}")
    assert lease["metadata"]["labels"] == {"keep": "me"}
    assert lease["spec"]["leaseTransitions"] == garbage.get("leaseTransitions", 0) + 1


def test_a_deleted_lease_is_made_again(control_plane: ControlPlane, path: str, start: Start) -> None:
    holder = start("a")
    holder.wait_leading(10)
    uid = control_plane.api.get(f"{path}/{NAME}")["metadata"]["uid"]
    control_plane.api.delete(f"{path}/{NAME}")
    assert wait_until(lambda: _uid(control_plane, path) not in {"", uid}, 90)
    holder.elector.fence.check()
    assert not holder.lost.is_set()


def test_a_lease_taken_by_force_is_lost(control_plane: ControlPlane, path: str, start: Start) -> None:
    holder = start("a")
    holder.wait_leading(10)
    control_plane.api.merge(f"{path}/{NAME}", {"spec": {"holderIdentity": "thief"}})
    assert holder.lost.wait(10)
    with pytest.raises(LeaseLost):
        holder.elector.fence.check()
    assert spec(control_plane, path)["holderIdentity"] == "thief"


def _uid(control_plane: ControlPlane, path: str) -> str:
    found = control_plane.api.items(path)
    return str(found[0]["metadata"]["uid"]) if found else ""
