"""The mpi plugin: the master learns its workers' hosts, and all declare their port (controllers.md 4.6)."""

from __future__ import annotations

from typing import Any, Final

from api import names
from api.jobs import find_task, task_hosts
from controllers.job.plugins.base import JobPlugin
from controllers.job.plugins.dressing import add_environment, add_port, containers, variable
from controllers.job.world import Place
from generated.batch.v1alpha1 import Job

_PORT_NAME: Final = "mpijob-port"


class Mpi(JobPlugin):
    """`MPI_HOST` in the master, a port in every container."""

    name = names.JobPlugin.MPI

    def dress(self, pod: dict[str, Any], job: Job, place: Place) -> None:
        if place.task_name == self.options["master"]:
            worker = find_task(job.spec, str(self.options["worker"]))
            if worker is None:
                return
            hosts = ",".join(task_hosts(job.metadata.name, worker))
            add_environment(pod, [variable(names.PodEnv.MPI_HOST, hosts)], init=True)
        for container in containers(pod, init=True):
            add_port(container, _PORT_NAME, int(self.options["port"]))
