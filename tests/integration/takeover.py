"""Our processes on what others left, and what is seen of it."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from cluster import ControlPlane
from tests.integration.conftest import ROOT
from tests.integration.leftovers import BATCH, Json, Leftovers
from tests.integration.schedulers import CONFIGURATION, Scheduler

BY_QUEUE = CONFIGURATION.replace("{name: predicates}", "{name: predicates}, {name: proportion}")
PATIENCE = 60.0


class Controllers:
    """`vc-controller-manager` for the jobs of one scheduler."""

    def __init__(self, kubeconfig: Path, name: str, directory: Path) -> None:
        self.log = directory / "controllers.log"
        command = [
            sys.executable, "-m", "controllers", f"--kubeconfig={kubeconfig}", "--leader-elect=false",
            f"--scheduler-name={name}", "-v=3",
        ]  # fmt: skip
        with self.log.open("wb") as log:
            self._process = subprocess.Popen(command, cwd=ROOT, stdout=log, stderr=log)

    def end(self) -> None:
        self._process.kill()
        self._process.wait()


@contextmanager
def takeover(kubeconfig: Path, name: str, directory: Path) -> Iterator[Callable[[], None]]:
    """Starts our controllers and our scheduler when called, and ends them with the block."""
    with ExitStack() as stack:

        def begin() -> None:
            (directory / "scheduler.conf").write_text(BY_QUEUE)
            stack.callback(Controllers(kubeconfig, name, directory).end)
            stack.callback(Scheduler(kubeconfig, name, directory).kill)

        yield begin


class Observer:
    """Looks at jobs and pods all the time."""

    def __init__(self, plane: ControlPlane, left: Leftovers) -> None:
        self._plane, self._left = plane, left
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self.phases: dict[str, set[str]] = {}
        self.pods: set[tuple[str, str, bool]] = set()

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._over.set()
        self._thread.join()

    def _run(self) -> None:
        api = ControlPlane(self._plane.name, directory=self._plane.layout.root).api
        while not self._over.wait(0.05):
            for job in api.items(self._left.path(BATCH, "jobs")):
                self.phases.setdefault(job["metadata"]["name"], set()).add(phase_of(job))
            self.pods |= {identity(pod) for pod in api.items(self._left.path("v1", "pods"))}
        api.close()


def identity(pod: Json) -> tuple[str, str, bool]:
    return pod["metadata"]["name"], pod["metadata"]["uid"], "deletionTimestamp" in pod["metadata"]


def phase_of(found: Json) -> str:
    return str(found.get("status", {}).get("state", {}).get("phase", ""))


def phases(plane: ControlPlane, left: Leftovers) -> dict[str, str]:
    return {job["metadata"]["name"]: phase_of(job) for job in plane.api.items(left.path(BATCH, "jobs"))}


def end_pods(plane: ControlPlane, left: Leftovers, *jobs: str) -> None:
    for job in jobs:
        for ordinal in range(2):
            pod = f"{left.path('v1', 'pods')}/{job}-worker-{ordinal}"
            plane.api.merge(pod, {"metadata": {"annotations": {"stromboli.dev/run-seconds": "0"}}})
