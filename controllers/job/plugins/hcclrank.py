"""The hcclrank plugin: the rank of a pod in an Ascend training job, as an annotation (controllers.md 4.9)."""

from __future__ import annotations

from typing import Any

from api import names
from api.jobs import find_task
from controllers.job.plugins.base import JobPlugin, PluginError
from controllers.job.plugins.dressing import containers
from controllers.job.world import Place
from generated.batch.v1alpha1 import Job


class HcclRank(JobPlugin):
    """Keeps a rank that is there, else takes that of the environment, else counts masters first, then workers."""

    name = names.JobPlugin.HCCLRANK
    leaves_marker = False

    def dress(self, pod: dict[str, Any], job: Job, place: Place) -> None:
        annotations = pod["metadata"]["annotations"]
        if names.RANK_INDEX_ANNOTATION in annotations:
            return
        rank = _rank_of_environment(pod) or self._rank_of_place(pod, job, place)
        if rank:
            annotations[names.RANK_INDEX_ANNOTATION] = rank

    def _rank_of_place(self, pod: dict[str, Any], job: Job, place: Place) -> str:
        master, worker = self.options["master"], self.options["worker"]
        if place.task_name not in {master, worker}:
            return ""
        index = pod["metadata"]["labels"].get(names.TASK_INDEX_KEY, "")
        if not index.isdecimal():
            raise PluginError(f"pod {place.pod} has no numeric label {names.TASK_INDEX_KEY}: {index!r}")
        if place.task_name == master:
            return str(int(index))
        masters = find_task(job.spec, str(master))
        return str(int(index) + (masters.replicas if masters is not None else 0))


def _rank_of_environment(pod: dict[str, Any]) -> str:
    """The first RANK that a container is given."""
    for container in containers(pod, init=False):
        for variable in container.get("env") or ():
            if variable.get("name") == names.RANK_ENV and variable.get("value"):
                return str(variable["value"])
    return ""
