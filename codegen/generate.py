"""
One run of the generator: read the sources, make every output, then write or compare.

Nothing is written before everything was made, so a mistake leaves the old files as they are.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from codegen import crds, python, reference, samples
from codegen.output import Difference, Outputs
from codegen.problems import Problem, SourceError
from codegen.project import Project
from codegen.source import load

Generator = Callable[[Project], Mapping[str, str]]
"""Gives texts by path relative to the root; raises SourceError for sources that it can't use."""

GENERATORS: tuple[Generator, ...] = (python.outputs, crds.outputs, samples.outputs, reference.outputs)
FOLDERS = ("config/crd", "config/samples", "docs/reference", "generated")
"""Where generated files live; a generated file there that no generator claims any more is removed."""


def outputs(root: Path, generators: tuple[Generator, ...] = GENERATORS) -> Outputs:
    """
    Everything that the sources below `root` give.

    Raises SourceError with the mistakes of all generators together.
    """
    project = load(root)
    made = Outputs(root, FOLDERS)
    problems: list[Problem] = []
    for generator in generators:
        try:
            made.add(generator(project))
        except SourceError as error:
            problems += error.problems
    if problems:
        raise SourceError(problems)
    return made


def generate(root: Path, *, check: bool = False) -> Difference:
    """Bring the generated files up to date, or with `check` only tell how they differ from the sources."""
    made = outputs(root)
    return made.difference() if check else made.write()
