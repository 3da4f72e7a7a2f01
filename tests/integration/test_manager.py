from __future__ import annotations

import http.client
import queue
import signal
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from cluster import ControlPlane

ROOT = Path(__file__).resolve().parents[2]
COMPONENT = textwrap.dedent("""
    import asyncio, sys, threading, time
    from runtime import kubeconfig, leasestore, log, options
    from runtime.client import Client
    from runtime.events import EventRecorder
    from runtime.flags import FlagParser
    from runtime.flagtypes import BOOL
    from runtime.lease import LEASES
    from runtime.manager import Ending, Endings, Manager
    from runtime.runnables import Runnable, Stage, threaded
    from runtime.transport import Transport
    from runtime.wire import ObjectReference

    def say(line):  # whole, since two threads do
        sys.stdout.write(line + "\\n")
        sys.stdout.flush()

    parser = FlagParser("vc-test")
    options.add_client_flags(parser)
    options.add_serving_flags(parser)
    options.add_election_flags(parser, "vc-test")
    options.add_log_flags(parser)
    parser.flag("spin", BOOL, False, "block the main loop for ten seconds")
    flags = parser.parse(sys.argv[1:])
    log.setup(options.log_options(flags), "vc-test")
    election = options.election_options(flags)

    async def setup(manager):
        client_options = options.client_options(flags)
        config = kubeconfig.load(client_options.kubeconfig, client_options.master)
        manager.join_election(lambda o: leasestore.connect(config, o.namespace, o.name, o.terms))
        transport = Transport(config, qps=client_options.qps, burst=client_options.burst)
        client = Client(transport, guard=manager.check_lease)
        recorder = EventRecorder(Client(transport), "vc-test")

        async def flush():
            await recorder.drain(3)
            await transport.aclose()

        def work(stop):
            say("leading")
            ref = ObjectReference(api_version="v1", kind="Pod", namespace=election.namespace, name="p", uid="u")
            stop.wait()
            manager.check_lease()
            recorder.record(ref, "Normal", "Drained", "the last words")
            say("drained")

        async def spin():
            until = time.monotonic() + 10
            say("spinning")
            while time.monotonic() < until:
                pass
            say("spun")
            await asyncio.Event().wait()

        manager.add(Runnable("events", recorder.run, Stage.SERVICES, stop=flush))
        manager.add(threaded("work", work))
        if flags.spin:
            manager.add(Runnable("spin", spin))
        say(f"healthz {manager.endpoints.ports.get('healthz')}")

    endings = Endings(stopped_without_election=Ending(1, "finished without leader elect"))
    manager = Manager("vc-test", serving=options.serving_options(flags), election=election, endings=endings)
    sys.exit(manager.run(setup))
""")


class Process:
    """The component above as a process of its own."""

    def __init__(self, *flags: str) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-c", COMPONENT, *flags],
            cwd=ROOT,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.lines: queue.SimpleQueue[str] = queue.SimpleQueue()
        self.errors: list[str] = []
        self._readers = [
            threading.Thread(target=self._read, args=(self._process.stdout, self.lines.put)),
            threading.Thread(target=self._read, args=(self._process.stderr, self.errors.append)),
        ]
        for reader in self._readers:
            reader.start()

    @staticmethod
    def _read(stream: Any, put: Callable[[str], None]) -> None:
        for line in stream:
            put(line.rstrip("\n"))

    def wait_for(self, word: str, seconds: float = 30) -> str:
        """The rest of the next line that begins with a word."""
        until = time.monotonic() + seconds
        while True:
            try:
                line = self.lines.get(timeout=max(0.01, until - time.monotonic()))
            except queue.Empty:
                pytest.fail(f"no line {word!r} within {seconds:g}s, stderr: {self.errors}")
            if line.startswith(word):
                return line.removeprefix(word).strip()

    def signal(self, number: int) -> None:
        self._process.send_signal(number)

    def end(self, seconds: float = 30) -> int:
        """The exit code."""
        code = self._process.wait(seconds)
        for reader in self._readers:
            reader.join(10)
        return code

    def close(self) -> None:
        if self._process.poll() is None:
            self._process.kill()
        self.end()
        for stream in (self._process.stdout, self._process.stderr):
            if stream is not None:
                stream.close()

    @property
    def last_words(self) -> str:
        """The last line on stderr that is no log line."""
        return [line for line in self.errors if "] " not in line][-1]


Start = Callable[..., Process]


@pytest.fixture
def start(kubeconfig: Path, namespace: str) -> Iterator[Start]:
    running: list[Process] = []

    def begin(*flags: str) -> Process:
        process = Process(
            f"--kubeconfig={kubeconfig}", f"--leader-elect-resource-namespace={namespace}", *flags, "2>&1"
        )
        running.append(process)
        return process

    yield begin
    for process in running:
        process.close()


def lease(control_plane: ControlPlane, namespace: str) -> dict[str, Any]:
    path = f"/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases/vc-test"
    found: dict[str, Any] = control_plane.api.get(path)["spec"]
    return found


def test_sigterm_drains_releases_and_exits_with_0(control_plane: ControlPlane, namespace: str, start: Start) -> None:
    process = start()
    process.wait_for("leading")
    assert lease(control_plane, namespace)["holderIdentity"]
    process.signal(signal.SIGTERM)
    process.wait_for("drained")
    assert process.end() == 0
    assert lease(control_plane, namespace).get("holderIdentity", "") == ""
    path = f"/api/v1/namespaces/{namespace}/events"
    (event,) = control_plane.api.items(path, fieldSelector="source=vc-test")
    assert event["message"] == "the last words"


def test_a_standby_leads_when_the_leader_ends(control_plane: ControlPlane, namespace: str, start: Start) -> None:
    first = start()
    first.wait_for("leading")
    second = start()
    second.wait_for("healthz")
    first.signal(signal.SIGTERM)
    second.wait_for("leading")
    assert first.end() == 0
    assert lease(control_plane, namespace)["leaseTransitions"] == 1


def test_a_standby_ends_with_0(start: Start) -> None:
    first = start()
    first.wait_for("leading")
    second = start()
    second.wait_for("healthz")
    second.signal(signal.SIGTERM)
    assert second.end() == 0


def test_without_election_the_exit_code_is_the_components_own(start: Start) -> None:
    process = start("--leader-elect=false")
    process.wait_for("leading")
    process.signal(signal.SIGINT)
    assert process.end() == 1
    assert process.last_words == "finished without leader elect"


def test_a_lost_lease_ends_the_process_with_255(control_plane: ControlPlane, namespace: str, start: Start) -> None:
    process = start()
    process.wait_for("leading")
    path = f"/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases/vc-test"
    control_plane.api.merge(path, {"spec": {"holderIdentity": "thief"}})
    assert process.end() == 255
    assert process.last_words == "leaderelection lost"
    assert lease(control_plane, namespace)["holderIdentity"] == "thief"


def test_an_unreachable_configuration_is_told(start: Start, tmp_path: Path) -> None:
    process = start(f"--kubeconfig={tmp_path / 'none'}")
    assert process.end() == 1
    assert "no such file" in process.last_words


def test_health_and_lease_survive_a_main_loop_that_is_busy_for_ten_seconds(
    control_plane: ControlPlane, namespace: str, start: Start
) -> None:
    process = start(
        "--enable-healthz", "--healthz-address=127.0.0.1:0", "--spin",
        "--leader-elect-lease-duration=4s", "--leader-elect-renew-deadline=3s", "--leader-elect-retry-period=1s",
    )  # fmt: skip
    port = int(process.wait_for("healthz"))
    process.wait_for("spinning")
    delays = []
    until = time.perf_counter() + 9
    while time.perf_counter() < until:
        asked = time.perf_counter()
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
        connection.request("GET", "/healthz")
        assert connection.getresponse().read() == b"ok"
        connection.close()
        delays.append(time.perf_counter() - asked)
        threading.Event().wait(0.02)
    assert sorted(delays)[int(len(delays) * 0.99)] < 1.0
    process.wait_for("spun")
    assert lease(control_plane, namespace)["leaseTransitions"] == 0
    assert not [line for line in process.errors if "not renewed in time" in line]
    process.signal(signal.SIGTERM)
    assert process.end() == 0


def test_a_second_signal_ends_a_busy_process_at_once(start: Start) -> None:
    process = start("--spin")
    process.wait_for("spinning")
    process.signal(signal.SIGTERM)
    threading.Event().wait(0.2)
    signalled = time.monotonic()
    process.signal(signal.SIGTERM)
    assert process.end() == 1
    assert time.monotonic() - signalled < 5
