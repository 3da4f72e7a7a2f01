"""The env plugin: every container learns the ordinal of its pod (controllers.md 4.4)."""

from __future__ import annotations

from typing import Any

from api import names
from controllers.job.plugins.base import JobPlugin
from controllers.job.plugins.dressing import add_environment, variable
from controllers.job.world import Place
from generated.batch.v1alpha1 import Job


class Env(JobPlugin):
    """Puts the task index into the environment, under its present name and the old one."""

    name = names.JobPlugin.ENV

    def dress(self, pod: dict[str, Any], job: Job, place: Place) -> None:
        del job
        index = str(place.ordinal)
        variables = (names.PodEnv.LEGACY_TASK_INDEX, names.PodEnv.TASK_INDEX)
        add_environment(pod, [variable(name, index) for name in variables], init=True)
