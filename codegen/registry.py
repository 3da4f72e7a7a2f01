"""`generated/registry.py`: every kind by its names. `generated/fakes/`: filled listers and recording clients."""

from __future__ import annotations

from codegen.groups import group_versions
from codegen.project import Project
from codegen.rendering import render


def files(project: Project) -> dict[str, str]:
    """Text by path of the modules that know all kinds."""
    groups = group_versions(project)
    ours_first = sorted(groups, key=lambda group: group.is_external)
    return {
        "generated/registry.py": render("registry.py.j2", {"groups": ours_first}),
        "generated/fakes/fakes.py": render("fakes/fakes.py.j2", {"groups": groups}),
    }
