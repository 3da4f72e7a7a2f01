"""A small kind, reviews of it, and readers of answers, for the tests of admission."""

from __future__ import annotations

import base64
from typing import Any

import msgspec

from runtime.resource import Resource


class Model(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    pass


class Meta(Model, frozen=True):
    name: str = ""
    namespace: str = ""
    labels: dict[str, str] = {}


class Spec(Model, frozen=True):
    queue: str = ""
    min_available: int = 0


class Thing(Model, frozen=True):
    metadata: Meta = Meta()
    spec: Spec = Spec()


THINGS = Resource("example.org", "v1", "Thing", "things", Thing)


def review(
    obj: Any = None, old: Any = None, *, operation: str = "CREATE", version: str = "v1", **fields: Any
) -> dict[str, Any]:
    """An AdmissionReview of a Thing as an API server sends it; `fields` override those of the request."""
    kind = {"group": "example.org", "version": "v1", "kind": "Thing"}
    resource = {"group": "example.org", "version": "v1", "resource": "things"}
    request = {
        "uid": "u-1",
        "kind": kind,
        "resource": resource,
        "requestKind": kind,
        "requestResource": resource,
        "name": "one",
        "namespace": "space",
        "operation": operation,
        "userInfo": {"username": "jane", "groups": ["system:authenticated"], "extra": {"k": ["v"]}},
        "object": obj,
        "oldObject": old,
        "dryRun": False,
        "options": {"apiVersion": "meta.k8s.io/v1", "kind": "CreateOptions"},
    }
    return {"apiVersion": f"admission.k8s.io/{version}", "kind": "AdmissionReview", "request": {**request, **fields}}


def encoded(**arguments: Any) -> bytes:
    """The bytes of `review`."""
    return msgspec.json.encode(review(**arguments))


def patch_of(response: dict[str, Any]) -> Any:
    """The operations in a response."""
    assert response["patchType"] == "JSONPatch"
    return msgspec.json.decode(base64.b64decode(response["patch"]))
