"""Volumes of a job: an existing claim, or one to be made (webhooks.md 4.8)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from generated.batch.v1alpha1 import VolumeSpec
from webhooks import wellformed
from webhooks.causes import Causes
from webhooks.podtemplate.claims import check_spec


def problem(volumes: Sequence[VolumeSpec]) -> str:
    """The first thing that is wrong, empty when nothing is."""
    return next(_problems(volumes), "")


def _problems(volumes: Sequence[VolumeSpec]) -> Iterator[str]:
    paths: set[str] = set()
    for index, volume in enumerate(volumes):
        if not volume.mount_path:
            yield " mountPath is required;"
        if volume.mount_path in paths:
            yield f" duplicated mountPath: {volume.mount_path};"
        paths.add(volume.mount_path)
        if volume.volume_claim is None and not volume.volume_claim_name:
            yield " either VolumeClaim or VolumeClaimName must be specified;"
        if volume.volume_claim_name:
            if volume.volume_claim is not None:
                yield (
                    "conflict: If you want to use an existing PVC, just specify VolumeClaimName."
                    "If you want to create a new PVC, you do not need to specify VolumeClaimName"
                )
            if faults := wellformed.subdomain(volume.volume_claim_name):
                yield f"invalid VolumeClaimName {volume.volume_claim_name} : [{' '.join(faults)}]"
        if volume.volume_claim is not None:
            causes = Causes()
            check_spec(causes, f"spec.volumes[{index}].volumeClaim", volume.volume_claim)
            yield from (f" {cause};" for cause in causes)
