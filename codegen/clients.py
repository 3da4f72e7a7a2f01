"""
Typed clients: `generated/clients/`, one module a group version, a facade over all of them, and the generic verbs;
each once for programs with an event loop and once (`_sync`) for those without.
"""

from __future__ import annotations

from typing import Any

from codegen.groups import Described, GroupVersion, group_versions
from codegen.project import Project
from codegen.rendering import render

_POD = "core.v1.Pod"


def files(project: Project) -> dict[str, str]:
    """Text by path of all client modules."""
    groups = group_versions(project)
    texts = {}
    for suffix, prefix in (("", ""), ("_sync", "Sync")):
        shared = {"sync": bool(suffix), "suffix": suffix, "prefix": prefix, "groups": groups}
        texts[f"generated/clients/verbs{suffix}.py"] = render("clients/verbs.py.j2", shared)
        texts[f"generated/clients/clientset{suffix}.py"] = render("clients/clientset.py.j2", shared)
        for group in groups:
            path = f"generated/clients/{group.file}{suffix}.py"
            texts[path] = render("clients/group.py.j2", {**shared, **_group(group)})
    return texts


def _group(group: GroupVersion) -> dict[str, Any]:
    """What the template of one group version needs besides."""
    verbs = {kind.attribute: _verbs(kind) for kind in group.kinds}
    pods = next((kind for kind in group.kinds if kind.kind.component == _POD), None)
    return {
        "group": group,
        "verbs": verbs,
        "used_verbs": sorted(set(verbs.values())),
        "pods": pods,
        "patches": "CorePatch" if group.is_external else "CustomPatch",
    }


def _verbs(kind: Described) -> str:
    scope = "Namespaced" if kind.kind.namespaced else "Cluster"
    return f"{scope}StatusVerbs" if kind.kind.status else f"{scope}Verbs"
