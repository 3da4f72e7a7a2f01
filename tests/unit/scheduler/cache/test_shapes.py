"""Pods share a shape when their specs are equal, and never else, whatever came and went before."""

from __future__ import annotations

import gc
import random
from typing import Any

import msgspec
import pytest

from api.poddecoding import pod_decoder
from api.resources import scheduling_numbers
from generated.core.v1 import Pod
from scheduler.cache import shapes as module
from scheduler.cache.shapes import Recent, Shapes
from scheduler.state.task import Shape

ASKED = {"cpu": "1", "memory": "1Gi"}
SPEC: dict[str, Any] = {"schedulerName": "volcano", "containers": [{"name": "c", "resources": {"requests": ASKED}}]}


def text(number: int = 0, status: dict[str, Any] | None = None, **spec: Any) -> bytes:
    """A pod as the API server sends it, with a host name of its own, as pods of jobs have."""
    return msgspec.json.encode(
        {
            "metadata": {"name": f"p-{number}", "namespace": "ns"},
            "spec": SPEC | {"hostname": f"p-{number}"} | spec,
            "status": {"phase": "Running"} | (status or {}),
        }
    )


def pod(number: int = 0, status: dict[str, Any] | None = None, **spec: Any) -> Pod:
    return msgspec.json.decode(text(number, status, **spec), type=Pod)


def gates(*names: str) -> list[dict[str, str]]:
    return [{"name": name} for name in names]


def size(cpu: str) -> dict[str, Any]:
    return {"requests": {"cpu": cpu}}


def told(of: Pod | Shape) -> bytes:
    """What pods of one shape have in common, as text."""
    return msgspec.json.encode(msgspec.structs.replace(of.spec, **module._OWN))


VARIANTS: list[tuple[str, list[Any]]] = [
    ("resources", [size("1"), size("8")]),
    ("schedulingGates", [gates("a"), gates("b")]),
    ("resourceClaims", [[{"name": "x", "resourceClaimName": name}] for name in ("a", "b")]),
    ("overhead", [{"cpu": "1"}, {"cpu": "2"}]),
    ("nodeSelector", [{"a": "b"}, {"a": "c"}]),
    ("tolerations", [[{"key": "a"}], [{"key": "b"}]]),
    ("volumes", [[{"name": "v", "persistentVolumeClaim": {"claimName": name}}] for name in ("a", "b")]),
    ("hostAliases", [[{"ip": "10.0.0.1"}], [{"ip": "10.0.0.2"}]]),
    ("dnsConfig", [{"nameservers": ["10.0.0.1"]}, {"nameservers": ["10.0.0.2"]}]),
    ("priority", [-1, -2]),  # whose hashes are the same
    ("priorityClassName", ["system-node-critical", "high"]),
    ("hostNetwork", [False, True]),
    ("preemptionPolicy", ["Never", "PreemptLowerPriority"]),
    ("runtimeClassName", ["a", "b"]),
]


@pytest.mark.parametrize(("field", "values"), VARIANTS, ids=[field for field, _ in VARIANTS])
@pytest.mark.parametrize("is_interned", [True, False])
def test_no_pod_ever_gets_the_shape_of_another_spec(field: str, values: list[Any], is_interned: bool) -> None:
    decode = pod_decoder().decode if is_interned else msgspec.json.Decoder(Pod).decode
    shapes, rng, alive = Shapes(kept=20), random.Random(1), list[Pod]()
    for number in range(400):
        one = decode(text(number, **{field: rng.choice(values)}))
        assert told(shapes.of(one)) == told(one)
        alive.append(one)
        while len(alive) > rng.choice([1, 5, 20]):  # what is freed leaves its address to what comes
            alive.pop(rng.randrange(len(alive)))
        del one


@pytest.mark.parametrize(("field", "values"), VARIANTS, ids=[field for field, _ in VARIANTS])
def test_pods_share_their_shape_by_content(field: str, values: list[Any]) -> None:
    shapes = Shapes()
    first, other, again = (shapes.of(pod(number, **{field: values[number % 2]})) for number in range(3))
    assert first is again
    assert first is not other


def test_what_a_pod_has_of_its_own_makes_no_shape() -> None:
    shapes = Shapes()
    found = {id(shapes.of(pod(number, nodeName=f"n{number}", subdomain=f"s{number}"))) for number in range(5)}
    assert len(found) == 1


def test_the_amounts_of_pods_as_a_whole_are_their_own() -> None:
    shapes = Shapes()
    asked = ["1", "8", "2", "1", "8"]
    found = [shapes.of(pod(number, resources=size(cpu))).request.amounts["cpu"] for number, cpu in enumerate(asked)]
    assert found == [1000, 8000, 2000, 1000, 8000]


# Sizes in the status.


def held(requests: dict[str, str] | None, allocated: dict[str, str] | None = None, **more: Any) -> dict[str, Any]:
    status: dict[str, Any] = {"name": "c", "resources": {"requests": requests} if requests is not None else {}}
    return {"containerStatuses": [status | ({"allocatedResources": allocated} if allocated else {})], **more}


@pytest.mark.parametrize(
    "status",
    [
        pytest.param(held(ASKED, ASKED), id="all that the spec says"),
        pytest.param(held(ASKED), id="nothing is allocated"),
        pytest.param(held(ASKED, {"cpu": "1"}), id="a part is allocated"),
        pytest.param(held({"cpu": "1000m", "memory": "1024Mi"}, ASKED), id="the same in other words"),
        pytest.param(held({"cpu": "1"}, {"cpu": "500m"}), id="less, until it is resized"),
        pytest.param(held(None), id="nothing said of requests"),
        pytest.param(held(ASKED, ASKED, resize="Infeasible"), id="what can't be resized has its size"),
        pytest.param({"containerStatuses": [{"name": "other", "resources": {"requests": {"cpu": "9"}}}]}, id="another"),
    ],
)
def test_a_status_that_repeats_the_spec_makes_no_shape_of_its_own(status: dict[str, Any]) -> None:
    shapes = Shapes()
    template = shapes.of(pod(1))
    assert shapes.of(pod(2, status)) is template
    assert scheduling_numbers(pod(2, status)) == template.request.amounts


@pytest.mark.parametrize(
    ("status", "cpu"),
    [
        (held({"cpu": "3"}), 3000),
        (held({"cpu": "1"}, {"cpu": "2"}), 2000),
        (held(ASKED, {"cpu": "2"}), 2000),
        (held({"cpu": "500m"}, {"cpu": "250m"}, resize="Infeasible"), 500),
        (held({}, {"cpu": "250m"}, resize="Infeasible"), 250),
    ],
)
def test_pods_resized_in_place_to_one_size_share_a_shape(status: dict[str, Any], cpu: float) -> None:
    shapes = Shapes()
    template = shapes.of(pod(1))
    first, second = shapes.of(pod(2, status)), shapes.of(pod(3, status))
    assert first is second
    assert first is not template
    assert first.request.amounts == scheduling_numbers(pod(2, status))
    assert (first.request.amounts["cpu"], first.request.nonzero) == (cpu, template.request.nonzero)


def test_the_first_pod_that_is_met_may_be_a_resized_one() -> None:
    shapes = Shapes()
    assert shapes.of(pod(1, held({"cpu": "3"}))).request.amounts["cpu"] == 3000
    assert shapes.of(pod(2)).request.amounts["cpu"] == 1000


@pytest.mark.parametrize(("cpu", "is_shared"), [("1", True), ("2", False)])
def test_sidecars_have_sizes_too(cpu: str, is_shared: bool) -> None:
    shapes = Shapes()
    sidecar = [{"name": "s", "restartPolicy": "Always", "resources": size("1")}]
    status = {"initContainerStatuses": [{"name": "s", "resources": size(cpu)}]}
    found = shapes.of(pod(1, status, initContainers=sidecar))
    assert (found is shapes.of(pod(2, initContainers=sidecar))) is is_shared
    assert found.request.amounts["cpu"] == 1000 + 1000 * int(cpu)


# Memory.


def alive() -> int:
    gc.collect()
    return sum(type(each) is Shape for each in gc.get_objects())


def test_what_came_and_went_takes_no_memory() -> None:
    shapes, before = Shapes(kept=10), alive()
    decode = pod_decoder().decode
    for number in range(500):
        shapes.of(decode(text(number, held({"cpu": str(number + 2)}), nodeSelector={"job": str(number)})))
    assert alive() - before <= 60
    assert len(shapes._by_parts) <= 10


def test_a_shape_that_is_asked_for_again_and_again_stays() -> None:
    shapes = Shapes(kept=10)
    first = shapes.of(pod(0))
    for number in range(100):
        shapes.of(pod(number, nodeSelector={"job": str(number)}))
        assert shapes.of(pod(number)) is first


def test_recent_entries_are_known_and_old_ones_forgotten() -> None:
    known: Recent[int, str] = Recent(3)
    for key in range(1, 30):
        known.put(key, str(key))
        assert known[1] == "1"
    found = [key for key in range(1, 30) if known[key] is not None]
    assert {1, 28, 29} <= set(found)
    assert len(found) <= 6
    assert known[99] is None
