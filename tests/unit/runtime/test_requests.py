from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec
import pytest

from runtime import requests
from runtime.patches import JsonPatch, MergePatch, StrategicPatch
from runtime.patches import test as check
from runtime.requests import Priority, Request
from tests.things import THINGS, ZONES, Meta, Thing

BASE = "/apis/example.org/v1"
PINNED = {"metadata": {"name": "a", "namespace": "n", "resourceVersion": "5"}}


@pytest.mark.parametrize(
    ("request_", "method", "target"),
    [
        (requests.get(THINGS, "a", "n"), "GET", "/namespaces/n/things/a"),
        (requests.get(THINGS, "a", "n", resource_version="0"), "GET", "/namespaces/n/things/a?resourceVersion=0"),
        (requests.get(ZONES, "z"), "GET", "/zones/z"),
        (requests.get(ZONES, "z", "ignored"), "GET", "/zones/z"),
        (requests.get(ZONES, "a:b c"), "GET", "/zones/a%3Ab%20c"),
        (requests.list_page(THINGS), "GET", "/things?limit=500"),
        (requests.list_page(THINGS, "n", limit=0), "GET", "/namespaces/n/things"),
        (
            requests.list_page(THINGS, label_selector="a in (b,c)", field_selector="spec.x!=1"),
            "GET",
            "/things?labelSelector=a+in+%28b%2Cc%29&fieldSelector=spec.x%21%3D1&limit=500",
        ),
        (
            requests.list_page(THINGS, resource_version="9", resource_version_match="NotOlderThan"),
            "GET",
            "/things?limit=500&resourceVersion=9&resourceVersionMatch=NotOlderThan",
        ),
        (
            requests.list_page(THINGS, continue_="t=", resource_version="9", resource_version_match="Exact"),
            "GET",
            "/things?limit=500&continue=t%3D",
        ),
        (
            requests.watch(THINGS, "n", resource_version="9", timeout=60),
            "GET",
            "/namespaces/n/things?watch=1&timeoutSeconds=60&resourceVersion=9&allowWatchBookmarks=true",
        ),
        (requests.watch(ZONES, bookmarks=False, timeout=5), "GET", "/zones?watch=1&timeoutSeconds=5"),
        (requests.create(THINGS, {}, "n"), "POST", "/namespaces/n/things"),
        (requests.create(THINGS, {"metadata": {"namespace": "own"}}), "POST", "/namespaces/own/things"),
        (
            requests.create(ZONES, Thing(), field_manager="me", dry_run=True),
            "POST",
            "/zones?fieldManager=me&dryRun=All",
        ),
        (requests.create_subresource(THINGS, "a", "n", "binding", {}), "POST", "/namespaces/n/things/a/binding"),
        (requests.update(THINGS, PINNED), "PUT", "/namespaces/n/things/a"),
        (requests.update(THINGS, PINNED, subresource="status"), "PUT", "/namespaces/n/things/a/status"),
        (requests.patch(THINGS, "a", "n", MergePatch({})), "PATCH", "/namespaces/n/things/a"),
        (
            requests.apply(THINGS, "a", "n", {}, field_manager="me", force=True, subresource="status"),
            "PATCH",
            "/namespaces/n/things/a/status?fieldManager=me&force=true",
        ),
        (requests.apply(THINGS, "a", "n", {}, field_manager="me"), "PATCH", "/namespaces/n/things/a?fieldManager=me"),
        (requests.delete(THINGS, "a", "n"), "DELETE", "/namespaces/n/things/a"),
        (
            requests.delete_collection(THINGS, "n", label_selector="a=b"),
            "DELETE",
            "/namespaces/n/things?labelSelector=a%3Db",
        ),
    ],
)
def test_requests_have_the_address_of_their_verb(request_: Request, method: str, target: str) -> None:
    assert (request_.method, request_.target) == (method, BASE + target)


def test_any_path_can_be_read() -> None:
    assert requests.raw("/readyz", {"verbose": "1"}).target == "/readyz?verbose=1"


@pytest.mark.parametrize(
    ("request_", "expected"),
    [
        (requests.create(THINGS, {}, "n"), "application/json"),
        (requests.update(THINGS, PINNED), "application/json"),
        (requests.create_subresource(THINGS, "a", "n", "binding", {}), "application/json"),
        (requests.delete(THINGS, "a", "n"), "application/json"),
        (requests.patch(THINGS, "a", "n", JsonPatch([])), "application/json-patch+json"),
        (requests.patch(THINGS, "a", "n", MergePatch({})), "application/merge-patch+json"),
        (requests.patch(THINGS, "a", "n", StrategicPatch({})), "application/strategic-merge-patch+json"),
        (requests.apply(THINGS, "a", "n", {}, field_manager="me"), "application/apply-patch+yaml"),
    ],
)
def test_bodies_name_their_media_type(request_: Request, expected: str) -> None:
    assert request_.headers == {"Content-Type": expected}
    assert request_.body is not None


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, {}),
        ({"uid": "u"}, {"preconditions": {"uid": "u"}}),
        ({"uid": "u", "resource_version": "5"}, {"preconditions": {"uid": "u", "resourceVersion": "5"}}),
        ({"propagation": "Foreground"}, {"propagationPolicy": "Foreground"}),
        ({"grace_period": 0}, {"gracePeriodSeconds": 0}),
        ({"dry_run": True}, {"dryRun": ["All"]}),
    ],
)
def test_a_delete_says_its_conditions_in_the_body(options: Mapping[str, Any], expected: Mapping[str, Any]) -> None:
    body = requests.delete(THINGS, "a", "n", **options).body
    assert body is not None
    assert msgspec.json.decode(body) == {"apiVersion": "v1", "kind": "DeleteOptions", **expected}


@pytest.mark.parametrize(
    ("request_", "repeatable"),
    [
        (requests.get(THINGS, "a", "n"), True),
        (requests.list_page(THINGS), True),
        (requests.watch(THINGS), True),
        (requests.raw("/version"), True),
        (requests.create(THINGS, PINNED), False),
        (requests.create_subresource(THINGS, "a", "n", "binding", {}), False),
        (requests.update(THINGS, PINNED), True),
        (requests.update(THINGS, Thing(metadata=Meta(name="a", namespace="n"))), False),
        (requests.patch(THINGS, "a", "n", MergePatch(PINNED)), True),
        (requests.patch(THINGS, "a", "n", MergePatch({})), False),
        (requests.patch(THINGS, "a", "n", JsonPatch([check("/metadata/resourceVersion", "5")])), True),
        (requests.patch(THINGS, "a", "n", JsonPatch([])), False),
        (requests.apply(THINGS, "a", "n", {}, field_manager="me"), False),
        (requests.apply(THINGS, "a", "n", {"metadata": {"uid": "u"}}, field_manager="me"), True),
        (requests.apply(THINGS, "a", "n", {}, field_manager="me", subresource="status"), True),
        (requests.delete(THINGS, "a", "n", uid="u"), True),
        (requests.delete(THINGS, "a", "n", resource_version="5"), False),
        (requests.delete(THINGS, "a", "n"), False),
        (requests.delete_collection(THINGS, "n"), False),
    ],
)
def test_only_what_cannot_happen_twice_is_repeatable(request_: Request, repeatable: bool) -> None:
    assert request_.repeatable is repeatable


@pytest.mark.parametrize(
    ("request_", "priority"),
    [
        (requests.get(THINGS, "a", "n"), Priority.READ),
        (requests.create(THINGS, {}, "n"), Priority.DEFAULT),
        (requests.create(THINGS, {}, "n", priority=Priority.EVENT), Priority.EVENT),
        (requests.create_subresource(THINGS, "a", "n", "binding", {}, priority=Priority.BIND), Priority.BIND),
        (requests.update(THINGS, PINNED), Priority.DEFAULT),
        (requests.update(THINGS, PINNED, subresource="status"), Priority.STATUS),
        (requests.patch(THINGS, "a", "n", MergePatch({}), subresource="status"), Priority.STATUS),
        (requests.patch(THINGS, "a", "n", MergePatch({}), priority=Priority.EVENT), Priority.EVENT),
        (requests.apply(THINGS, "a", "n", {}, field_manager="me", subresource="status"), Priority.STATUS),
        (requests.delete(THINGS, "a", "n"), Priority.DELETE),
        (requests.delete_collection(THINGS, "n"), Priority.DELETE),
    ],
)
def test_each_verb_has_its_priority(request_: Request, priority: Priority) -> None:
    assert request_.priority is priority


def test_binds_go_before_deletes_before_status_before_events() -> None:
    assert Priority.BIND > Priority.DELETE > Priority.STATUS > Priority.EVENT


@pytest.mark.parametrize(
    "build",
    [
        lambda: requests.get(THINGS, "a"),
        lambda: requests.delete(THINGS, "a"),
        lambda: requests.update(THINGS, {"metadata": {"name": "a"}}),
    ],
)
def test_a_namespaced_object_needs_its_namespace(build: Any) -> None:
    with pytest.raises(ValueError, match="Thing 'a' is namespaced"):
        build()


def test_an_update_needs_a_name() -> None:
    with pytest.raises(ValueError, match=r"the Thing has no metadata\.name"):
        requests.update(THINGS, Thing(metadata=Meta(namespace="n")))


def test_a_watch_outlives_its_server_side_end_a_little_and_notices_silence() -> None:
    watch = requests.watch(THINGS, timeout=300)
    assert watch.timeout == 330
    assert 0 < watch.idle_timeout < watch.timeout
    assert requests.watch(THINGS, bookmarks=False).idle_timeout == 0


def test_the_subject_names_kind_and_object() -> None:
    assert requests.get(THINGS, "a", "n").subject == "things.example.org a"
    assert requests.list_page(THINGS).subject == "things.example.org"


def test_only_get_is_no_write() -> None:
    assert not requests.get(THINGS, "a", "n").is_write
    assert requests.delete(THINGS, "a", "n").is_write
