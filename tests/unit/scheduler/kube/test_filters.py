"""plugins.md 18.1 and 18.2 as tables."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from generated.core.v1 import NodeSelectorRequirement, NodeSelectorTerm, Taint, Toleration
from scheduler.contract.view import View
from scheduler.kube import filters, selectors, tolerations
from scheduler.state.task import Task
from tests.unit.scheduler.build import World, require, shape


def world() -> World:
    made = World()
    made.node("a", labels={"zone": "a", "cores": "8"})
    made.node("b", labels={"zone": "b", "cores": "16"}, taints=(Taint(key="gpu", value="yes", effect="NoSchedule"),))
    made.node("c", labels={"cores": "many"}, cordoned=True)
    made.node("d", taints=(Taint(key="soft", effect="PreferNoSchedule"), Taint(key="out", effect="NoExecute")))
    made.cluster.settle()
    return made


def view() -> View:
    return View.all(world().cluster)


def term(key: str, operator: str, *values: str) -> NodeSelectorTerm:
    return NodeSelectorTerm(match_expressions=(NodeSelectorRequirement(key=key, operator=operator, values=values),))


@pytest.mark.parametrize(
    ("wanted", "nodes"),
    [
        (term("zone", "In", "a", "b"), "ab"),
        (term("zone", "NotIn", "a"), "bcd"),
        (term("zone", "Exists"), "ab"),
        (term("zone", "DoesNotExist"), "cd"),
        (term("cores", "Gt", "8"), "b"),
        (term("cores", "Lt", "9"), "a"),
        (term("cores", "Gt", "x"), ""),
        (term("cores", "Gt", "1", "2"), ""),
        (term("zone", "In"), ""),
        (term("zone", "Exists", "a"), ""),
        (term("zone", "Near", "a"), ""),
        (NodeSelectorTerm(), ""),
        (
            NodeSelectorTerm(
                match_fields=(NodeSelectorRequirement(key="metadata.name", operator="In", values=("c",)),)
            ),
            "c",
        ),
        (
            NodeSelectorTerm(
                match_fields=(NodeSelectorRequirement(key="metadata.name", operator="NotIn", values=("c",)),)
            ),
            "abd",
        ),
        (NodeSelectorTerm(match_fields=(NodeSelectorRequirement(key="spec.x", operator="In", values=("c",)),)), ""),
    ],
)
def test_a_term_selects(wanted: NodeSelectorTerm, nodes: str) -> None:
    assert "".join(np.array(list("abcd"))[selectors.match_term(wanted, view())]) == nodes


@pytest.mark.parametrize(
    ("toleration", "is_borne"),
    [
        ({"key": "k", "value": "v"}, True),
        ({"key": "k", "operator": "Equal", "value": "other"}, False),
        ({"key": "k", "operator": "Exists"}, True),
        ({"operator": "Exists"}, True),
        ({"value": "v"}, True),
        ({"value": "w"}, False),
        ({"key": "k", "operator": "Exists", "effect": "NoExecute"}, False),
        ({"key": "k", "operator": "Exists", "effect": "NoSchedule"}, True),
        ({"key": "k", "operator": "Gt", "value": "1"}, False),
    ],
)
def test_a_toleration_matches_a_taint(toleration: dict[str, Any], is_borne: bool) -> None:
    taint = Taint(key="k", value="v", effect="NoSchedule")
    assert tolerations.is_tolerated(taint, [Toleration(**toleration)]) is is_borne


def passing(evaluate: Any, **spec: Any) -> str:
    task = Task(uid="u", namespace="ns", name="p", job="", shape=shape(**spec))
    return "".join(np.array(list("abcd"))[evaluate(task, view()) == 0])


def test_taints_that_forbid_need_a_toleration_and_those_that_discourage_do_not() -> None:
    assert passing(filters.taints) == "ac"
    assert passing(filters.taints, tolerations=(Toleration(key="gpu", operator="Exists"),)) == "abc"
    assert passing(filters.taints, tolerations=(Toleration(operator="Exists"),)) == "abcd"


def test_a_cordoned_node_takes_only_those_who_tolerate_it() -> None:
    assert passing(filters.unschedulable) == "abd"
    bears = (Toleration(key="node.kubernetes.io/unschedulable", operator="Exists", effect="NoSchedule"),)
    assert passing(filters.unschedulable, tolerations=bears) == "abcd"


def test_selector_and_required_terms_must_both_hold() -> None:
    assert passing(filters.node_affinity, node_selector={"zone": "a"}) == "a"
    assert passing(filters.node_affinity, affinity=require("zone", "a", "b")) == "ab"
    assert passing(filters.node_affinity, node_selector={"zone": "b"}, affinity=require("zone", "a")) == ""


def test_a_node_whose_facts_change_is_seen_anew() -> None:
    made = world()
    task = Task(uid="u", namespace="ns", name="p", job="", shape=shape(node_selector={"zone": "a"}))
    assert filters.node_affinity(task, View.all(made.cluster)).tolist() == [0, 1, 1, 1]
    made.node("d", labels={"zone": "a"})
    assert filters.node_affinity(task, View.all(made.cluster)).tolist() == [0, 1, 1, 0]
