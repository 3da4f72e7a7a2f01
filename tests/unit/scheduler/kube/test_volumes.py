"""Pods whose claims are bound are scheduled; the others say what they wait for."""

from __future__ import annotations

from typing import Any

import pytest

from generated.core.v1 import (
    EphemeralVolumeSource,
    PersistentVolumeClaimVolumeSource,
    PodResourceClaim,
    Volume,
)
from scheduler.kube import volumes
from scheduler.state.claims import Claims, VolumeClaim
from tests.unit.scheduler.build import World, binds, cycle, memory_of, shape
from tests.unit.scheduler.sociable import pod_task

BOUND = VolumeClaim(is_bound=True, phase="Bound", volume="pv")
DATA = Volume(name="data", persistent_volume_claim=PersistentVolumeClaimVolumeSource(claim_name="data"))
SCRATCH = Volume(name="scratch", ephemeral=EphemeralVolumeSource())


@pytest.mark.parametrize(
    ("volume", "claim", "reason"),
    [
        (DATA, BOUND, ""),
        (DATA, VolumeClaim(is_bound=False, phase="Pending"), "pod has unbound immediate PersistentVolumeClaims"),
        (DATA, None, 'persistentvolumeclaim "data" not found'),
        (
            DATA,
            VolumeClaim(is_bound=True, phase="Lost", volume="pv"),
            'persistentvolumeclaim "data" bound to non-existent persistentvolume "pv"',
        ),
        (
            DATA,
            VolumeClaim(is_bound=True, phase="Bound", is_leaving=True),
            'persistentvolumeclaim "data" is being deleted',
        ),
        (
            SCRATCH,
            None,
            'waiting for ephemeral volume controller to create the persistentvolumeclaim "p-scratch"',
        ),
        (SCRATCH, VolumeClaim(is_bound=True, phase="Bound", owner="uid-p"), ""),
        (
            SCRATCH,
            VolumeClaim(is_bound=True, phase="Bound", owner="uid-q"),
            'persistentvolumeclaim "p-scratch" was not created for pod ns/p (pod is not owner)',
        ),
    ],
)
def test_a_claim_says_what_it_waits_for(volume: Volume, claim: VolumeClaim | None, reason: str) -> None:
    claims = Claims()
    task = pod_task("p", "ns", {}, shape(volumes=(volume,)), job="")
    name = "data" if volume is DATA else "p-scratch"
    assert claims.set(f"ns/{name}", claim) is (claim is not None)
    assert volumes.waits_for(task, claims) == reason


def waiting(**spec: Any) -> World:
    world = World()
    world.node("small", cpu=100.0)
    world.node("large")
    world.gang("job", [("w", 1, shape(**spec))])
    return world


def messages(result: Any) -> list[str]:
    return [task.message for task in result.outcome.tasks]


def test_a_pod_with_an_unbound_claim_waits_and_starts_once_it_is_bound() -> None:
    world = waiting(volumes=(DATA,))
    world.cluster.claims.set("ns/data", VolumeClaim(is_bound=False, phase="Pending"))
    memory = memory_of(world.cluster)
    result = cycle(world, memory)
    assert not binds(result)
    reason = "plugin VolumeBinding pre-predicates failed pod has unbound immediate PersistentVolumeClaims"
    assert messages(result) == [f"0/2 nodes are unavailable: 2 {reason}."]
    world.cluster.claims.set("ns/data", BOUND)
    assert binds(cycle(world, memory, uid="session-2")) == [("job-w-0", "large")]


def test_a_pod_with_a_resource_claim_waits() -> None:
    result = cycle(waiting(resource_claims=(PodResourceClaim(name="gpu"),)))
    reason = (
        "plugin DynamicResources pre-predicates failed pod has resource claims, which this scheduler does not allocate"
    )
    assert messages(result) == [f"0/2 nodes are unavailable: 2 {reason}."]
    assert not binds(result)


@pytest.mark.parametrize(
    ("spec", "argument"),
    [
        ({"volumes": (DATA,)}, "predicate.VolumeBindingEnable"),
        ({"resource_claims": (PodResourceClaim(name="gpu"),)}, "predicate.DynamicResourceAllocationEnable"),
    ],
)
def test_the_switches_let_such_pods_pass(spec: Any, argument: str) -> None:
    world = waiting(**spec)
    text = f"""
actions: "allocate"
tiers:
- plugins:
  - name: gang
  - name: predicates
    arguments: {{{argument}: false}}
"""
    assert binds(cycle(world, memory_of(world.cluster, text))) == [("job-w-0", "large")]
