"""
What is wrong with the sources under `api/`, told so that the author can act.

A run of the generator collects every problem that it can see before it gives up: an author who
made three mistakes reads of three mistakes.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, order=True)
class Problem:
    """One mistake: the file (relative to the project root), the path of keys inside it, and what to do."""

    file: str
    path: str
    message: str

    def __str__(self) -> str:
        place = f"{self.file}: {self.path}" if self.path else self.file
        return f"{place}: {self.message}"


class SourceError(Exception):
    """The sources cannot be used. `problems` holds every mistake found, in a stable order."""

    def __init__(self, problems: Iterable[Problem]) -> None:
        self.problems = tuple(sorted(set(problems)))
        super().__init__("\n".join(str(problem) for problem in self.problems))


def hint(word: str, known: Iterable[str]) -> str:
    """`; did you mean 'x'?` when a known word is close to what was written, else nothing."""
    close = difflib.get_close_matches(word, list(known), n=1, cutoff=0.6)
    return f"; did you mean {close[0]!r}?" if close else ""


def choice(word: str, known: Iterable[str]) -> str:
    """What to write in place of an unknown word: the closest one if any, and all that are known."""
    words = list(known)
    close = hint(word, words)
    return f"{close} Known: {', '.join(words)}" if close else f"; known: {', '.join(words)}"
