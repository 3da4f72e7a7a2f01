"""
What a job plugin is: objects that a job needs beside its pods, and what each pod gets before it is created.

Both are functions of the job, so that a repeated look finds what an interrupted one has made. The writing is done by
`controllers.job.upkeep`.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from enum import Enum
from typing import Any, ClassVar

import msgspec

from api import pluginargs
from api.owners import owner_reference
from controllers.job.world import Place
from generated.batch.v1alpha1 import JOBS, Job
from runtime.controller import ReconcileError
from runtime.resource import Resource

log = logging.getLogger(__name__)


class PluginError(ReconcileError):
    """A plugin can't do its part for a job. The message says what is missing."""


class Upkeep(Enum):
    """What happens to an object of the job's that is there already."""

    KEEP = "keep"
    """It stays as it is."""
    FOLLOW = "follow"
    """Its content follows the job, also while the job runs."""
    RENEW = "renew"
    """It is made anew where one of its keys tells that the job has changed, but only before pods are created."""


class Wanted(msgspec.Struct, frozen=True):
    """
    An object that a job should have.

    `content` gives what it holds beside its metadata; it may be costly (a new key), so it is called in a thread, and
    only when the object is written. `tells` picks from `data` what decides on a RENEW.
    """

    resource: Resource[Any]
    name: str
    content: Callable[[], Mapping[str, Any]]
    upkeep: Upkeep = Upkeep.KEEP
    tells: Mapping[str, str] = msgspec.field(default_factory=dict)


class JobPlugin:
    """One plugin, with the arguments that a job gives to it."""

    name: ClassVar[str]
    leaves_marker: ClassVar[bool] = True
    """Whether status.controlledResources names it."""

    def __init__(self, arguments: Sequence[str], job: str) -> None:
        """`job` is `namespace/name`, for the log."""
        read = pluginargs.parse(self.name, arguments)
        self.options = read.values
        if read.refused:
            log.info(
                "plugin arguments ignored from here on job=%s plugin=%s argument=%s reason=%s",
                job, self.name, read.refused, read.reason,
            )  # fmt: skip

    def objects(self, job: Job) -> Sequence[Wanted]:
        """What the job needs beside its pods."""
        del job
        return ()

    def dress(self, pod: dict[str, Any], job: Job, place: Place) -> None:
        """Add to a pod document what the plugin gives it. Raises PluginError."""


def document(job: Job, name: str, content: Mapping[str, Any]) -> dict[str, Any]:
    """The object as it is created, owned by the job."""
    metadata = {
        "name": name,
        "namespace": job.metadata.namespace,
        "ownerReferences": [msgspec.to_builtins(owner_reference(JOBS, job))],
    }
    return {"metadata": metadata, **content}
