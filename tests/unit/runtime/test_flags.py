from __future__ import annotations

import argparse
from typing import Any

import pytest

from runtime import version
from runtime.flags import FlagError, FlagParser, exit_invalid
from runtime.flagtypes import BOOL, FLOAT, GATES, INT, LEVEL, STRING, STRING_ARRAY, STRING_SLICE

PROGRAM = "vc-scheduler"


def parser(**settings: Any) -> FlagParser:
    found = FlagParser(PROGRAM, **settings)
    found.flag("master", STRING, "", "the address of the API server", short="s")
    found.flag("kube-api-qps", FLOAT, 50.0, "requests a second")
    found.flag("max_requeue_num", INT, 15, "retries")
    found.flag("leader-elect", BOOL, True, "elect a leader")
    found.flag("all", BOOL, False, "everything", short="a")
    found.flag("scheduler-name", STRING_ARRAY, ("volcano",), "names that are ours")
    found.flag("controllers", STRING_SLICE, ("*", "-sharding-controller"), "switches")
    found.flag("feature-gates", GATES, {}, "features")
    found.flag("v", LEVEL, 0, "verbosity", short="v")
    return found


def parse(*words: str) -> argparse.Namespace:
    return parser().parse(words)


@pytest.mark.parametrize(
    ("words", "name", "value"),
    [
        ([], "master", ""),
        (["--master=http://x"], "master", "http://x"),
        (["--master", "http://x"], "master", "http://x"),
        (["--master="], "master", ""),
        (["--master", ""], "master", ""),
        (["--master", "--v=3"], "master", "--v=3"),
        (["--master=a=b"], "master", "a=b"),
        (["-s", "x"], "master", "x"),
        (["-sx"], "master", "x"),
        (["-s=x"], "master", "x"),
        (["-s="], "master", "="),
        (["-s", "-x"], "master", "-x"),
        (["--max-requeue-num", "-1"], "max_requeue_num", -1),
        (["--max_requeue_num=-1"], "max_requeue_num", -1),
        (["--max_requeue-num=3"], "max_requeue_num", 3),
        (["--kube-api-qps=2000"], "kube_api_qps", 2000.0),
        ([], "leader_elect", True),
        (["--leader-elect"], "leader_elect", True),
        (["--leader-elect=false"], "leader_elect", False),
        (["--leader_elect=0"], "leader_elect", False),
        (["--leader-elect", "false"], "leader_elect", True),
        (["--all"], "all", True),
        (["-a"], "all", True),
        (["-a=false"], "all", False),
        (["-av3"], "v", 3),
        (["-as", "x"], "master", "x"),
        (["-v=3"], "v", 3),
        (["--v=3"], "v", 3),
        (["-v", "3"], "v", 3),
        (["-v3"], "v", 3),
        (["--v", "3"], "v", 3),
        (["-v=1", "--v=4"], "v", 4),
        (["--master=a", "--master=b"], "master", "b"),
        (["--leader-elect=false", "--leader-elect"], "leader_elect", True),
    ],
)
def test_a_flag_is_read_in_each_of_its_spellings(words: list[str], name: str, value: Any) -> None:
    assert getattr(parse(*words), name) == value


@pytest.mark.parametrize(
    ("words", "value"),
    [
        ([], ("volcano",)),
        (["--scheduler-name=a"], ("a",)),
        (["--scheduler-name=a", "--scheduler-name=b"], ("a", "b")),
        (["--scheduler-name=a,b"], ("a,b",)),
    ],
)
def test_an_array_takes_one_entry_an_occurrence_and_replaces_the_default(
    words: list[str], value: tuple[str, ...]
) -> None:
    assert parse(*words).scheduler_name == value


@pytest.mark.parametrize(
    ("words", "value"),
    [
        ([], ("*", "-sharding-controller")),
        (["--controllers=+a,-b", "--controllers", "-c"], ("+a", "-b", "-c")),
        (["--controllers="], ()),
    ],
)
def test_a_slice_splits_at_commas_and_replaces_the_default(words: list[str], value: tuple[str, ...]) -> None:
    assert parse(*words).controllers == value


def test_gates_add_up_over_repeats() -> None:
    assert parse("--feature-gates=A=true,B=true", "--feature-gates=B=false").feature_gates == {"A": True, "B": False}


def test_parsing_twice_starts_from_the_defaults_again() -> None:
    found = parser()
    found.parse(["--scheduler-name=a"])
    assert found.parse(["--scheduler-name=b"]).scheduler_name == ("b",)
    assert found.parse([]).scheduler_name == ("volcano",)


@pytest.mark.parametrize("words", [["2>&1"], ["-v=2", "2>&1"], ["stray", "-v=2", "words"], ["-"], ["--", "--bogus"]])
def test_words_that_are_no_flags_are_ignored(words: list[str]) -> None:
    assert parse(*words).master == ""


def test_the_line_of_the_chart_is_read() -> None:
    found = parse("--leader-elect=false", "--kube-api-qps=2000", "--scheduler-name=volcano", "-v=3", "2>&1")
    assert (found.leader_elect, found.kube_api_qps, found.v) == (False, 2000.0, 3)


def test_flags_and_other_words_can_be_told_apart() -> None:
    flags, others = parser().canonical(["run", "-v3", "--all", "extra", "--", "--v"])
    assert flags == ["--v=3", "--all=true"]
    assert others == ["run", "extra", "--v"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--bogus"], "unknown flag: --bogus"),
        (["--bogus=1"], "unknown flag: --bogus"),
        (["--mast=x"], "unknown flag: --mast"),
        (["--no-leader-elect"], "unknown flag: --no-leader-elect"),
        (["-x"], "unknown shorthand flag: 'x' in -x"),
        (["-ax"], "unknown shorthand flag: 'x' in -ax"),
        (["-logtostderr"], "unknown shorthand flag: 'l' in -logtostderr"),
        (["--master"], "flag needs an argument: --master"),
        (["-as"], "flag needs an argument: 's' in -as"),
        (["--=x"], "bad flag syntax: --=x"),
        (["---v"], "bad flag syntax: ---v"),
        (
            ["--kube-api-qps=fast"],
            'invalid argument "fast" for "--kube-api-qps" flag: strconv.ParseFloat: parsing "fast": invalid syntax',
        ),
        (["-v", "x"], 'invalid argument "x" for "-v, --v" flag: strconv.ParseInt: parsing "x": invalid syntax'),
        (
            ["--all=maybe"],
            'invalid argument "maybe" for "-a, --all" flag: strconv.ParseBool: parsing "maybe": invalid syntax',
        ),
        (["--feature-gates=A"], 'invalid argument "A" for "--feature-gates" flag: missing bool value for A'),
    ],
)
@pytest.mark.parametrize("code", [2, 1])
def test_an_unreadable_line_is_told_on_stderr(
    words: list[str], message: str, code: int, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as caught:
        parser(usage_exit=code).parse(words)
    out, err = capsys.readouterr()
    assert caught.value.code == code
    assert err.splitlines() == [message, f"Run '{PROGRAM} --help' for the flags."]
    assert out == ""


def test_a_message_with_a_percent_sign_is_printed_as_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        parse("--v=%s")
    assert '"%s"' in capsys.readouterr().err


@pytest.mark.parametrize("words", [["--help"], ["-h"], ["-v=2", "--help", "2>&1"]])
def test_help_prints_the_usage_and_succeeds(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        parser(description="Schedules pods.").parse(words)
    out, err = capsys.readouterr()
    assert caught.value.code == 0
    assert err == ""
    assert out.splitlines() == [
        "Schedules pods.",
        "",
        "Usage:",
        "  vc-scheduler [flags]",
        "",
        "Flags:",
        "  -a, --all                           everything",
        "      --controllers strings           switches (default [*,-sharding-controller])",
        "      --feature-gates mapStringBool   features",
        "  -h, --help                          help for vc-scheduler",
        "      --kube-api-qps float            requests a second (default 50)",
        "      --leader-elect                  elect a leader (default true)",
        "  -s, --master string                 the address of the API server",
        "      --max-requeue-num int           retries (default 15)",
        "      --scheduler-name stringArray    names that are ours (default [volcano])",
        "  -v, --v Level                       verbosity",
        "      --version                       print the version and exit",
    ]


def test_version_prints_the_block_and_succeeds(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        parse("--version")
    assert caught.value.code == 0
    assert capsys.readouterr().out == f"{version.current()}\n"


def test_version_false_goes_on() -> None:
    assert parse("--version=false").version is False


def test_a_bad_flag_beside_version_is_still_an_error() -> None:
    with pytest.raises(SystemExit) as caught:
        parse("--version", "--bogus")
    assert caught.value.code == 2


def test_declaring_a_flag_twice_is_a_mistake_in_the_program() -> None:
    found = parser()
    with pytest.raises(ValueError, match="--kube-api-qps"):
        found.flag("kube_api_qps", FLOAT, 1.0, "again")
    with pytest.raises(ValueError, match="'v'"):
        found.flag("verbose", BOOL, False, "again", short="v")


def test_every_flag_can_be_described_with_its_value() -> None:
    found = parser()
    lines = found.describe(found.parse(["--master=x"]))
    assert '--master="x"' in lines
    assert '--max-requeue-num="15"' in lines
    assert len(lines) == 11


def test_canonical_raises_for_callers_with_texts_of_their_own() -> None:
    with pytest.raises(FlagError, match="unknown flag: --nope"):
        parser().canonical(["--nope"])


@pytest.mark.parametrize(
    ("errors", "text"), [(["one is wrong"], "one is wrong\n"), (["a is wrong", "b too"], "[a is wrong, b too]\n")]
)
def test_contradicting_settings_end_the_process_with_all_messages(
    errors: list[str], text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as caught:
        exit_invalid(errors)
    assert caught.value.code == 1
    assert capsys.readouterr().err == text


def test_settings_without_contradiction_pass() -> None:
    exit_invalid([])
