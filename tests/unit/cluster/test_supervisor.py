"""The supervisor, with shell commands in place of servers: who ends when, and what it leaves behind."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from cluster import supervision as supervision_module
from cluster.errors import ComponentFailed, NotRunningError, StartError
from cluster.processes import MARKER, ProcessId, marked_with, wait_until
from cluster.state import Layout, Processes, ProcessRecord, read
from cluster.supervision import Supervision, SupervisorError

SLEEP = ["sleep", "1000"]


@pytest.fixture
def layout(tmp_path: Path) -> Layout:
    layout = Layout(tmp_path / "state")
    layout.create()
    return layout


@pytest.fixture
def supervision(layout: Layout) -> Iterator[Supervision]:
    supervision = Supervision.launch(layout, ProcessId.of(os.getpid()))
    yield supervision
    supervision.end("the test is over")
    # what a killed shell was just waiting for ends by itself
    assert wait_until(lambda: not marked_with(layout.root), 10)


def processes(layout: Layout) -> Processes:
    found = read(layout.processes_file, Processes)
    assert found is not None
    return found


def record(layout: Layout, name: str) -> ProcessRecord:
    return next(component for component in processes(layout).components if component.name == name)


def has_ended(layout: Layout) -> bool:
    return bool(processes(layout).ended) and not processes(layout).supervisor.process.is_alive


def test_a_component_runs_with_its_environment_and_log(supervision: Supervision, layout: Layout) -> None:
    supervision.start("teller", ["sh", "-c", "echo $WORD $0; echo fault >&2; exec sleep 1000"], {"WORD": "hello"})
    assert wait_until(lambda: "fault" in layout.log("teller").read_text(), 10)
    assert layout.log("teller").read_text() == "hello sh\nfault\n"
    process = record(layout, "teller").process
    assert process.is_alive
    assert set(marked_with(layout.root)) == {process, processes(layout).supervisor.process}
    assert MARKER not in os.environ


def test_end_takes_all_components_down(supervision: Supervision, layout: Layout) -> None:
    for name in ("one", "two", "three"):
        supervision.start(name, SLEEP)
    running = [component.process for component in processes(layout).components]
    assert all(process.is_alive for process in running)
    supervision.end("enough")
    assert not any(process.is_alive for process in running)
    assert processes(layout).ended == "enough"
    assert processes(layout).culprit == ""
    assert not layout.control_socket.exists()


def test_end_is_content_when_nobody_answers(layout: Layout) -> None:
    Supervision(layout).end("nothing to do")


@pytest.mark.parametrize(
    ("script", "how"),
    [("echo last words; exit 3", "exited with code 3"), ("echo last words; kill -9 $$", "was killed by SIGKILL")],
)
def test_the_end_of_one_component_is_the_end_of_all(
    supervision: Supervision, layout: Layout, script: str, how: str
) -> None:
    supervision.start("bystander", SLEEP)
    supervision.start("culprit", ["sh", "-c", script])
    assert wait_until(lambda: has_ended(layout), 10)
    assert processes(layout).ended == f"culprit {how}"
    assert not record(layout, "bystander").process.is_alive
    with pytest.raises(ComponentFailed, match=rf"culprit {how}; the end of .*culprit\.log:\n +last words") as failure:
        supervision.check()
    assert failure.value.component == "culprit"


def test_a_component_stopped_on_purpose_is_no_fault(supervision: Supervision, layout: Layout) -> None:
    supervision.start("server", SLEEP)
    first = record(layout, "server")
    supervision.stop("server", 0)
    assert record(layout, "server").exit == "was killed by SIGKILL"
    assert not first.process.is_alive
    supervision.check()
    supervision.start("server")
    second = record(layout, "server")
    assert second.exit == ""
    assert second.process.is_alive
    assert second.process != first.process


def test_stopping_asks_first(supervision: Supervision, layout: Layout) -> None:
    supervision.start("polite", ["sh", "-c", "trap 'echo bye; exit 0' TERM; echo ready; while :; do sleep 0.05; done"])
    assert wait_until(lambda: "ready" in layout.log("polite").read_text(), 10)
    supervision.stop("polite", 10)
    assert layout.log("polite").read_text() == "ready\nbye\n"
    assert record(layout, "polite").exit == "exited with code 0"


def test_who_does_not_stop_in_time_is_killed(supervision: Supervision, layout: Layout) -> None:
    supervision.start("stubborn", ["sh", "-c", "trap '' TERM; echo ready; while :; do sleep 0.05; done"])
    assert wait_until(lambda: "ready" in layout.log("stubborn").read_text(), 10)
    supervision.stop("stubborn", 0.1)
    assert record(layout, "stubborn").exit == "was killed by SIGKILL"


def test_a_second_start_of_a_running_component_is_refused(supervision: Supervision, layout: Layout) -> None:
    supervision.start("server", SLEEP)
    with pytest.raises(StartError, match="cannot start server: server runs already"):
        supervision.start("server")
    assert record(layout, "server").process.is_alive


def test_a_file_that_is_no_program_is_named(supervision: Supervision, tmp_path: Path) -> None:
    broken = tmp_path / "broken"
    broken.write_bytes(b"\x00\x01")
    broken.chmod(0o755)
    with pytest.raises(StartError, match=rf"cannot start server: .*Exec format error: '{broken}'"):
        supervision.start("server", [str(broken)])
    with pytest.raises(StartError, match=r"cannot start server: .*No such file or directory: '/nowhere/binary'"):
        supervision.start("server", ["/nowhere/binary"])
    supervision.check()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_signal_takes_everything_down(supervision: Supervision, layout: Layout, number: signal.Signals) -> None:
    supervision.start("server", SLEEP)
    server = record(layout, "server").process
    assert processes(layout).supervisor.process.send(number)
    assert wait_until(lambda: has_ended(layout), 10)
    assert processes(layout).ended == f"got {number.name}"
    assert not server.is_alive
    with pytest.raises(StartError, match=f"the control plane ended: got {number.name}"):
        supervision.check()


def test_a_killed_supervisor_takes_its_components_along(supervision: Supervision, layout: Layout) -> None:
    supervision.start("server", SLEEP)
    server = record(layout, "server").process
    assert processes(layout).supervisor.process.send(signal.SIGKILL)
    assert wait_until(lambda: not server.is_alive, 10)
    with pytest.raises(StartError, match="its supervisor was killed"):
        supervision.check()
    with pytest.raises(NotRunningError, match=f"no control plane runs in {layout.root}"):
        supervision.stop("server", 0)


OWNER = """
import os, sys
from pathlib import Path
from cluster.processes import ProcessId
from cluster.state import Layout
from cluster.supervision import Supervision
supervision = Supervision.launch(Layout(Path(sys.argv[1])), ProcessId.of(os.getpid()))
supervision.start("server", ["sleep", "1000"])
if sys.argv[2] == "disown":
    supervision.disown()
print("started", flush=True)
sys.stdin.readline()
"""


@contextlib.contextmanager
def owner(layout: Layout, mode: str) -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-W", "error", "-c", OWNER, str(layout.root), mode]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "started\n"
        yield process


def test_it_ends_with_its_owner(layout: Layout) -> None:
    with owner(layout, "keep") as process:
        assert record(layout, "server").process.is_alive
        process.kill()
    assert wait_until(lambda: has_ended(layout), 10)
    assert processes(layout).ended == f"its owner, process {process.pid}, ended"
    assert not record(layout, "server").process.is_alive


def test_disowned_it_outlives_its_owner(layout: Layout) -> None:
    with owner(layout, "disown") as process:
        process.kill()
    supervision = Supervision(layout)
    assert supervision.is_answering()
    supervision.check()
    supervision.end("the test is over")
    assert marked_with(layout.root) == []


def raw(layout: Layout, data: bytes) -> bytes:
    """What it answers to these bytes."""
    here = Path.cwd()
    os.chdir(layout.root)  # the path may be too long for a socket
    try:
        with socket.socket(socket.AF_UNIX) as connection:
            connection.connect(layout.control_socket.name)
            connection.sendall(data)
            connection.shutdown(socket.SHUT_WR)
            return connection.makefile("rb").readline()
    finally:
        os.chdir(here)


@pytest.mark.parametrize(
    "data",
    [b"", b"garbage\n", b"{}\n", b'{"do": "stop", "name": "nobody", "grace": 0}\n', b'{"do": "dance"}\n', b"[]\n"],
)
def test_a_malformed_order_changes_nothing(supervision: Supervision, layout: Layout, data: bytes) -> None:
    supervision.start("server", SLEEP)
    assert "error" in json.loads(raw(layout, data))
    assert supervision.is_answering()
    assert record(layout, "server").process.is_alive


def test_stopping_an_unknown_component_is_an_error(supervision: Supervision) -> None:
    with pytest.raises(SupervisorError, match="nobody"):
        supervision.stop("nobody", 0)


@pytest.mark.parametrize("descriptors", ["/proc/self/fd", "missing"])
def test_a_deep_directory_is_no_obstacle(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, descriptors: str) -> None:
    monkeypatch.setattr(supervision_module, "_DESCRIPTORS", tmp_path / descriptors)  # an absolute one stays as it is
    layout = Layout(tmp_path / ("deep" * 30) / ("deeper" * 20))
    layout.create()
    supervision = Supervision.launch(layout, ProcessId.of(os.getpid()))
    supervision.start("server", SLEEP)
    assert record(layout, "server").process.is_alive
    supervision.end("the test is over")


def test_a_supervisor_that_cannot_start_tells_why(layout: Layout) -> None:
    layout.control_socket.mkdir()  # in its way
    with pytest.raises(
        StartError, match=r"the supervisor did not start; the end of .*supervisor\.log:(.|\n)*control\.sock"
    ):
        Supervision.launch(layout, None)


def test_it_ends_cleanly_when_its_directory_vanishes(layout: Layout) -> None:
    supervision = Supervision.launch(layout, None)
    supervision.start("server", SLEEP)
    server, itself = record(layout, "server").process, processes(layout).supervisor.process
    for path in (layout.processes_file, layout.control_socket):
        path.unlink()
    assert itself.send(signal.SIGTERM)
    assert wait_until(lambda: not server.is_alive and not itself.is_alive, 10)
    supervision.end("the test is over")
