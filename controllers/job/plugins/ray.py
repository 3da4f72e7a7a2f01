"""The ray plugin: a head, workers that join it, and a service in front of the head (controllers.md 4.8)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from api import names
from api.jobs import find_task, pod_host
from controllers.job.plugins.base import JobPlugin, PluginError, Wanted
from controllers.job.plugins.dressing import add_port, containers
from controllers.job.plugins.svc import job_selector
from controllers.job.world import Place
from generated.batch.v1alpha1 import Job, TaskSpec
from generated.core.v1 import SERVICES


class Ray(JobPlugin):
    """Commands and ports of head and workers."""

    name = names.JobPlugin.RAY

    @property
    def _ports(self) -> dict[str, int]:
        keys = {"gcs": "port", "dashboard": "dashboardPort", "client-server": "clientPort"}
        return {name: int(self.options[key]) for name, key in keys.items()}

    def objects(self, job: Job) -> Sequence[Wanted]:
        return (Wanted(SERVICES, names.ray_head_service_name(job.metadata.name), partial(self._service, job)),)

    def _service(self, job: Job) -> Mapping[str, Any]:
        ports = [
            {"name": name, "port": number, "targetPort": name, "protocol": "TCP"}
            for name, number in self._ports.items()
        ]
        selector = job_selector(job) | {names.TASK_SPEC_KEY: str(self.options["head"])}
        return {"spec": {"selector": selector, "ports": ports}}

    def dress(self, pod: dict[str, Any], job: Job, place: Place) -> None:
        head = find_task(job.spec, str(self.options["head"]))
        if head is None:
            raise PluginError(f"job {job.metadata.name} doesn't have head task {self.options['head']}")
        if place.task_name == head.name:
            self._make_head(pod)
        elif place.task_name == self.options["worker"]:
            self._make_worker(pod, job, head)

    def _make_head(self, pod: dict[str, Any]) -> None:
        ports = self._ports
        start = (
            f"ray start --head --block --dashboard-host=0.0.0.0 --port={ports['gcs']} "
            f"--dashboard-port={ports['dashboard']} --ray-client-server-port={ports['client-server']}"
        )
        for container in _named(pod, str(self.options["headContainer"])):
            for name, number in ports.items():
                add_port(container, name, number)
            container["command"] = ["sh", "-c", start]

    def _make_worker(self, pod: dict[str, Any], job: Job, head: TaskSpec) -> None:
        address = f"{pod_host(job.metadata.name, head, 0)}:{self.options['port']}"
        for container in _named(pod, str(self.options["workerContainer"])):
            container["command"] = ["sh", "-c", f"ray start --block --address={address}"]


def _named(pod: dict[str, Any], name: str) -> list[dict[str, Any]]:
    return [container for container in containers(pod, init=False) if container.get("name") == name]
