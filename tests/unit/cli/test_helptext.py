"""Help, byte for byte where Volcano's own tests look for it."""

from __future__ import annotations

import pytest

from cli.commands import Command
from cli.shorttree import NAMES
from cli.tree import root_of
from tests.unit.cli.harness import run

GLOBAL = """\
      --log-flush-frequency duration   Maximum number of seconds between log flushes (default 5s)
  -v, --v Level                        number for the log level verbosity
      --vmodule moduleSpec             comma-separated list of pattern=N settings for file-filtered logging (only works for the default text log format)
"""
ROOT = f"""\
Usage:
  vcctl [command]

Available Commands:
  help        Help about any command
  job         vcctl command line operation job
  jobflow     vcctl command line operation jobflow
  jobtemplate vcctl command line operation jobtemplate
  pod         vcctl command line operation pod
  queue       Queue Operations
  version     Print the version information

Flags:
  -h, --help                           help for vcctl
{GLOBAL}
Use "vcctl [command] --help" for more information about a command.
"""
JOB = f"""\
vcctl command line operation job

Usage:
  vcctl job [command]

Available Commands:
  delete      delete a job
  list        list job information
  resume      resume a job
  run         run job by parameters from the command line
  suspend     abort a job
  view        show job information

Flags:
  -h, --help   help for job

Global Flags:
{GLOBAL}
Use "vcctl job [command] --help" for more information about a command.
"""
RUN = f"""\
run job by parameters from the command line

Usage:
  vcctl job run [flags]

Flags:
  -f, --filename string     the yaml file of job
  -h, --help                help for run
  -i, --image string        the container image of job (default "busybox")
  -k, --kubeconfig string   (optional) absolute path to the kubeconfig file
  -L, --limits string       the resource limit of the task (default "cpu=1000m,memory=100Mi")
  -s, --master string       the address of apiserver
  -m, --min int             the minimal available tasks of job (default 1)
  -N, --name string         the name of job
  -n, --namespace string    the namespace of job (default "default")
  -r, --replicas int        the total tasks of job (default 1)
  -R, --requests string     the resource request of the task (default "cpu=1000m,memory=100Mi")
  -S, --scheduler string    the scheduler for this job (default "volcano")

Global Flags:
{GLOBAL}"""
LIST = f"""\
list job information

Usage:
  vcctl job list [flags]

Flags:
      --all-namespaces      list jobs in all namespaces
  -h, --help                help for list
  -k, --kubeconfig string   (optional) absolute path to the kubeconfig file
  -s, --master string       the address of apiserver
  -n, --namespace string    the namespace of job (default "default")
  -q, --queue string        list job with specified queue name
  -S, --scheduler string    list job with specified scheduler name
      --selector string     fuzzy matching jobName

Global Flags:
{GLOBAL}"""
SUSPEND = f"""\
abort a job

Usage:
  vcctl job suspend [flags]

Flags:
  -h, --help                help for suspend
  -k, --kubeconfig string   (optional) absolute path to the kubeconfig file
  -s, --master string       the address of apiserver
  -N, --name string         the name of job
  -n, --namespace string    the namespace of job (default "default")

Global Flags:
{GLOBAL}"""
RESUME = SUSPEND.replace("abort a job", "resume a job").replace("suspend", "resume")


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (("--help",), ROOT),
        (("-h",), ROOT),
        (("help",), ROOT),
        (("job", "--help"), JOB),
        (("help", "job"), JOB),
        (("job", "run", "--help"), RUN),
        (("help", "job", "run"), RUN),
        (("job", "list", "--help"), LIST),
        (("job", "suspend", "-n", "job1", "--help"), SUSPEND),
        (("job", "resume", "-n", "job1", "--help"), RESUME),
    ],
)
def test_the_texts_that_are_compared_elsewhere(words: tuple[str, ...], text: str) -> None:
    result = run(*words)
    assert (result.code, result.out, result.err) == (0, text, "")


def test_a_short_command_merges_the_global_flags_and_shows_defaults_of_the_environment() -> None:
    text = run("--help", program="vsub").out
    assert text.startswith("submit a job with specified name and arguments. yaml/json file is not accepted")
    assert "\nUsage:\n  vsub [flags]\n\nFlags:\n" in text
    assert "overwrite the value of 'VOLCANO_DEFAULT_IMAGE' (default \"busybox\")\n" in text
    assert "  -N, --namespace string               the namespace of job" in text
    assert "  -n, --name string                    the name of job\n" in text
    assert "Global Flags" not in text


def test_queue_commands_keep_their_odd_usage_line_and_types() -> None:
    text = run("queue", "operate", "-h").out
    assert "  vcctl queue operate queue [flags]\n" in text
    assert "  -w, --weight int32        the weight of the queue\n" in text
    assert "(default 1)" in run("queue", "create", "-h").out


def test_an_unknown_help_topic_is_told_on_stderr() -> None:
    result = run("help", "bogus")
    assert (result.code, result.out) == (0, "")
    assert result.err.startswith("Unknown help topic [`bogus`]\nUsage:\n  vcctl [command]\n")


def _commands() -> list[Command]:
    return [command for name in ("vcctl", *NAMES) for command in root_of(name).walk()]


@pytest.mark.parametrize("command", _commands(), ids=lambda command: " ".join(command.path))
def test_every_command_can_be_loaded_and_has_whole_help(command: Command) -> None:
    if command.target:
        assert callable(command.load())
    flags = [flag.name for flag in command.flags()]
    shorts = [flag.short for flag in command.flags() if flag.short]
    assert len(set(flags)) == len(flags)
    assert len(set(shorts)) == len(shorts)
    result = run(*command.path[1:], "--help-all", program=command.path[0])
    assert result.code == 0
    for flag in command.flags():
        assert f"--{flag.name}" in result.out
    assert result.out.endswith("\n")
    assert not result.out.endswith("\n\n")


def test_what_is_new_is_shown_on_demand_only() -> None:
    assert "cronjob" not in run("--help").out
    everything = run("--help-all").out
    for name in ("completion", "cronjob", "podgroup", "support"):
        assert f"\n  {name} " in everything
    assert "-w, --watch" in run("job", "list", "--help-all").out
