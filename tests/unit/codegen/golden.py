"""
What Volcano's CRDs take: `tests/golden/volcano-crds.yaml`, written down once so that no change of ours takes it away.

Parts that many kinds share (a job's spec, a pod template) stand in the file once and are put together here.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import yaml

from codegen.project import Schema
from codegen.schema import map_children
from tests.unit.codegen.projects import ROOT

GOLDEN = ROOT / "tests/golden/volcano-crds.yaml"


@cache
def _whole() -> tuple[dict[str, Schema], dict[str, Schema]]:
    document = yaml.load(GOLDEN.read_text(), Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    parts: dict[str, Schema] = {}
    for name, schema in document["shared"].items():
        parts[name] = _put_together(schema, parts)
    crds: dict[str, Schema] = document["crds"]
    for crd in crds.values():
        for version in crd["spec"]["versions"]:
            schema = version["schema"]
            schema["openAPIV3Schema"] = _put_together(schema["openAPIV3Schema"], parts)
    return parts, crds


def _put_together(schema: Schema, parts: dict[str, Schema]) -> Schema:
    if "$ref" in schema:
        return parts[schema["$ref"]]
    return map_children(schema, lambda child: _put_together(child, parts))


def crds() -> dict[str, Schema]:
    """Volcano's CRDs by name, without descriptions. Shared: don't change them."""
    return _whole()[1]


def root_of(name: str) -> dict[str, Any]:
    """The root schema of a CRD."""
    schema: dict[str, Any] = crds()[name]["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    return schema


def part(name: str) -> Schema:
    """A shared part such as `core.v1.PodTemplateSpec`."""
    return _whole()[0][name]
