"""Names and claims of a job's volumes."""

from __future__ import annotations

from itertools import count

import pytest

from controllers.job.volumes import is_generated, markers, missing_claims, name_claims
from generated.batch.v1alpha1 import Job, VolumeSpec
from generated.core.v1 import PersistentVolumeClaimSpec
from tests.unit.controllers.job.samples import a_job, replaced

CLAIM = PersistentVolumeClaimSpec(storage_class_name="")


def job(*volumes: tuple[str, bool]) -> Job:
    """Volumes as (name of the claim, whether it is described)."""
    made = (VolumeSpec(mount_path="/d", volume_claim_name=n, volume_claim=CLAIM if d else None) for n, d in volumes)
    return replaced(a_job(), volumes=tuple(made))


def test_volumes_without_a_name_get_one_in_a_patch_that_is_pinned() -> None:
    numbers = count(1)
    operations = name_claims(job(("given", False), ("", True), ("", True)), lambda: f"r{next(numbers)}")
    assert operations == [
        {"op": "test", "path": "/metadata/resourceVersion", "value": "5"},
        {"op": "add", "path": "/spec/volumes/1/volumeClaimName", "value": "j-pvc-r1"},
        {"op": "add", "path": "/spec/volumes/2/volumeClaimName", "value": "j-pvc-r2"},
    ]


@pytest.mark.parametrize("volumes", [(), (("given", False),), (("j-pvc-abc", True),)])
def test_a_job_whose_volumes_have_names_needs_no_patch(volumes: tuple[tuple[str, bool], ...]) -> None:
    assert name_claims(job(*volumes), lambda: "r") == []


def test_generated_claims_that_are_missing_are_created_each_once() -> None:
    found = missing_claims(
        job(("j-pvc-a", True), ("j-pvc-a", True), ("j-pvc-b", True), ("j-pvc-c", False), ("given", True)),
        frozenset({"j-pvc-b"}),
    )
    assert [claim.metadata.name for claim in found] == ["j-pvc-a"]
    (claim,) = found
    assert (claim.metadata.namespace, claim.spec) == ("ns", CLAIM)
    assert [(owner.kind, owner.uid, owner.controller) for owner in claim.metadata.owner_references] == [
        ("Job", "u", True)
    ]


def test_only_names_of_our_making_are_generated() -> None:
    assert is_generated(a_job(), "j-pvc-abc")
    assert not is_generated(a_job(), "other-pvc-abc")
    assert not is_generated(a_job(), "j")


def test_every_claim_is_marked_as_the_jobs() -> None:
    assert markers(job(("given", False), ("", True), ("j-pvc-a", True))) == {
        "volume-pvc-given": "given",
        "volume-pvc-j-pvc-a": "j-pvc-a",
    }
