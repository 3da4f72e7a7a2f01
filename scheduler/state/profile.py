"""What other pods' terms can see of a pod, and the counts of pods that are kept for them."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from enum import Enum
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np

from scheduler.state.dimensions import Floats, Mask
from scheduler.state.terms import Affinities, Placed, PodTerm

if TYPE_CHECKING:
    from runtime.selector import Selector
    from scheduler.state.node import Node
    from scheduler.state.task import Shape, Task


class Kind(Enum):
    """The ways in which a pod's term bears on other pods."""

    REQUIRED = "required"
    FORBIDDEN = "forbidden"
    PREFERRED = "preferred"


class Counted(msgspec.Struct, frozen=True):
    """Pods that match all of some terms; `live` leaves out those that are being deleted."""

    terms: tuple[PodTerm, ...]
    live: bool = False


class Carried(msgspec.Struct, frozen=True):
    """Pods that carry a term."""

    kind: Kind
    placed: Placed


class Tally:
    """A number of pods a node; nodes without any are left out. `key` says of which pods."""

    __slots__ = ("_columns", "counts", "key", "live")

    def __init__(self, key: Hashable, *, live: bool = False) -> None:
        self.key = key
        self.live = live
        self.counts: dict[Node, int] = {}
        self._columns: Floats | None = None

    def add(self, node: Node, number: int) -> None:
        """Count pods on a node, or less of them."""
        count = self.counts.get(node, 0) + number
        if count:
            self.counts[node] = count
        else:
            del self.counts[node]
        if self._columns is not None and node.row >= 0:
            self._columns[node.row] += number

    def renumbered(self) -> None:
        """Nodes got other columns."""
        self._columns = None

    def columns(self, nodes: int) -> Floats:
        """`(nodes,) float64`, kept up to date from the first call on. Not to be changed."""
        if self._columns is None:
            columns = self._columns = np.zeros(nodes)
            for node, count in self.counts.items():
                if node.row >= 0:
                    columns[node.row] = count
        return self._columns


class Profile:
    """
    The pods of one namespace whose labels are equal, as far as any selector can see.

    `matched` are the tallies that count these pods, `facing` those of pods with a term that means these pods.
    """

    __slots__ = (
        "affinities",
        "carried",
        "constraints",
        "default_selector",
        "facing",
        "labels",
        "masks",
        "matched",
        "namespace",
        "standing",
        "version",
    )

    def __init__(self, namespace: str, labels: Mapping[str, str], version: int) -> None:
        self.namespace = namespace
        self.labels = labels
        self.version = version
        self.standing: dict[str, Task] = {}
        self.matched: list[Tally] = []
        self.facing: list[Tally] = []
        self.affinities: dict[Shape, Affinities] = {}
        self.carried: dict[Shape, tuple[Tally, ...]] = {}
        self.constraints: dict[Shape, Any] = {}
        """What spread makes of the shape's constraints."""
        self.masks: dict[Hashable, tuple[int, Mask]] = {}
        """Nodes that count for a constraint of a shape, with the position in the log of changed nodes."""
        self.default_selector: Selector | None = None
        """Which pods the system spreads these with, where their own spec says nothing; None where it doesn't."""

    def is_faced(self, *kinds: Kind) -> bool:
        """Whether some pod carries a term of such a kind that means these pods."""
        return any(isinstance(tally.key, Carried) and tally.key.kind in kinds for tally in self.facing)
