"""The life of a job as its user types it, with the controllers behind it and pods that run."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

import yaml

from controllers import job as job_controller
from controllers import queue as queue_controller
from generated.clients.clientset import Clientset
from generated.scheduling.v1beta1 import Queue
from runtime.errors import NotFound
from runtime.patches import MergePatch
from tests.integration.controllers import eventually, running
from tests.integration.scenarios import film, played
from tests.integration.test_scenarios_flows import job_spec
from tests.integration.test_vcctl import Vcctl
from tests.integration.test_vcctl import vcctl as vcctl  # noqa: PLC0414  # a fixture


class Shell:
    """Types commands about one namespace, all of which must succeed."""

    def __init__(self, vcctl: Vcctl, namespace: str) -> None:
        self._vcctl = vcctl
        self._namespace = namespace

    async def job(self, verb: str, *words: str) -> str:
        return await self.run("job", verb, "-n", self._namespace, *words)

    async def pods(self) -> list[list[str]]:
        """Name, readiness and status of each."""
        lines = (await self.run("pod", "list", "-n", self._namespace)).splitlines()
        return [line.split()[:3] for line in lines[1:]]

    async def row(self) -> dict[str, str]:
        """The only line of the list of jobs, by heading."""
        head, row = (await self.job("list")).splitlines()
        return dict(zip(head.split(), row.split(), strict=True))

    async def run(self, *words: str) -> str:
        done = await asyncio.to_thread(self._vcctl, *words)
        assert (done.returncode, done.stderr) == (0, ""), done
        return done.stdout


async def test_a_job_is_run_looked_at_suspended_resumed_and_deleted(
    vcctl: Vcctl, kubeconfig: Path, namespace: str, kwok_nodes: Callable[..., list[str]], tmp_path: Path
) -> None:
    (node,) = kwok_nodes()
    shell, name = Shell(vcctl, namespace), f"q{namespace[-7:]}"
    manifest = tmp_path / "job.yaml"
    spec = job_spec(None) | {"queue": name}
    manifest.write_text(yaml.safe_dump({"metadata": {"name": "j"}, "spec": spec}))
    async with running(kubeconfig, job_controller.BLUEPRINT, queue_controller.BLUEPRINT) as clients:
        await shell.run("queue", "create", "-n", name, "-w", "3")
        await with_state(clients, name, "Open")
        async with played(clients, namespace, node) as case:
            assert await shell.job("run", "-f", str(manifest)) == "run job j successfully\n"
            await film(case, "Running")
            row = await shell.row()
            assert (row["Name"], row["Phase"], row["Replicas"], row["Running"]) == ("j", "Running", "1", "1")
            assert await shell.pods() == [["j-t-0", "1/1", "Running"]]
            [group] = (await clients.scheduling_v1beta1.pod_groups.list(namespace)).items
            busy = MergePatch({"status": {"phase": "Running"}})
            await clients.scheduling_v1beta1.pod_groups.patch(group.metadata.name, namespace, busy)
            assert (await shell.run("queue", "get", "-n", name)).splitlines()[1].split()[1:] == [
                "3", "Open", "root", "0", "0", "1", "0", "0"
            ]  # fmt: skip

            assert await shell.job("suspend", "-N", "j") == ""
            await film(case, "Aborted")
            assert await shell.run("pod", "list", "-n", namespace) == "No resources found\n"
            assert await shell.job("resume", "-N", "j") == ""
            await film(case, "Running")
            assert (await shell.row())["RetryCount"] == "1"
            told = "Start to execute command ResumeJob, and clean it up"  # events come after what they tell of
            view = await eventually(lambda: shell.job("view", "-N", "j"), lambda view: told in view)
            assert "  RetryCount:   \t1\n" in view

            await shell.run("queue", "operate", "-n", name, "-a", "close")
            await with_state(clients, name, "Closing")
            assert await shell.job("delete", "-N", "j") == "delete job j successfully\n"
            await with_state(clients, name, "Closed")
            await shell.run("queue", "delete", "-n", name)


async def with_state(clients: Clientset, name: str, state: str) -> Queue:
    async def read() -> Queue | None:
        try:
            return await clients.scheduling_v1beta1.queues.get(name)
        except NotFound:
            return None

    found = await eventually(read, lambda queue: queue is not None and queue.status.state == state)
    assert found is not None
    return found
