"""Pages taken apart: files to be written, commands to be run, and what they are said to print."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PROMPT = "$ "
_FENCE = re.compile(r"^```(?P<words>[^\n`]*)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True, slots=True)
class Command:
    """One command and what the page shows of its output."""

    text: str
    output: str


@dataclass(frozen=True, slots=True)
class File:
    """A file that the page shows whole."""

    name: str
    text: str


def pages() -> list[Path]:
    """Every page with commands to be run, in the order of paths."""
    found = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    return [path for path in found if any(isinstance(step, Command) for step in steps(path.read_text()))]


def steps(text: str) -> Iterator[File | Command]:
    """What to do, in the order of the page."""
    for fence in _FENCE.finditer(text):
        words = fence["words"].split()
        if words == ["console", "run"]:
            yield from _commands(fence["text"])
        for word in words[1:]:
            if word.startswith("file="):
                yield File(word.removeprefix("file="), fence["text"])


def rewrite(text: str, output_of: Callable[[Command], str]) -> str:
    """The page with the outputs that `output_of` gives, asked in the order of the page."""

    def replaced(fence: re.Match[str]) -> str:
        if fence["words"].split() != ["console", "run"]:
            return fence[0]
        shown = "".join(f"{PROMPT}{command.text}\n{output_of(command)}" for command in _commands(fence["text"]))
        return f"```{fence['words']}\n{shown}```"

    return _FENCE.sub(replaced, text)


def _commands(text: str) -> Iterator[Command]:
    """A command goes on in the next line after a backslash."""
    command, output, goes_on = "", "", False
    for line in text.splitlines():
        if goes_on:
            command += f"\n{line}"
        elif line.startswith(PROMPT):
            if command:
                yield Command(command, output)
            command, output = line.removeprefix(PROMPT), ""
        else:
            output += f"{line}\n"
            continue
        goes_on = line.endswith("\\")
    if command:
        yield Command(command, output)
