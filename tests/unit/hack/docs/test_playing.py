"""Commands of a page are typed into a shell, in one folder, and looks are repeated until they show what was to come."""

from __future__ import annotations

from pathlib import Path

import pytest

from hack.docs import playing
from hack.docs.playing import play


def page(*lines: str) -> str:
    return "\n".join(["```text file=word.txt", "hello", "```", "", "```console run", *lines, "```", ""])


def played(folder: Path, *lines: str, patience: float = 0.0) -> list[tuple[str, bool]]:
    return [(answer.printed, answer.is_as_shown) for answer in play(page(*lines), folder, {}, patience=patience)]


def test_commands_find_the_files_of_the_page_and_what_those_before_them_left(tmp_path: Path) -> None:
    lines = ("$ cat word.txt", "hello", "$ mv word.txt other.txt", "$ cat other.txt", "bye")
    assert played(tmp_path, *lines) == [("hello\n", True), ("", True), ("hello\n", False)]


def test_both_streams_are_shown_and_the_last_line_ends(tmp_path: Path) -> None:
    assert played(tmp_path, "$ printf out; printf err >&2", "outerr") == [("outerr\n", True)]


def test_the_readers_own_settings_do_not_count(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    assert played(tmp_path, "$ echo $TZ $COLUMNS", "UTC 160") == [("UTC 160\n", True)]


COUNTS = "count=$(cat count 2>/dev/null || echo 0); echo $((count + 1)) | tee count"
"""A command that prints another number each time."""


def test_a_look_is_repeated_until_it_shows_what_is_to_come(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(playing, "LOOKS", ("count=",))
    monkeypatch.setattr(playing, "PAUSE", 0.0)
    assert played(tmp_path, f"$ {COUNTS}", "3", patience=60) == [("3\n", True)]
    assert played(tmp_path, f"$ {COUNTS}", "3") == [("4\n", False)]


def test_what_changes_something_is_done_once(tmp_path: Path) -> None:
    assert played(tmp_path, f"$ {COUNTS}", "3", patience=60) == [("1\n", False)]
