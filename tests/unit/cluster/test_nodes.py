"""Node pools from flags, and the Node objects they give."""

from __future__ import annotations

import contextlib
import ipaddress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cluster.annotations import GPU, HOSTNAME, MANAGED_NODE, RACK, ZONE
from cluster.contents import NOT_READY_TAINT, has_condition
from cluster.errors import UsageError
from cluster.nodes import NodePool, Taint, _address, manifests

NOW = "2026-03-01T12:00:00Z"


def made(*pools: NodePool, taken: tuple[str, ...] = ()) -> list[dict]:  # type: ignore[type-arg]
    return list(manifests(pools, taken, "v1.36.1", NOW))


def names(nodes: list[dict]) -> list[str]:  # type: ignore[type-arg]
    return [node["metadata"]["name"] for node in nodes]


@pytest.mark.parametrize(
    ("text", "pool"),
    [
        ("4", NodePool(4)),
        ("0", NodePool(0)),
        ("20000", NodePool(20000)),
        ("0000000004", NodePool(4)),
        ("4:", NodePool(4)),
        ("16:cpu=64,memory=512Gi", NodePool(16, {"cpu": "64", "memory": "512Gi"})),
        (
            "1:cpu=500m,pods=10,ephemeral-storage=1.5Ti",
            NodePool(1, {"cpu": "500m", "pods": "10", "ephemeral-storage": "1.5Ti"}),
        ),
        ("2:gpus=8,name=gpu", NodePool(2, {GPU: "8"}, "gpu")),
        ("2:example.com/fpga=2", NodePool(2, {"example.com/fpga": "2"})),
    ],
)
def test_pools_are_read_from_flags(text: str, pool: NodePool) -> None:
    assert NodePool.parse(text) == pool


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("", "begins with the number of nodes"),
        ("x", "begins with the number of nodes"),
        ("-1", "begins with the number of nodes"),
        ("four:cpu=1", "begins with the number of nodes"),
        ("4:cpu", "'cpu' is not KEY=QUANTITY"),
        ("4:cpu=", "'cpu=' is not KEY=QUANTITY"),
        ("4:cpu=many", "'cpu=many' is not KEY=QUANTITY"),
        ("4:cpu=1,ram=1Gi", "'ram=1Gi' is not KEY=QUANTITY with KEY one of cpu, memory"),
        ("4:memory=1GiB", "'memory=1GiB'"),
        ("4:cpu=-1", "'cpu=-1'"),
        ("4:name=Bad_Name", "'name=Bad_Name'"),
    ],
)
def test_what_makes_no_sense_is_quoted(text: str, word: str) -> None:
    with pytest.raises(UsageError) as error:
        NodePool.parse(text)
    assert word in str(error.value)
    assert f"--nodes {text!r}" in str(error.value)


@given(st.text())
def test_any_text_is_a_pool_or_a_usage_error(text: str) -> None:
    with contextlib.suppress(UsageError):
        assert NodePool.parse(text).count >= 0


@pytest.mark.parametrize(
    ("text", "taint"),
    [
        ("a=b:NoSchedule", {"key": "a", "value": "b", "effect": "NoSchedule"}),
        ("a:NoExecute", {"key": "a", "effect": "NoExecute"}),
        ("x.io/a=:PreferNoSchedule", {"key": "x.io/a", "effect": "PreferNoSchedule"}),
    ],
)
def test_taints_are_read_from_flags(text: str, taint: dict[str, str]) -> None:
    assert Taint.parse(text).to_json() == taint


@pytest.mark.parametrize("text", ["", "a", "a=b", "a=b:Never", ":NoSchedule", "=b:NoSchedule"])
def test_a_taint_without_key_or_effect_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="write key\\[=value\\]:effect"):
        Taint.parse(text)


def test_a_node_is_ready_from_the_start() -> None:
    (node,) = made(NodePool(1))
    assert has_condition(node, "Ready")
    assert not has_condition(node, "MemoryPressure")
    assert node["metadata"]["annotations"] == {MANAGED_NODE: "fake"}
    assert node["metadata"]["labels"][HOSTNAME] == node["metadata"]["name"] == "node-0"
    assert node["spec"] == {}
    assert node["status"]["nodeInfo"]["kubeletVersion"] == "v1.36.1"
    assert NOT_READY_TAINT not in str(node)


def test_sizes_labels_and_taints_reach_the_node() -> None:
    pool = NodePool(1, {"cpu": "64", GPU: "8"}, labels={"a": "b"}, taints=(Taint("k", "v", "NoSchedule"),))
    (node,) = made(pool)
    expected = {"cpu": "64", "memory": "32Gi", "pods": "110", "ephemeral-storage": "100Gi", GPU: "8"}
    assert node["status"]["capacity"] == node["status"]["allocatable"] == expected
    assert node["metadata"]["labels"]["a"] == "b"
    assert node["spec"]["taints"] == [{"key": "k", "value": "v", "effect": "NoSchedule"}]


def test_numbers_run_through_pools_of_one_prefix_and_go_on_after_what_is_there() -> None:
    pools = (NodePool(2), NodePool(1, prefix="big"), NodePool(2))
    assert names(made(*pools)) == ["node-0", "node-1", "big-0", "node-2", "node-3"]
    taken = ("node-7", "node-3", "big-x", "other", "-5", "a-b-2")
    assert names(made(*pools, taken=taken)) == ["node-8", "node-9", "big-0", "node-10", "node-11"]
    assert names(made(NodePool(1, prefix="a-b"), taken=taken)) == ["a-b-3"]


def test_racks_and_zones_go_round_and_a_rack_lies_in_one_zone() -> None:
    nodes = made(NodePool(12, racks=4, zones=2))
    labels = [(node["metadata"]["labels"][RACK], node["metadata"]["labels"][ZONE]) for node in nodes]
    assert labels[:5] == [
        ("rack-0", "zone-0"),
        ("rack-1", "zone-1"),
        ("rack-2", "zone-0"),
        ("rack-3", "zone-1"),
        ("rack-0", "zone-0"),
    ]
    assert len(set(labels)) == 4
    assert [labels.count(label) for label in set(labels)] == [3, 3, 3, 3]


def test_zones_alone_spread_nodes_and_no_label_comes_unasked() -> None:
    zones = [node["metadata"]["labels"].get(ZONE) for node in made(NodePool(4, zones=3))]
    assert zones == ["zone-0", "zone-1", "zone-2", "zone-0"]
    (node,) = made(NodePool(1))
    assert RACK not in node["metadata"]["labels"]
    assert ZONE not in node["metadata"]["labels"]


@given(st.sets(st.integers(0, 8_000_000), min_size=2, max_size=50))
def test_addresses_differ_and_stay_in_their_range(numbers: set[int]) -> None:
    addresses = {ipaddress.ip_address(_address(number)) for number in numbers}
    assert len(addresses) == len(numbers)
    assert all(address in ipaddress.ip_network("10.128.0.0/9") for address in addresses)


def test_ten_thousand_nodes_have_ten_thousand_names_and_addresses() -> None:
    nodes = made(NodePool(10_000, racks=100, zones=5))
    assert len(set(names(nodes))) == 10_000
    assert len({node["status"]["addresses"][0]["address"] for node in nodes}) == 10_000
