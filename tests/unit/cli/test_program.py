"""Streams and exit codes, whatever the command."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from cli import job as job_commands
from cli import joblist, phases
from cli import queue as queue_commands
from cli.context import Context
from generated.batch.v1alpha1 import JobPhase
from generated.bus.v1alpha1 import Action
from generated.flow.v1alpha1 import FlowPhase
from generated.scheduling.v1beta1 import PodGroupPhase, QueueState
from tests.unit.cli.harness import BATCH, Result, Server, job, refused, run

ROOT = Path(__file__).resolve().parents[3]
JOBS = f"{BATCH}/namespaces/default/jobs"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("job", "run", "--bogus"), "Error: unknown flag: --bogus\n"),
        (("job", "list", "-x"), "Error: unknown shorthand flag: 'x' in -x\n"),
        (("job", "list", "-n"), "Error: flag needs an argument: 'n' in -n\n"),
        (("job", "view", "--name"), "Error: flag needs an argument: --name\n"),
        (
            ("queue", "create", "-w", "x"),
            'Error: invalid argument "x" for "-w, --weight" flag: strconv.ParseInt: parsing "x": invalid syntax\n',
        ),
        (
            ("queue", "create", "-w", "3000000000"),
            (
                'Error: invalid argument "3000000000" for "-w, --weight" flag:'
                ' strconv.ParseInt: parsing "3000000000": value out of range\n'
            ),
        ),
        (
            ("job", "list", "--all-namespaces=maybe"),
            (
                'Error: invalid argument "maybe" for "--all-namespaces" flag:'
                ' strconv.ParseBool: parsing "maybe": invalid syntax\n'
            ),
        ),
        (("bogus",), 'Error: unknown command "bogus" for "vcctl"\n'),
        (
            ("quue",),
            'Error: unknown command "quue" for "vcctl"\n\nDid you mean this?\n\tqueue\n\n',
        ),
        (
            ("job", "list", "--request-timeout", "abc"),
            'Error: invalid argument "abc" for "--request-timeout" flag: time: invalid duration "abc"\n',
        ),
        (
            ("job", "list", "--errors-to=nowhere"),
            'Error: invalid argument "nowhere" for "--errors-to" flag: must be stdout or stderr\n',
        ),
    ],
)
def test_a_line_that_cannot_be_read_is_told_on_stderr(words: tuple[str, ...], message: str) -> None:
    result = run(*words)
    assert (result.code, result.out, result.err) == (1, "", message)


@pytest.mark.parametrize(
    ("program", "words", "message"),
    [
        ("vcctl", ("--version",), "unknown flag: --version"),
        ("vsub", ("--bogus",), "unknown flag: --bogus"),
        ("vjobs", ("-S",), "flag needs an argument: 'S' in -S"),
    ],
)
def test_a_root_command_shows_its_usage_before_the_error(program: str, words: tuple[str, ...], message: str) -> None:
    result = run(*words, program=program)
    assert result.code == 1
    assert result.out == ""
    assert result.err.startswith(f"Usage:\n  {program} [")
    assert result.err.endswith(f"\n\nError: {message}\n")


@pytest.mark.parametrize("words", [(), ("job",), ("job", "bogus"), ("queue", "bogus", "-h")])
def test_a_group_answers_with_its_help(words: tuple[str, ...]) -> None:
    result = run(*words)
    assert (result.code, result.err) == (0, "")
    assert "Available Commands:" in result.out


def test_a_failure_is_one_line_on_stdout_with_the_path_reversed() -> None:
    server = Server().fail(f"GET {JOBS}", 403, "jobs is forbidden: User cannot list", "Forbidden")
    result = run("job", "list", server=server)
    assert (result.code, result.err) == (255, "")
    assert result.out == "Failed to list job: jobs is forbidden: User cannot list\n"


def test_a_short_command_fails_without_a_name() -> None:
    result = run("-n", "nope", program="vresume")
    assert (result.code, result.err) == (255, "")
    assert result.out == f"Failed to: the server has no GET {JOBS}/nope\n"


@pytest.mark.parametrize("how", ["flag", "environment"])
def test_failures_move_to_stderr_on_demand(how: str) -> None:
    words = ("--errors-to", "stderr") if how == "flag" else ()
    environ = {} if how == "flag" else {"VCCTL_ERRORS_TO": "stderr"}
    result = run("job", "view", *words, environ=environ)
    message = "job name (specified by --name or -N) is mandatory to view a particular job"
    assert (result.code, result.out, result.err) == (255, "", f"Failed to view job: {message}\n")


def test_an_unreachable_server_is_named_with_the_request() -> None:
    server = Server().on(f"GET {JOBS}", refused(f'Get "http://127.0.0.1:1{JOBS}?limit=500"'))
    result = run("job", "list", server=server)
    assert result.code == 255
    assert result.out == (
        f'Failed to list job: Get "http://127.0.0.1:1{JOBS}": dial tcp 127.0.0.1:1: connect: connection refused\n'
    )


def test_the_page_size_is_not_shown_behind_a_selector_either() -> None:
    pods = "/api/v1/namespaces/default/pods"
    server = Server().on(f"GET {pods}", refused(f'Get "http://h{pods}?labelSelector=a&limit=500"'))
    assert f'Get "http://h{pods}?labelSelector=a": dial tcp' in run("pod", "list", server=server).out


def test_an_unexpected_error_is_one_line_and_a_traceback_only_on_demand(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(_: Context) -> None:
        raise ZeroDivisionError("by zero")

    monkeypatch.setattr(joblist, "run", broken)
    quiet = run("job", "list")
    assert (quiet.code, quiet.out, quiet.err) == (
        255,
        "Failed to list job: internal error: ZeroDivisionError: by zero\n",
        "",
    )
    assert "Traceback" in run("job", "list", "-v", "4").err


def test_words_that_are_no_flags_are_ignored() -> None:
    server = Server().items(JOBS, job())
    assert run("job", "list", "extra", server=server).code == 0


def test_flags_may_come_before_the_command() -> None:
    server = Server().items(f"{BATCH}/namespaces/ns/jobs", job(namespace="ns"))
    assert run("job", "-n", "ns", "list", server=server).lines[1].startswith("j1")


def test_an_unknown_flag_before_the_command_takes_the_next_word_with_it() -> None:
    assert run("--bogus", "job", "list").err == 'Error: unknown command "list" for "vcctl"\n'


@pytest.mark.parametrize("value", ["1", "true"])
def test_the_namespace_of_the_context_counts_only_when_asked_for(value: str) -> None:
    server = Server(namespace="mine").items(JOBS, job()).items(f"{BATCH}/namespaces/mine/jobs", job("other"))
    assert run("job", "list", server=server).lines[1].startswith("j1")
    asked = run("job", "list", server=server, environ={"VCCTL_USE_CONTEXT_NAMESPACE": value})
    assert asked.lines[1].startswith("other")
    given = run("job", "list", "-n", "default", server=server, environ={"VCCTL_USE_CONTEXT_NAMESPACE": value})
    assert given.lines[1].startswith("j1")


def test_an_empty_namespace_lists_all_and_names_nothing() -> None:
    server = Server().items(f"{BATCH}/jobs", job())
    assert run("job", "list", "-n", "", server=server).code == 0
    result = run("job", "view", "-n", "", "-N", "j1", server=server)
    assert result.out == (
        "Failed to view job: --namespace: an empty namespace may not be set when a resource name is provided\n"
    )


def test_words_that_are_no_text_are_refused() -> None:
    result = run("job", "view", "-N", "a\udcff")
    assert (result.code, result.out) == (1, "")
    assert result.err.endswith("Error: invalid argument 'a\\udcff': not UTF-8\n")


def _process(*words: str, shell: str = "", environ: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    command = f'"{sys.executable}" -m cli {" ".join(words)} {shell}'
    settings = {**os.environ, **(environ or {})}
    return subprocess.run(["sh", "-c", command], cwd=ROOT, env=settings, capture_output=True, text=True, check=False)


@pytest.mark.parametrize(
    ("shell", "code", "err"),
    [
        (">&-", 0, ""),
        (">/dev/full", 255, "Error: writing the output: no space left on device\n"),
    ],
)
def test_an_output_that_takes_nothing_is_no_traceback(shell: str, code: int, err: str) -> None:
    done = _process("version", shell=shell)
    assert (done.returncode, done.stderr) == (code, err)


def test_a_reader_that_leaves_ends_the_command_quietly() -> None:
    read, write = os.pipe()
    os.close(read)
    with os.fdopen(write, "wb") as out:
        done = subprocess.run(
            [sys.executable, "-m", "cli", "version"], cwd=ROOT, stdout=out, stderr=subprocess.PIPE, check=False
        )
    assert (done.returncode, done.stderr) == (141, b"")


def test_ctrl_c_ends_a_command_with_one_word(tmp_path: Path) -> None:
    listener = socket.create_server(("127.0.0.1", 0))
    server = f"http://127.0.0.1:{listener.getsockname()[1]}"
    process = subprocess.Popen(
        [sys.executable, "-m", "cli", "job", "list", "-s", server],
        cwd=ROOT,
        env={**os.environ, "HOME": str(tmp_path), "KUBECONFIG": str(tmp_path / "none")},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    with listener:
        listener.settimeout(60)
        connection, _ = listener.accept()  # it waits for an answer now
        with connection:
            process.send_signal(signal.SIGINT)
            out, err = process.communicate(timeout=60)
    assert (process.returncode, out, err) == (130, "", "interrupted\n")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("-k", "/no/such"), "stat /no/such: no such file or directory"),
        (("-k", "/"), "open /: is a directory"),
        (
            ("--request-timeout=-1s", "-s", "http://127.0.0.1:1"),
            "--request-timeout: -1s is negative, give 0 for none or a duration such as 30s",
        ),
        (("--context", "nope"), '--context: context "nope" does not exist: no kubeconfig was found'),
        (("-s", "ftp://x"), "--master: 'ftp://x' is no http or https URL"),
    ],
)
def test_a_configuration_that_cannot_be_used_is_one_line(words: tuple[str, ...], message: str, tmp_path: Path) -> None:
    done = _process("job", "list", *words, environ={"HOME": str(tmp_path), "KUBECONFIG": ""})
    assert (done.returncode, done.stderr, done.stdout) == (255, "", f"Failed to list job: {message}\n")


def test_words_of_the_api_are_the_generated_ones() -> None:
    assert {job_commands.ABORT, job_commands.RESUME, queue_commands.OPEN_QUEUE, queue_commands.CLOSE_QUEUE} <= set(
        Action.VALUES
    )
    assert {job_commands.ABORTING, job_commands.ABORTED, *job_commands.FINISHED} <= set(JobPhase.VALUES)
    assert {queue_commands.OPEN, queue_commands.CLOSED} <= set(QueueState.VALUES)
    assert set(phases.POD_GROUP) == set(PodGroupPhase.VALUES)
    assert set(phases.JOB) == set(JobPhase.VALUES)
    assert set(phases.JOB_FLOW) == set(FlowPhase.VALUES)


def test_a_help_flag_between_group_and_command_takes_the_next_word_with_it() -> None:
    assert run("job", "-h", "run").out == run("job", "--help").out
    assert run("job", "run", "-h").out == run("help", "job", "run").out


@pytest.mark.parametrize(
    ("words", "warning"),
    [
        ("job view extra", "warning: ignored: extra: this command takes flags only; did you mean --name extra?\n"),
        ("queue get -n q1 a b", "warning: ignored: a b: this command takes flags only\n"),
        ("job list j1", "warning: ignored: j1: this command takes flags only\n"),
        ("queue delete q1", "warning: ignored: q1: this command takes flags only; did you mean --name q1?\n"),
        ("version --server -- -x", "warning: ignored: -x: this command takes flags only\n"),
        ("help job", ""),
        ("job bogus", ""),
        ("job run extra --help", ""),
    ],
)
def test_words_that_mean_nothing_are_passed_over_with_a_warning(words: str, warning: str) -> None:
    def ask(words: list[str]) -> Result:
        return run(*words, server=Server().items(JOBS, job()).on(f"GET {JOBS}/j1", job()))

    result = ask(words.split())
    assert result.err == warning
    if warning:
        surplus = warning.split(": ")[2].split()
        plain = ask([word for word in words.split() if word not in (*surplus, "--")])
        assert (result.code, result.out) == (plain.code, plain.out)
