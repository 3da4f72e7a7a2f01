"""Completion: the scripts, and what they ask."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.unit.cli.harness import BATCH, SCHEDULING, Server, job, queue, refused, run

ROOT = Path(__file__).resolve().parents[3]


def complete(*words: str, server: Server | None = None) -> list[str]:
    result = run("__complete", *words, server=server)
    assert (result.code, result.err) == (0, "")
    return result.lines


@pytest.mark.parametrize(
    ("words", "found"),
    [
        (("jo",), ["job", "jobflow", "jobtemplate"]),
        (("job", "s"), ["suspend"]),
        (("job", "-n", "x", "r"), ["resume", "run"]),
        (("job", "list", "--sel"), ["--selector"]),
        (("job", "list", "-o", ""), ["json", "name", "wide", "yaml"]),
        (("job", "list", "--phase", "Co"), ["Completed", "Completing"]),
        (("pod", "list", "--phase", "S"), ["Succeeded"]),
        (("podgroup", "list", "--phase", "I"), ["Inqueue"]),
        (("jobflow", "describe", "-o", "j"), ["json"]),
        (("queue", "operate", "-a", ""), ["close", "open", "update"]),
        (("queue", "operate", "--action=o"), []),
        (("bogus", "x"), []),
        (("job", "list", "-n", ""), []),
    ],
)  # fmt: skip
def test_words_flags_and_values(words: tuple[str, ...], found: list[str]) -> None:
    assert complete(*words) == found


def test_names_of_objects_are_asked_from_the_server() -> None:
    used = Server().items(f"{BATCH}/namespaces/default/jobs", job("a1"), job("a2"), job("b"))
    used.items(f"{SCHEDULING}/queues", queue("q1"))
    assert complete("job", "view", "-N", "a", server=used) == ["a1", "a2"]
    assert complete("queue", "get", "--name", "", server=used) == ["q1"]
    assert complete("job", "list", "-q", "", server=used) == ["q1"]


def test_a_server_that_does_not_answer_completes_nothing() -> None:
    used = Server().on(f"GET {BATCH}/namespaces/default/jobs", refused())
    assert complete("job", "view", "-N", "", server=used) == []


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish", "powershell"])
@pytest.mark.parametrize("program", ["vcctl", "vjobs"])
def test_every_program_has_a_script_for_every_shell(program: str, shell: str) -> None:
    result = run("completion", shell, program=program)
    assert result.code == 0
    assert f"{program}" in result.out
    assert "__complete" in result.out


@pytest.mark.parametrize("words", [(), ("tcsh",), ("bash", "zsh")])
def test_an_unknown_shell_is_refused(words: tuple[str, ...]) -> None:
    result = run("completion", *words)
    assert result.code == 255
    assert "there are bash, zsh, fish, powershell" in result.out
    assert run("completion", *words, program="vsub").code == 1


def test_bash_completes_with_the_script(tmp_path: Path) -> None:
    program = tmp_path / "vcctl"
    program.write_text(f'#!/bin/sh\nPYTHONPATH="{ROOT}" exec "{sys.executable}" -m cli "$@"\n')
    program.chmod(0o755)
    script = 'source <(vcctl completion bash); COMP_WORDS=(vcctl job su); COMP_CWORD=2; _vcctl_complete; echo "${COMPREPLY[@]}"'
    environ = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"}
    done = subprocess.run(["bash", "-c", script], env=environ, capture_output=True, text=True, check=True)
    assert done.stdout == "suspend\n"
