"""A page's commands, run as a reader would: typed into a shell, and typed again where one would look again."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from cluster.processes import wait_until
from hack.docs.masking import is_same
from hack.docs.pages import Command, steps
from hack.docs.pages import File as ShownFile

LOOKS = (
    "curl", "kubectl auth", "kubectl describe", "kubectl explain", "kubectl get", "kubectl logs", "kubectl wait",
    "vcctl cronjob list", "vcctl job list", "vcctl job view", "vcctl job explain", "vcctl jobflow get",
    "vcctl jobflow list", "vcctl pod list", "vcctl podgroup", "vcctl queue get", "vcctl queue list", "vcctl queue tree",
    "vjobs", "vqueues",
)  # fmt: skip
"""Commands that change nothing: they are repeated until they print what the page shows."""
SHELL = shutil.which("bash") or "/bin/bash"
PATIENCE = 30.0
"""Seconds until a command counts as answered."""
PAUSE = 0.1
LIMIT = 120.0
"""Seconds for one command."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What a command printed in the end, and whether the page shows it."""

    command: Command
    printed: str

    @property
    def is_as_shown(self) -> bool:
        return is_same(self.command.output, self.printed)


def play(text: str, folder: Path, environment: Mapping[str, str], *, patience: float = PATIENCE) -> Iterator[Answer]:
    """Write the files of a page into `folder` and run its commands there, one by one."""
    for step in steps(text):
        if isinstance(step, ShownFile):
            (folder / step.name).write_text(step.text)
            continue
        yield answer(step, folder, environment, patience)


def answer(command: Command, folder: Path, environment: Mapping[str, str], patience: float) -> Answer:
    """What a command prints in the end: one that only looks is repeated until that is what the page shows."""
    answers: list[Answer] = []

    def is_answered() -> bool:
        answers.append(Answer(command, run(command.text, folder, environment)))
        return answers[-1].is_as_shown or not command.text.startswith(LOOKS)

    wait_until(is_answered, patience, PAUSE)
    return answers[-1]


def run(command: str, folder: Path, environment: Mapping[str, str]) -> str:
    """What a command prints on both streams."""
    done = subprocess.run(
        [SHELL, "-c", command], cwd=folder, env={**os.environ, **environ(environment)}, check=False, text=True,
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=LIMIT,
    )  # fmt: skip
    return done.stdout if not done.stdout or done.stdout.endswith("\n") else f"{done.stdout}\n"


def environ(environment: Mapping[str, str]) -> dict[str, str]:
    """The reader's own settings don't count: neither width of the terminal nor time zone."""
    return {"COLUMNS": "160", "TZ": "UTC", "LC_ALL": "C.UTF-8", **environment}
