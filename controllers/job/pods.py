"""The pods of a job as its controller creates them: those of `api.jobpods`, dressed by the job's plugins."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from api.jobpods import pod_document
from controllers.job.plugins.base import JobPlugin
from controllers.job.world import Place
from controllers.stored import template_document
from generated.batch.v1alpha1 import Job


def build_pod(
    job: Job, place: Place, plugins: Sequence[JobPlugin] = (), *, is_forwarded: bool = False
) -> dict[str, Any]:
    """The pod of one place, dressed by the job's plugins in their order. Raises PluginError."""
    template = template_document(job.spec.tasks[place.task])
    pod = pod_document(job, place.task, place.ordinal, template, is_forwarded=is_forwarded)
    for plugin in plugins:
        plugin.dress(pod, job, place)
    return pod
