"""
YAML that people wrote, read without harm: text that can't be held is refused like text that can't be parsed.

A few lines of aliases stand for billions of values, an alias may lead back to its own section, and brackets may nest
deeper than any reader follows. The library builds the first two and gives up on the third with a RecursionError, which
nobody who reads a file expects.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import yaml

MOST_REPEATED = 1_000_000
"""Values that aliases may add to those that are written."""
_TOO_DEEP = "nested too deeply"


class Bounded:
    """For a loader of the library, in front of its other bases: it raises yaml.YAMLError for all of this."""

    def get_single_node(self) -> Any:
        """The root of the one document."""
        return _checked(super().get_single_node)  # type: ignore[misc]  # the loader that stands behind has it

    def get_node(self) -> Any:
        """The root of the next document."""
        return _checked(super().get_node)  # type: ignore[misc]  # as above

    def construct_document(self, node: Any) -> Any:
        """The values of a document."""
        try:
            return super().construct_document(node)  # type: ignore[misc]  # as above
        except RecursionError as error:
            raise yaml.MarkedYAMLError(problem=_TOO_DEEP, problem_mark=node.start_mark) from error


class SafeLoader(Bounded, yaml.SafeLoader):
    """The library's safe loader, bounded."""


def safe_load(text: bytes | str) -> Any:
    """The first document of a text, None for an empty one. Raises yaml.YAMLError, and ValueError for impossible dates."""
    return yaml.load(text, Loader=SafeLoader)  # noqa: S506  # derived from the safe loader


def _checked(compose: Callable[[], Any]) -> Any:
    try:
        root = compose()
    except RecursionError as error:
        raise yaml.YAMLError(_TOO_DEEP) from error
    if root is not None:
        _check_aliases(root)
    return root


def _check_aliases(root: yaml.Node) -> None:
    """Count the values that a document stands for, each section once."""
    sizes: dict[int, int] = {id(root): 0}
    """By section what it stands for; 0 while it is open."""
    open_sections = [("", root, iter(_children(root)))]
    while open_sections:
        _, node, rest = open_sections[-1]
        for step, child in rest:
            if id(child) not in sizes:
                sizes[id(child)] = 0
                open_sections.append((step, child, iter(_children(child))))
                break
            if not sizes[id(child)]:
                path = "".join([*(section[0] for section in open_sections), step]).removeprefix(".")
                raise _refusal(node, f"{path}: an alias leads back to the section that it stands in")
        else:
            sizes[id(node)] = 1 + sum(sizes[id(child)] for _, child in _children(node))
            open_sections.pop()
    if sizes[id(root)] - len(sizes) > MOST_REPEATED:
        raise _refusal(root, f"its aliases repeat more than {MOST_REPEATED} values")


def _children(node: yaml.Node) -> list[tuple[str, yaml.Node]]:
    """The parts of a section, each with the step that leads to it in a path; keys have their value's."""
    if isinstance(node, yaml.SequenceNode):
        return [(f"[{position}]", item) for position, item in enumerate(node.value)]
    if isinstance(node, yaml.MappingNode):
        return [
            (f".{key.value if isinstance(key, yaml.ScalarNode) else '?'}", part)
            for key, value in node.value
            for part in (key, value)
        ]
    return []


def _refusal(node: yaml.Node, problem: str) -> yaml.MarkedYAMLError:
    return yaml.MarkedYAMLError(problem=problem, problem_mark=node.start_mark)
