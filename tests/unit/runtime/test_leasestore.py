from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any, cast

import msgspec
import pytest

from runtime.client_sync import SyncClient
from runtime.errors import ApiError, Conflict, Gone, NotFound
from runtime.kubeconfig import ClientConfig
from runtime.lease import LEASES, Terms
from runtime.leasestore import LeaseStore, connect
from runtime.wire import Lease, LeaseSpec, ObjectMeta, Status

HELD = Lease(metadata=ObjectMeta(name="x", namespace="ns"), spec=LeaseSpec(holder_identity="a"))


class FakeClient:
    """Answers for one lease, and notes what it was asked."""

    def __init__(self) -> None:
        self.asked: list[Any] = []
        self.failure: Exception | None = None
        self.lines: list[bytes] = []
        self.read_lines = 0
        self.transport = SimpleNamespace(close=lambda: self.asked.append("close"))

    def _answer(self, *asked: Any) -> Lease:
        self.asked.append(asked)
        if self.failure is not None:
            raise self.failure
        return HELD

    def get(self, *asked: Any) -> Lease:
        return self._answer("get", *asked)

    def create(self, *asked: Any) -> Lease:
        return self._answer("create", *asked)

    def update(self, *asked: Any) -> Lease:
        return self._answer("update", *asked)

    @contextmanager
    def watch(self, *asked: Any, **settings: Any) -> Iterator[Iterator[bytes]]:
        self.asked.append(("watch", *asked, settings))

        def lines() -> Iterator[bytes]:
            for line in self.lines:
                self.read_lines += 1
                yield line

        yield lines()


@pytest.fixture
def client() -> FakeClient:
    return FakeClient()


@pytest.fixture
def store(client: FakeClient) -> LeaseStore:
    return LeaseStore(cast("SyncClient", client), "ns", "x")


def event(kind: str, **spec: Any) -> bytes:
    return msgspec.json.encode({"type": kind, "object": {"metadata": {"name": "x"}, "spec": spec}})


def test_a_lease_is_read_made_and_replaced_in_its_namespace(store: LeaseStore, client: FakeClient) -> None:
    assert store.read() is HELD
    assert store.create(HELD) is HELD
    assert store.update(HELD) is HELD
    store.close()
    assert client.asked == [
        ("get", LEASES, "x", "ns"),
        ("create", LEASES, HELD, "ns"),
        ("update", LEASES, HELD, "ns"),
        "close",
    ]


def test_a_lease_that_is_not_there_is_none(store: LeaseStore, client: FakeClient) -> None:
    client.failure = NotFound(Status(code=404))
    assert store.read() is None


def test_other_refusals_pass_through(store: LeaseStore, client: FakeClient) -> None:
    client.failure = Conflict(Status(code=409))
    with pytest.raises(Conflict):
        store.update(HELD)


@pytest.mark.parametrize(
    "vacancy", [event("MODIFIED", holderIdentity=""), event("MODIFIED"), event("DELETED", holderIdentity="a")]
)
def test_waiting_ends_with_the_release_or_the_deletion(store: LeaseStore, client: FakeClient, vacancy: bytes) -> None:
    renewal = event("MODIFIED", holderIdentity="a")
    client.lines = [renewal, renewal, vacancy, renewal]
    store.wait_for_vacancy("7", 2.5)
    assert client.read_lines == 3


def test_waiting_ends_when_the_server_ends_the_watch(store: LeaseStore, client: FakeClient) -> None:
    client.lines = [event("MODIFIED", holderIdentity="a")]
    store.wait_for_vacancy("7", 2.5)
    ((verb, resource, namespace, settings),) = client.asked
    assert (verb, resource, namespace) == ("watch", LEASES, "ns")
    assert settings == {
        "field_selector": "metadata.name=x",
        "resource_version": "7",
        "bookmarks": False,
        "timeout": 3,
        "idle_timeout": 5.0,
    }


def test_a_lease_without_a_record_is_vacant(store: LeaseStore, client: FakeClient) -> None:
    client.lines = [b'{"type":"MODIFIED","object":{"metadata":{"name":"x"}}}', event("MODIFIED", holderIdentity="a")]
    store.wait_for_vacancy("7", 0.1)
    assert client.read_lines == 1


def test_a_version_that_is_too_old_is_an_error(store: LeaseStore, client: FakeClient) -> None:
    client.lines = [b'{"type":"ERROR","object":{"kind":"Status","code":410,"reason":"Expired"}}']
    with pytest.raises(Gone):
        store.wait_for_vacancy("7", 1)
    assert issubclass(Gone, ApiError)


def test_a_hanging_request_leaves_time_for_another() -> None:
    store = connect(ClientConfig(server="http://127.0.0.1:1"), "ns", "x", Terms(15.0, 10.0, 2.0), "vc-test/1.0")
    transport = store._client.transport
    assert transport._timeout == 5.0
    assert transport._connect_timeout == 2.5
    assert ("User-Agent", "vc-test/1.0/leader-election") in transport._headers
    store.close()
