"""Answers that no API server should give."""

from __future__ import annotations

from typing import Any

import pytest

from cli import kinds
from tests.unit.cli.harness import Result, Server, run

EMPTY: dict[str, Any] = {"metadata": None, "spec": None, "status": None}


def server() -> Server:
    """Has an object of each kind that says nothing of itself, alone and in lists."""
    made = Server()
    for kind in kinds.ALL:
        for namespace in (None, "default") if kind.namespaced else (None,):
            made.items(kind.path(namespace), EMPTY, {"metadata": {"name": "x", "namespace": "default"}})
        made.on(f"GET {kind.path('default' if kind.namespaced else None, 'x')}", EMPTY)
    return made.lines("/api/v1/namespaces/default/pods/x/log", [b"line"])


def ask(words: str) -> Result:
    program, *rest = words.split()
    return run(*rest, server=server(), program=program)


@pytest.mark.parametrize(
    "words",
    [
        "vcctl job list",
        "vcctl job list --all-namespaces -o wide",
        "vcctl job list -o yaml",
        "vcctl job list -o name --sort-by .metadata.name",
        "vcctl job view -N x",
        "vcctl job logs -N x",
        "vcctl job explain -N x",
        "vcctl queue list -o wide",
        "vcctl queue get -n x",
        "vcctl queue tree --resources",
        "vcctl jobflow list",
        "vcctl jobflow get -N x",
        "vcctl jobflow describe",
        "vcctl jobflow describe -N x -o json",
        "vcctl jobtemplate list",
        "vcctl jobtemplate describe",
        "vcctl pod list",
        "vcctl pod list -q q",
        "vcctl pod list --for vcjob/x",
        "vcctl cronjob list",
        "vcctl cronjob get -N x",
        "vcctl podgroup list -o wide",
        "vcctl podgroup get -N x",
        "vjobs",
        "vjobs -n x",
        "vqueues",
    ],
)
def test_objects_without_metadata_are_shown_as_far_as_they_go(words: str) -> None:
    result = ask(words)
    assert result.code == 0, result.out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("vcctl job suspend -N x", "Failed to suspend job: Job x: "),
        ("vcctl queue operate -n x -a close", "Failed to operate queue: Queue x: "),
        ("vcctl cronjob trigger -N x", "Failed to trigger cronjob: CronJob x: "),
        ("vresume -n x", "Failed to: Job x: "),
    ],
)
def test_nothing_is_made_that_would_belong_to_nobody(words: str, message: str) -> None:
    result = ask(words)
    assert result.code == 255
    assert result.out == f"{message}the server's answer has no metadata.uid\n"
