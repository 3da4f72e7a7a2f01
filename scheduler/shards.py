"""
Which nodes are this scheduler's where several schedulers divide a cluster by NodeShard objects (scheduler.md 16).

Hard: no pod goes to a node outside of the shard, which a filter says like any other. Soft: nodes of the shard come
before all others, which `Cluster.preferred` says to whoever chooses.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping
from enum import Enum
from typing import TYPE_CHECKING

import msgspec
import numpy as np

from scheduler.contract.effects import Code, Effect, Filter, Refusal, Verdicts
from scheduler.state.dimensions import Mask
from scheduler.state.status import Status

if TYPE_CHECKING:
    from generated.shard.v1alpha1 import NodeShard
    from scheduler.contract.view import View
    from scheduler.state.cluster import Cluster
    from scheduler.state.task import Task

log = logging.getLogger(__name__)

OUTSIDE = Refusal(Code.UNRESOLVABLE, "node isn't in scheduler node shard")
NAME = "shard"


class Mode(Enum):
    """What a shard means to its scheduler."""

    NONE = "none"
    HARD = "hard"
    SOFT = "soft"


def mode_of(text: str) -> Mode:
    """The mode that a flag names; one that isn't known ignores shards, with a word."""
    try:
        return Mode(text)
    except ValueError:
        known = ", ".join(mode.value for mode in Mode)
        log.warning("--scheduler-sharding-mode %s is none of %s: shards are ignored", text, known)
        return Mode.NONE


class ShardStatus(msgspec.Struct, frozen=True):
    """What the status of the own NodeShard is to say."""

    in_use: frozenset[str]
    to_add: frozenset[str]
    to_remove: frozenset[str]


class Shards:
    """
    The shards of a cluster as one scheduler sees them. Belongs to the scheduling thread, outlives configurations.

    `nodes` are those of the own shard: what it desires less what others still use. `tell` is given what the own
    status is to become, None when the server has it already.
    """

    def __init__(
        self,
        cluster: Cluster,
        mode: Mode,
        name: str,
        tell: Callable[[ShardStatus | None], None] = lambda _: None,
        nodes: Iterable[str] = (),
    ) -> None:
        self.mode = mode
        self.name = name
        self.nodes = frozenset(nodes)
        self.filter = Filter(
            name=NAME, plugin=NAME, refusals=(OUTSIDE,), evaluate=self._judge, reads=(), effect=Effect.STATIC,
            foremost=True,
        )  # fmt: skip
        self._cluster = cluster
        self._tell = tell
        self._told: ShardStatus | None = None
        self._objects: dict[str, NodeShard] = {}
        self._is_due = False
        """Whether there was news since the status was looked at."""
        self._misses = not self.nodes
        """Whether it is to be said that the own shard is missing."""
        self._leaving: frozenset[str] = frozenset()
        """Nodes given up to which binds are still under way."""
        self._mask: Mask = np.zeros(0, dtype=np.bool_)
        self._known: tuple[object, frozenset[str]] | None = None

    # NodeShard objects.

    def apply(self, old: NodeShard | None, new: NodeShard | None) -> None:
        """Take in a NodeShard that came, changed or went."""
        subject = new if new is not None else old
        if subject is None:
            return
        if new is not None:
            self._objects[new.metadata.name] = new
        else:
            self._objects.pop(subject.metadata.name, None)
        self._is_due = True
        if subject.metadata.name == self.name:
            # Whoever else wrote to the status is answered, and so is a shard that was made anew.
            self._told = None
        self._recompute()

    def _recompute(self) -> None:
        own = self._objects.get(self.name)
        if own is None:
            self._misses = True
            return
        self._misses = False
        elsewhere = (shard.status.nodes_in_use for name, shard in self._objects.items() if name != self.name)
        nodes = frozenset(own.spec.nodes_desired).difference(*elsewhere)
        if nodes == self.nodes:
            return
        log.info(
            "shard changed nodeshard=%s nodes=%d gained=%d lost=%d",
            self.name, len(nodes), len(nodes - self.nodes), len(self.nodes - nodes),
        )  # fmt: skip
        self._leaving = (self._leaving | self.nodes) - nodes
        self.nodes = nodes
        self._cluster.version += 1

    # The status.

    def report(self) -> None:
        """Between cycles: have the status follow. A node stays in use until the last bind to it has arrived."""
        own = self._objects.get(self.name)
        if own is None or not (self._is_due or self._leaving):
            return
        self._is_due = False
        self._leaving = frozenset(name for name in self._leaving if self._is_awaited(name))
        in_use, desired = self.nodes | self._leaving, frozenset(own.spec.nodes_desired)
        wanted = ShardStatus(in_use, desired - in_use, in_use - desired)
        if wanted == self._told:
            return
        self._told = wanted
        self._tell(None if wanted == _status_of(own) else wanted)

    def _is_awaited(self, name: str) -> bool:
        node = self._cluster.node_by_name.get(name)
        return node is not None and any(task.status is Status.BINDING for task in node.tasks.values())

    # Nodes.

    def settle(self) -> None:
        """Bring the masks over nodes up to date, once their columns are numbered. Before a session."""
        self._complain()
        cluster = self._cluster
        if self._known is not None and self._known[0] is cluster.columns and self._known[1] == self.nodes:
            return
        mask = np.fromiter(
            (node.name in self.nodes for node in cluster.nodes), dtype=np.bool_, count=len(cluster.nodes)
        )
        if self._known is not None and self._known[0] is cluster.columns and self.mode is Mode.HARD:
            cluster.touched.changed.extend(np.flatnonzero(mask != self._mask).tolist())
        self._mask = mask
        self._known = cluster.columns, self.nodes
        if self.mode is Mode.SOFT:
            cluster.preferred = mask

    def _complain(self) -> None:
        """Say that the own shard is missing, once after each news of shards; only now have first lists come in."""
        if self._misses:
            self._misses = False
            log.error(
                "own shard not found, its last nodes stay in use: create it, or correct --scheduler-sharding-name "
                "nodeshard=%s nodes=%d",
                self.name, len(self.nodes),
            )  # fmt: skip

    def _judge(self, task: Task, view: View) -> Verdicts:
        del task
        verdicts: Verdicts = (~self._mask[view.rows]).astype(np.int32)
        return verdicts


def _status_of(shard: NodeShard) -> ShardStatus:
    status = shard.status
    return ShardStatus(
        frozenset(status.nodes_in_use), frozenset(status.nodes_to_add), frozenset(status.nodes_to_remove)
    )


def shards_of(cluster: Cluster, mode: str, name: str, tell: Callable[[ShardStatus | None], None]) -> Shards | None:
    """The shards as flags ask for them, None where they are ignored."""
    found = mode_of(mode)
    return None if found is Mode.NONE else Shards(cluster, found, name, tell)


def appliers_of(shards: Shards | None) -> Mapping[str, Callable[[NodeShard | None, NodeShard | None], None]]:
    """What takes in changes of NodeShard objects: nothing where they are ignored."""
    return {} if shards is None else {"NodeShard": shards.apply}
