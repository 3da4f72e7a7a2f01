"""Following references one step at a time, for code that looks at a few nodes and needs no expansion."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping

from codegen.expand import BUILT_INS
from codegen.project import Project, Schema
from codegen.schema import children, walk


class Resolver:
    """A call gives a node with its references followed, siblings on top; unknown or circular ones add nothing."""

    def __init__(self, project: Project) -> None:
        self._project = project

    def __call__(self, node: Schema) -> Schema:
        seen: set[str] = set()
        while "$ref" in node:
            target = node["$ref"]
            siblings = {key: value for key, value in node.items() if key != "$ref"}
            if not self.knows(target) or target in seen:
                return siblings
            seen.add(target)
            found = BUILT_INS[target] if target in BUILT_INS else self._project.schema(target)
            node = {**found, **siblings}
            if "properties" in found and "properties" in siblings:
                node["properties"] = {**found["properties"], **siblings["properties"]}
        return node

    def knows(self, name: object) -> bool:
        """Whether there is a component of that dotted name."""
        return isinstance(name, str) and (
            name in BUILT_INS or name in self._project.components or name in self._project.core
        )

    def cycles(self) -> Iterator[tuple[str, ...]]:
        """Chains of components that lead back to where they began, each once."""
        search = _Search(self._component)
        for name in self._project.components:
            yield from search.cycles(name)

    def too_deep(self, most: int) -> Iterator[str]:
        """
        Components in which more than `most` schemas stand inside each other, with references followed.

        Of those that refer to each other only the innermost is told. References must not lead back.
        """
        search = _Search(self._component)
        levels: dict[str, float] = {}
        for name in self._project.components:
            list(search.cycles(name))
        for name in search.done:
            levels[name] = _levels(self._component(name), levels)
            if levels[name] > most:
                yield name
                levels[name] = -math.inf

    def _component(self, name: str) -> Schema:
        """The component as written; nothing for built-in types and unknown names."""
        if name in BUILT_INS:
            return {}
        return self._project.components.get(name) or self._project.core.get(name) or {}


class _Search:
    """A search in depth through components; it keeps its own trail, since chains may be longer than Python's stack."""

    def __init__(self, schema: Callable[[str], Schema]) -> None:
        self._schema = schema
        self.done: dict[str, None] = {}
        """Components, each behind those that it refers to."""

    def cycles(self, start: str) -> Iterator[tuple[str, ...]]:
        """Chains that lead back to where they began, of those that can be reached and were not before."""
        if start in self.done:
            return
        trail = {start: self._targets(start)}
        while trail:
            name, targets = next(reversed(trail.items()))
            target = next(targets, None)
            if target is None:
                del trail[name]
                self.done[name] = None
            elif target in trail:
                names = list(trail)
                yield (*names[names.index(target) :], target)
            elif target not in self.done:
                trail[target] = self._targets(target)

    def _targets(self, name: str) -> Iterator[str]:
        return iter(sorted(references(self._schema(name))))


def _levels(schema: Schema, known: Mapping[str, float]) -> float:
    """Schemas inside each other, the component itself counted; `known` has those of the components referred to."""
    below = [_levels(child, known) for _, child in children(schema)]
    target = schema.get("$ref")
    below += [known.get(target, 0)] if isinstance(target, str) else []
    return 1 + max(below, default=0)


def references(schema: Schema) -> set[str]:
    """Names of the components that a schema refers to."""
    return {node["$ref"] for _, node in walk(schema) if isinstance(node.get("$ref"), str)}
