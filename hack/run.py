"""
`make run`: the system at work on a local control plane, in one command.

Starts etcd, kube-apiserver, kube-controller-manager and simulated nodes, beside them the webhook manager, the controller
manager and the scheduler, submits two gang jobs of which only one fits at first, and shows how they come along. With
`--exit` everything is taken down again, and the exit code says whether both jobs finished as they should.
"""

from __future__ import annotations

import argparse
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import yaml

from api import names
from cluster import ControlPlane, NodePool
from cluster.ports import choose
from cluster.processes import wait_until
from hack.health import is_ready

ROOT = Path(__file__).resolve().parents[1]
JOBS = "/apis/batch.volcano.sh/v1alpha1/namespaces/default/jobs"
GROUPS = "/apis/scheduling.volcano.sh/v1beta1/namespaces/default/podgroups"
QUEUES = "/apis/scheduling.volcano.sh/v1beta1/queues"
SAMPLE = ROOT / "hack" / "samples" / "jobs.yaml"
SHOWN_LINES = 20
"""Of the log of a component that failed."""
LIMIT = 180.0
"""Seconds after which the sample counts as stuck."""
INTERRUPTED = 130


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the sample; gives the exit code."""
    parser = argparse.ArgumentParser(prog="make run ARGS=...", description=__doc__)
    parser.add_argument("--exit", action="store_true", help="take everything down when the sample has finished")
    parser.add_argument("--nodes", type=int, default=10, help="simulated nodes of 8 cpu (default: 10)")
    options = parser.parse_args(arguments)
    if options.nodes < 1:
        parser.error("--nodes: the sample needs at least one node")
    # So that it cleans up as at Ctrl-C; a shell's background jobs are started with SIGINT ignored.
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, _interrupt)
    try:
        return _on_a_plane(options)
    except KeyboardInterrupt:
        return INTERRUPTED


def _interrupt(number: int, frame: object) -> None:
    del number, frame
    raise KeyboardInterrupt


def _on_a_plane(options: argparse.Namespace) -> int:
    with tempfile.TemporaryDirectory(prefix="stromboli-run-") as directory:
        plane = ControlPlane("run", directory=Path(directory) / "cluster", report=_say)
        with plane:
            plane.add_nodes(NodePool(options.nodes))
            return _run(plane, Path(directory), stays=not options.exit)


def _run(plane: ControlPlane, directory: Path, *, stays: bool) -> int:
    crds = sorted((ROOT / "config" / "crd" / "bases").glob("*.yaml"))
    plane.apply_crds(document for path in crds for document in yaml.safe_load_all(path.read_text()) if document)
    _say(f"{len(crds)} kinds are served")
    components = [_start_webhooks(plane, directory)]
    try:
        metrics = choose(1)[0]
        components += [
            _start("controllers", plane, directory, "--leader-elect=false"),
            _start(
                "scheduler",
                plane,
                directory,
                "--leader-elect=false",
                f"--scheduler-conf={ROOT / 'hack' / 'samples' / 'scheduler.conf'}",
                "--enable-metrics",
                f"--listen-address=127.0.0.1:{metrics}",
            ),
        ]
        _submit(plane)
        finished = _follow(plane, components)
        if stays and finished:
            _invite(plane, metrics, components)
        return 0 if finished else 1
    finally:
        for component in components:
            component.end()


def _start_webhooks(plane: ControlPlane, directory: Path) -> _Component:
    """The webhook manager, ready to answer: from then on the API server asks it about every job and queue."""
    port, health = choose(2)
    plane.api.create("/api/v1/namespaces", {"metadata": {"name": names.DEFAULT_NAMESPACE}})
    process = _start(
        "webhooks",
        plane,
        directory,
        f"--port={port}",
        f"--webhook-namespace={names.DEFAULT_NAMESPACE}",
        "--webhook-service-name=localhost",
        f"--tls-secret-name={names.Secret.ADMISSION}",
        "--enable-healthz",
        f"--healthz-address=127.0.0.1:{health}",
    )
    configurations = yaml.safe_load_all((ROOT / "config" / "webhooks" / "manifests.yaml").read_text())
    plane.apply_webhooks(filter(None, configurations), f"https://localhost:{port}", b"")
    if not wait_until(lambda: is_ready(health), LIMIT):
        process.end()
        raise SystemExit(f"the webhook manager did not get ready:\n{process.tail()}")
    return process


class _Component:
    """One of our processes."""

    def __init__(self, name: str, command: Sequence[str], log: Path) -> None:
        self._name = name
        self._log = log
        with log.open("wb") as output:
            self._process = subprocess.Popen(command, cwd=ROOT, stdout=output, stderr=output)

    def check(self) -> None:
        """Raises SystemExit when it has ended."""
        if (code := self._process.poll()) is not None:
            raise SystemExit(f"{self._name} ended with exit code {code}; its last lines:\n{self.tail()}")

    def tail(self) -> str:
        """The end of its log."""
        return "\n".join(self._log.read_text(errors="replace").splitlines()[-SHOWN_LINES:])

    def end(self) -> None:
        self._process.terminate()
        self._process.wait(30)


def _start(module: str, plane: ControlPlane, directory: Path, *flags: str) -> _Component:
    log = directory / f"{module}.log"
    _say(f"{module}: log in {log}")
    command = [sys.executable, "-m", module, "--kubeconfig", str(plane.kubeconfig), "-v=2", *flags]
    return _Component(module, command, log)


def _submit(plane: ControlPlane) -> None:
    _wait_for_queue(plane)
    for job in yaml.safe_load_all(SAMPLE.read_text()):
        plane.api.create(JOBS, job)
        _say(f"submitted job {job['metadata']['name']}: {sum(task['replicas'] for task in job['spec']['tasks'])} pods")
        # Of two that come within a second either may be first.
        _wait_for(partial(_is_looked_at, plane, job), f"job {job['metadata']['name']} got no pod group")


def _wait_for_queue(plane: ControlPlane) -> None:
    def is_open() -> bool:
        queues = {queue["metadata"]["name"]: queue for queue in plane.api.get(QUEUES)["items"]}
        return bool(queues.get("default", {}).get("status", {}).get("state") == "Open")

    _wait_for(is_open, "the default queue did not open")


def _is_looked_at(plane: ControlPlane, job: dict[str, Any]) -> bool:
    """Whether a job's group was let in, or told why not."""
    return any(
        group["metadata"]["ownerReferences"][0]["name"] == job["metadata"]["name"]
        and group.get("status", {}).get("phase")
        for group in plane.api.get(GROUPS)["items"]
    )


def _wait_for(condition: Callable[[], bool], problem: str) -> None:
    if not wait_until(condition, LIMIT):
        raise SystemExit(f"{problem}: see the logs named above")


def _follow(plane: ControlPlane, components: Sequence[_Component]) -> bool:
    """
    Show the jobs until all are finished; whether they finished as they should.

    Raises SystemExit when a component has ended.
    """
    display = _Display()
    until = time.monotonic() + LIMIT
    while time.monotonic() < until:
        for component in components:
            component.check()
        jobs = plane.api.get(JOBS)["items"]
        display.show(_rows(jobs, plane.api.get(GROUPS)["items"]))
        phases = {job["metadata"]["name"]: _phase(job) for job in jobs}
        if jobs and all(phase == "Completed" for phase in phases.values()):
            _say("both jobs are completed")
            return True
        if any(phase in {"Failed", "Terminated", "Aborted"} for phase in phases.values()):
            break
        time.sleep(0.3)
    _say("the sample did not finish as it should; the last lines of the logs:")
    for component in components:
        _say(component.tail())
    return False


def _phase(job: dict[str, Any]) -> str:
    return str(job.get("status", {}).get("state", {}).get("phase", ""))


def _rows(jobs: list[dict[str, Any]], groups: list[dict[str, Any]]) -> list[tuple[str, ...]]:
    why = {
        group["metadata"]["ownerReferences"][0]["name"]: _why(group)
        for group in groups
        if group["metadata"].get("ownerReferences")
    }
    return [
        (
            name := job["metadata"]["name"],
            _phase(job) or "-",
            str(job.get("status", {}).get("running", 0)),
            str(job.get("status", {}).get("succeeded", 0)),
            why.get(name, "") if _phase(job) == "Pending" else "",
        )
        for job in jobs
    ]


def _why(group: dict[str, Any]) -> str:
    conditions = group.get("status", {}).get("conditions", [])
    return next((held.get("message", "") for held in conditions if held["type"] == "Unschedulable"), "")


class _Display:
    """A table that is drawn over in a terminal, a line a change elsewhere."""

    HEAD = ("JOB", "PHASE", "RUNNING", "SUCCEEDED", "WHY IT WAITS")

    def __init__(self) -> None:
        self._shown: list[tuple[str, ...]] = []
        self._drawn = 0

    def show(self, rows: list[tuple[str, ...]]) -> None:
        """Show the rows if they changed."""
        if rows == self._shown:
            return
        if sys.stdout.isatty():
            self._draw([self.HEAD, *rows])
        else:
            for row in rows:
                if row not in self._shown:
                    _say("  ".join(f"{cell:<10}" for cell in row).rstrip())
        self._shown = rows

    def _draw(self, rows: list[tuple[str, ...]]) -> None:
        if self._drawn:
            sys.stdout.write(f"\x1b[{self._drawn}A\x1b[J")
        for row in rows:
            sys.stdout.write("  ".join(f"{cell[:80]:<10}" for cell in row).rstrip() + "\n")
        sys.stdout.flush()
        self._drawn = len(rows)


def _invite(plane: ControlPlane, metrics: int, components: Sequence[_Component]) -> None:
    vcctl = Path(sys.executable).with_name("vcctl")
    _say("the control plane stays until Ctrl-C; go on in another terminal:")
    print(f"  export KUBECONFIG={plane.kubeconfig}")
    print("  kubectl get vcjob,podgroup,pods")
    print(f"  kubectl delete vcjob --all && kubectl apply -f {SAMPLE.relative_to(ROOT)}")
    print(f"  {vcctl if vcctl.exists() else f'{sys.executable} -m cli'} job list")
    print(f"  {vcctl if vcctl.exists() else f'{sys.executable} -m cli'} job view -N first")
    print(f"  export VCCTL_SCHEDULER_URL=http://127.0.0.1:{metrics}")
    print(f"  {vcctl if vcctl.exists() else f'{sys.executable} -m cli'} job explain -N first", flush=True)
    while True:
        for component in components:
            component.check()
        time.sleep(1)


def _say(line: str) -> None:
    print(line, flush=True)


if __name__ == "__main__":
    sys.exit(main())
