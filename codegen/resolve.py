"""Following references one step at a time, for code that looks at a few nodes and needs no expansion."""

from __future__ import annotations

from collections.abc import Iterator

from codegen.expand import BUILT_INS
from codegen.project import Project, Schema
from codegen.schema import walk


class Resolver:
    """A call gives a node with its references followed, siblings on top; unknown or circular ones add nothing."""

    def __init__(self, project: Project) -> None:
        self._project = project

    def __call__(self, node: Schema) -> Schema:
        seen: set[str] = set()
        while "$ref" in node:
            target = node["$ref"]
            siblings = {key: value for key, value in node.items() if key != "$ref"}
            if target in seen or not self.knows(target):
                return siblings
            seen.add(target)
            found = BUILT_INS[target] if target in BUILT_INS else self._project.schema(target)
            node = {**found, **siblings}
            if "properties" in found and "properties" in siblings:
                node["properties"] = {**found["properties"], **siblings["properties"]}
        return node

    def knows(self, name: object) -> bool:
        """Whether there is a component of that dotted name."""
        return name in BUILT_INS or name in self._project.components or name in self._project.core

    def cycles(self) -> Iterator[tuple[str, ...]]:
        """Chains of own components that lead back to where they began, each once."""
        done: set[str] = set()
        for name in self._project.components:
            yield from self._cycles(name, [], done)

    def _cycles(self, name: str, trail: list[str], done: set[str]) -> Iterator[tuple[str, ...]]:
        if name in trail:
            yield (*trail[trail.index(name) :], name)
            return
        if name in done or name not in self._project.components:
            return
        trail.append(name)
        for target in sorted(references(self._project.components[name])):
            yield from self._cycles(target, trail, done)
        trail.pop()
        done.add(name)


def references(schema: Schema) -> set[str]:
    """Names of the components that a schema refers to."""
    return {node["$ref"] for _, node in walk(schema) if isinstance(node.get("$ref"), str)}
