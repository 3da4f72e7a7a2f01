"""Whether the CRDs to come fit those in the cluster, and the objects stored under them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from hack.deploy.findings import Check, Finding
from hack.deploy.kubectl import Object
from hack.deploy.schemas import narrowings

_SHOWN = 5
"""Narrowings of one CRD that are told one by one."""


def compare(ours: Iterable[Object], live: Iterable[Object]) -> Iterator[Finding]:
    """Findings about CRDs that are there already."""
    there = {found["metadata"]["name"]: found for found in live if found["kind"] == "CustomResourceDefinition"}
    for crd in ours:
        if crd["kind"] == "CustomResourceDefinition" and crd["metadata"]["name"] in there:
            yield from _compare(crd, there[crd["metadata"]["name"]])


def _compare(crd: Object, there: Object) -> Iterator[Finding]:
    name = crd["metadata"]["name"]
    versions = {version["name"]: version for version in crd["spec"]["versions"]}
    for stored in there.get("status", {}).get("storedVersions", ()):
        if stored not in versions:
            yield Finding(
                Check.STORED,
                f"CRD {name}: objects are stored as {stored}, which this build doesn't know: write them again as "
                f"{', '.join(versions)}, then take {stored} out of status.storedVersions",
            )
    for key in ("scope", "group"):
        if crd["spec"][key] != there["spec"][key]:
            yield Finding(Check.SCHEMA, f"CRD {name}: {key} {there['spec'][key]} can't become {crd['spec'][key]}")
    texts = [text for old in there["spec"]["versions"] for text in _version(old, versions)]
    for text in texts[:_SHOWN]:
        yield Finding(Check.SCHEMA, f"CRD {name}: {text}")
    if len(texts) > _SHOWN:
        yield Finding(Check.SCHEMA, f"CRD {name}: and {len(texts) - _SHOWN} more places")


def _version(old: Object, versions: dict[str, Object]) -> Iterator[str]:
    new = versions.get(old["name"])
    if new is None:
        if old.get("served"):
            yield f"version {old['name']} is no longer served"
        return
    for subresource in old.get("subresources", {}):
        if subresource not in new.get("subresources", {}):
            yield f"{old['name']} loses its subresource {subresource}"
    schemas = (version.get("schema", {}).get("openAPIV3Schema", {}) for version in (old, new))
    yield from narrowings(*schemas)
