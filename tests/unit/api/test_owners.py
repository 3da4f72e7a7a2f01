from __future__ import annotations

import msgspec
import pytest

from api import owners
from generated.batch.v1 import JOBS as KUBERNETES_JOBS
from generated.batch.v1alpha1 import CRON_JOBS, JOBS, Job
from generated.meta.v1 import ObjectMeta, OwnerReference

PLAIN = OwnerReference(api_version="v1", kind="A", name="a", uid="1")
MANAGER = OwnerReference(api_version="batch.volcano.sh/v1alpha1", kind="Job", name="b", uid="2", controller=True)


@pytest.mark.parametrize(
    ("references", "expected"),
    [((), None), ((PLAIN,), None), ((MANAGER,), MANAGER), ((PLAIN, MANAGER), MANAGER)],
)
def test_the_controller_is_the_owner_that_manages(
    references: tuple[OwnerReference, ...], expected: OwnerReference | None
) -> None:
    assert owners.controller_of(ObjectMeta(owner_references=references)) == expected


def test_control_goes_by_uid() -> None:
    metadata = ObjectMeta(owner_references=(PLAIN, MANAGER))
    assert owners.is_controlled_by(metadata, "2")
    assert not owners.is_controlled_by(metadata, "1")
    assert not owners.is_controlled_by(ObjectMeta(), "")


def test_kinds_of_the_same_name_are_told_apart_by_group() -> None:
    assert owners.is_of_kind(MANAGER, JOBS)
    assert not owners.is_of_kind(MANAGER, CRON_JOBS)
    assert not owners.is_of_kind(MANAGER, KUBERNETES_JOBS)


def test_a_child_names_its_owner_as_manager_that_waits_for_it() -> None:
    job = Job(metadata=ObjectMeta(name="j", namespace="n", uid="u"))
    assert msgspec.to_builtins(owners.owner_reference(JOBS, job)) == {
        "apiVersion": "batch.volcano.sh/v1alpha1",
        "kind": "Job",
        "name": "j",
        "uid": "u",
        "controller": True,
        "blockOwnerDeletion": True,
    }
