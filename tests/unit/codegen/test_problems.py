from __future__ import annotations

import pytest

from codegen.problems import Problem, SourceError, choice, hint


def test_a_problem_reads_as_file_path_and_advice() -> None:
    assert str(Problem("a.yaml", "x.y", "is missing: add it")) == "a.yaml: x.y: is missing: add it"
    assert str(Problem("a.yaml", "", "is empty")) == "a.yaml: is empty"


def test_problems_are_told_once_and_in_order() -> None:
    first, second = Problem("a.yaml", "x", "1"), Problem("b.yaml", "x", "1")
    assert SourceError([second, first, second]).problems == (first, second)


@pytest.mark.parametrize(("word", "text"), [("colour", "; did you mean 'color'?"), ("zzz", "")])
def test_a_close_word_is_suggested(word: str, text: str) -> None:
    assert hint(word, ["color", "size"]) == text


@pytest.mark.parametrize(
    ("word", "text"),
    [("colour", "; did you mean 'color'? Known: color, size"), ("zzz", "; known: color, size")],
)
def test_all_known_words_are_told_after_the_closest(word: str, text: str) -> None:
    assert choice(word, ["color", "size"]) == text
