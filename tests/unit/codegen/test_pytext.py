from __future__ import annotations

import ast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codegen.pytext import display, docstring, literal, module


@given(st.text())
def test_a_literal_means_its_text(value: str) -> None:
    assert ast.literal_eval(literal(value)) == value
    assert literal(value).startswith('"')


@given(st.lists(st.text()))
def test_a_display_is_the_tuple(values: list[str]) -> None:
    assert ast.literal_eval(display(map(literal, values))) == tuple(values)


@given(st.text(st.characters(exclude_categories=["C", "Z"]) | st.sampled_from(' \n"\\')))
def test_a_docstring_holds_the_words(text: str) -> None:
    made = docstring(text)
    words = text.split()
    if words:
        held = ast.literal_eval(made)
        assert held.split() == " ".join(words).replace('"""', "'''").split()
        assert "\n" not in made
    else:
        assert made == ""


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("A thing.", '"""A thing."""'),
        ("Two\n  lines.", '"""Two lines."""'),
        ('Says "no"', '"""Says "no" """'),
        ("No \0bell\x07.", '"""No bell."""'),
        (r"A \d pattern.", r'"""A \\d pattern."""'),
    ],
)
def test_docstrings_stand_in_one_line(text: str, expected: str) -> None:
    assert docstring(text) == expected


def test_imports_are_grouped_and_joined() -> None:
    imports = [
        "from ..meta.v1 import Time",
        "from typing import TypeAlias",
        "from runtime.model import Model",
        "import msgspec",
        "from typing import Final",
        "from ..meta.v1 import ObjectMeta",
        "from msgspec import UNSET",
    ]
    assert module("Things.", imports, "x = 1\n\n") == (
        '"""Things."""\n\n'
        "from __future__ import annotations\n\n"
        "from typing import Final, TypeAlias\n\n"
        "import msgspec\n"
        "from msgspec import UNSET\n\n"
        "from runtime.model import Model\n\n"
        "from ..meta.v1 import ObjectMeta, Time\n\n\n"
        "x = 1\n"
    )


def test_a_module_without_a_body_is_its_docstring() -> None:
    assert module("Nothing.", [], "") == '"""Nothing."""\n'
