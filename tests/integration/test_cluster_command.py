"""`python -m cluster` as a user types it."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from cluster import ControlPlane, Options
from cluster.binaries import Binaries
from cluster.processes import marked_with, wait_until
from cluster.state import Layout

PATIENCE = 120.0


class Shell:
    """Runs the command with a state home of its own."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.environment = {**os.environ, "XDG_STATE_HOME": str(home), "KUBECACHEDIR": str(home / "kubectl")}

    @contextmanager
    def start(self, *arguments: str) -> Iterator[subprocess.Popen[str]]:
        """A running command; one that a failed test leaves behind is killed instead of waited for."""
        with subprocess.Popen(
            [sys.executable, "-m", "cluster", *arguments],
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        ) as process:
            try:
                yield process
            except BaseException:
                process.kill()
                raise

    def run(self, *arguments: str, code: int = 0) -> tuple[str, str]:
        """Output and errors."""
        with self.start(*arguments) as process:
            out, err = process.communicate(timeout=PATIENCE)
        assert process.returncode == code, (out, err)
        return out, err

    def root(self, name: str) -> Path:
        return self.home / "stromboli" / "clusters" / name


@pytest.fixture
def shell(tmp_path: Path) -> Iterator[Shell]:
    shell = Shell(tmp_path)
    yield shell
    for root in (tmp_path / "stromboli" / "clusters").glob("*"):
        ControlPlane("x", directory=root).stop()


def test_a_day_with_a_control_plane(shell: Shell) -> None:
    out, _ = shell.run("up", "--nodes", "2:cpu=16,gpus=8", "--racks", "2", "--label", "pool=a")
    assert re.search(r"^kube-apiserver ready after \d+\.\d s$", out, re.MULTILINE)
    assert re.search(r"^kube-controller-manager ready after \d+\.\d s$", out, re.MULTILINE)
    assert re.search(r"^2 nodes ready after \d+\.\d s$", out, re.MULTILINE)
    assert f"kubeconfig: {shell.root('default')}/kubeconfig" in out
    assert re.search(r"^etcd: /.*etcd.* \((cache|KUBEBUILDER_ASSETS|downloaded|built)\)$", out, re.MULTILINE)

    out, _ = shell.run("status")
    assert "control plane 'default', running since" in out
    for component in ("supervisor", "etcd", "kube-apiserver", "kube-controller-manager", "kwok"):
        assert re.search(rf"^  {component} +pid \d+", out, re.MULTILINE), component
    assert re.search(r"^  kube-apiserver +pid \d+ +v1\.36\.1$", out, re.MULTILINE)
    assert re.search(r"^  nodes +2, 2 ready$", out, re.MULTILINE)

    out, _ = shell.run("nodes", "--nodes", "3:name=late")
    assert out == "3 nodes ready: late-0 to late-2\n"
    out, _ = shell.run("nodes")
    assert out == "no --nodes given, none added\n"

    _, err = shell.run("nodes", "--nodes", "1", "--label", "b c=d", code=1)
    assert err.startswith("cluster: Node ")
    assert "is invalid: metadata.labels" in err

    exports, _ = shell.run("env")
    settings = dict(line.removeprefix("export ").split("=", 1) for line in exports.splitlines())
    assert settings["KUBECONFIG"] == str(shell.root("default") / "kubeconfig")
    assert settings["USE_EXISTING_CLUSTER"] == "true"
    kubectl = Binaries(Options().kubernetes, print).find("kubectl")
    script = f"{exports}\n{shlex.quote(str(kubectl))} get nodes -o name"
    listed = subprocess.run(["sh", "-c", script], check=True, capture_output=True, text=True, env=shell.environment)
    assert listed.stdout.split() == ["node/late-0", "node/late-1", "node/late-2", "node/node-0", "node/node-1"]

    out, _ = shell.run("up")
    assert "control plane 'default' runs already" in out
    out, _ = shell.run("up", "--nodes", "9")
    assert " -m cluster nodes --nodes ..." in out
    _, err = shell.run("up", "--no-heartbeats", code=1)
    assert "control plane 'default' runs already, with other options" in err
    _, err = shell.run("up", "--foreground", code=1)
    assert "control plane 'default' runs already" in err
    out, _ = shell.run("status", "--all")
    assert out == "default: running\n"

    out, _ = shell.run("down")
    assert out == "control plane 'default' is down\n"
    assert not shell.root("default").exists()
    assert marked_with(shell.root("default")) == []
    out, _ = shell.run("down")
    assert "does not run: there is no" in out
    out, _ = shell.run("status", code=1)
    assert out == "control plane 'default' does not run: was never started, or was taken down\n"
    out, err = shell.run("env", code=1)
    assert out == ""
    assert "control plane 'default' does not run" in err


def wait_until_ready(process: subprocess.Popen[str]) -> None:
    assert process.stdout is not None
    assert any(line == "Ctrl-C ends it\n" for line in process.stdout)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_in_the_foreground_a_signal_takes_it_down(shell: Shell, number: signal.Signals) -> None:
    with shell.start("up", "--foreground", "--name", "front") as process:
        wait_until_ready(process)
        assert len(marked_with(shell.root("front"))) == 5
        process.send_signal(number)
        out, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0
    assert (out, err) == ("control plane 'front' is down\n", "")
    assert marked_with(shell.root("front")) == []
    assert not shell.root("front").exists()


def test_down_ends_one_whose_directory_was_deleted(shell: Shell) -> None:
    shell.run("up", "--name", "lost", "--quiet")
    running = marked_with(shell.root("lost"))
    assert len(running) == 5
    shutil.rmtree(shell.root("lost"))
    out, _ = shell.run("down", "--name", "lost")
    assert out.endswith("control plane 'lost' is down\n")
    assert not any(process.is_alive for process in running)
    assert not shell.root("lost").exists()


def test_in_the_foreground_the_end_of_a_component_is_told(shell: Shell) -> None:
    with shell.start("up", "--foreground", "--name", "front") as process:
        wait_until_ready(process)
        processes = ControlPlane("front", directory=shell.root("front")).status().processes
        assert processes is not None
        (etcd,) = (record.process for record in processes.components if record.name == "etcd")
        etcd.send(signal.SIGKILL)
        _, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == 1
    assert err == (
        f"cluster: control plane 'front' ended: etcd was killed by SIGKILL; logs are in {shell.root('front')}/logs\n"
    )
    assert marked_with(shell.root("front")) == []


def test_an_interrupted_up_cleans_up(shell: Shell) -> None:
    with shell.start("up") as process:
        assert wait_until(lambda: Layout(shell.root("default")).log("kube-apiserver").exists(), PATIENCE)
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=PATIENCE)
    assert process.returncode == 130
    assert marked_with(shell.root("default")) == []


def test_a_directory_of_ones_own_choice_is_repeated_in_the_hints(shell: Shell, tmp_path: Path) -> None:
    place = tmp_path / "a place"
    out, _ = shell.run("up", "--dir", str(place), "--quiet")
    assert f'-m cluster env --dir {shlex.quote(str(place))})"' in out
    typed = out.partition('eval "$(')[2].partition(" -m cluster env")[0]
    assert Path(shlex.split(typed)[0]).absolute() == Path(sys.executable)
    assert "ready after" not in out
    out, _ = shell.run("status", "--dir", str(place))
    assert f"state in {place}" in out
    shell.run("down", "--dir", str(place))
    assert not place.exists()


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["up", "--name", "../x"], 2, "--name '../x'"),
        (["up", "--nodes", "four"], 2, "--nodes 'four': begins with the number of nodes"),
        (["up", "--k8s", "1.20"], 2, "--k8s 1.20: known are"),
        (["binaries", "kubelet"], 2, "no binary is called kubelet"),
        (["up", "--dir", "/proc/x"], 1, "cannot write /proc/x"),
        (["nodes", "--nodes", "1"], 1, "-m cluster up"),
    ],
)
def test_a_mistake_is_one_line_without_a_traceback(shell: Shell, arguments: list[str], code: int, message: str) -> None:
    _, err = shell.run(*arguments, code=code)
    assert err.startswith("cluster: ")
    assert message in err
    assert "Traceback" not in err


def test_someone_elses_directory_is_left_alone(shell: Shell, tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.tex").write_text("years of work")
    _, err = shell.run("up", "--dir", str(tmp_path / "mine"), code=1)
    assert "holds other files (thesis.tex); take an empty directory" in err
    shell.run("down", "--dir", str(tmp_path / "mine"), code=1)
    assert [path.name for path in (tmp_path / "mine").iterdir()] == ["thesis.tex"]


def test_binaries_are_made_available_ahead_of_time(shell: Shell) -> None:
    out, _ = shell.run("binaries", "etcd", "kubectl")
    names = [line.partition(":")[0] for line in out.splitlines()]
    assert names == ["etcd", "kubectl"]
    for line in out.splitlines():
        path = line.partition(": ")[2].rpartition(" (")[0]
        assert os.access(path, os.X_OK), line
