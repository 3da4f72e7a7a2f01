from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.rbac import READ, Rule, document, join

WORDS = st.sampled_from(["a", "b", "c"])
RULES = st.builds(
    Rule,
    st.sampled_from(["", "g"]),
    st.lists(WORDS, min_size=1, max_size=3).map(tuple),
    st.lists(WORDS, min_size=1, max_size=3).map(tuple),
    st.lists(WORDS, max_size=1).map(tuple),
)


def permissions(rules: list[Rule]) -> set[tuple[str, str, str, tuple[str, ...]]]:
    """Each single permission: group, resource, verb, names."""
    return {(rule.group, each, verb, rule.names) for rule in rules for each in rule.resources for verb in rule.verbs}


@given(st.lists(RULES))
def test_joined_rules_permit_the_same_and_each_thing_once(rules: list[Rule]) -> None:
    joined = join(rules)
    assert permissions(joined) == permissions(rules)
    assert sum(len(rule.resources) * len(rule.verbs) for rule in joined) == len(permissions(rules))
    assert len({(rule.group, rule.verbs, rule.names) for rule in joined}) == len(joined)
    assert join(reversed(joined)) == joined, "order does not matter"


@pytest.mark.parametrize(
    ("rules", "joined"),
    [
        ([], []),
        (
            [Rule("g", ("pods",), READ), Rule("g", ("nodes",), READ)],
            [Rule("g", ("nodes", "pods"), ("get", "list", "watch"))],
        ),
        ([Rule("g", ("pods",), ("get",)), Rule("g", ("pods",), ("patch",))], [Rule("g", ("pods",), ("get", "patch"))]),
        (
            [Rule("g", ("pods",), ("get",)), Rule("h", ("pods",), ("get",))],
            [Rule("g", ("pods",), ("get",)), Rule("h", ("pods",), ("get",))],
        ),
        (
            [Rule("g", ("secrets",), ("create",)), Rule("g", ("secrets",), ("get",), ("mine",))],
            [Rule("g", ("secrets",), ("create",)), Rule("g", ("secrets",), ("get",), ("mine",))],
        ),
    ],
)
def test_rules_are_joined_where_that_permits_no_more(rules: list[Rule], joined: list[Rule]) -> None:
    assert join(rules) == joined


@pytest.mark.parametrize(
    "parts", [("*", ("pods",), ("get",)), ("", ("*",), ("get",)), ("", ("pods/*",), ("get",)), ("", ("pods",), ("*",))]
)
def test_a_rule_names_what_it_permits(parts: tuple[str, tuple[str, ...], tuple[str, ...]]) -> None:
    with pytest.raises(ValueError, match="wildcards are not allowed"):
        Rule(*parts)


def test_a_rule_in_a_role() -> None:
    body = {"apiGroups": [""], "resources": ["secrets"], "verbs": ["get"]}
    assert document(Rule("", ("secrets",), ("get",))) == body
    assert document(Rule("", ("secrets",), ("get",), ("mine",))) == body | {"resourceNames": ["mine"]}
