from __future__ import annotations

import http.client
import socket
import stat
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from runtime import log, loglevel
from runtime.loglevel import LogLevel
from runtime.serving import Call, Reply, ServingThread


@pytest.fixture(autouse=True)
def level_of_the_start() -> Iterator[None]:
    log._levels.verbosity = 3
    yield
    log._levels.verbosity = 0


@pytest.fixture
def applied(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The verbosities that were set, in place of setting the levels of all loggers."""
    found: list[int] = []

    def note(value: int) -> None:
        log._levels.verbosity = value
        found.append(value)

    monkeypatch.setattr(log, "set_verbosity", note)
    return found


@pytest.fixture
def control(applied: list[int]) -> Iterator[LogLevel]:
    found = LogLevel()
    yield found
    found.close()


def ask(control: LogLevel, **query: str) -> Reply:
    return control._set(Call("GET", "/setlevel", {}, query))


def test_the_level_can_be_asked(control: LogLevel) -> None:
    assert control._get(Call("GET", "/getlevel")) == Reply("Current klog log level: 3\n")


@pytest.mark.parametrize(
    ("duration", "shown"), [("1ms", "1ms"), ("90s", "1m30s"), ("1h", "1h0m0s"), ("2562047h", "2562047h0m0s")]
)
def test_the_answer_to_a_change_has_two_blanks(
    control: LogLevel, applied: list[int], duration: str, shown: str
) -> None:
    reply = ask(control, level="5", duration=duration)
    assert reply == Reply(f"Change klog log level to 5 successfully and  for {shown}\n")
    assert applied[0] == 5


@pytest.mark.parametrize(
    "query",
    [
        {},
        {"level": "5"},
        {"duration": "1s"},
        {"level": "0", "duration": "1s"},
        {"level": "-1", "duration": "1s"},
        {"level": "x", "duration": "1s"},
        {"level": "5.5", "duration": "1s"},
        {"level": "5", "duration": "10"},
        {"level": "5", "duration": "999us"},
        {"level": "5", "duration": "-1s"},
    ],
)
def test_bad_arguments_get_the_usage_and_change_nothing(
    control: LogLevel, applied: list[int], query: dict[str, str]
) -> None:
    reply = ask(control, **query)
    assert reply.status == 400
    assert str(reply.body).startswith("usage: /setlevel?level=")
    assert str(reply.body).endswith("\n")
    assert applied == []


def test_after_the_duration_the_level_of_the_start_is_back(control: LogLevel, applied: list[int]) -> None:
    control.change(5, 0.001)
    timer = control._timer
    assert timer is not None
    timer.join(10)
    assert applied == [5, 3]
    assert log.verbosity() == 3


def test_a_later_change_cancels_the_return_of_an_earlier_one(control: LogLevel, applied: list[int]) -> None:
    control.change(5, 60)
    first = control._timer
    control.change(6, 0.001)
    second = control._timer
    assert first is not None
    assert second is not None
    second.join(10)
    assert first.finished.is_set()
    assert applied == [5, 6, 3]


def test_an_overtaken_return_does_nothing(control: LogLevel, applied: list[int]) -> None:
    control.change(5, 60)
    control._restore()  # as if its timer had fired just before it was replaced
    assert applied == [5]


def test_a_level_that_cannot_be_set_gives_500(control: LogLevel, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_: threading.Timer) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Timer, "start", refuse)
    reply = ask(control, level="5", duration="1s")
    assert reply.status == 500
    assert "can't start new thread" in str(reply.body)


def test_the_directory_comes_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DEBUG_SOCKET_DIR", "/somewhere")
    assert loglevel.socket_path() == Path("/somewhere/klog-klog.sock")
    monkeypatch.setenv("DEBUG_SOCKET_DIR", "")
    assert loglevel.socket_path() == Path("/tmp/klog-socks/klog-klog.sock")


def test_it_is_served_on_a_socket_of_this_user(tmp_path: Path, applied: list[int]) -> None:
    serving = ServingThread()
    serving.start()
    path = tmp_path / "klog-socks" / "klog-klog.sock"
    control = loglevel.serve(serving, path)
    try:
        assert stat.S_IMODE(path.stat().st_mode) == 0o700
        connection = http.client.HTTPConnection("unix", timeout=10)
        connection.sock = socket.socket(socket.AF_UNIX)
        connection.sock.connect(str(path))
        connection.request("GET", "/setlevel?level=4&duration=1m")
        response = connection.getresponse()
        assert response.read() == b"Change klog log level to 4 successfully and  for 1m0s\n"
        assert response.headers["Content-Type"] == "text/plain; charset=utf-8"
        connection.close()
    finally:
        control.close()
        serving.stop()
    assert applied == [4]


def test_a_socket_that_cannot_be_made_is_no_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    serving = ServingThread()
    serving.start()
    try:
        loglevel.serve(serving, tmp_path / "file" / "x.sock")
    finally:
        serving.stop()
