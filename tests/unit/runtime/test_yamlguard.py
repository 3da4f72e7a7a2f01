from __future__ import annotations

import re
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from runtime.yamlguard import Bounded, safe_load

LEAVES = st.none() | st.booleans() | st.integers() | st.text(max_size=5)
VALUES = st.recursive(LEAVES, lambda v: st.lists(v, max_size=4) | st.dictionaries(st.text(max_size=5), v, max_size=4))

BOMB = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]\n" for n in range(1, 10)
)


@given(VALUES)
def test_what_the_library_reads_is_read_alike(value: Any) -> None:
    text = yaml.safe_dump(value)
    assert safe_load(text) == yaml.safe_load(text)


def test_sections_that_are_used_several_times_are_one_value() -> None:
    assert safe_load("base: &b {cpu: 1}\nfirst: *b\nsecond: *b\nthird: {<<: *b, memory: 2}") == {
        "base": {"cpu": 1}, "first": {"cpu": 1}, "second": {"cpu": 1}, "third": {"cpu": 1, "memory": 2},
    }  # fmt: skip


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        pytest.param(BOMB, "its aliases repeat more than 1000000 values", id="bomb"),
        pytest.param("a: &a [1, *a]", "a[1]: an alias leads back to the section that it stands in", id="loop"),
        pytest.param("&a {b: {c: *a}}", "b.c: an alias leads back to the section that it stands in", id="outer loop"),
        pytest.param("[" * 5000 + "]" * 5000, "nested too deeply", id="depth"),
        pytest.param("{a: " * 5000 + "}" * 5000, "nested too deeply", id="depth of maps"),
    ],
)
def test_what_can_not_be_held_is_refused(text: str, problem: str) -> None:
    with pytest.raises(yaml.YAMLError, match=re.escape(problem)):
        safe_load(text)


def test_each_of_several_documents_is_looked_at() -> None:
    class Loader(Bounded, yaml.SafeLoader):
        pass

    documents = yaml.load_all("a: 1\n---\na: &a [*a]", Loader=Loader)
    assert next(documents) == {"a": 1}
    with pytest.raises(yaml.YAMLError, match="leads back"):
        next(documents)


def test_a_long_list_takes_no_long_time() -> None:
    assert len(safe_load("\n".join(["- x"] * 20_000))) == 20_000
