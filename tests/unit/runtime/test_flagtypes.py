from __future__ import annotations

import math
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.flagtypes import (
    BOOL,
    DURATION,
    FLOAT,
    GATES,
    INT,
    INT32,
    LEVEL,
    MODULES,
    SEVERITY,
    STRING,
    STRING_ARRAY,
    STRING_SLICE,
    UINT32,
    Kind,
)


@pytest.mark.parametrize(
    ("kind", "text", "value"),
    [
        (STRING, "", ""),
        (STRING, "a,b", "a,b"),
        (BOOL, "true", True),
        (BOOL, "T", True),
        (BOOL, "1", True),
        (BOOL, "False", False),
        (BOOL, "f", False),
        (INT, "15", 15),
        (INT, "-1", -1),
        (INT, "+7", 7),
        (INT, "0", 0),
        (INT, "0x1f", 31),
        (INT, "0b101", 5),
        (INT, "0o17", 15),
        (INT, "017", 15),
        (INT, "1_000", 1000),
        (INT, "-9223372036854775808", -(2**63)),
        (INT32, "2147483647", 2**31 - 1),
        (UINT32, "4294967295", 2**32 - 1),
        (FLOAT, "50.0", 50.0),
        (FLOAT, "1e3", 1000.0),
        (FLOAT, ".5", 0.5),
        (FLOAT, "-inf", -math.inf),
        (DURATION, "1m30s", 90.0),
        (DURATION, "200ms", 0.2),
        (DURATION, "0", 0.0),
        (STRING_ARRAY, "a,b", ("a,b",)),
        (STRING_ARRAY, "", ("",)),
        (STRING_SLICE, "a,b", ("a", "b")),
        (STRING_SLICE, 'a,"b,c"', ("a", "b,c")),
        (STRING_SLICE, "", ()),
        (STRING_SLICE, "*, -job-controller", ("*", " -job-controller")),
        (GATES, "", {}),
        (GATES, "A=true", {"A": True}),
        (GATES, " A = T ,, B=0,", {"A": True, "B": False}),
        (GATES, "A=true,A=false", {"A": False}),
        (LEVEL, "3", 3),
        (MODULES, "informer=4, scheduler/*=5,", {"informer": 4, "scheduler/*": 5}),
        (MODULES, "", {}),
        (SEVERITY, "error", 2),
        (SEVERITY, "WARNING", 1),
        (SEVERITY, "3", 3),
    ],
)
def test_a_word_becomes_a_value(kind: Kind[Any], text: str, value: Any) -> None:
    assert kind.parse(text) == value


@pytest.mark.parametrize(
    ("kind", "text", "message"),
    [
        (BOOL, "maybe", 'strconv.ParseBool: parsing "maybe": invalid syntax'),
        (BOOL, "", 'strconv.ParseBool: parsing "": invalid syntax'),
        (INT, "x", 'strconv.ParseInt: parsing "x": invalid syntax'),
        (INT, "", 'strconv.ParseInt: parsing "": invalid syntax'),
        (INT, " 1", 'strconv.ParseInt: parsing " 1": invalid syntax'),
        (INT, "089", 'strconv.ParseInt: parsing "089": invalid syntax'),
        (INT, "1__0", 'strconv.ParseInt: parsing "1__0": invalid syntax'),
        (INT, "\u0661", 'strconv.ParseInt: parsing "\u0661": invalid syntax'),
        (INT, "9223372036854775808", 'strconv.ParseInt: parsing "9223372036854775808": value out of range'),
        (INT32, "2147483648", 'strconv.ParseInt: parsing "2147483648": value out of range'),
        (UINT32, "-1", 'strconv.ParseUint: parsing "-1": invalid syntax'),
        (UINT32, "+1", 'strconv.ParseUint: parsing "+1": invalid syntax'),
        (UINT32, "4294967296", 'strconv.ParseUint: parsing "4294967296": value out of range'),
        (FLOAT, "fast", 'strconv.ParseFloat: parsing "fast": invalid syntax'),
        (FLOAT, "1 ", 'strconv.ParseFloat: parsing "1 ": invalid syntax'),
        (FLOAT, "1e400", 'strconv.ParseFloat: parsing "1e400": value out of range'),
        (GATES, "A", "missing bool value for A"),
        (GATES, "A=maybe", 'invalid value of A=maybe, err: strconv.ParseBool: parsing "maybe": invalid syntax'),
        (LEVEL, "high", 'strconv.ParseInt: parsing "high": invalid syntax'),
        (MODULES, "informer", "syntax error: expect comma-separated list of filename=N"),
        (MODULES, "=3", "syntax error: expect comma-separated list of filename=N"),
        (MODULES, "a=-1", "negative value for vmodule level"),
        (SEVERITY, "loud", 'strconv.ParseInt: parsing "loud": invalid syntax'),
    ],
)
def test_an_unreadable_word_gives_the_text_that_go_programs_print(kind: Kind[Any], text: str, message: str) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        kind.parse(text)


def test_an_open_quote_in_a_list_is_an_error() -> None:
    with pytest.raises(ValueError, match="unexpected end of data"):
        STRING_SLICE.parse('a,"b')


def test_a_duration_without_unit_is_an_error() -> None:
    with pytest.raises(ValueError, match="15"):
        DURATION.parse("15")


@pytest.mark.parametrize(
    ("kind", "value", "shown"),
    [
        (STRING, "", ""),
        (STRING, ":8080", '":8080"'),
        (BOOL, True, "true"),
        (BOOL, False, ""),
        (INT, 0, ""),
        (INT, 100, "100"),
        (FLOAT, 2000.0, "2000"),
        (FLOAT, 0.0, ""),
        (DURATION, 0.0, ""),
        (DURATION, 1.0, "1s"),
        (DURATION, 90.0, "1m30s"),
        (STRING_ARRAY, ("volcano",), "[volcano]"),
        (STRING_SLICE, (), ""),
        (GATES, {}, ""),
        (GATES, {"B": True, "A": False}, "A=false,B=true"),
    ],
)
def test_defaults_are_shown_as_go_programs_show_them(kind: Kind[Any], value: Any, shown: str) -> None:
    assert kind.show(value) == shown


@given(st.integers(-(2**63), 2**63 - 1), st.sampled_from(["{}", "{:#x}", "{:#o}", "{:#b}", "{:_}"]))
def test_every_integer_is_read_back_in_every_base(value: int, form: str) -> None:
    assert INT.parse(form.format(value)) == value


@given(st.text(max_size=8))
def test_any_text_is_an_integer_or_a_value_error(text: str) -> None:
    try:
        assert INT32.parse(text) == int(text.replace("_", ""), 8 if text.lstrip("+-").startswith("0") else 0)
    except ValueError as error:
        assert f'"{text}"' in str(error) or "base" in str(error)  # noqa: PT017  # both outcomes are right


@given(st.lists(st.from_regex(r"[a-z*+-]+", fullmatch=True)))
def test_lists_survive_joining_and_reading(names: list[str]) -> None:
    assert STRING_SLICE.parse(",".join(names)) == tuple(names)
