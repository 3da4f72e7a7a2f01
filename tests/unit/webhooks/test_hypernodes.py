"""Members and patterns of HyperNodes."""

from __future__ import annotations

from typing import Any

import pytest

from generated.topology.v1alpha1 import HYPER_NODES
from tests.unit.webhooks.queues.worlds import Answer, Queues, read
from tests.unit.webhooks.reviews import answer, body
from webhooks.hypernodes import HyperNodeRules


def hypernode(*members: Any, name: str = "h") -> dict[str, Any]:
    return {"metadata": {"name": name}, "spec": {"tier": 1, "members": list(members)}}


def regex(pattern: str, kind: str = "Node") -> dict[str, Any]:
    return {"type": kind, "selector": {"regexMatch": {"pattern": pattern}}}


def exact(name: str, kind: str = "Node") -> dict[str, Any]:
    return {"type": kind, "selector": {"exactMatch": {"name": name}}}


def told(new: Any, old: Any = None, **request: Any) -> Answer:
    return read(answer(Queues().endpoint(HyperNodeRules), body(HYPER_NODES, new, old, **request)))


@pytest.mark.parametrize(
    ("new", "value"),
    [
        (hypernode(), "[]"),
        ({"metadata": {"name": "h"}, "spec": {"tier": 1}}, "null"),
        ({"metadata": {"name": "h"}}, "null"),
        ({"metadata": {"name": "h"}, "spec": {"members": None}}, "null"),
    ],
)
def test_a_hypernode_has_members(new: Any, value: str) -> None:
    assert told(new) == (f"spec.members: Invalid value: {value}: member must have at least one member", ())


@pytest.mark.parametrize(
    "pattern", [r"^node-\d+$", r"\pL", "[[:alpha:]]", r"a\z", "(?P<n>a)", "(?i)a", "(?U)a", "(?<n>a)"]
)
def test_a_pattern_that_users_of_go_know_is_accepted(pattern: str) -> None:
    assert told(hypernode(regex(pattern))) == ("", ())


@pytest.mark.parametrize(
    ("pattern", "reason"),
    [
        ("a(b", "missing closing ): `a(b`"),
        ("*", "missing argument to repetition operator: `*`"),
        ("[z-a]", "invalid character class range: `z-a`"),
        ("[a", "missing closing ]: `[a`"),
        ("(?=a)", "invalid or unsupported Perl syntax: `(?=`"),
        ("a{1001}", "invalid repeat count: `{1001}`"),
        ("a)", "unexpected ): `a)`"),
        ("a**", "invalid nested repetition operator: `**`"),
    ],
)
def test_a_pattern_that_means_nothing_is_told_with_its_place(pattern: str, reason: str) -> None:
    message = told(hypernode(exact("n"), regex(pattern))).message
    assert message == (
        f'spec.members[1].selector.regexMatch.pattern: Invalid value: "{pattern}":'
        f" member regexMatch pattern is invalid: error parsing regexp: {reason}"
    )


def test_all_bad_patterns_are_told() -> None:
    message = told(hypernode(regex("("), regex("ok"), regex("["))).message
    assert message.startswith("[spec.members[0].selector")
    assert ", spec.members[2].selector" in message


@pytest.mark.parametrize(
    ("member", "warned"),
    [
        (exact("h", "HyperNode"), True),
        (regex("^h$", "HyperNode"), True),
        (exact("h"), False),
        (exact("other", "HyperNode"), False),
        (regex("^g", "HyperNode"), False),
        ({"type": "HyperNode", "selector": {"labelMatch": {}}}, False),
    ],
)
def test_a_hypernode_that_is_its_own_member_is_told(member: Any, warned: bool) -> None:
    text = "spec.members[0]: selects h itself, which can't be a member of itself"
    assert told(hypernode(member)) == ("", (text,) if warned else ())


def test_a_stored_hypernode_that_is_wrong_can_be_labelled_and_deleted() -> None:
    wrong = hypernode(regex("("))
    assert told({**wrong, "metadata": {"name": "h", "labels": {"a": "b"}}}, wrong) == ("", ())
    assert "error parsing regexp" in told(hypernode(regex("(("))).message
    assert "error parsing regexp" in told(hypernode(regex("((")), wrong).message
    assert told(None, wrong, operation="DELETE") == ("", ()), "other operations pass without a word"
