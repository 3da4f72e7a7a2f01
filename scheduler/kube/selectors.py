"""Node selectors and node affinity terms over all nodes at once (plugins.md 18.1)."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import TYPE_CHECKING

import numpy as np

from runtime import integers
from scheduler.contract.view import View
from scheduler.state.dimensions import Mask

if TYPE_CHECKING:
    from generated.core.v1 import NodeSelectorRequirement, NodeSelectorTerm


def match_labels(labels: dict[str, str], view: View) -> Mask:
    """Nodes that carry every pair."""
    matches = np.ones(len(view), dtype=np.bool_)
    for key, value in labels.items():
        matches &= _by_label(key, lambda found, value=value: found == value, view)  # type: ignore[misc]
    return matches


def match_term(term: NodeSelectorTerm, view: View) -> Mask:
    """Nodes that a term selects: all its expressions and fields. A term without any selects none."""
    if not term.match_expressions and not term.match_fields:
        return np.zeros(len(view), dtype=np.bool_)
    matches = np.ones(len(view), dtype=np.bool_)
    for requirement in term.match_expressions:
        test = _test(requirement)
        if test is None:
            return np.zeros(len(view), dtype=np.bool_)
        matches &= _by_label(requirement.key, test, view)
    for requirement in term.match_fields:
        matches &= _match_field(requirement, view)
    return matches


def _by_label(key: str, test: Callable[[str | None], bool], view: View) -> Mask:
    facet = view.cluster.label(key)
    table = np.fromiter((_ask(test, value) for value in facet.values), dtype=np.bool_, count=len(facet.values))
    result: Mask = table[facet.numbers[view.rows]]
    return result


def _ask(test: Callable[[str | None], bool], value: Hashable) -> bool:
    return test(value if isinstance(value, str) else None)


def _match_field(requirement: NodeSelectorRequirement, view: View) -> Mask:
    if requirement.key != "metadata.name" or len(requirement.values) != 1:
        return np.zeros(len(view), dtype=np.bool_)
    same = np.fromiter((node.name == requirement.values[0] for node in view.nodes), dtype=np.bool_, count=len(view))
    if requirement.operator == "In":
        return same
    return ~same if requirement.operator == "NotIn" else np.zeros(len(view), dtype=np.bool_)


def _test(requirement: NodeSelectorRequirement) -> Callable[[str | None], bool] | None:
    """The test of one label value, None when the requirement can't be read."""
    values = frozenset(requirement.values)
    match requirement.operator:
        case "In" if values:
            return lambda value: value in values
        case "NotIn" if values:
            return lambda value: value not in values
        case "Exists" if not values:
            return lambda value: value is not None
        case "DoesNotExist" if not values:
            return lambda value: value is None
        case "Gt" | "Lt" if len(requirement.values) == 1:
            bound = integers.read(requirement.values[0], 64)
            return None if bound is None else _compare(requirement.operator, bound)
    return None


def _compare(operator: str, bound: int) -> Callable[[str | None], bool]:
    def test(value: str | None) -> bool:
        number = None if value is None else integers.read(value, 64)
        if number is None:
            return False
        return number > bound if operator == "Gt" else number < bound

    return test
