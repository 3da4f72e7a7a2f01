"""Adapts ratings of single nodes, and of named nodes, to the array form of scores."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np

from scheduler.state.dimensions import Floats

if TYPE_CHECKING:
    from scheduler.contract.view import View
    from scheduler.state.task import Task


class PerNodeScore(msgspec.Struct, frozen=True):
    """A function of (task, node)."""

    function: Callable[..., Any]

    def __call__(self, task: Task, view: View) -> Floats:
        """Ask for each node in turn."""
        return np.fromiter((self.function(task, node) for node in view.nodes), dtype=np.float64, count=len(view))


class PerNodeBatch(msgspec.Struct, frozen=True):
    """A function of (task, nodes) that answers by name; a node that it leaves out gets 0."""

    function: Callable[..., Any]

    def __call__(self, task: Task, view: View) -> Floats:
        """Ask once for all nodes."""
        nodes = view.nodes
        ratings = self.function(task, nodes)
        rated = np.fromiter((ratings.get(node.name, 0.0) for node in nodes), dtype=np.float64, count=len(nodes))
        if not np.isfinite(rated).all():
            raise ValueError(f"rated {nodes[int(np.argmin(np.isfinite(rated)))].name} with no finite number")
        return rated
