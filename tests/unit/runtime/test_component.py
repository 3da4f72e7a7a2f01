from __future__ import annotations

from pathlib import Path
from textwrap import dedent
from typing import Any, ClassVar

import pytest

from runtime import component
from runtime.client import Client
from runtime.component import ELECTION_RULES, EVENT_RULES, align, connect
from runtime.errors import ConfigError
from runtime.features import FeatureGates, alpha
from runtime.lease import LEASES, LeaseLost
from runtime.manager import Manager
from runtime.options import ClientOptions, ElectionOptions
from runtime.runnables import Runnable, Stage


class Parts(Manager):
    """A manager that only takes note of what it is given."""

    def __init__(self) -> None:
        self.parts: dict[str, Runnable] = {}
        self.elections: list[Any] = []
        self.is_lost = False

    def add(self, runnable: Runnable) -> None:
        self.parts[runnable.name] = runnable

    def join_election(self, connect: Any) -> None:
        self.elections.append(connect)

    def check_lease(self) -> None:
        if self.is_lost:
            raise LeaseLost("gone")


@pytest.fixture
def kubeconfig(tmp_path: Path) -> str:
    path = tmp_path / "config"
    path.write_text(
        dedent("""
        apiVersion: v1
        kind: Config
        current-context: c
        contexts: [{name: c, context: {cluster: k, user: u, namespace: here}}]
        clusters: [{name: k, cluster: {server: "http://127.0.0.1:1"}}]
        users: [{name: u, user: {token: t}}]
        """)
    )
    return str(path)


async def test_the_parts_run_in_their_stages(kubeconfig: str) -> None:
    manager = Parts()
    connection = connect(manager, ClientOptions(kubeconfig=kubeconfig), component="vc-test")
    assert {name: part.stage for name, part in manager.parts.items()} == {
        "events": Stage.SERVICES,
        "informers": Stage.CACHES,
    }
    assert manager.parts["informers"].run == connection.informers.run
    assert connection.config.server == "http://127.0.0.1:1"
    assert connection.config.namespace == "here"


async def test_each_write_asks_the_lease_first(kubeconfig: str) -> None:
    manager = Parts()
    connection = connect(manager, ClientOptions(kubeconfig=kubeconfig), component="vc-test")
    manager.is_lost = True
    with pytest.raises(LeaseLost):
        await connection.client.create(LEASES, {"metadata": {"name": "x"}}, "n")


async def test_the_election_goes_over_a_connection_of_its_own(kubeconfig: str, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[Any, ...]] = []
    monkeypatch.setattr("runtime.leasestore.connect", lambda *arguments: asked.append(arguments))
    manager = Parts()
    connection = connect(manager, ClientOptions(kubeconfig=kubeconfig), component="vc-test")
    election = ElectionOptions(name="lease", namespace="home")
    manager.elections[0](election)
    assert asked == [(connection.config, "home", "lease", election.terms, "vc-test")]


class Events:
    """Stands in for the recorder."""

    made: ClassVar[list[Events]] = []

    def __init__(self, client: Client, source: str) -> None:
        self.source = source
        self.drained: list[float] = []
        self.made.append(self)

    async def run(self) -> None:
        raise NotImplementedError

    async def drain(self, seconds: float) -> None:
        self.drained.append(seconds)


@pytest.mark.parametrize(("source", "shown"), [("", "vc-test"), ("volcano", "volcano")])
async def test_events_carry_their_source_and_are_flushed_at_the_end(
    kubeconfig: str, monkeypatch: pytest.MonkeyPatch, source: str, shown: str
) -> None:
    monkeypatch.setattr(component, "EventRecorder", Events)
    manager = Parts()
    connect(manager, ClientOptions(kubeconfig=kubeconfig), component="vc-test", source=source)
    events = Events.made.pop()
    assert events.source == shown
    stop: Any = manager.parts["events"].stop
    await stop()
    assert events.drained == [component.FLUSH_SECONDS]


async def test_a_configuration_that_can_not_be_used_is_told(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="missing"):
        connect(Parts(), ClientOptions(kubeconfig=str(tmp_path / "missing")), component="vc-test")


async def test_gates_follow_the_release_of_the_server() -> None:
    class Served:
        async def server_version(self) -> Any:
            return type("Version", (), {"major": "1", "minor": "34+"})()

    gates = FeatureGates([alpha("A", default=True)])
    client: Any = Served()
    await align(gates, client)
    assert gates.release == (1, 34)


def test_rules_are_no_wider_than_what_is_done() -> None:
    assert [(rule.resources, rule.verbs) for rule in EVENT_RULES] == [(("events",), ("create", "patch"))]
    assert [rule.resources for rule in ELECTION_RULES] == [("leases",)]
