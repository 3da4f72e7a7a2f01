"""Completion: the scripts, and what they ask."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from cli.flags import Flags
from cli.program import run as run_program
from cli.tree import root_of
from runtime.client_sync import SyncClient
from tests.unit.cli.harness import BATCH, FLOW, SCHEDULING, Server, job, refused, run

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
        (("job", "list", "--phase", "Running,Co"), ["Running,Completed", "Running,Completing"]),
        (("pod", "list", "--phase", "Running,Failed,"), [f"Running,Failed,{word}" for word in ("Pending", "Succeeded", "Unknown")]),
        (("version", "-o", ""), ["json", "yaml"]),
        (("support", "dump", "-o", ""), []),
        (("queue", "create", "--state", "O"), ["Open"]),
        (("job", "run", "--dry-run", "s"), ["server"]),
        (("help", "jobf"), ["jobflow"]),
        (("completion", "z"), ["zsh"]),
        (("completion", "-", "z"), ["zsh"]),
        (("queue", "operate", "-a", ""), ["close", "open", "update"]),
        (("queue", "operate", "--action=o"), ["--action=open"]),
        (("job", "list", "--phase=Running,Comple"), ["--phase=Running,Completed", "--phase=Running,Completing"]),
        (("job", "list", "-o=j"), ["-o=json"]),
        (("job", "list", "--phase", "=", "Run"), ["Running"]),
        (("queue", "operate", "--action", "="), ["close", "open", "update"]),
        (("job", "list", "-o", "=", "j"), ["json"]),
        (("job", "list", "--phase", "=", "Running", "--sel"), ["--selector"]),
        (("job", "run", "--env", "A", "=", "b", "--dry-run", "=", "s"), ["server"]),
        (("job", "list", "--no-such", "=", "x"), []),
        (("job", "list", "=", "x"), []),
        (("job", "list", "--all-namespaces", "=", "t"), []),
        (("bogus", "x"), []),
        (("job", "list", "-n", ""), []),
    ],
)  # fmt: skip
def test_words_flags_and_values(words: tuple[str, ...], found: list[str]) -> None:
    assert complete(*words) == found


def names(path: str, *found: str) -> Server:
    return Server().items(path, *[{"metadata": {"name": name}} for name in found])


@pytest.mark.parametrize(
    ("words", "path"),
    [
        ("vcctl job view -N", f"{BATCH}/namespaces/default/jobs"),
        ("vcctl job view -n team -N", f"{BATCH}/namespaces/team/jobs"),
        ("vcctl job view --namespace=team --name", f"{BATCH}/namespaces/team/jobs"),
        ("vcctl job view -n team --namesp", ""),
        ("vcctl job run --queue", f"{SCHEDULING}/queues"),
        ("vcctl job list -q", f"{SCHEDULING}/queues"),
        ("vcctl job list --for", f"{FLOW}/namespaces/default/jobflows"),
        ("vcctl job list -n", "/api/v1/namespaces"),
        ("vcctl job run --namespace", "/api/v1/namespaces"),
        ("vcctl job run --priority-class", "/apis/scheduling.k8s.io/v1/priorityclasses"),
        ("vcctl queue get --name", f"{SCHEDULING}/queues"),
        ("vcctl queue create --parent", f"{SCHEDULING}/queues"),
        ("vcctl queue operate --weight 3 --parent", f"{SCHEDULING}/queues"),
        ("vcctl pod list -n team -j", f"{BATCH}/namespaces/team/jobs"),
        ("vcctl pod list --all-namespaces --job", f"{BATCH}/jobs"),
        ("vcctl pod list --for", f"{BATCH}/namespaces/default/jobs"),
        ("vcctl cronjob get -N", f"{BATCH}/namespaces/default/cronjobs"),
        ("vcctl support dump --system-namespace", "/api/v1/namespaces"),
        ("vjobs -N team -n", f"{BATCH}/namespaces/team/jobs"),
        ("vsub -N", "/api/v1/namespaces"),
        ("vsub --queue", f"{SCHEDULING}/queues"),
        ("vqueues -n", f"{SCHEDULING}/queues"),
    ],
)
def test_names_of_objects_are_asked_from_the_server(words: str, path: str) -> None:
    program, *typed = words.split()
    used = names(path, "a2", "b", "a1")
    head = {"--for": "jobflow/" if typed[0] == "job" else "vcjob/"}.get(typed[-1], "")
    result = run("__complete", *typed, f"{head}a", server=used, program=program)
    assert (result.code, result.err) == (0, "")
    assert result.lines == ([f"{head}a1", f"{head}a2"] if path else [])


def test_the_namespace_before_an_equals_sign_that_is_a_word_counts() -> None:
    used = names(f"{BATCH}/namespaces/team/jobs", "a2", "b", "a1")
    assert complete("job", "view", "--namespace", "=", "team", "--name", "=", "a", server=used) == ["a1", "a2"]


def test_tasks_are_those_of_the_job_that_the_line_names() -> None:
    used = Server().on(f"GET {BATCH}/namespaces/team/jobs/j1", job("j1", "team"))
    assert complete("job", "logs", "-n", "team", "-N", "j1", "--task", "", server=used) == ["t"]
    assert complete("job", "logs", "-N", "j1", "-t", "", server=used) == []
    assert complete("job", "logs", "-t", "", server=used) == []
    assert complete("job", "logs", "-n", "", "-N", "j1", "-t", "", server=used) == []


def test_the_server_is_the_one_that_the_line_names(tmp_path: Path) -> None:
    script = tmp_path / "nowhere"
    out, err = io.StringIO(), io.StringIO()
    asked: list[str] = []

    def connect(flags: Flags, environ: Mapping[str, str]) -> SyncClient:
        asked.append(flags.text("kubeconfig"))
        return names(f"{SCHEDULING}/queues", "q1").client

    words = ("__complete", "queue", "get", "-k", str(script), "-n", "")
    assert run_program(root_of("vcctl"), words, out=out, err=err, environ={}, connect=connect) == 0
    assert (out.getvalue(), asked) == ("q1\n", [str(script)])


@pytest.mark.parametrize("words", ["job view -N", "job logs -N j1 --task", "job list -n", "queue create --parent"])
def test_a_server_that_does_not_answer_completes_nothing(words: str) -> None:
    used = (
        Server()
        .on(f"GET {BATCH}/namespaces/default/jobs", refused())
        .on(f"GET {BATCH}/namespaces/default/jobs/j1", refused())
    )
    used.on("GET /api/v1/namespaces", refused()).on(f"GET {SCHEDULING}/queues", refused())
    assert complete(*words.split(), "", server=used) == []


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


@pytest.mark.parametrize(("line", "found"), [("vcctl job su", "suspend"), ("vcctl job list --phase = Run", "Running")])
def test_bash_completes_with_the_script(tmp_path: Path, line: str, found: str) -> None:
    program = tmp_path / "vcctl"
    program.write_text(f'#!/bin/sh\nPYTHONPATH="{ROOT}" exec "{sys.executable}" -m cli "$@"\n')
    program.chmod(0o755)
    script = (
        f"source <(vcctl completion bash); COMP_WORDS=({line}); COMP_CWORD={line.count(' ')}; _vcctl_complete;"
        ' echo "${COMPREPLY[@]}"'
    )
    environ = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"}
    done = subprocess.run(["bash", "-c", script], env=environ, capture_output=True, text=True, check=True)
    assert done.stdout == f"{found}\n"
