"""The real `vcctl` against a real API server."""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import subprocess
import sys
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from cluster import ControlPlane
from cluster.processes import wait_until
from controllers import queue as queue_controller
from controllers.job import BLUEPRINT as JOB_CONTROLLER
from tests.integration.controllers import running

ROOT = Path(__file__).resolve().parents[2]
JOBS = "/apis/batch.volcano.sh/v1alpha1/namespaces/{}/jobs"
COMMANDS = "/apis/bus.volcano.sh/v1alpha1/namespaces/{}/commands"

Vcctl = Callable[..., subprocess.CompletedProcess[str]]


def argv(program: str, *words: str) -> list[str]:
    return [sys.executable, "-c", f"from cli.__main__ import {program}; {program}()", *words]


@pytest.fixture
def vcctl(kubeconfig: Path) -> Vcctl:
    """Run one command to its end."""

    def run(*words: str, program: str = "vcctl", **environ: str) -> subprocess.CompletedProcess[str]:
        command = argv(program, *words)
        settings = {**os.environ, "KUBECONFIG": str(kubeconfig), **environ}
        return subprocess.run(command, cwd=ROOT, env=settings, capture_output=True, text=True, check=False, timeout=120)

    return run


def test_the_life_of_a_job(vcctl: Vcctl, control_plane: ControlPlane, namespace: str) -> None:
    done = vcctl("job", "run", "-N", "j1", "-n", namespace, "-r", "3", "-m", "2", "--queue", "default")
    assert (done.returncode, done.stdout, done.stderr) == (0, "run job j1 successfully\n", "")
    header, row = vcctl("job", "list", "-n", namespace).stdout.splitlines()
    assert header.startswith("Name   Creation       Phase       JobType     Replicas    Min   ")
    assert re.match(r"j1     \d{4}-\d\d-\d\d     ", row)
    assert row.split()[2:4] == ["Batch", "3"]
    view = vcctl("job", "view", "-N", "j1", "-n", namespace).stdout
    assert f"Namespace:  \t{namespace}\n" in view
    assert view.endswith("Events: \t<none>\n")
    assert vcctl("job", "suspend", "-N", "j1", "-n", namespace).stdout == ""
    (command,) = control_plane.api.items(COMMANDS.format(namespace))
    assert command["action"] == "AbortJob"
    assert command["metadata"]["name"].startswith("j1-abortjob-")
    assert command["target"]["name"] == "j1"
    assert command["metadata"]["ownerReferences"] == [command["target"]]
    assert vcctl("-n", "j1", "-N", namespace, program="vcancel").stdout == "cancel job j1 successfully\n"
    assert vcctl("job", "list", "-n", namespace).stdout == "No resources found\n"
    again = vcctl("job", "delete", "-N", "j1", "-n", namespace)
    assert (again.returncode, again.stdout) == (255, 'Failed to delete job: jobs.batch.volcano.sh "j1" not found\n')


def test_what_is_printed_is_what_kubectl_prints(vcctl: Vcctl, control_plane: ControlPlane, namespace: str) -> None:
    vcctl("-n", "j1", "-N", namespace, "-c", "sleep 1", program="vsub")
    ours = yaml.safe_load(vcctl("job", "view", "-N", "j1", "-n", namespace, "-o", "yaml").stdout)
    theirs = control_plane.api.get(JOBS.format(namespace) + "/j1")
    theirs["metadata"].pop("managedFields")
    assert ours == theirs
    assert ours["spec"]["tasks"][0]["template"]["spec"]["containers"][0]["command"] == ["sleep", "1"]


def test_files_go_where_they_say_and_unknown_fields_are_told(vcctl: Vcctl, namespace: str, tmp_path: Path) -> None:
    file = tmp_path / "jobs.yaml"
    template = "{spec: {containers: [{name: c, image: i}]}}"
    file.write_text(
        "".join(
            f"---\nmetadata: {{name: {name}, namespace: {namespace}}}\n"
            f"spec: {{oddField: 1, tasks: [{{name: t, replicas: 1, template: {template}}}]}}\n"
            for name in ("a", "b")
        )
    )
    strict = vcctl("job", "run", "-f", str(file), "--strict")
    assert strict.returncode == 255
    assert strict.stdout.count('unknown field "spec.oddField"') == 2
    lenient = vcctl("job", "run", "-f", str(file))
    assert (lenient.returncode, lenient.stdout) == (0, "run job a successfully\nrun job b successfully\n")
    assert 'Warning: unknown field "spec.oddField"' in lenient.stderr
    assert vcctl("job", "list", "-n", namespace, "-o", "name").stdout.split() == [
        "job.batch.volcano.sh/a", "job.batch.volcano.sh/b",
    ]  # fmt: skip


def test_queues_are_made_changed_counted_and_shown_as_a_tree(
    vcctl: Vcctl, control_plane: ControlPlane, namespace: str
) -> None:
    parent, child = f"p-{namespace[-6:]}", f"c-{namespace[-6:]}"
    assert vcctl("queue", "create", "-n", parent, "-w", "3").stdout == ""
    assert vcctl("queue", "create", "-n", child, "--parent", parent, "--capability", "cpu=2").stdout == ""
    group = {"metadata": {"name": "g"}, "spec": {"queue": child, "minMember": 1}, "status": {"phase": "Pending"}}
    control_plane.api.create(
        f"/apis/scheduling.volcano.sh/v1beta1/namespaces/{namespace}/podgroups",
        {"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "PodGroup", **group},
    )
    row = vcctl("queue", "get", "-n", child).stdout.splitlines()[1]
    assert row.split() == [child, "1", parent, "0", "1", "0", "0", "0"]
    assert vcctl("queue", "operate", "-n", parent, "-a", "update", "-w", "7").returncode == 0
    tree = vcctl("queue", "tree", "-n", parent).stdout.splitlines()
    assert [line.split()[:2] for line in tree] == [["Name", "Weight"], [parent, "7"], ["└─", child]]
    refused = vcctl("queue", "operate", "-n", child, "-a", "update", "-w", "70000")
    assert refused.stdout == (
        f"Failed to operate queue: queue {child}: spec.weight: 70000 is invalid, must be from 1 to 65535\n"
    )
    for name in (child, parent):
        assert vcctl("queue", "delete", "-n", name).returncode == 0
    assert vcctl("queue", "get", "-n", child).returncode == 255


def test_flows_and_templates_come_from_files(vcctl: Vcctl, namespace: str, tmp_path: Path) -> None:
    file = tmp_path / "f.yaml"
    file.write_text(
        f"kind: JobFlow\nmetadata: {{name: f-a---b, namespace: {namespace}}}\nspec: {{flows: [{{name: a}}]}}\n---\nkind: Job\n"
    )
    made = vcctl("jobflow", "create", "-f", str(file))
    assert made.returncode == 255
    assert made.stdout.splitlines() == [
        f"Created JobFlow: {namespace}/f-a---b",
        "Failed to create JobFlow: expected JobFlow, got Job",
    ]
    assert vcctl("jobflow", "list", "-n", namespace).stdout.splitlines()[1].split()[:2] == ["f-a---b", namespace]
    described = json.loads(vcctl("jobflow", "describe", "-n", namespace, "-N", "f-a---b", "-o", "json").stdout)
    assert list(described)[:3] == ["kind", "apiVersion", "metadata"]
    deleted = vcctl("jobflow", "delete", "-n", namespace, "-N", "f-a---b")
    assert deleted.stdout == f"Deleted JobFlow: {namespace}/f-a---b\n"


async def test_orders_are_carried_out_and_may_be_waited_for(vcctl: Vcctl, kubeconfig: Path, namespace: str) -> None:
    def steps() -> list[subprocess.CompletedProcess[str]]:
        place = ("-N", "j1", "-n", namespace, "--wait", "--timeout", "60s")
        queue = f"q-{namespace[-6:]}"
        return [
            vcctl("job", "run", "-N", "j1", "-n", namespace, "--queue", "default"),
            vcctl("job", "suspend", *place),
            vcctl("job", "list", "-n", namespace, "--phase", "Aborted", "-o", "name"),
            vcctl("job", "resume", *place),
            vcctl("queue", "create", "-n", queue),
            vcctl("queue", "operate", "-n", queue, "-a", "close", "--wait", "--verbose"),
            vcctl("job", "explain", "-N", "j1", "-n", namespace),
            vcctl("job", "delete", *place),
        ]

    async with running(kubeconfig, JOB_CONTROLLER, queue_controller.BLUEPRINT):
        done = await asyncio.to_thread(steps)
    assert [step.returncode for step in done] == [0] * len(done), [step.stdout + step.stderr for step in done]
    assert done[2].stdout == "job.batch.volcano.sh/j1\n"
    assert done[5].stdout.endswith(" closed\n")
    assert "\nPodGroup:  j1-" in done[6].stdout
    assert "\nScheduler: no answer (" in done[6].stdout


def test_rights_that_are_missing_are_told_in_one_line(vcctl: Vcctl, namespace: str) -> None:
    done = vcctl("job", "list", "-n", namespace, "--as", "nobody")
    assert (done.returncode, done.stderr) == (255, "")
    assert done.stdout.startswith('Failed to list job: jobs.batch.volcano.sh is forbidden: User "nobody" cannot list')
    assert done.stdout.count("\n") == 1


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("-k", "/no/such"), "stat /no/such: no such file or directory"),
        (("--context", "nope"), 'context "nope" does not exist'),
        (("-s", "https://127.0.0.1:1"), '/jobs": dial tcp 127.0.0.1:1: connect: connection refused'),
    ],
)
def test_a_server_that_cannot_be_reached_is_told_in_one_line(
    vcctl: Vcctl, words: tuple[str, ...], message: str
) -> None:
    done = vcctl("job", "list", *words)
    assert (done.returncode, done.stderr) == (255, "")
    assert done.stdout.startswith("Failed to list job: ")
    assert message in done.stdout
    assert done.stdout.count("\n") == 1


def test_a_watch_shows_what_comes_and_ends_with_ctrl_c(
    vcctl: Vcctl, kubeconfig: Path, namespace: str, tmp_path: Path
) -> None:
    log = tmp_path / "log"
    environ = {**os.environ, "KUBECONFIG": str(kubeconfig)}
    with log.open("w") as out:
        command = argv("vcctl", "job", "list", "-w", "-n", namespace)
        watch = subprocess.Popen(command, cwd=ROOT, env=environ, stdout=out, stderr=subprocess.PIPE, text=True)
    try:
        assert wait_until(lambda: "Creation" in log.read_text(), 90)
        vcctl("job", "run", "-N", "later", "-n", namespace)
        assert wait_until(lambda: "later" in log.read_text(), 90)
        watch.send_signal(signal.SIGINT)
        _, errors = watch.communicate(timeout=30)
    finally:
        watch.kill()
    assert (watch.returncode, errors) == (130, "interrupted\n")


def test_a_closed_pipe_ends_a_command_without_noise(kubeconfig: Path) -> None:
    environ = {**os.environ, "KUBECONFIG": str(kubeconfig)}
    read, write = os.pipe()
    os.close(read)
    try:
        command = argv("vcctl", "queue", "list", "-o", "json")
        done = subprocess.run(command, cwd=ROOT, env=environ, stdout=write, stderr=subprocess.PIPE, check=False)
    finally:
        os.close(write)
    assert (done.returncode, done.stderr) == (141, b"")


def test_a_support_archive_is_made(vcctl: Vcctl, namespace: str, tmp_path: Path) -> None:
    path = tmp_path / "dump.tar.gz"
    vcctl("job", "run", "-N", "j1", "-n", namespace)
    done = vcctl("support", "dump", "-o", str(path))
    assert (done.returncode, done.stdout) == (0, f"wrote {path}\n")
    with tarfile.open(path) as archive:
        file = archive.extractfile("volcano-support/snapshot/jobs.batch.volcano.sh.json")
        assert file is not None
        names = [(item["metadata"]["namespace"], item["metadata"]["name"]) for item in json.load(file)["items"]]
    assert (namespace, "j1") in names
