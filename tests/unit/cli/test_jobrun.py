"""`vcctl job run` and `vsub`: what is sent, and what is refused before."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from cli.errors import CommandError
from cli.jobrun import split_command
from tests.unit.cli.harness import BATCH, Server, run

HERE = f"{BATCH}/namespaces/default/jobs"
BODY = {
    "apiVersion": "batch.volcano.sh/v1alpha1",
    "kind": "Job",
    "metadata": {"name": "j", "namespace": "default"},
    "spec": {
        "minAvailable": 1,
        "schedulerName": "volcano",
        "tasks": [
            {
                "replicas": 1,
                "template": {
                    "metadata": {"name": "j", "labels": {"job.volcano.sh": "j"}},
                    "spec": {
                        "restartPolicy": "Never",
                        "containers": [
                            {
                                "name": "j",
                                "image": "busybox",
                                "imagePullPolicy": "IfNotPresent",
                                "resources": {
                                    "limits": {"cpu": "1", "memory": "100Mi"},
                                    "requests": {"cpu": "1", "memory": "100Mi"},
                                },
                            }
                        ],
                    },
                },
            }
        ],
    },
}


def echo(request: Any) -> Any:
    return json.loads(request.body)


def server(*namespaces: str) -> Server:
    made = Server()
    for namespace in namespaces or ("default",):
        made.on(f"POST {BATCH}/namespaces/{namespace}/jobs", echo)
    return made


def container(body: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = body["spec"]["tasks"][0]["template"]["spec"]["containers"][0]
    return found


def test_a_job_from_flags_alone() -> None:
    used = server()
    result = run("job", "run", "-N", "j", server=used)
    assert (result.code, result.out) == (0, "run job j successfully\n")
    assert used.bodies("POST") == [BODY]
    assert used.targets == [f"POST {HERE}"]


def test_every_flag_finds_its_field() -> None:
    used = server("ns")
    words = (
        "-N j -n ns -i img -m 2 -r 3 -S mine -R cpu=500m,gpu=1,cpu=2 --limits= --queue q --priority-class p --env A=b=c"
    )
    run("job", "run", *words.split(), "--command", "sh -c 'echo hi'", server=used)
    (body,) = used.bodies("POST")
    assert body["metadata"] == {"name": "j", "namespace": "ns"}
    spec = body["spec"]
    assert (spec["minAvailable"], spec["schedulerName"], spec["queue"], spec["priorityClassName"]) == (
        2,
        "mine",
        "q",
        "p",
    )
    assert spec["tasks"][0]["replicas"] == 3
    assert container(body)["resources"] == {"requests": {"cpu": "2", "gpu": "1"}}
    assert container(body)["env"] == [{"name": "A", "value": "b=c"}]
    assert container(body)["command"] == ["sh", "-c", "echo hi"]


FORM = r"quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((), "job name cannot be left blank"),
        (("-N", "j", "-R", "cpu"), "invalid argument syntax cpu, expected <resource>=<value>"),
        (("-N", "j", "-L", "a=b=c"), "invalid argument syntax a=b=c, expected <resource>=<value>"),
        (("-N", "j", "-R", "cpu=x"), FORM),
        (("-N", "j", "-R", "cpu="), FORM),
        (("-f", "x.yaml", "-R", "cpu=1KK"), "unable to parse quantity's suffix"),
        (("-f", "job.txt"), "only support yaml file: job.txt has none of .yaml, .yml, .json in its name"),
        (("-f", "no/such.yaml"), "failed to read file, err: open no/such.yaml: no such file or directory"),
        (("-N", "j", "--env", "A"), '--env: "A" is not NAME=value'),
        (("-N", "j", "--dry-run", "maybe"), '--dry-run: invalid value "maybe", must be one of: none, client, server'),
        (("-N", "j", "--command", "'"), "EOF found when expecting closing quote"),
    ],
)
def test_what_cannot_be_is_refused_before_anything_is_sent(words: tuple[str, ...], message: str) -> None:
    used = server()
    result = run("job", "run", *words, server=used)
    assert (result.code, result.out) == (255, f"Failed to run job: {message}\n")
    assert not used.requests


@pytest.mark.parametrize(
    ("words", "namespace"),
    [((), "theirs"), (("-n", "given"), "given"), (("-n", "default"), "default")],
)
def test_a_file_goes_to_the_flags_namespace_or_its_own(tmp_path: Path, words: tuple[str, ...], namespace: str) -> None:
    file = tmp_path / "job.yaml"
    file.write_text("metadata: {name: f, namespace: theirs}\nspec: {unknown: 1}\n")
    used = server(namespace)
    assert run("job", "run", "-f", str(file), "-i", "ignored", *words, server=used).out == "run job f successfully\n"
    (body,) = used.bodies("POST")
    assert body["metadata"] == {"name": "f", "namespace": namespace}
    assert body["spec"] == {"unknown": 1}


@pytest.mark.parametrize(
    "text",
    [
        "# head\n---\nmetadata: {name: a}\n---\nkind: Queue\nmetadata: {name: b}\n---\nmetadata: {name: c}\n---\n",
        (
            "apiVersion: v1\nkind: List\nitems:\n- {kind: Job, metadata: {name: a}}\n- {kind: Queue, metadata: {name: b}}\n"
            "---\napiVersion: batch.volcano.sh/v1alpha1\nkind: JobList\nitems: [{metadata: {name: c}}]\n"
        ),
    ],
    ids=["documents", "items of lists"],
)
def test_everything_in_a_file_is_run_and_a_failure_does_not_stop_the_rest(tmp_path: Path, text: str) -> None:
    file = tmp_path / "jobs.yml"
    file.write_text(text)
    result = run("job", "run", "-f", str(file), server=server())
    assert result.code == 255
    assert result.lines == [
        "run job a successfully",
        "run job c successfully",
        "Failed to run job: expected Job of batch.volcano.sh/v1alpha1, got Queue of no apiVersion",
    ]


def test_json_and_standard_input_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "job.json"
    file.write_text('{"metadata": {"name": "from-json"}}')
    assert run("job", "run", "-f", str(file), server=server()).out == "run job from-json successfully\n"
    monkeypatch.setattr(sys, "stdin", io.StringIO("metadata:\n  name: from-stdin\n"))
    assert run("job", "run", "-f", "-", "-N", "renamed", server=server()).out == "run job renamed successfully\n"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "{file}: no job in this file"),
        ("a: [", "failed to unmarshal file, err:  error converting YAML to JSON: yaml: line "),
        ("- a", "failed to unmarshal file, err:  expected a Job, got no object with metadata"),
        ("metadata: {}", "the job has no metadata.name: name it in the file or by --name"),
        (
            "apiVersion: batch/v1\nkind: Job\nmetadata: {name: a}",
            "expected Job of batch.volcano.sh/v1alpha1, got Job of batch/v1",
        ),
    ],
)
def test_a_file_that_holds_no_job_is_explained(tmp_path: Path, text: str, message: str) -> None:
    file = tmp_path / "job.yaml"
    file.write_text(text)
    result = run("job", "run", "-f", str(file), server=server())
    assert result.code == 255
    assert result.out.startswith("Failed to run job: " + message.format(file=file))


def test_dry_runs_and_strictness(tmp_path: Path) -> None:
    used = server()
    shown = json.loads(run("job", "run", "-N", "j", "--dry-run", "client", "-o", "json", server=used).out)
    assert shown == BODY
    assert not used.requests
    assert run("job", "run", "-N", "j", "--dry-run=server", "--strict", server=used).lines == [
        "run job j successfully (server dry run)"
    ]
    assert used.requests[0].query == {"dryRun": "All", "fieldValidation": "Strict"}


def test_the_servers_refusal_is_printed_as_it_is() -> None:
    used = Server().fail(f"POST {HERE}", 422, 'Job "j" is invalid: spec.tasks: Required value', "Invalid")
    assert (
        run("job", "run", "-N", "j", server=used).out
        == 'Failed to run job: Job "j" is invalid: spec.tasks: Required value\n'
    )


@pytest.mark.parametrize(
    ("words", "environ", "expected"),
    [
        ((), {}, ("busybox", "default", "volcano")),
        (
            (),
            {"VOLCANO_DEFAULT_IMAGE": "i", "VOLCANO_DEFAULT_JOB_NAMESPACE": "n", "VOLCANO_SCHEDULER_NAME": "s"},
            ("i", "n", "s"),
        ),
        (
            ("-i", "f", "-N", "m", "--scheduler="),
            {"VOLCANO_DEFAULT_IMAGE": "i", "VOLCANO_SCHEDULER_NAME": "s"},
            ("f", "m", ""),
        ),
    ],
)
def test_vsub_takes_flags_before_environment_before_what_is_built_in(
    words: tuple[str, ...], environ: dict[str, str], expected: tuple[str, str, str]
) -> None:
    used = server("default", "n", "m")
    result = run("-n", "j", "-c", "sleep 1", *words, program="vsub", server=used, environ=environ)
    assert result.out == "run job j successfully\n"
    (body,) = used.bodies("POST")
    assert (container(body)["image"], body["metadata"]["namespace"], body["spec"]["schedulerName"]) == expected
    assert container(body)["command"] == ["sleep", "1"]


def test_vsub_needs_a_name() -> None:
    assert run(program="vsub").out == "Failed to: job name cannot be left blank\n"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", []),
        ('sh -c "echo hi"', ["sh", "-c", "echo hi"]),
        ("a\\ b 'c d' # no", ["a b", "c d"]),
        ("$HOME *", ["$HOME", "*"]),
    ],
)
def test_commands_are_split_as_a_shell_does_without_expansion(text: str, words: list[str]) -> None:
    assert split_command(text) == words


def test_a_command_that_ends_in_a_backslash_is_refused() -> None:
    with pytest.raises(CommandError, match="EOF found after escape character"):
        split_command("a\\")


@pytest.mark.parametrize(
    ("program", "words"), [("vsub", ("-n", "j", "-N", "")), ("vcctl", ("job", "run", "-N", "j", "-n", ""))]
)
def test_an_empty_namespace_is_refused(program: str, words: tuple[str, ...]) -> None:
    used = server()
    result = run(*words, program=program, server=used)
    assert result.code == 255
    assert "an empty namespace may not be set" in result.out
    assert not used.requests
