"""The cluster in which pages are run: a control plane, ten simulated nodes of 8 cpu, and our processes beside it."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

from api import names
from cluster import ControlPlane, NodePool
from cluster.binaries import Binaries
from cluster.ports import choose
from cluster.processes import wait_until
from cluster.versions import DEFAULT_KUBERNETES
from hack.deploy import rendering
from hack.deploy.kubectl import Kubectl, load
from hack.health import is_ready

ROOT = Path(__file__).resolve().parents[2]
CONFIGURATION = names.ConfigKey.SCHEDULER
"""In the reader's folder, where a page may put another one: the scheduler takes it up."""
NAMESPACE = names.DEFAULT_NAMESPACE
QUEUES = "/apis/scheduling.volcano.sh/v1beta1/queues"
INSTALLED = ("Namespace", "CustomResourceDefinition", "ClusterRole", "Role", "ConfigMap")
"""Of an installation, what takes effect without its pods."""
LEFT = (
    ("jobflows.flow.volcano.sh", "cronjobs.batch.volcano.sh", "deployments.apps"),
    (
        "jobs.batch.volcano.sh", "jobtemplates.flow.volcano.sh", "podgroups.scheduling.volcano.sh", "pods",
        "rolebindings", "hypernodes.topology.volcano.sh",
    ),
)  # fmt: skip
"""What pages leave behind: first those that make others."""
KEPT = (names.ROOT_QUEUE, names.DEFAULT_QUEUE)
PATIENCE = 60.0
STOP_SECONDS = 45.0


class NotReady(Exception):  # noqa: N818  # named for what is wrong
    """The system doesn't come up, or doesn't get rid of what a page left."""


class System:
    """Processes of ours, and what a reader has: a folder, and commands that reach the cluster."""

    def __init__(self, plane: ControlPlane, folder: Path) -> None:
        self._plane, self._logs = plane, folder / "logs"
        self._kubectl = Kubectl(str(plane.kubeconfig))
        self.folder, self._tools = folder / "reader", folder / "bin"
        for made in (self._logs, self.folder, self._tools):
            made.mkdir()
        self._processes: list[subprocess.Popen[bytes]] = []
        self._webhooks, *self._health, self._metrics = choose(5)
        self.environment = {
            "KUBECONFIG": str(plane.kubeconfig),
            "PATH": f"{self._tools}{os.pathsep}{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
            "VCCTL_SCHEDULER_URL": f"http://127.0.0.1:{self._metrics}",
            "SCHEDULER": f"http://127.0.0.1:{self._metrics}",
        }

    def start(self) -> None:
        """Everything up and ready. Raises NotReady."""
        self._tools.joinpath("kubectl").symlink_to(Binaries(DEFAULT_KUBERNETES, print).find("kubectl"))
        objects = [found for found in rendering.render("dev") if found["kind"] in INSTALLED]
        for kinds in (INSTALLED[:2], INSTALLED[2:]):
            chosen = [found for found in objects if found["kind"] in kinds]
            self._kubectl.run("apply", "--server-side", "--filename=-", objects=chosen)
        self.reset_configuration()
        self._start_webhooks()
        self._start("controllers", self._health[1])
        self._start(
            "scheduler", self._health[2], f"--scheduler-conf={self.folder / CONFIGURATION}", "--enable-metrics",
            f"--listen-address=127.0.0.1:{self._metrics}",
        )  # fmt: skip
        self._await(lambda: all(map(is_ready, self._health)) and self._is_queue_open(), "processes are not ready")

    def _start_webhooks(self) -> None:
        self._start(
            "webhooks", self._health[0], f"--port={self._webhooks}", f"--webhook-namespace={NAMESPACE}",
            "--webhook-service-name=localhost", f"--tls-secret-name={names.Secret.ADMISSION}",
        )  # fmt: skip
        documents = load((ROOT / "config" / "webhooks" / "manifests.yaml").read_text())
        self._plane.apply_webhooks(documents, f"https://localhost:{self._webhooks}", b"")
        self._await(lambda: is_ready(self._health[0]), "the webhook manager is not ready")

    def _start(self, module: str, health: int, *flags: str) -> None:
        command = [
            sys.executable, "-m", module, f"--kubeconfig={self._plane.kubeconfig}", "--enable-healthz",
            f"--healthz-address=127.0.0.1:{health}", "-v=2", *flags,
        ]  # fmt: skip
        with (self._logs / module).open("wb") as log:
            self._processes.append(subprocess.Popen(command, cwd=ROOT, stdout=log, stderr=log))

    def _is_queue_open(self) -> bool:
        queues = self._plane.api.items(QUEUES)
        return {queue["metadata"]["name"] for queue in queues if _state(queue) == "Open"} >= set(KEPT)

    def _await(self, holds: Callable[[], bool], otherwise: str) -> None:
        if not wait_until(holds, PATIENCE):
            tails = {log.name: log.read_text(errors="replace")[-2000:] for log in sorted(self._logs.iterdir())}
            raise NotReady("\n".join([otherwise, *(f"{name}:\n{tail}" for name, tail in tails.items())]))

    def reset_configuration(self) -> None:
        """The scheduler's configuration as it is installed."""
        shutil.copy(ROOT / "config" / "scheduler" / CONFIGURATION, self.folder / CONFIGURATION)

    def tidy(self) -> None:
        """Take away what a page left. Raises NotReady, DeployError."""
        for kinds in LEFT:
            self._kubectl.run(
                "delete", ",".join(kinds), "--all", "--namespace=default", "--wait=true", f"--timeout={PATIENCE:.0f}s"
            )
        self._kubectl.run("delete", "rolebindings", "--all", f"--namespace={NAMESPACE}")
        self._await(lambda: not self._plane.api.items("/api/v1/namespaces/default/pods"), "pods stay")
        for _ in range(2):  # a queue with children stays at first
            self._delete_queues()
        for path in self.folder.iterdir():
            path.unlink()
        self.reset_configuration()

    def _delete_queues(self) -> None:
        for queue in self._plane.api.items(QUEUES):
            if (name := queue["metadata"]["name"]) not in KEPT:
                self._kubectl.attempt("delete", "queues.scheduling.volcano.sh", name, "--wait=true")

    def end(self) -> None:
        """End the processes, newest first."""
        for process in reversed(self._processes):
            process.terminate()
        for process in self._processes:
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(STOP_SECONDS)
            process.kill()
            process.wait()


def _state(queue: dict[str, dict[str, object]]) -> object:
    return queue.get("status", {}).get("state")


@contextlib.contextmanager
def system(folder: Path, report: Callable[[str], None] = print) -> Iterator[System]:
    """A cluster for pages, below `folder`, until the block ends."""
    with ControlPlane("docs", directory=folder / "cluster", nodes=[NodePool(10)], report=report) as plane:
        made = System(plane, folder)
        try:
            made.start()
            yield made
        finally:
            made.end()
