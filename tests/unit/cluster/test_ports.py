"""Free ports."""

from __future__ import annotations

import random
import socket
from collections.abc import Iterator

import pytest

from cluster import ports
from cluster.errors import StartError


@pytest.fixture
def taken() -> Iterator[int]:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        yield listener.getsockname()[1]


def test_a_port_in_use_is_not_free(taken: int) -> None:
    assert not ports.is_free(taken)


def test_a_port_just_let_go_is_free() -> None:
    with socket.socket() as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # as our servers do
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        port = listener.getsockname()[1]
        with socket.create_connection(("127.0.0.1", port)):
            accepted, _ = listener.accept()
            accepted.close()  # this side closes first and lingers in TIME_WAIT
    assert ports.is_free(port)


def test_chosen_ports_differ_and_lie_below_those_of_outgoing_connections() -> None:
    chosen = ports.choose(20)
    assert len(set(chosen)) == 20
    assert all(20_000 <= port < 32_000 for port in chosen)
    assert all(ports.is_free(port) for port in chosen)


def test_taken_and_repeated_ports_are_passed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    class Source(random.Random):
        numbers = iter([20_001, 20_002, 20_001, 20_003, 20_003, 20_004])

        def choice(self, _: object) -> int:  # type: ignore[override]
            return next(self.numbers)

    monkeypatch.setattr(ports, "is_free", lambda port: port != 20_002)
    assert ports.choose(3, Source()) == [20_001, 20_003, 20_004]


def test_when_all_are_taken_it_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ports, "is_free", lambda _: False)
    with pytest.raises(StartError, match=r"found no 2 free ports of 20000-31999 on 127\.0\.0\.1"):
        ports.choose(2)
