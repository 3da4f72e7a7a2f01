from __future__ import annotations

import pytest

from runtime.errors import InvalidName, NotFound
from tests.unit.runtime.models import PODS


def test_an_object_and_its_subresource_have_an_address() -> None:
    assert PODS.path("ns", "a b") == "/api/v1/namespaces/ns/pods/a%20b"
    assert PODS.path("ns", "a", "status") == "/api/v1/namespaces/ns/pods/a/status"
    assert PODS.path() == "/api/v1/pods"


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("", "resource name may not be empty"),
        ("/", "invalid resource name \"/\": [may not contain '/']"),
        ("b/", "invalid resource name \"b/\": [may not contain '/']"),
        ("a/status", "invalid resource name \"a/status\": [may not contain '/']"),
        ("%2F/", "invalid resource name \"%2F/\": [may not contain '/' may not contain '%']"),
        (".", "invalid resource name \".\": [may not be '.']"),
        ("..", "invalid resource name \"..\": [may not be '..']"),
    ],
)
def test_a_name_that_would_lead_elsewhere_is_refused(name: str, message: str) -> None:
    with pytest.raises(InvalidName) as refusal:
        PODS.path("ns", name)
    assert str(refusal.value) == message


@pytest.mark.parametrize("namespace", ["other/", "x/../y", "..", "%"])
def test_so_is_such_a_namespace(namespace: str) -> None:
    with pytest.raises(NotFound, match=r"^invalid namespace "):
        PODS.path(namespace, "a")
    with pytest.raises(NotFound, match=r"^invalid namespace "):
        PODS.path(namespace)
