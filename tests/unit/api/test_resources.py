from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from api import resources
from generated.core.v1 import Pod, PodSpec
from runtime.quantity import Quantity, QuantityError, parse
from tests.unit.api.effort import effort

AMOUNTS = st.dictionaries(
    st.sampled_from(["cpu", "memory", "a.b/c", "pods"]), st.integers(-(10**15), 10**15).map(Quantity)
)


def container(
    name: str = "c", *, sidecar: bool = False, limits: dict[str, Any] | None = None, **requests: Any
) -> dict[str, Any]:
    return asking(requests, name, sidecar=sidecar, limits=limits)


def asking(
    requests: Mapping[str, Any], name: str = "c", *, sidecar: bool = False, limits: dict[str, Any] | None = None
) -> dict[str, Any]:
    """A container, by a mapping of what it requests."""
    made: dict[str, Any] = {"name": name, "resources": {"requests": requests, "limits": limits or {}}}
    return {**made, "restartPolicy": "Always"} if sidecar else made


def spec_of(*containers: dict[str, Any], init: tuple[dict[str, Any], ...] = (), **rest: Any) -> dict[str, Any]:
    return {"containers": list(containers), "initContainers": list(init), **rest}


def pod_of(spec: dict[str, Any], **status: Any) -> Pod:
    return msgspec.convert({"spec": spec, "status": status}, Pod)


def shown(held: dict[str, Quantity]) -> dict[str, str]:
    return {name: str(amount) for name, amount in sorted(held.items())}


REQUESTS = [
    ("no container asks for anything", spec_of(container()), {}),
    (
        "containers add up",
        spec_of(container(cpu="1", memory="1Gi"), container(cpu="500m")),
        {"cpu": "1500m", "memory": "1Gi"},
    ),
    (
        "the largest init container counts where it is larger",
        spec_of(
            container(cpu="2", memory="1G"),
            container(cpu="1", memory="1G"),
            init=(container(cpu="2", memory="1G"), container(cpu="2", memory="3G")),
        ),
        {"cpu": "3", "memory": "3G"},
    ),
    (
        "a sidecar stays: it is added to the containers and to later init containers",
        spec_of(
            container(cpu="1"),
            init=(container(cpu="3"), container(sidecar=True, cpu="1", memory="1Gi"), container(cpu="4")),
        ),
        {"cpu": "5", "memory": "1Gi"},
    ),
    (
        "an init container before a sidecar runs without it",
        spec_of(container(cpu="1"), init=(container(cpu="2"), container(sidecar=True, cpu="1"))),
        {"cpu": "2"},
    ),
    (
        "two sidecars run beside the last init container",
        spec_of(init=(container(sidecar=True, cpu="1"), container(sidecar=True, cpu="2"), container(cpu="1"))),
        {"cpu": "4"},
    ),
    (
        "resources of the pod replace those of its containers, where they can",
        spec_of(
            {
                "name": "c",
                "resources": {
                    "requests": {"cpu": "3", "memory": "1Gi", "hugepages-2Mi": "4Mi", "nvidia.com/gpu": 1},
                },
            },
            resources={"requests": {"cpu": "2", "hugepages-2Mi": "8Mi", "nvidia.com/gpu": 5}},
        ),
        {"cpu": "2", "memory": "1Gi", "hugepages-2Mi": "8Mi", "nvidia.com/gpu": "1"},
    ),
    (
        "overhead comes on top of everything",
        spec_of(container(cpu="1"), overhead={"cpu": "250m", "memory": "64Mi"}, resources={"requests": {"cpu": "2"}}),
        {"cpu": "2250m", "memory": "64Mi"},
    ),
]


@pytest.mark.parametrize(("spec", "expected"), [case[1:] for case in REQUESTS], ids=[case[0] for case in REQUESTS])
def test_requests_of_a_pod(spec: dict[str, Any], expected: dict[str, str]) -> None:
    wanted = dict(sorted(expected.items()))
    assert shown(resources.pod_requests(pod_of(spec))) == wanted
    assert shown(resources.template_requests(msgspec.convert(spec, PodSpec))) == wanted


_CONTAINERS = st.lists(
    st.builds(
        lambda sidecar, held: container(sidecar=sidecar, **held),
        st.booleans(),
        st.dictionaries(st.sampled_from(["cpu", "memory", "a.b/c", "pods"]), st.integers(-3, 9).map(str)),
    ),
    max_size=6,
)


@given(_CONTAINERS, _CONTAINERS)
def test_requests_are_the_largest_of_all_steps(main: list[dict[str, Any]], init: list[dict[str, Any]]) -> None:
    main = [{**each, "restartPolicy": ""} for each in main]
    asked = {id(each): resources.amounts(each["resources"]["requests"]) for each in (*main, *init)}
    steps: list[resources.Amounts] = []
    sidecars: resources.Amounts = {}
    for each in init:
        steps.append(resources.add(sidecars, asked[id(each)]))
        sidecars = steps[-1] if "restartPolicy" in each else sidecars
    largest = sidecars
    for each in main:
        largest = resources.add(largest, asked[id(each)])
    for step in steps:
        largest = resources.maximum(largest, step)
    assert resources.pod_requests(pod_of(spec_of(*main, init=tuple(init)))) == largest


@pytest.mark.parametrize("sidecars", [True, False])
def test_many_containers_with_resources_of_their_own_take_no_more_than_their_share(sidecars: bool) -> None:
    def pod(size: int) -> Pod:
        several = [asking({f"a.b/{number}": "1"}) for number in range(size)]
        early = [asking({f"a.b/{number}": "1"}, sidecar=sidecars and not number % 2) for number in range(size)]
        return pod_of(spec_of(*several, init=tuple(early)))

    small, large = pod(100), pod(400)
    assert effort(lambda: resources.pod_requests(large)) < 5 * effort(lambda: resources.pod_requests(small))


def test_the_scheduler_counts_the_pod_itself() -> None:
    pod = pod_of(REQUESTS[2][1])
    assert resources.scheduling_numbers(pod) == {"cpu": 3000, "memory": 3 * 10**9, "pods": 1}
    assert resources.scheduling_numbers(pod_of(spec_of(container(pods=1)))) == {"pods": 2}


def test_resources_of_the_pod_can_be_left_out_of_account() -> None:
    pod = pod_of(spec_of(container(cpu="3"), resources={"requests": {"cpu": "2"}, "limits": {"cpu": "4"}}))
    assert shown(resources.pod_requests(pod, pod_level=False)) == {"cpu": "3"}
    assert shown(resources.pod_limits(pod, pod_level=False)) == {}
    assert shown(resources.pod_limits(pod)) == {"cpu": "4"}


def test_limits_get_overhead_only_where_they_limit() -> None:
    spec = spec_of(
        container(limits={"cpu": "1", "a.b/c": 0}),
        init=(container(limits={"cpu": "3"}),),
        overhead={"cpu": "1", "memory": "1Gi", "a.b/c": 2},
    )
    assert shown(resources.pod_limits(pod_of(spec))) == {"a.b/c": "0", "cpu": "4"}
    assert shown(resources.template_limits(msgspec.convert(spec, PodSpec))) == {"a.b/c": "0", "cpu": "4"}


RESIZES = [
    ("growing", {"cpu": "1"}, {"cpu": "1"}, {}, "2"),
    ("shrinking", {"cpu": "4"}, {"cpu": "4"}, {}, "4"),
    ("allocated but not yet set", {"cpu": "1"}, {"cpu": "3"}, {}, "3"),
    (
        "infeasible",
        {"cpu": "1"},
        {"cpu": "1"},
        {"conditions": [{"type": "PodResizePending", "reason": "Infeasible", "status": "True"}]},
        "1",
    ),
    ("infeasible, as older servers say it", {"cpu": "1"}, {"cpu": "1"}, {"resize": "Infeasible"}, "1"),
    (
        "merely deferred",
        {"cpu": "1"},
        {"cpu": "1"},
        {"conditions": [{"type": "PodResizePending", "reason": "Deferred", "status": "True"}]},
        "2",
    ),
]


@pytest.mark.parametrize(
    ("held", "allocated", "status", "expected"), [case[1:] for case in RESIZES], ids=[case[0] for case in RESIZES]
)
def test_during_a_resize_the_larger_of_wanted_and_held_counts(
    held: dict[str, str], allocated: dict[str, str], status: dict[str, Any], expected: str
) -> None:
    of_container = {"name": "c", "resources": {"requests": held, "limits": held}, "allocatedResources": allocated}
    pod = pod_of(spec_of(container(cpu="2", limits={"cpu": "2"})), containerStatuses=[{**of_container}], **status)
    assert shown(resources.pod_requests(pod)) == {"cpu": expected}
    assert shown(resources.pod_requests(pod, in_place=False)) == {"cpu": "2"}
    limit = held["cpu"] if "infeasible" in str(status).lower() else str(max(parse("2"), parse(held["cpu"])))
    assert shown(resources.pod_limits(pod)) == {"cpu": limit}


def test_a_status_without_resources_changes_nothing() -> None:
    pod = pod_of(spec_of(container(cpu="2")), containerStatuses=[{"name": "c", "allocatedResources": {"cpu": "9"}}])
    assert shown(resources.pod_requests(pod)) == {"cpu": "2"}


def test_a_resized_sidecar_counts_as_held() -> None:
    pod = pod_of(
        spec_of(container(cpu="1"), init=(container("s", sidecar=True, cpu="1"),)),
        initContainerStatuses=[{"name": "s", "resources": {"requests": {"cpu": "3"}}}],
    )
    assert shown(resources.pod_requests(pod)) == {"cpu": "4"}


def test_what_is_only_limited_can_count_as_requested() -> None:
    spec = msgspec.convert(
        spec_of(container(cpu="1", limits={"cpu": "2", "memory": "1Gi", "nvidia.com/gpu": 1})), PodSpec
    )
    assert shown(resources.template_requests(spec)) == {"cpu": "1"}
    assert shown(resources.template_requests(spec, default_from_limits=True)) == {
        "cpu": "1",
        "memory": "1Gi",
        "nvidia.com/gpu": "1",
    }


def test_a_bad_quantity_is_reported_with_its_resource() -> None:
    with pytest.raises(QuantityError, match=r"resource memory: '1e1\.5' is not a quantity"):
        resources.pod_requests(pod_of(spec_of(container(memory="1e1.5"))))


@pytest.mark.parametrize(
    ("name", "counted", "extended"),
    [
        ("cpu", True, False),
        ("memory", True, False),
        ("pods", True, False),
        ("ephemeral-storage", True, False),
        ("nvidia.com/gpu", True, True),
        ("volcano.sh/vgpu-number", True, True),
        ("hugepages-2Mi", True, False),
        ("attachable-volumes-csi-x", True, False),
        ("kubernetes.io/batch-cpu", True, False),
        ("example.kubernetes.io/x", True, False),
        ("count/pods", False, True),
        ("gpu", False, False),
        ("storage", False, False),
        ("requests.cpu", False, False),
        ("requests.nvidia.com/gpu", False, False),
        ("limits.memory", False, False),
        ("nvidia.com/", False, False),
        ("nvidia.com/a b", False, False),
    ],
)
def test_which_resources_count(name: str, counted: bool, extended: bool) -> None:
    assert resources.is_counted(name) is counted
    assert resources.is_extended(name) is extended


def test_plain_numbers_have_the_scheduler_units() -> None:
    held = resources.amounts(
        {"cpu": "1500m", "memory": "1Ki", "pods": 3, "nvidia.com/gpu": 1, "ephemeral-storage": "1k", "gpu": 1}
    )
    counted = resources.numbers(held)
    assert counted == {"cpu": 1500, "memory": 1024, "pods": 3, "nvidia.com/gpu": 1000, "ephemeral-storage": 10**6}
    assert resources.raw(resources.from_numbers(counted)) == {
        "cpu": "1500m",
        "memory": "1Ki",
        "pods": "3",
        "nvidia.com/gpu": "1",
        "ephemeral-storage": "1k",
    }


def test_plain_numbers_are_cut_and_always_name_cpu_and_memory() -> None:
    assert resources.raw(resources.from_numbers({"a.b/c": 1999.9, "pods": 2.9})) == {
        "cpu": "0",
        "memory": "0",
        "a.b/c": "1999m",
        "pods": "2",
    }


@given(AMOUNTS, AMOUNTS, st.integers(0, 50))
def test_arithmetic_by_name(left: dict[str, Quantity], right: dict[str, Quantity], factor: int) -> None:
    total = resources.add(left, right)
    assert total == resources.add(right, left)
    assert all(resources.subtract(total, right)[name] == amount for name, amount in left.items())
    largest = resources.maximum(left, right)
    assert set(total) == set(largest) == set(left) | set(right)
    assert all(largest[name] >= held[name] for held in (left, right) for name in held)
    repeated: dict[str, Quantity] = {}
    for _ in range(factor):
        repeated = resources.add(repeated, left)
    assert resources.scale(left, factor) == repeated == resources.total_of([left] * factor)


def test_arithmetic_leaves_its_operands_alone() -> None:
    left, right = {"cpu": Quantity(1)}, {"cpu": Quantity(5), "memory": Quantity(2)}
    for operation in (resources.add, resources.subtract, resources.maximum):
        operation(left, right)
    assert (left, right) == ({"cpu": Quantity(1)}, {"cpu": Quantity(5), "memory": Quantity(2)})


def test_two_lists_are_the_same_when_their_amounts_are() -> None:
    assert resources.is_same({"cpu": "1"}, {"cpu": "1000m"})
    assert resources.is_same(None, {})
    assert not resources.is_same({"cpu": 0}, {})
    assert not resources.is_same({"cpu": "1"}, {"memory": "1"})


@pytest.mark.parametrize(
    ("requests", "expected"),
    [
        ([{}], (100.0, 200.0 * 1024**2)),
        ([{"cpu": "0", "memory": "0"}], (0.0, 0.0)),
        ([{"cpu": "2"}, {"memory": "1Gi"}], (2100.0, 1224.0 * 1024**2)),
    ],
)
def test_scores_presume_requests_of_containers_that_name_none(
    requests: list[dict[str, str]], expected: tuple[float, float]
) -> None:
    spec = pod_of(spec_of(*(asking(held, f"c{place}") for place, held in enumerate(requests)))).spec
    assert resources.nonzero_requests(spec) == expected


ABSURD = ["9e15", "1e22", "9223372036854775807"]


@pytest.mark.parametrize("asked", ABSURD)
def test_an_absurd_request_takes_no_digits_from_the_sums_of_others(asked: str) -> None:
    small = float(resources.numbers(resources.amounts({"cpu": "4500m"}))["cpu"])
    huge = float(resources.numbers(resources.amounts({"cpu": asked}))["cpu"])
    assert small + huge - huge == small
    assert huge > 1e12


@pytest.mark.parametrize("asked", ABSURD)
@pytest.mark.parametrize(
    ("name", "small"),
    [
        ("cpu", "4501m"),
        ("memory", "1000001"),
        ("nvidia.com/gpu", "1"),
        ("ephemeral-storage", "1M"),
        ("hugepages-2Mi", "2Mi"),
        ("kubernetes.io/batch-memory", "1Ki"),
    ],
)
def test_nor_does_an_absurd_pod_whatever_it_asks_for(asked: str, name: str, small: str) -> None:
    def counted(amount: str) -> float:
        return float(resources.scheduling_numbers(pod_of(spec_of(asking({name: amount}))))[name])

    assert counted(small) + counted(asked) - counted(asked) == counted(small)


@pytest.mark.parametrize(
    ("name", "amount", "expected"),
    [
        ("ephemeral-storage", "100Ti", 100 * 2**40 * 1000),
        ("hugepages-1Gi", "24Ti", 24 * 2**40 * 1000),
        ("kubernetes.io/batch-memory", "24Ti", 24 * 2**40 * 1000),
        ("memory", "512Ti", 512 * 2**40),
        ("nvidia.com/gpu", "16", 16000),
        ("example.com/disk", "30Ti", 30 * 2**40 * 1000),
    ],
)
def test_a_pod_may_have_the_largest_machine_for_itself(name: str, amount: str, expected: int) -> None:
    assert resources.scheduling_numbers(pod_of(spec_of(asking({name: amount}))))[name] == expected


@pytest.mark.parametrize(
    ("name", "amount", "expected"),
    [
        ("ephemeral-storage", "1Ti", 2**40 * 1000),
        ("ephemeral-storage", "50Pi", 50 * 2**50 * 1000),
        ("hugepages-1Gi", "3Pi", 3 * 2**50 * 1000),
        ("kubernetes.io/batch-memory", "20Pi", 20 * 2**50 * 1000),
        ("example.com/disk", "9Pi", 9 * 2**50 * 1000),
        ("memory", "600Ti", 600 * 2**40),
        ("memory", "40Pi", 40 * 2**50),
    ],
)
def test_what_the_largest_clusters_have_counts_in_full_and_exactly(name: str, amount: str, expected: int) -> None:
    number = resources.numbers(resources.amounts({name: amount}))[name]
    assert number == expected == float(number)
    assert resources.from_numbers({name: float(number)})[name] == parse(amount)


@pytest.mark.parametrize("name", ["cpu", "memory", "pods", "ephemeral-storage", "nvidia.com/gpu"])
def test_more_never_counts_for_less(name: str) -> None:
    asked = [f"1e{power}" for power in range(30)]
    counted = [resources.numbers(resources.amounts({name: amount}))[name] for amount in asked]
    assert counted == sorted(counted)
    of_pods = [resources.scheduling_numbers(pod_of(spec_of(asking({name: amount}))))[name] for amount in asked]
    assert of_pods == sorted(of_pods)
