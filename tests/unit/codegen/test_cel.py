from __future__ import annotations

from typing import Any

import pytest

from codegen.cel import faults

TEXT = {"type": "string"}
NODE = {
    "type": "object",
    "properties": {
        "a": TEXT,
        "b": {"type": "object", "properties": {"c": TEXT}},
        "labels": {"type": "object", "additionalProperties": TEXT},
        "open": {"type": "array", "items": {"type": "object", "properties": {"x": TEXT}}},
        "closed": {"type": "array", "maxItems": 5, "items": {"type": "string", "maxLength": 5}},
    },
}


def told(rule: Any, enclosing: int = 0) -> list[str]:
    return [f"{place}: {message}" for place, message in faults([rule], NODE, lambda node: node, enclosing)]


def rule(text: str) -> dict[str, str]:
    return {"rule": text, "message": "No."}


@pytest.mark.parametrize(
    "text",
    [
        "has(self.a) || has(self.b.c)",
        "self.a == 'self.zzz (' ",
        "self.a.startsWith('x')",
        "self.labels.anything == 'a'",
        "self.labels.all(k, self.labels[k] != '')",
        "self.open.all(o, has(o.x))",
        "self.closed.all(a, self.closed.exists(b, a == b))",
        "self.open.all(o, o.x in self.closed)",
        "!has(oldSelf.a) || self.a == oldSelf.a",
        "size(self.open) < 3 && [1, 2].exists(n, n == 1)",
        "self.?a.orValue('') == ''",
    ],
)
def test_a_sound_rule_passes(text: str) -> None:
    assert told(rule(text)) == []


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("has(self.aa)", "there is no field 'aa' here"),
        ("has(self.b.d)", "there is no field 'd' here"),
        ("self.labls.size() > 0", "there is no field 'labls' here; did you mean 'labels'?"),
        ("has(self.a", "'(' is never closed"),
        ("has(self.a))", "')' closes nothing"),
        ("self.open[0}", "'}' closes nothing"),
        ("self.open.all(a, self.open.exists(b, a == b))", "loops over unbounded lists inside each other"),
    ],
)
def test_a_rule_that_the_server_refuses_is_named(text: str, words: str) -> None:
    found = told(rule(text))
    assert len(found) == 1
    assert found[0].startswith("[0].rule: ")
    assert words in found[0]


def test_a_loop_inside_an_unbounded_list_costs_too_much() -> None:
    assert told(rule("self.open.all(o, has(o.x))"), enclosing=1)
    assert told(rule("has(self.a)"), enclosing=3) == []
    assert told(rule("self.closed.all(c, c != '')"), enclosing=1) == []


def test_loops_side_by_side_do_not_multiply() -> None:
    assert told(rule("self.open.all(o, has(o.x)) && self.open.exists(o, o.x == 'a')")) == []


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ({"rule": "true"}, "[0].message: is missing: say in one line what the user has to do"),
        ({"rule": "true", "message": " "}, "[0].message: is missing"),
        ({"rule": "true", "message": "a\nb"}, "[0].message: must be one line"),
        ({"message": "No."}, "[0].rule: is missing: write the CEL expression that has to hold"),
        ({"rule": "true", "message": "No.", "mesage": 1}, "[0].mesage: unknown key; did you mean 'message'?"),
        ({"rule": "true", "message": "No.", "reason": "Bad"}, "[0].reason: 'Bad' is none of FieldValueInvalid"),
        ("true", "[0]: must be a mapping {rule, message}"),
    ],
)
def test_a_rule_has_a_shape(value: Any, words: str) -> None:
    assert any(line.startswith(words) for line in told(value))


def test_rules_are_a_list() -> None:
    assert list(faults({}, NODE, lambda node: node, 0)) == [("", "must be a list of {rule, message}")]
