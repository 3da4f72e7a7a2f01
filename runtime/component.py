"""
What every component does first: find the API server, and run client, caches and events over it.

Event requests go last of all, the election goes over a connection of its own, and each write asks the lease.
"""

from __future__ import annotations

import msgspec

from runtime import leasestore
from runtime.client import Client
from runtime.events import EventRecorder
from runtime.features import FeatureGates, parse_release
from runtime.informers import Informers
from runtime.kubeconfig import ClientConfig, load
from runtime.manager import Manager
from runtime.options import ClientOptions
from runtime.rbac import Rule
from runtime.runnables import Runnable, Stage
from runtime.transport import Transport

EVENT_RULES = (Rule("", ("events",), ("create", "patch")),)
"""What a component needs to tell users what it did, in any namespace."""
ELECTION_RULES = (Rule("coordination.k8s.io", ("leases",), ("create", "get", "list", "update", "watch")),)
"""What an election needs in the namespace of its lease, whose name a flag may change."""
FLUSH_SECONDS = 5.0
"""How long the last events may take at the end."""


class Connection(msgspec.Struct, frozen=True):
    """One of each a process."""

    config: ClientConfig
    client: Client
    informers: Informers
    events: EventRecorder


def connect(
    manager: Manager, options: ClientOptions, *, component: str, source: str = "", resync: float | None = None
) -> Connection:
    """
    Build the connection, hand its parts to the manager and join the election.

    `component` names the process in requests, `source` is what users see on events, `resync` is that of `Informers`.
    Raises ConfigError.
    """
    config = load(options.kubeconfig, options.master, prefer_in_cluster=True)
    transport = Transport(config, qps=options.qps, burst=options.burst, user_agent=component)
    client = Client(transport, guard=manager.check_lease)
    informers = Informers(client, resync=resync)
    # Events are no decision: the last ones are sent after the lease was released.
    events = EventRecorder(Client(transport), source or component)

    async def flush() -> None:
        await events.drain(FLUSH_SECONDS)
        await transport.aclose()

    manager.add(Runnable("events", events.run, Stage.SERVICES, stop=flush))
    manager.add(Runnable("informers", informers.run, Stage.CACHES))
    manager.join_election(
        lambda election: leasestore.connect(config, election.namespace, election.name, election.terms, component)
    )
    return Connection(config, client, informers, events)


async def align(gates: FeatureGates, client: Client) -> None:
    """Let the defaults of feature gates follow the server's release. Raises ApiError, ConnectionFailed, FeatureError."""
    found = await client.server_version()
    gates.align(parse_release(found.major, found.minor))
