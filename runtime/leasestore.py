"""A Lease on the API server, over a connection that nothing else uses."""

from __future__ import annotations

import math

from runtime.client_sync import SyncClient
from runtime.errors import NotFound
from runtime.kubeconfig import ClientConfig
from runtime.lease import LEASES, Terms
from runtime.retry import ONCE
from runtime.transport_sync import SyncTransport
from runtime.watching import read_change
from runtime.wire import Lease, LeaseSpec

_PATIENCE = 2.0
"""Seconds beyond the end of a watch after which a silent connection counts as broken."""


class LeaseStore:
    """The `LeaseApi` of an election. Belongs to one thread at a time."""

    def __init__(self, client: SyncClient, namespace: str, name: str) -> None:
        self._client = client
        self._namespace = namespace
        self._name = name

    def read(self) -> Lease | None:
        """The lease, None when there is none."""
        try:
            return self._client.get(LEASES, self._name, self._namespace)
        except NotFound:
            return None

    def create(self, lease: Lease) -> Lease:
        return self._client.create(LEASES, lease, self._namespace)

    def update(self, lease: Lease) -> Lease:
        """Replace the lease that has the given one's resourceVersion."""
        return self._client.update(LEASES, lease, self._namespace)

    def wait_for_vacancy(self, resource_version: str, seconds: float) -> None:
        """Return as soon as the lease is released or deleted, at the latest after some seconds."""
        whole = max(1, math.ceil(seconds))
        watch = self._client.watch(
            LEASES,
            self._namespace,
            field_selector=f"metadata.name={self._name}",
            resource_version=resource_version,
            bookmarks=False,
            timeout=whole,
            idle_timeout=whole + _PATIENCE,
        )
        with watch as lines:
            for line in lines:
                change = read_change(LEASES, line)
                spec = change.object.spec if change.object.spec is not None else LeaseSpec()
                if change.type == "DELETED" or not spec.holder_identity:
                    return

    def close(self) -> None:
        self._client.transport.close()


def connect(config: ClientConfig, namespace: str, name: str, terms: Terms, user_agent: str = "stromboli") -> LeaseStore:
    """A store whose requests end well before the renew deadline, so that a hanging one leaves time for another."""
    transport = SyncTransport(
        config,
        retry=ONCE,
        timeout=max(1.0, terms.renew_deadline / 2),
        connect_timeout=max(1.0, terms.renew_deadline / 4),
        user_agent=f"{user_agent}/leader-election",
    )
    return LeaseStore(SyncClient(transport), namespace, name)
