"""
Resource names as column numbers, and what one pod asks for as a row over them.

Units follow scheduler.md 3.1: cpu in millicores, memory in bytes, `pods` in pods, every other resource in
thousandths. All amounts are float64; they are whole numbers in practice, so sums stay exact below 2**53.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Rows = NDArray[np.intp]
Mask = NDArray[np.bool_]
Coefficients = tuple[int, int, int, int]
"""How often a request counts in the blocks used, releasing, pipelined and requested of a node's column."""

CPU, MEMORY, PODS = 0, 1, 2
MIN_RESOURCE = 0.1
"""Tolerance of comparisons: amounts closer than this are equal, requests below it ask for nothing."""


class Dimensions:
    """Numbers the resource names: cpu, memory and pods first, scalars in the order in which they are met."""

    __slots__ = ("_columns", "names")

    def __init__(self) -> None:
        self.names: list[str] = ["cpu", "memory", "pods"]
        self._columns = {name: column for column, name in enumerate(self.names)}

    def __len__(self) -> int:
        return len(self.names)

    def column(self, name: str) -> int:
        """The column of a resource; a name that was never seen gets the next one."""
        column = self._columns.get(name)
        if column is None:
            column = self._columns[name] = len(self.names)
            self.names.append(name)
        return column

    def get(self, name: str) -> int | None:
        """The column of a resource, None when nothing has it."""
        return self._columns.get(name)

    def row(self, amounts: Mapping[str, float]) -> Floats:
        """`(dims,) float64` of the amounts; new names widen the numbering first."""
        for name in amounts:
            self.column(name)
        row = np.zeros(len(self.names))
        for name, amount in amounts.items():
            row[self._columns[name]] = amount
        return row

    def amounts(self, row: Floats) -> dict[str, float]:
        """The non-zero amounts of a row by name."""
        return {self.names[column]: float(row[column]) for column in np.flatnonzero(row)}


class Request:
    """
    What one pod asks for. Shared by all pods of the same shape.

    `amounts` holds every name the pod mentions, with `pods` 1; `nonzero` are cpu (millicores) and memory (bytes)
    with Kubernetes' defaults for containers that name none, used by the LeastAllocated family only.
    """

    __slots__ = ("_effects", "_row", "amounts", "is_best_effort", "nonzero")

    def __init__(self, amounts: Mapping[str, float], nonzero: tuple[float, float] = (0.0, 0.0)) -> None:
        self.amounts = dict(amounts)
        self.nonzero = nonzero
        self.is_best_effort = all(amount < MIN_RESOURCE for name, amount in self.amounts.items() if name != "pods")
        self._row: Floats = np.zeros(0)
        self._effects: dict[Coefficients, Floats] = {}

    def row(self, dimensions: Dimensions) -> Floats:
        """`(dims,) float64`, kept until the numbering widens. Not to be changed."""
        if len(self._row) != len(dimensions):
            row = dimensions.row(self.amounts)
            self._row = np.pad(row, (0, len(dimensions) - len(row)))
            self._effects.clear()
        return self._row

    def needed(self, dimensions: Dimensions) -> list[tuple[int, float]]:
        """(column, amount) of what counts in a fit test: amounts from `MIN_RESOURCE` up, in message order."""
        row = self.row(dimensions)
        scalars = sorted(range(3, len(row)), key=lambda column: dimensions.names[column])
        return [(column, float(row[column])) for column in (CPU, MEMORY, PODS, *scalars) if row[column] >= MIN_RESOURCE]

    def effect(self, dimensions: Dimensions, coefficients: Coefficients) -> Floats:
        """What a change of one task adds to a node's column of `NodeColumns.dynamic`. Not to be changed."""
        row = self.row(dimensions)
        effect = self._effects.get(coefficients)
        if effect is None:
            kube = coefficients[3]
            parts = [row * coefficient for coefficient in coefficients]
            effect = self._effects[coefficients] = np.concatenate([*parts, np.array(self.nonzero) * kube])
        return effect
