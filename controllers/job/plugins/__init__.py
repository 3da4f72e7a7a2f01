"""The plugins of jobs, in the order in which they run: a later one sees what an earlier one did (controllers.md 4)."""

from __future__ import annotations

from typing import Final

from api import names
from controllers.job.plugins.base import JobPlugin
from controllers.job.plugins.env import Env
from controllers.job.plugins.hcclrank import HcclRank
from controllers.job.plugins.mpi import Mpi
from controllers.job.plugins.pytorch import Pytorch
from controllers.job.plugins.ray import Ray
from controllers.job.plugins.ssh import Ssh
from controllers.job.plugins.svc import Svc
from controllers.job.plugins.tensorflow import Tensorflow
from generated.batch.v1alpha1 import Job

_ALL: Final[tuple[type[JobPlugin], ...]] = (Svc, Ssh, Env, Mpi, Tensorflow, Pytorch, Ray, HcclRank)
PLUGINS: Final[dict[str, type[JobPlugin]]] = {
    plugin.name: plugin for plugin in sorted(_ALL, key=lambda p: names.JOB_PLUGINS.index(p.name))
}
"""By name, in order."""


def plugins_of(job: Job) -> list[JobPlugin]:
    """The plugins that a job asks for, in their order. Those that nobody knows are left out: see `unknown_plugin`."""
    given = job.spec.plugins
    where = f"{job.metadata.namespace}/{job.metadata.name}"
    return [plugin(given[name] or (), where) for name, plugin in PLUGINS.items() if name in given]


def unknown_plugin(job: Job) -> str:
    """The first plugin of a job that doesn't exist, empty when all do."""
    return next((name for name in job.spec.plugins if name not in PLUGINS), "")
