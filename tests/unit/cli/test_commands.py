"""How words find their command, and the texts that all commands show."""

from __future__ import annotations

from pathlib import Path

import pytest

from cli.commands import Command, find
from cli.errors import UsageError
from cli.flags import BOOL, STRING, Flag
from cli.shorttree import NAMES
from cli.tree import root_of
from tests.unit.cli.harness import run

GOLDEN = Path(__file__).resolve().parents[2] / "golden" / "vcctl-help.txt"


def tree() -> Command:
    leaf = Command("leaf", "a leaf", run="x:y", flags=(Flag("name", "n", STRING, ""), Flag("all", "a", BOOL, "")))
    group = Command("group", "a group", children=(leaf, Command("other", "", run="x:y")))
    hidden = Command("hidden", "", run="x:y", hidden=True)
    return Command("top", "", children=(group, hidden, Command("alone", "", run="x:y")))


@pytest.mark.parametrize(
    ("words", "path", "rest"),
    [
        ("", "top", ""),
        ("group", "top group", ""),
        ("group leaf", "top group leaf", ""),
        ("group leaf -n x word", "top group leaf", "-n x word"),
        ("group -n leaf leaf", "top group leaf", "-n leaf"),
        ("group --name=leaf leaf", "top group leaf", "--name=leaf"),
        ("group -nleaf leaf", "top group leaf", "-nleaf"),
        ("-v 3 group leaf", "top group leaf", "-v 3"),
        ("group leaf leaf", "top group leaf", "leaf"),
        ("group bogus", "top group", "bogus"),
        ("group -- leaf", "top group", "-- leaf"),
        ("hidden", "top hidden", ""),
        ("alone group", "top alone", "group"),
    ],
)
def test_words_lead_to_a_command_and_the_rest_is_kept(words: str, path: str, rest: str) -> None:
    command, left = find(tree(), words.split())
    assert (" ".join(command.path), " ".join(left)) == (path, rest)


@pytest.mark.parametrize(
    ("word", "close"),
    [
        ("grup", ["group"]),
        ("gr", ["group"]),
        ("GROUP", ["group"]),
        ("alonne", ["alone"]),
        ("hiden", []),
        ("nothing-like-it", []),
    ],
)
def test_a_misspelt_command_is_answered_with_what_is_close(word: str, close: list[str]) -> None:
    with pytest.raises(UsageError) as error:
        find(tree(), [word])
    expected = f'unknown command "{word}" for "top"'
    if close:
        expected += "\n\nDid you mean this?\n" + "".join(f"\t{name}\n" for name in close)
    assert str(error.value) == expected


def test_failures_name_the_path_backwards() -> None:
    command, _ = find(tree(), ["group", "leaf"])
    assert command.reversed_path == "leaf group"
    assert tree().reversed_path == ""


def all_help() -> str:
    """The help of every command, as people see it."""
    parts = []
    for name in ("vcctl", *NAMES):
        for command in root_of(name).walk():
            words = " ".join(command.path)
            parts.append(f"$ {words} --help\n{run(*command.path[1:], '--help', program=name).out}")
    return "\n".join(parts)


def test_no_help_changes_unnoticed() -> None:
    assert all_help() == GOLDEN.read_text(encoding="utf-8")
