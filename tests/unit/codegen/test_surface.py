"""
Our CRDs take everything that Volcano's take and mean the same by it. Additions, a site's too, pass.

That the file we compare with is Volcano's surface is shown by its counts, which were measured on Volcano's CRDs.
"""

from __future__ import annotations

import copy
import json
import shutil
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from codegen.compare import breaks
from codegen.crds import manifest
from codegen.expand import Expander
from codegen.schema import walk
from codegen.source import load
from tests.unit.codegen import golden
from tests.unit.codegen.projects import ROOT, real

COLUMNS = (
    "jobs", "cronjobs", "jobtemplates", "jobflows", "podgroups", "queues", "hypernodes", "colocationconfigurations",
    "numatopologies", "nodeshards", "commands",
)  # fmt: skip
COUNTS: dict[str, tuple[int, ...]] = {
    "nodes": (1378, 1382, 1355, 1414, 49, 49, 34, 27, 28, 15, 14),
    "object": (350, 350, 344, 361, 13, 16, 12, 9, 12, 4, 3),
    "array": (163, 164, 163, 175, 5, 6, 4, 3, 2, 4, 0),
    "string": (601, 610, 594, 620, 21, 12, 15, 11, 10, 7, 9),
    "integer": (137, 130, 127, 131, 9, 8, 3, 4, 4, 0, 0),
    "boolean": (78, 79, 78, 78, 0, 1, 0, 0, 0, 0, 2),
    "int-or-string": (49, 49, 49, 49, 1, 6, 0, 0, 0, 0, 0),
    "additionalProperties": (37, 36, 34, 37, 3, 6, 1, 1, 5, 0, 0),
    "default": (52, 56, 52, 52, 5, 2, 0, 3, 0, 0, 0),
    "enum": (8, 8, 7, 9, 3, 2, 2, 1, 0, 0, 0),
    "pattern": (23, 23, 23, 23, 2, 7, 3, 2, 0, 0, 0),
    "minimum": (21, 15, 12, 15, 8, 7, 3, 4, 3, 0, 0),
    "maximum": (0, 0, 0, 2, 0, 1, 0, 3, 0, 0, 0),
    "maxLength": (7, 7, 7, 11, 5, 2, 5, 3, 0, 0, 0),
    "minLength": (1, 1, 1, 2, 0, 0, 3, 1, 0, 0, 0),
    "minItems": (1, 1, 1, 1, 0, 0, 1, 0, 0, 0, 0),
    "list atomic": (124, 125, 124, 124, 3, 0, 2, 2, 0, 0, 0),
    "list map": (25, 25, 25, 25, 0, 0, 0, 1, 0, 0, 0),
    "list set": (3, 3, 3, 3, 0, 0, 0, 0, 0, 0, 0),
    "map atomic": (55, 56, 55, 55, 1, 0, 1, 1, 0, 0, 1),
    "format int32": (106, 98, 96, 98, 7, 8, 0, 0, 0, 0, 0),
    "format int64": (29, 30, 29, 29, 0, 0, 2, 1, 0, 0, 0),
    "format date-time": (2, 2, 0, 5, 1, 0, 1, 1, 0, 1, 0),
    "required": (185, 185, 184, 187, 1, 0, 6, 3, 0, 2, 1),
    "rules": (0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0),
}
COUNTED_KEYWORDS = (
    "additionalProperties", "default", "enum", "pattern", "minimum", "maximum", "maxLength", "minLength", "minItems",
    "required",
)  # fmt: skip


def nodes(schema: dict[str, Any]) -> list[dict[str, Any]]:
    """All nodes of an expanded schema; the halves of int-or-string are no nodes."""
    return [node for path, node in walk(schema) if "anyOf[" not in path]


def counts(schema: dict[str, Any]) -> Counter[str]:
    found: Counter[str] = Counter()
    for node in nodes(schema):
        found["nodes"] += 1
        found[node.get("type", "int-or-string")] += 1
        found.update(keyword for keyword in COUNTED_KEYWORDS if keyword in node)
        found[f"list {node.get('x-kubernetes-list-type')}"] += 1
        found[f"map {node.get('x-kubernetes-map-type')}"] += 1
        found[f"format {node.get('format')}"] += 1
        found["rules"] += len(node.get("x-kubernetes-validations", ()))
    return found


SITE = """
group: batch.volcano.sh
version: v1alpha1
components:
  JobSpec: {properties: {costCenter: {description: Who pays., type: string}}}
"""


@cache
def current() -> dict[str, Any]:
    """Our CRDs by name."""
    expander = Expander(real(), "drop")
    return {kind.crd_name: manifest(real(), kind, expander) for kind in real().kinds}


def test_every_kind_is_still_there() -> None:
    assert set(golden.crds()) <= set(current())


@pytest.mark.parametrize("name", golden.crds())
def test_nothing_that_volcano_takes_is_refused_or_read_otherwise(name: str) -> None:
    assert breaks(golden.crds()[name], current()[name]) == []


@pytest.mark.parametrize("name", golden.crds())
def test_the_additions_of_a_site_pass(tmp_path: Path, name: str) -> None:
    """A field that a site adds to a job's spec reaches every kind that has one, and breaks nothing."""
    shutil.copytree(ROOT / "api", tmp_path / "api")
    (tmp_path / "api/extensions/site.yaml").write_text(SITE)
    project = load(tmp_path)
    (kind,) = [kind for kind in project.kinds if kind.crd_name == name]
    extended = manifest(project, kind)
    assert breaks(golden.crds()[name], extended) == []
    has_jobs = kind.kind in {"Job", "CronJob", "JobFlow", "JobTemplate", "HyperJob"}
    assert ("costCenter" in json.dumps(extended)) is has_jobs


@pytest.mark.parametrize("name", golden.crds())
def test_a_field_that_is_lost_would_be_noticed(name: str) -> None:
    now = copy.deepcopy(current()[name])
    root = now["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    field = "action" if name.startswith("commands.") else "spec"
    del root["properties"][field]
    assert f"{field}: is gone" in breaks(golden.crds()[name], now)


@pytest.mark.parametrize("plural", COLUMNS)
def test_the_surface_counts_what_volcano_counts(plural: str) -> None:
    (name,) = [name for name in golden.crds() if name.startswith(f"{plural}.")]
    found = counts(golden.root_of(name))
    expected = {keyword: values[COLUMNS.index(plural)] for keyword, values in COUNTS.items()}
    assert {keyword: found[keyword] for keyword in COUNTS} == expected


def test_the_pod_template_counts_what_volcano_counts() -> None:
    template = golden.part("core.v1.PodTemplateSpec")
    found = counts(template)
    assert (found["nodes"], found["default"], found["enum"]) == (1263, 47, 0)
    assert len(template["properties"]["spec"]["properties"]) == 42


def test_only_volcanos_optional_kinds_have_no_counts() -> None:
    counted = {name for name in golden.crds() if name.split(".")[0] in COLUMNS}
    others = {name.split(".")[0] for name in set(golden.crds()) - counted}
    assert others == {"hyperjobs", "datasources", "datasourceclaims"}
