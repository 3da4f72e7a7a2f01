"""
`python -m hack.docs [--check] [PAGE...]`: run the commands of the pages and write what they print into them.

An output that differs only in ages, times, identities and widths stays as it is. Exit codes: 0 pages show what their
commands print, 1 they didn't: they were changed, or with `--check` left as they are.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from hack.docs import playing
from hack.docs.pages import Command, pages, rewrite
from hack.docs.system import System, system

PATIENCE = 6.0
"""Seconds for a command whose output is not the page's: it may be that of a page to be written."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the outputs anew; gives the exit code."""
    parser = argparse.ArgumentParser(prog="python -m hack.docs", description="Run pages and write their outputs anew.")
    parser.add_argument("pages", nargs="*", type=Path, help="only these")
    parser.add_argument("--check", action="store_true", help="write nothing")
    options = parser.parse_args(arguments)
    chosen = [path.resolve() for path in options.pages] or pages()
    with tempfile.TemporaryDirectory(prefix="docs-") as folder, system(Path(folder)) as made:
        differences = [differs(made, path, is_checked=options.check) for path in chosen]
    return int(any(differences))


def differs(made: System, path: Path, *, is_checked: bool) -> bool:
    """Whether the page shows other outputs than its commands print; unless it `is_checked` only, they are written into it."""
    text, started = path.read_text(), time.monotonic()
    patience = playing.PATIENCE if is_checked else PATIENCE
    answers = iter(list(playing.play(text, made.folder, made.environment, patience=patience)))
    changed: list[playing.Answer] = []

    def output_of(command: Command) -> str:
        answer = next(answers)
        if answer.is_as_shown:
            return command.output
        changed.append(answer)
        return "".join(f"{line.rstrip()}\n" for line in answer.printed.splitlines())

    rewritten = rewrite(text, output_of)
    if not is_checked:
        path.write_text(rewritten)
    made.tidy()
    print(f"{path.name}: {len(changed)} other outputs, {time.monotonic() - started:.0f} s", flush=True)
    for answer in changed:
        print(f"$ {answer.command.text}\n{answer.printed}", end="", flush=True)
    return bool(changed)


if __name__ == "__main__":
    sys.exit(main())
