"""Namespaces, claims, Services and workloads reach the state, and only what is news counts."""

from __future__ import annotations

from typing import Any

import pytest

from generated.apps.v1 import ReplicaSet, ReplicaSetSpec, StatefulSet, StatefulSetSpec
from generated.core.v1 import (
    Namespace,
    PersistentVolumeClaim,
    PersistentVolumeClaimSpec,
    PersistentVolumeClaimStatus,
    ReplicationController,
    ReplicationControllerSpec,
    Service,
    ServiceSpec,
)
from generated.meta.v1 import LabelSelector, ObjectMeta, OwnerReference
from scheduler.cache.facts import Facts
from scheduler.cache.surroundings import claim_of
from scheduler.state.claims import VolumeClaim
from scheduler.state.cluster import Cluster

WEB = {"app": "web"}
META = ObjectMeta(name="web", namespace="ns")


def claim(*, bound: bool = True, **meta: Any) -> PersistentVolumeClaim:
    annotations = {"pv.kubernetes.io/bind-completed": "yes"} if bound else {}
    return PersistentVolumeClaim(
        metadata=ObjectMeta(name="web", namespace="ns", annotations=annotations, **meta),
        spec=PersistentVolumeClaimSpec(volume_name="pv" if bound else ""),
        status=PersistentVolumeClaimStatus(phase="Bound" if bound else "Pending"),
    )


def test_a_claim_is_bound_when_it_has_a_volume_and_the_binding_is_complete() -> None:
    assert claim_of(claim()) == VolumeClaim(is_bound=True, phase="Bound", volume="pv")
    assert claim_of(claim(bound=False)) == VolumeClaim(is_bound=False, phase="Pending")
    half = PersistentVolumeClaim(metadata=META, spec=PersistentVolumeClaimSpec(volume_name="pv"))
    assert not claim_of(half).is_bound
    owner = OwnerReference(api_version="v1", kind="Pod", name="p", uid="uid-p", controller=True)
    assert claim_of(claim(owner_references=(owner,))).owner == "uid-p"
    assert claim_of(claim(deletion_timestamp="2026-01-01T00:00:00Z")).is_leaving


OBJECTS = [
    ("Namespace", Namespace(metadata=ObjectMeta(name="ns", labels={"team": "x"}))),
    ("PersistentVolumeClaim", claim()),
    ("Service", Service(metadata=META, spec=ServiceSpec(selector=WEB))),
    ("ReplicationController", ReplicationController(metadata=META, spec=ReplicationControllerSpec(selector=WEB))),
    ("ReplicaSet", ReplicaSet(metadata=META, spec=ReplicaSetSpec(selector=LabelSelector(match_labels=WEB)))),
    ("StatefulSet", StatefulSet(metadata=META, spec=StatefulSetSpec(selector=LabelSelector(match_labels=WEB)))),
]


@pytest.mark.parametrize(("kind", "thing"), OBJECTS, ids=[kind for kind, _ in OBJECTS])
def test_an_object_comes_stays_and_goes(kind: str, thing: Any) -> None:
    cluster = Cluster()
    facts = Facts(cluster, scheduler_names=("volcano",), default_queue="default")
    versions = []
    for old, new in ((None, thing), (thing, thing), (thing, None), (thing, None)):
        facts.apply((kind, old, new))
        versions.append(cluster.version)
    assert versions == [1, 1, 2, 2]


@pytest.mark.parametrize(
    ("kind", "owner", "is_found"),
    [
        ("Service", None, True),
        ("ReplicaSet", ("ReplicaSet", "web"), True),
        ("StatefulSet", ("StatefulSet", "web"), True),
        ("ReplicationController", ("ReplicationController", "web"), True),
        ("ReplicaSet", ("StatefulSet", "web"), False),
        ("ReplicaSet", None, False),
    ],
)
def test_services_and_workloads_say_which_pods_belong_together(
    kind: str, owner: tuple[str, str] | None, is_found: bool
) -> None:
    cluster = Cluster()
    facts = Facts(cluster, scheduler_names=("volcano",), default_queue="default")
    facts.apply((kind, None, dict(OBJECTS)[kind]))
    found = cluster.workloads.selector_of("ns", WEB, owner)
    assert (str(found) if found is not None else "") == ("app=web" if is_found else "")
    assert cluster.workloads.selector_of("other", WEB, owner) is None


def test_the_selectors_of_several_services_are_joined() -> None:
    cluster = Cluster()
    cluster.workloads.set_service("ns", "one", {"app": "web"})
    cluster.workloads.set_service("ns", "two", {"tier": "front"})
    cluster.workloads.set_service("ns", "three", {"app": "db"})
    found = cluster.workloads.selector_of("ns", {"app": "web", "tier": "front"}, None)
    assert str(found) == "app=web,tier=front"
