from __future__ import annotations

import json
from typing import Any

import pytest

from hack.deploy import definitions, preflight
from hack.deploy.findings import Check, Finding, blocking, line


def server(minor: str) -> str:
    return json.dumps({"serverVersion": {"major": "1", "minor": minor, "gitVersion": f"v1.{minor}.0"}})


@pytest.mark.parametrize(
    ("minor", "is_blocking"),
    [("33", [True]), ("34", []), ("36", []), ("36+", []), ("37", [False])],
)
def test_an_old_cluster_stops_us_and_a_new_one_is_told(minor: str, is_blocking: list[bool]) -> None:
    assert [finding.is_blocking for finding in preflight.version(server(minor))] == is_blocking


def test_what_is_being_deleted_is_told_with_what_holds_it() -> None:
    here = {"kind": "Namespace", "apiVersion": "v1", "metadata": {"name": "stays"}}
    going = {"kind": "ConfigMap", "apiVersion": "v1", "metadata": {
        "name": "a", "namespace": "home", "deletionTimestamp": "2026-01-01T00:00:00Z", "finalizers": ["x/y"],
    }}  # fmt: skip
    [finding] = preflight.leaving([here, going])
    assert (finding.check, finding.is_blocking) == (Check.LEAVING, True)
    assert finding.message.startswith(
        "ConfigMap home/a is being deleted since 2026-01-01T00:00:00Z, held by x/y: wait until it is gone"
    )


def crd(*versions: dict[str, Any], stored: tuple[str, ...] = ("v1",), scope: str = "Namespaced") -> dict[str, Any]:
    return {
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "widgets.example.com"},
        "spec": {"group": "example.com", "scope": scope, "versions": list(versions)},
        "status": {"storedVersions": list(stored)},
    }


def version(name: str = "v1", *fields: str, subresources: tuple[str, ...] = (), served: bool = True) -> dict[str, Any]:
    schema = {"type": "object", "properties": {field: {"type": "string"} for field in fields}}
    return {
        "name": name, "served": served, "schema": {"openAPIV3Schema": schema},
        "subresources": {name: {} for name in subresources},
    }  # fmt: skip


STORED = (
    "CRD widgets.example.com: objects are stored as v0, which this build doesn't know: write them again as v1, then "
    "take v0 out of status.storedVersions"
)


@pytest.mark.parametrize(
    ("ours", "live", "texts"),
    [
        (crd(version()), crd(version()), []),
        (crd(version("v1", "a", "b")), crd(version("v1", "a")), []),
        (crd(version("v1", "a")), crd(version("v1", "a", "b")), ["CRD widgets.example.com: .b: is dropped"]),
        (crd(version("v1", subresources=("status",))), crd(version()), []),
        (
            crd(version()),
            crd(version("v1", subresources=("status",))),
            ["CRD widgets.example.com: v1 loses its subresource status"],
        ),
        (
            crd(version()),
            crd(version(), version("v0")),
            ["CRD widgets.example.com: version v0 is no longer served"],
        ),
        (crd(version()), crd(version(), version("v0", served=False)), []),
        (
            crd(version()),
            crd(version(), stored=("v0", "v1")),
            [STORED],
        ),
        (
            crd(version()),
            crd(version(), scope="Cluster"),
            ["CRD widgets.example.com: scope Cluster can't become Namespaced"],
        ),
    ],
)
def test_what_a_new_definition_takes_away_is_told(ours: Any, live: Any, texts: list[str]) -> None:
    assert [finding.message for finding in definitions.compare([ours], [live])] == texts


def test_of_many_places_some_are_shown_and_the_others_counted() -> None:
    live = crd(version("v1", *"abcdefgh"))
    texts = [finding.message for finding in definitions.compare([crd(version())], [live])]
    assert len(texts) == 6
    assert texts[-1] == "CRD widgets.example.com: and 3 more places"


def test_a_definition_that_is_not_there_yet_has_nothing_to_narrow() -> None:
    assert list(definitions.compare([crd(version())], [])) == []


def test_an_accepted_finding_is_a_warning() -> None:
    found = Finding(Check.SCHEMA, "less")
    assert blocking([found], set()) == [found]
    assert blocking([found], {"schema"}) == []
    assert blocking([Finding(Check.VERSION, "new", is_blocking=False)], set()) == []
    assert line(found, set()) == "error: schema: less"
    assert line(found, {"schema"}) == "warning: schema: less"


def test_kinds_that_nobody_serves_are_told_once_each() -> None:
    def made(version: str, kind: str) -> dict[str, Any]:
        return {"apiVersion": version, "kind": kind, "metadata": {"name": "x"}}

    objects = [made("v1", "Service"), made("a.example/v1", "Widget"), made("a.example/v1", "Widget")]
    found = list(preflight.kinds(objects, {("v1", "Service"), ("a.example/v2", "Widget")}))
    assert [finding.check for finding in found] == [Check.KIND]
    assert found[0].message.startswith("the cluster doesn't serve Widget of a.example/v1, of which 2 are to be applied")
