"""
The claims of a job: names for those that have none, and the claims to be created (controllers.md 3.7.1).

A name is saved before its claim is created, so that an interrupted controller finds it again.
"""

from __future__ import annotations

from collections.abc import Callable

from api import names
from api.owners import owner_reference
from generated.batch.v1alpha1 import JOBS, Job
from generated.core.v1 import PersistentVolumeClaim
from generated.meta.v1 import ObjectMeta
from runtime.patches import Operation, pointer, test
from runtime.patches import add as set_to


def name_claims(job: Job, suffix: Callable[[], str]) -> list[Operation]:
    """
    JSON patch operations that give a name to each volume without one; none when all have names.

    `suffix` gives a random one. The patch is pinned to this state of the job.
    """
    nameless = [index for index, volume in enumerate(job.spec.volumes) if not volume.volume_claim_name]
    if not nameless:
        return []
    return [
        test("/metadata/resourceVersion", job.metadata.resource_version),
        *(
            set_to(
                pointer("spec", "volumes", str(index), "volumeClaimName"),
                names.claim_name(job.metadata.name, suffix()),
            )
            for index in nameless
        ),
    ]


def is_generated(job: Job, claim: str) -> bool:
    """Whether the name of a claim is one that `name_claims` gives."""
    return claim.startswith(names.claim_name(job.metadata.name, ""))


def missing_claims(job: Job, existing: frozenset[str]) -> list[PersistentVolumeClaim]:
    """The claims that the job describes and that don't exist."""
    found: dict[str, PersistentVolumeClaim] = {}
    for volume in job.spec.volumes:
        name = volume.volume_claim_name
        if name in existing or name in found or volume.volume_claim is None or not is_generated(job, name):
            continue
        meta = ObjectMeta(name=name, namespace=job.metadata.namespace, owner_references=(owner_reference(JOBS, job),))
        found[name] = PersistentVolumeClaim(metadata=meta, spec=volume.volume_claim)
    return list(found.values())


def markers(job: Job) -> dict[str, str]:
    """What status.controlledResources says of the claims."""
    return {
        names.volume_marker(volume.volume_claim_name): volume.volume_claim_name
        for volume in job.spec.volumes
        if volume.volume_claim_name
    }
