"""Whatever is killed, broken or in the way: nothing stays behind, and the message says what happened."""

from __future__ import annotations

import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from cluster import ControlPlane, NodePool, Options, ports
from cluster.annotations import RUN_SECONDS
from cluster.binaries import Binaries
from cluster.errors import ComponentFailed, StartError
from cluster.processes import ProcessId, marked_with, wait_until
from cluster.state import Layout, Processes, read
from runtime.errors import ConnectionFailed

PATIENCE = 60.0
PODS = "/api/v1/namespaces/default/pods"


@pytest.fixture
def directory(tmp_path: Path) -> Iterator[Path]:
    """A state directory of which nothing runs when the test is over."""
    directory = tmp_path / "state"
    yield directory
    assert marked_with(directory) == []


def processes(directory: Path) -> Processes:
    found = read(Layout(directory).processes_file, Processes)
    assert found is not None
    return found


def identity(directory: Path, name: str) -> ProcessId:
    return next(record.process for record in processes(directory).all() if record.name == name)


def is_gone(directory: Path) -> bool:
    return marked_with(directory) == [] and not processes(directory).supervisor.process.is_alive


def used_ports(plane: ControlPlane) -> list[int]:
    facts = plane.status().facts
    assert facts is not None
    return [facts.api_port, facts.etcd_port]


def are_free(numbers: list[int]) -> bool:
    """A killed server's last threads may hold its socket a moment longer."""
    return wait_until(lambda: all(map(ports.is_free, numbers)), PATIENCE)


def pod(name: str, **annotations: str) -> dict[str, Any]:
    return {
        "metadata": {"name": name, "annotations": annotations},
        "spec": {"nodeName": "node-0", "containers": [{"name": "main", "image": "busybox"}]},
    }


def test_after_a_kill_nothing_is_left_and_the_next_start_works(directory: Path) -> None:
    plane = ControlPlane("x", directory=directory)
    plane.start()
    for victim in ("etcd", "kube-apiserver", "kube-controller-manager", "kwok", "supervisor"):
        old_ports = used_ports(plane)
        assert identity(directory, victim).send(signal.SIGKILL)
        assert wait_until(lambda: is_gone(directory), PATIENCE), victim
        assert are_free(old_ports), victim
        how = "its supervisor was killed" if victim == "supervisor" else f"{victim} was killed by SIGKILL"
        assert plane.status().problem == f"ended: {how}"
        plane.start()
        assert plane.status().is_running
        assert plane.api.get("/readyz") == "ok"
    plane.stop()
    assert not directory.exists()


OWNER = """
import sys
from pathlib import Path
from cluster import ControlPlane
ControlPlane("x", directory=Path(sys.argv[1])).start()
print("ready", flush=True)
sys.stdin.readline()
"""


def test_it_ends_with_the_process_that_started_it(directory: Path) -> None:
    command = [sys.executable, "-c", OWNER, str(directory)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as owner:
        assert owner.stdout is not None
        assert owner.stdout.readline() == "ready\n"
        old_ports = used_ports(ControlPlane("x", directory=directory))
        owner.kill()
    assert wait_until(lambda: is_gone(directory), PATIENCE)
    assert are_free(old_ports)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_an_interrupted_start_leaves_nothing(directory: Path, number: signal.Signals) -> None:
    command = [sys.executable, "-c", OWNER, str(directory)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as owner:
        assert wait_until(lambda: Layout(directory).log("kube-apiserver").exists(), PATIENCE)
        owner.send_signal(number)
    assert wait_until(lambda: is_gone(directory), PATIENCE)


def test_the_api_server_can_be_killed_and_started_with_its_data(directory: Path) -> None:
    with ControlPlane("x", directory=directory, nodes=[NodePool(1)]) as plane:
        old_ports = used_ports(plane)
        plane.api.create(PODS, pod("before", **{RUN_SECONDS: "1"}))
        plane.kill_apiserver()
        with pytest.raises(ConnectionFailed):
            plane.api.get("/readyz")
        assert plane.status().is_running
        plane.start_apiserver()
        assert used_ports(plane) == old_ports
        assert wait_until(lambda: plane.api.get(f"{PODS}/before")["status"]["phase"] == "Succeeded", PATIENCE)
        plane.api.create(PODS, pod("after", **{RUN_SECONDS: "0"}))
        assert wait_until(lambda: plane.api.get(f"{PODS}/after")["status"]["phase"] == "Succeeded", PATIENCE)


def test_a_change_that_a_crash_swallowed_is_made_up_for(directory: Path) -> None:
    with ControlPlane("x", directory=directory, nodes=[NodePool(1)]) as plane:
        plane.api.create(PODS, pod("due", **{RUN_SECONDS: "2"}))
        assert wait_until(lambda: plane.api.get(f"{PODS}/due")["status"]["phase"] == "Running", PATIENCE)
        # Frozen, the API server takes the change in without an answer; killed, it takes it along.
        due = time.monotonic() + 2
        assert identity(directory, "kube-apiserver").send(signal.SIGSTOP)
        assert wait_until(lambda: time.monotonic() > due + 2, PATIENCE)
        plane.kill_apiserver()
        plane.start_apiserver()
        assert wait_until(lambda: plane.api.get(f"{PODS}/due")["status"]["phase"] == "Succeeded", PATIENCE)


def test_the_api_server_can_be_restarted_by_another_process(directory: Path) -> None:
    with ControlPlane("x", directory=directory) as plane:
        plane.api.create("/api/v1/namespaces/default/configmaps", {"metadata": {"name": "kept"}})
        first = identity(directory, "kube-apiserver")
        other = ControlPlane("x", directory=directory)
        other.restart_apiserver()
        other.close()
        assert identity(directory, "kube-apiserver") != first
        assert plane.api.get("/api/v1/namespaces/default/configmaps/kept")["metadata"]["name"] == "kept"


class Replaced(Binaries):
    """Binaries of which one is another file."""

    def __init__(self, name: str, path: Path) -> None:
        super().__init__(Options().kubernetes, lambda _: None)
        self._name = name
        self._path = path

    def find(self, name: str) -> Path:
        return self._path if name == self._name else super().find(name)


def script(path: Path, text: str) -> Path:
    path.write_text(text)
    path.chmod(0o755)
    return path


@pytest.mark.parametrize("name", ["etcd", "kube-apiserver", "kube-controller-manager", "kwok"])
def test_a_binary_that_ends_at_once_is_named_with_its_last_words(directory: Path, tmp_path: Path, name: str) -> None:
    broken = script(tmp_path / "broken", "#!/bin/sh\necho cannot go on >&2\nexit 3\n")
    plane = ControlPlane("x", directory=directory, binaries=Replaced(name, broken))
    with pytest.raises(
        ComponentFailed, match=rf"{name} exited with code 3; the end of .*{name}\.log:\n    cannot go on"
    ):
        plane.start()
    assert is_gone(directory)
    assert plane.status().problem.startswith(f"ended: {name} exited with code 3")


def test_a_file_that_is_no_program_is_named(directory: Path, tmp_path: Path) -> None:
    broken = script(tmp_path / "broken", "\x00\x01")
    plane = ControlPlane("x", directory=directory, binaries=Replaced("kube-apiserver", broken))
    with pytest.raises(StartError, match=rf"cannot start kube-apiserver: .*Exec format error: '{broken}'"):
        plane.start()
    assert is_gone(directory)


def test_a_server_that_never_gets_ready_is_named_with_the_logs(directory: Path, tmp_path: Path) -> None:
    mute = script(tmp_path / "mute", "#!/bin/sh\nexec sleep 1000\n")
    plane = ControlPlane("x", directory=directory, binaries=Replaced("kube-apiserver", mute))
    with pytest.raises(
        StartError, match=rf"kube-apiserver not ready within 1 s: .*refused.*; logs are in {directory}/logs"
    ):
        plane.start(timeout=1)
    assert is_gone(directory)


@pytest.fixture
def busy() -> Iterator[int]:
    """A port below those of outgoing connections that somebody listens on."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", ports.choose(1)[0]))
        listener.listen()
        yield listener.getsockname()[1]


def test_a_busy_port_that_was_asked_for_is_named(directory: Path, busy: int) -> None:
    plane = ControlPlane("x", directory=directory, options=Options(api_port=busy))
    with pytest.raises(StartError, match=rf"port {busy} on 127\.0\.0\.1 is in use; choose another --port"):
        plane.start()


@pytest.mark.parametrize("index", [0, 1], ids=["etcd", "kube-apiserver"])
def test_a_port_that_is_lost_to_another_process_is_replaced(
    directory: Path, busy: int, index: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    choose = ports.choose
    calls: list[list[int]] = []

    def unlucky(count: int) -> list[int]:
        chosen = choose(count)
        if not calls:
            chosen[index] = busy
        calls.append(chosen)
        return chosen

    monkeypatch.setattr(ports, "choose", unlucky)
    lines: list[str] = []
    with ControlPlane("x", directory=directory, report=lines.append) as plane:
        assert sorted(used_ports(plane)) == sorted(calls[1])
    assert "another process took a port meanwhile; trying other ports" in lines


@pytest.mark.parametrize("damage", ["half", "gone"])
def test_damaged_records_of_a_running_one_are_cleaned_up(directory: Path, damage: str) -> None:
    first = ControlPlane("x", directory=directory)
    first.start()
    first.disown()
    supervisor = identity(directory, "supervisor")
    old_ports = used_ports(first)
    for path in (first.layout.processes_file, first.layout.facts_file):
        whole = path.read_bytes()
        path.unlink()
        if damage == "half":
            path.write_bytes(whole[: len(whole) // 2])
    assert supervisor.is_alive
    lines: list[str] = []
    second = ControlPlane("x", directory=directory, report=lines.append)
    second.start()
    assert second.status().is_running
    assert wait_until(lambda: not supervisor.is_alive, PATIENCE)
    assert used_ports(second) != old_ports
    assert any(line.startswith("ending what an interrupted run left: ") for line in lines)
    second.stop()


def test_stop_clears_damaged_records_too(directory: Path) -> None:
    plane = ControlPlane("x", directory=directory)
    plane.start()
    plane.disown()
    plane.layout.processes_file.write_text("{")
    ControlPlane("x", directory=directory).stop()
    assert not directory.exists()


def test_a_directory_deleted_under_a_running_one_is_swept(directory: Path) -> None:
    plane = ControlPlane("x", directory=directory)
    plane.start()
    plane.disown()
    subprocess.run(["rm", "-rf", str(directory)], check=True)
    ControlPlane("x", directory=directory).stop()
    assert marked_with(directory) == []


RIVAL = """
import sys
from pathlib import Path
from cluster import ControlPlane
plane = ControlPlane("x", directory=Path(sys.argv[1]))
plane.start()
plane.disown()
print("mine", flush=True)
"""


def test_of_several_starts_at_once_one_wins(directory: Path) -> None:
    command = [sys.executable, "-c", RIVAL, str(directory)]
    rivals = [subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) for _ in range(3)]
    answers = [rival.communicate(timeout=120) for rival in rivals]
    assert sorted(out for out, _ in answers) == ["", "", "mine\n"]
    assert sum("AlreadyRunningError: control plane 'x' runs already" in err for _, err in answers) == 2
    plane = ControlPlane("x", directory=directory)
    assert plane.status().is_running
    plane.stop()
    assert not directory.exists()
