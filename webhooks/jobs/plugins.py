"""The job plugins that a job asks for, and what it tells them (webhooks.md 4.3)."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

from api import pluginargs
from api.names import JOB_PLUGINS, JobPlugin
from generated.batch.v1alpha1 import JobSpec
from webhooks.remembering import forgetful


def has_mpi_master(spec: JobSpec) -> bool:
    """Whether the task is there that the mpi plugin, when it is wanted, starts everything from."""
    if JobPlugin.MPI not in spec.plugins:
        return True
    master = pluginargs.parse(JobPlugin.MPI, spec.plugins[JobPlugin.MPI]).values["master"]
    return any(task.name == master for task in spec.tasks)


def unknown(spec: JobSpec) -> Iterator[str]:
    """The plugins that don't exist."""
    return (name for name in spec.plugins if name not in JOB_PLUGINS)


def warnings(spec: JobSpec) -> tuple[str, ...]:
    """
    The arguments that plugins leave out, and the task that one of them misses.

    They are no reason to refuse a job: it runs without the arguments, and waits without the task, as it always did.
    """
    known = (_warning(name, arguments) for name, arguments in spec.plugins.items() if name in JOB_PLUGINS)
    return tuple(filter(None, (*known, _missing_head(spec))))


def _missing_head(spec: JobSpec) -> str:
    """That the ray plugin can make no pod, since the task is missing to which all others connect (#5658)."""
    if JobPlugin.RAY not in spec.plugins:
        return ""
    head = pluginargs.parse(JobPlugin.RAY, spec.plugins[JobPlugin.RAY]).values["head"]
    if any(task.name == head for task in spec.tasks):
        return ""
    return f"job plugin ray: there is no task {head}, without which no pod is made; --head names another task"


@forgetful
@lru_cache(maxsize=1024)
def _warning(plugin: str, arguments: tuple[str, ...]) -> str:
    parsed = pluginargs.parse(plugin, arguments)
    if not parsed.refused:
        return ""
    return (
        f"job plugin {plugin}: invalid argument {parsed.refused}: {parsed.reason};"
        " it and all arguments behind it are ignored"
    )
