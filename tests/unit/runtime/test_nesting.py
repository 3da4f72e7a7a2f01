from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.nesting import DEPTH, Cut


def deep(levels: int, core: bytes = b"") -> bytes:
    return b"[" * levels + core + b"]" * levels


@pytest.mark.parametrize("levels", [1, DEPTH])
def test_what_a_parser_can_descend_is_left_alone(levels: int) -> None:
    assert Cut(deep(levels)).text == deep(levels)


@pytest.mark.parametrize("levels", [DEPTH + 1, 100_000])
def test_deep_values_become_strings_and_can_be_put_back(levels: int) -> None:
    text = b'{"a":%s,"b":"]}","c":%s,"d":[1]}' % (deep(levels), deep(levels, b'{"x":"[{"}'))
    cut = Cut(text)
    found = json.loads(cut.text)
    assert (found["b"], found["d"]) == ("]}", [1])
    assert cut.restored(cut.text) == text


@pytest.mark.parametrize("string", [rb'"\""', rb'"\\"', rb'"[[\"{{"', rb'"\u005b"'])
def test_brackets_and_quotes_in_strings_are_no_levels(string: bytes) -> None:
    text = b'{"a":[' + b",".join([string] * 2000) + b"]}"
    assert Cut(text).text == text


@given(st.binary(max_size=60), st.sampled_from([0, DEPTH - 2, DEPTH, DEPTH + 3]))
def test_any_bytes_can_be_cut_and_put_back(core: bytes, levels: int) -> None:
    text = deep(levels, core)
    cut = Cut(text)
    assert cut.restored(cut.text) == text
