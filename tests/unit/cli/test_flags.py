"""The syntax of flags."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cli.errors import UsageError
from cli.flags import BOOL, DURATION, INT, INT32, MODULES, STRING, STRINGS, Flag, Flags, parse

FLAGS = (
    Flag("name", "n", STRING, "the name"),
    Flag("all", "a", BOOL, "everything"),
    Flag("yes", "y", BOOL, "do it", True),
    Flag("count", "c", INT, "how many", 1),
    Flag("weight", "w", INT32, "how much"),
    Flag("env", "e", STRINGS, "variables"),
    Flag("wait", "", DURATION, "how long", 5.0),
    Flag("vmodule", "", MODULES, "levels"),
)


def read(*words: str) -> Flags:
    return parse(FLAGS, words)


@pytest.mark.parametrize(
    "words",
    [
        ("--name", "v"),
        ("--name=v",),
        ("-n", "v"),
        ("-nv",),
        ("-n=v",),
        ("-an", "v"),
        ("-anv",),
        ("--name", "x", "-n", "v"),
    ],
)
def test_a_value_is_given_in_every_usual_way(words: tuple[str, ...]) -> None:
    assert read(*words).text("name") == "v"


@pytest.mark.parametrize(
    ("words", "value"),
    [
        (("--all",), True),
        (("--all=true",), True),
        (("-a",), True),
        (("-a=false",), False),
        (("--all=0",), False),
        ((), False),
    ],
)
def test_a_boolean_stands_alone_or_with_an_equals_sign(words: tuple[str, ...], value: bool) -> None:
    assert read(*words).is_on("all") is value


def test_the_word_behind_a_boolean_is_a_word() -> None:
    flags = read("--all", "false", "-y=false", "tail")
    assert (flags.is_on("all"), flags.is_on("yes"), flags.words) == (True, False, ("false", "tail"))


def test_two_dashes_end_the_flags_and_one_dash_is_a_word() -> None:
    assert read("-", "--", "--bogus", "-x").words == ("-", "--bogus", "-x")


def test_values_may_begin_with_a_dash_and_be_empty() -> None:
    assert read("--name", "-a").text("name") == "-a"
    empty = read("--name=")
    assert (empty.text("name"), empty.is_given("name"), read().is_given("name")) == ("", True, False)


def test_numbers_and_durations() -> None:
    flags = read("-c", "0x10", "--weight=-3", "--wait", "1m30s", "--vmodule", "a=1,b=2")
    assert (flags.number("count"), flags.number("weight"), flags.seconds("wait")) == (16, -3, 90.0)
    assert flags.text("vmodule") == "a=1,b=2"
    assert (read().number("count"), read().seconds("wait")) == (1, 5.0)


def test_a_repeated_flag_keeps_every_value() -> None:
    assert read("-e", "A=1", "--env=B=2").texts("env") == ("A=1", "B=2")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--bogus=1",), "unknown flag: --bogus"),
        (("---name",), "bad flag syntax: ---name"),
        (("--=x",), "bad flag syntax: --=x"),
        (("-ax",), "unknown shorthand flag: 'x' in -x"),
        (("-an",), "flag needs an argument: 'n' in -n"),
        (("--count",), "flag needs an argument: --count"),
        (
            ("-c", "1.5"),
            'invalid argument "1.5" for "-c, --count" flag: strconv.ParseInt: parsing "1.5": invalid syntax',
        ),
    ],
)
def test_errors_name_the_flag(words: tuple[str, ...], message: str) -> None:
    with pytest.raises(UsageError) as error:
        read(*words)
    assert str(error.value) == message


@given(st.lists(st.text("-=naycx 1", max_size=5), max_size=5))
def test_any_line_is_read_or_refused(words: list[str]) -> None:
    message = "read"
    try:
        read(*words)
    except UsageError as error:
        message = str(error)
    assert message
