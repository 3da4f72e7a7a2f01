"""The scheduler as a process on the real control plane: gangs start whole, wait with a reason, and take room that comes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from cluster import ControlPlane
from cluster.processes import wait_until
from tests.integration.schedulers import Gangs, Scheduler


@pytest.fixture
def scheduler(kubeconfig: Path, namespace: str, tmp_path: Path) -> Iterator[Scheduler]:
    made = Scheduler(kubeconfig, namespace, tmp_path)
    yield made
    made.kill()


@pytest.fixture
def gangs(control_plane: ControlPlane, namespace: str, kwok_nodes: Callable[..., list[str]]) -> Gangs:
    return Gangs(control_plane, namespace, kwok_nodes(4, resources={"cpu": "4", "memory": "8Gi"}))


@pytest.mark.usefixtures("scheduler")
def test_a_gang_that_fits_runs_whole_and_one_that_does_not_waits_until_room_comes(gangs: Gangs) -> None:
    gangs.create("first", 8, "1")
    assert wait_until(lambda: gangs.phase("first") == "Running", 60)
    assert gangs.bound("first") == 8
    gangs.create("second", 3, "4")
    assert wait_until(lambda: "3/3 tasks in gang unschedulable" in gangs.message("second")
                      or "Insufficient cpu" in gangs.message("second"), 60)  # fmt: skip
    assert gangs.bound("second") == 0
    assert gangs.phase("second") == "Inqueue"
    gangs.delete("first")
    assert wait_until(lambda: gangs.phase("second") == "Running", 60)
    assert gangs.bound("second") == 3


def test_after_kill_9_a_restarted_scheduler_goes_on_and_binds_nothing_twice(gangs: Gangs, scheduler: Scheduler) -> None:
    gangs.create("first", 4, "1")
    assert wait_until(lambda: gangs.bound("first") == 4, 60)
    scheduler.kill()
    gangs.create("second", 4, "1")
    scheduler.start()
    assert wait_until(lambda: gangs.phase("second") == "Running", 60)
    assert gangs.phase("first") == "Running"
    assert (gangs.bound("first"), gangs.bound("second")) == (4, 4)


def test_a_signal_ends_it_with_the_known_code(scheduler: Scheduler, gangs: Gangs) -> None:
    gangs.create("first", 1, "1")
    assert wait_until(lambda: gangs.bound("first") == 1, 60)
    assert scheduler.end() == 1
