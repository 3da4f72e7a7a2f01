"""Which objects a scheduler is responsible for (scheduler.md 4.4)."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from generated.core.v1 import Node
from generated.scheduling.v1beta1 import PodGroup
from runtime.errors import ConfigError
from scheduler.cache.selection import Ring, Selection, Share, selector_of, share_of
from tests.unit.scheduler.cache.test_facts import pod

MEMBERS = [f"volcano-scheduler-{number}" for number in range(3)]


def environment(name: str = "volcano-scheduler-1", count: str = "3", enable: str = "true") -> dict[str, str]:
    return {"MULTI_SCHEDULER_ENABLE": enable, "SCHEDULER_POD_NAME": name, "SCHEDULER_NUM": count}


@pytest.mark.parametrize(
    ("key", "number"),
    [("job-a", 0), ("job-b", 1), ("job-c", 2), ("node-1", 0), ("node-2", 0), ("node-3", 2), ("n", 1), ("", 2)],
)
def test_keys_belong_to_the_replicas_that_the_go_scheduler_gives_them(key: str, number: int) -> None:
    assert Ring(MEMBERS).owner(key) == MEMBERS[number]


@pytest.mark.parametrize(
    ("variables", "held"),
    [
        (environment(), ["job-b", "n"]),
        (environment(name="volcano-scheduler-2"), ["job-c", "node-3", ""]),
        (environment(count="0"), []),
        (
            environment(name="volcano-scheduler-0", count="many"),
            ["job-a", "job-b", "job-c", "node-1", "node-3", "n", ""],
        ),
    ],
)
def test_a_replica_holds_its_keys(variables: dict[str, str], held: list[str]) -> None:
    share = share_of(variables)
    assert share is not None
    keys = ["job-a", "job-b", "job-c", "node-1", "node-3", "n", ""]
    assert [key for key in keys if share.holds(key)] == held


@pytest.mark.parametrize("variables", [{}, environment(enable="false"), environment(enable="True")])
def test_without_the_switch_everything_is_ours(variables: dict[str, str]) -> None:
    assert share_of(variables) is None


@pytest.mark.parametrize("name", ["", "scheduler"])
def test_an_own_name_that_is_no_statefulset_pods_is_an_error_that_says_so(name: str) -> None:
    with pytest.raises(ConfigError, match="StatefulSet"):
        share_of(environment(name=name))


@pytest.mark.parametrize(
    ("entries", "labels"),
    [
        ((), set()),
        (("a:b",), {("a", "b")}),
        ((" a : b ", "c:d:e"), {("a", "b"), ("c", "d:e")}),
        (("a", "a:", ":", "", "a: "), set()),
    ],
)
def test_entries_of_the_node_selector(entries: tuple[str, ...], labels: set[tuple[str, str]]) -> None:
    assert selector_of(entries) == labels


def node(name: str = "n1", **labels: str) -> Node:
    return msgspec.convert({"metadata": {"name": name, "labels": labels}}, Node)


@pytest.mark.parametrize(
    ("labels", "admitted"), [({"a": "b"}, True), ({"a": "x", "c": "d"}, True), ({"a": "d"}, False), ({}, False)]
)
def test_any_entry_lets_a_node_in(labels: dict[str, str], admitted: bool) -> None:
    selection = Selection(selector_of(("a:b", "c:d")))
    assert selection.admits_node(node(**labels)) is admitted
    assert Selection().admits_node(node(**labels))


def owned(owner: str) -> dict[str, Any]:
    return {"ownerReferences": [{"apiVersion": "v1", "kind": "Job", "name": owner, "uid": "u"}]}


def test_pods_and_pod_groups_go_by_their_owner_and_placed_pods_by_their_node_too() -> None:
    selection = Selection(share=Share(Ring(MEMBERS), MEMBERS[0]))
    assert selection.admits_pod(pod("job-b", metadata=owned("job-a")))
    assert not selection.admits_pod(pod("job-a", metadata=owned("job-b")))
    assert selection.admits_pod(pod("job-b", spec={"nodeName": "node-1"}))
    assert not selection.admits_pod(pod("job-b", spec={"nodeName": "node-3"}))
    assert not selection.admits_node(node("node-3"))
    group = msgspec.convert({"metadata": {"name": "job-b", **owned("job-a")}}, PodGroup)
    assert selection.admits_pod_group(group)
    assert not selection.admits_pod_group(msgspec.convert({"metadata": {"name": "job-b"}}, PodGroup))
    assert Selection().admits_pod_group(group)
