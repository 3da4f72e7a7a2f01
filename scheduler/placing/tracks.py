"""
Answers that depend on how many pods stand in a topology domain, followed through a run of identical tasks.

Such answers are the same for all nodes with the same values of some labels. These nodes form a class, and a placement
changes what is known of classes: a handful of numbers, instead of an array over all nodes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import msgspec

from scheduler.state.dimensions import Floats, Mask

Domains = Sequence[tuple[int, ...]]
"""A class each: the numbers of its values of the labels asked for, in their order."""


class Gate(Protocol):
    """Opens and closes classes. Classes go by number."""

    @property
    def keys(self) -> tuple[str, ...]:
        """The node labels that make the classes."""

    def begin(self, domains: Domains) -> None:
        """Take in the classes of a run."""

    def is_open(self) -> Sequence[bool]:
        """Which classes take a task now."""

    def place(self, number: int) -> None:
        """A task went to a class."""


class Classes(msgspec.Struct, frozen=True):
    """
    The classes of a run, as a rating sees them.

    `levels`: what each adds for the nodes themselves, by the rating's own levels; `nodes`: how many nodes were
    candidates or may be.
    """

    domains: Domains
    levels: Sequence[float]
    nodes: Sequence[int]


class Rating(Protocol):
    """Rates classes. Classes go by number."""

    @property
    def keys(self) -> tuple[str, ...]:
        """The node labels that make the classes."""

    def begin(self, classes: Classes) -> None:
        """Take in the classes of a run."""

    def raw(self, live: Sequence[int]) -> Sequence[float]:
        """The raw scores of the classes that have candidates."""

    def place(self, number: int) -> None:
        """A task went to a class."""


class Watch(msgspec.Struct, frozen=True):
    """Nodes that together hold something up: once a task went to each of `holders` of them, answers change."""

    nodes: Mask
    holders: int


class FilterTrack(msgspec.Struct, frozen=True, kw_only=True):
    """
    A filter's verdicts in a run.

    `base`: nodes that may pass, now or when their class opens. `limits`: how many tasks each node takes at most.
    `counted`: nodes on which a placement counts as the gate assumes. `at_most`: length of the run.
    """

    base: Mask
    limits: Floats | None = None
    counted: Mask | None = None
    gates: tuple[Gate, ...] = ()
    watches: tuple[Watch, ...] = ()
    at_most: int | None = None


class ScoreTrack(msgspec.Struct, frozen=True, kw_only=True):
    """
    A score's raw values in a run. Without a rating they don't change while it lasts.

    `levels`, a number a node, part the classes further, for what depends on the node itself; a placement adds `gain`
    to that of its node. `needs_all`: every value changes when a node drops out.
    """

    rating: Rating | None = None
    counted: Mask | None = None
    levels: Floats | None = None
    gain: float = 0.0
    needs_all: bool = False
