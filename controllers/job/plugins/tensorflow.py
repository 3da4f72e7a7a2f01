"""The tensorflow plugin: every container learns the whole cluster and its own part of it (controllers.md 4.5)."""

from __future__ import annotations

from typing import Any, Final

import msgspec

from api import names
from api.jobs import find_task, pod_host, total_replicas
from controllers.job.plugins.base import JobPlugin
from controllers.job.plugins.dressing import add_environment, variable
from controllers.job.world import Place
from generated.batch.v1alpha1 import Job, TaskSpec

_ROLES: Final = ("ps", "worker", "chief", "evaluator")


class Tensorflow(JobPlugin):
    """`TF_CONFIG`, but for a job of a single pod."""

    name = names.JobPlugin.TENSORFLOW

    def dress(self, pod: dict[str, Any], job: Job, place: Place) -> None:
        if len(job.spec.tasks) == 1 and total_replicas(job.spec) == 1:
            return
        cluster = {
            role: self._addresses(job, task)
            for role in _ROLES
            if (task := find_task(job.spec, str(self.options[role]))) is not None and task.replicas
        }
        kinds = {str(self.options[role]): role for role in reversed(_ROLES)}
        own = {"type": kinds.get(place.task_name, place.task_name), "index": place.ordinal}
        text = msgspec.json.encode({"cluster": cluster, "task": own}).decode()
        add_environment(pod, [variable(names.PodEnv.TF_CONFIG, text)], init=False)

    def _addresses(self, job: Job, task: TaskSpec) -> list[str]:
        port = self.options["port"]
        return [f"{pod_host(job.metadata.name, task, ordinal)}:{port}" for ordinal in range(task.replicas)]
