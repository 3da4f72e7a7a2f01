"""Amounts as people write them: `8 nvidia.com/gpu`, `1500m cpu`, `4Gi memory`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from api.resources import from_numbers
from scheduler.explain.report import Amounts, Shortage

if TYPE_CHECKING:
    from scheduler.state.dimensions import Dimensions, Floats


def quantity(name: str, amount: float) -> str:
    """An amount in the units of `scheduler.state.dimensions`; less than nothing is nothing."""
    return str(from_numbers({name: max(0.0, amount)})[name])


def amounts(held: Mapping[str, float]) -> Amounts:
    """Amounts by name."""
    return {name: quantity(name, amount) for name, amount in held.items()}


def row(dimensions: Dimensions, values: Floats) -> Amounts:
    """A `(dims,)` row: what is not nothing and has a limit."""
    finite = np.where(np.isfinite(values), values, 0.0)
    return amounts(dimensions.amounts(np.pad(finite, (0, len(dimensions) - len(finite)))))


def shortage(name: str, needs: float, free: float) -> Shortage:
    """What is missing of a resource."""
    free = max(0.0, free)
    return Shortage(
        resource=name, needs=quantity(name, needs), free=quantity(name, free), missing=quantity(name, needs - free)
    )


def joined(words: list[str]) -> str:
    """`a`, `a and b`, `a, b and c`."""
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"


def count(number: int, noun: str) -> str:
    """`1 pod`, `2 pods`."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
