"""One node: its object, and the tasks that stand on it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from generated.core.v1 import Node as NodeObject
    from scheduler.state.task import Task


class Node:
    """
    A node and its tasks. `row` is its column in `NodeColumns`, -1 for a placeholder.

    A placeholder holds tasks that name a node which was not seen yet; it has no resources and takes no part in a
    session.
    """

    __slots__ = ("allocatable", "name", "object", "row", "tasks")

    def __init__(self, name: str) -> None:
        self.name = name
        self.row = -1
        self.object: NodeObject | None = None
        self.allocatable: Mapping[str, float] = {}
        self.tasks: dict[str, Task] = {}

    def __repr__(self) -> str:
        return f"<Node {self.name} row {self.row}, {len(self.tasks)} tasks>"

    @property
    def labels(self) -> Mapping[str, str]:
        """The node's labels; a placeholder has none."""
        return self.object.metadata.labels if self.object is not None else {}
