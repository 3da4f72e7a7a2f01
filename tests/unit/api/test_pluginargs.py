from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from api.names import JOB_PLUGINS
from api.pluginargs import FLAGS, parse


@pytest.mark.parametrize(
    ("arguments", "master", "port", "refused", "reason"),
    [
        ([], "master", 22, "", ""),
        (["--master=a", "-port=23"], "a", 23, "", ""),
        (["--master", "a", "-port", "0x10"], "a", 16, "", ""),
        (["--master=a", "--master=b"], "b", 22, "", ""),
        (["--master="], "", 22, "", ""),
        (["--master=a=b"], "a=b", 22, "", ""),
        (["--masterr=a", "--port=1"], "master", 22, "--masterr=a", "no such flag; known: --master, --worker, --port"),
        (["--port=1", "x", "--master=a"], "master", 1, "x", "is no flag"),
        (["--port=1", "--", "--master=a"], "master", 1, "--master=a", "follows --"),
        (["--port=1", "--"], "master", 1, "", ""),
        (["--port"], "master", 22, "--port", "needs a value"),
        (["-"], "master", 22, "-", "is no flag"),
        (["---master=a"], "master", 22, "---master=a", "bad flag syntax"),
        (["--=a"], "master", 22, "--=a", "bad flag syntax"),
        ([""], "master", 22, "", "is no flag"),
    ],
)
def test_arguments_are_read_like_flags(arguments: list[str], master: str, port: int, refused: str, reason: str) -> None:
    parsed = parse("mpi", arguments)
    assert (parsed.values["master"], parsed.values["port"]) == (master, port)
    assert (parsed.refused, parsed.reason) == (refused, reason)


def test_a_number_that_is_none_ends_the_reading() -> None:
    parsed = parse("mpi", ["--port=x", "--master=a"])
    assert (parsed.refused, parsed.values["port"], parsed.values["master"]) == ("--port=x", 22, "master")
    assert parsed.reason


@pytest.mark.parametrize(
    ("argument", "expected"),
    [("--inject-hosts-env", True), ("--inject-hosts-env=false", False), ("-inject-hosts-env=F", False)],
)
def test_a_boolean_needs_no_value(argument: str, expected: bool) -> None:
    assert parse("svc", [argument]).values["inject-hosts-env"] is expected


def test_the_word_behind_a_boolean_is_none_of_its() -> None:
    parsed = parse("svc", ["--disable-network-policy", "false"])
    assert parsed.values["disable-network-policy"] is True
    assert parsed.refused == "false"


def test_every_plugin_has_its_flags() -> None:
    assert set(FLAGS) == set(JOB_PLUGINS)


@given(
    st.sampled_from(JOB_PLUGINS), st.lists(st.text(max_size=12) | st.sampled_from(["--port=1", "--master", "--", "-x"]))
)
def test_every_list_can_be_read(plugin: str, arguments: list[str]) -> None:
    parsed = parse(plugin, arguments)
    assert set(parsed.values) == set(FLAGS[plugin])
    assert not parsed.refused or parsed.refused in arguments


def test_arguments_are_read_in_time_that_grows_with_their_number() -> None:
    assert parse("svc", ["--inject-hosts-env"] * 100_000).refused == ""
    assert parse("mpi", ["--master", "a"] * 100_000).values["master"] == "a"


def test_digits_without_end_are_out_of_range() -> None:
    assert parse("mpi", ["--port", "9" * 5000]).reason.endswith(": value out of range")
