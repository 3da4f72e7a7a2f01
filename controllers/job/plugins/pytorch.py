"""The pytorch plugin: masters and workers learn where they meet and who they are (controllers.md 4.7)."""

from __future__ import annotations

import logging
from typing import Any, Final

from api import names
from api.jobs import find_task, pod_host
from controllers.job.plugins.base import JobPlugin
from controllers.job.plugins.dressing import add_environment, add_port, append, containers, variable
from controllers.job.world import Place
from generated.batch.v1alpha1 import Job

log = logging.getLogger(__name__)

_PORT_NAME: Final = "pytorchjob-port"
_WAITER: Final = "wait-for-master"
_WAIT_SCRIPT: Final = """
host='{host}'; port='{port}'; left={seconds}
reachable() {{
  if command -v nc >/dev/null 2>&1; then nc -z "$host" "$port" >/dev/null 2>&1
  else bash -c "exec 3<>/dev/tcp/$host/$port" >/dev/null 2>&1; fi
}}
echo "waiting for the master at $host:$port, $left s at most"
until reachable; do
  if [ "$left" -le 0 ]; then echo "the master at $host:$port did not answer in time"; exit 1; fi
  echo "the master at $host:$port does not answer yet, $left s left"
  sleep 2; left=$((left - 2))
done
echo "the master at $host:$port is reachable"
""".strip()


class Pytorch(JobPlugin):
    """Rendezvous by environment variables, and on demand an init container that waits for the master."""

    name = names.JobPlugin.PYTORCH

    def dress(self, pod: dict[str, Any], job: Job, place: Place) -> None:
        master = find_task(job.spec, str(self.options["master"]))
        if master is None:
            log.debug(
                "job has no master task job=%s/%s plugin=pytorch task=%s: its pods get no rendezvous",
                job.metadata.namespace, job.metadata.name, self.options["master"],
            )  # fmt: skip
            return
        worker = find_task(job.spec, str(self.options["worker"]))
        host, port = pod_host(job.metadata.name, master, 0), int(self.options["port"])
        given = [
            variable(names.PodEnv.MASTER_ADDR, host),
            variable(names.PodEnv.MASTER_PORT, str(port)),
            variable(names.PodEnv.WORLD_SIZE, str(master.replicas + (worker.replicas if worker is not None else 0))),
        ]
        if place.task_name == master.name:
            given.append(variable(names.PodEnv.RANK, str(place.ordinal)))
        elif worker is not None and place.task_name == worker.name:
            given.append(variable(names.PodEnv.RANK, str(master.replicas + place.ordinal)))
            if self.options["wait-master-enabled"]:
                self._add_waiter(pod, host, port)
        for container in containers(pod, init=False):
            add_port(container, _PORT_NAME, port)
        add_environment(pod, given, init=False)

    def _add_waiter(self, pod: dict[str, Any], host: str, port: int) -> None:
        spec = pod["spec"]
        if any(container.get("name") == _WAITER for container in spec.get("initContainers") or ()):
            return
        script = _WAIT_SCRIPT.format(host=host, port=port, seconds=self.options["wait-master-timeout"])
        waiter = {"name": _WAITER, "image": self.options["wait-master-image"], "command": ["sh", "-c", script]}
        append(spec, "initContainers", [waiter])
