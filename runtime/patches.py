"""
The three patch formats, each a value that knows its media type.

A patch also says whether it may be sent a second time after a broken connection: only when it names the
resourceVersion that it was made for, so that a second application is refused instead of done twice.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, TypeAlias

import msgspec

from runtime.bodies import Body, encode, read_head

Operation: TypeAlias = Mapping[str, Any]


def pointer(*parts: str) -> str:
    """JSON pointer (RFC 6901) of a path: `pointer("metadata", "labels", "a/b")` is `/metadata/labels/a~1b`."""
    return "".join("/" + part.replace("~", "~0").replace("/", "~1") for part in parts)


def test(path: str, value: Any) -> Operation:
    """Fail the whole patch with 422 unless `path` holds `value`."""
    return {"op": "test", "path": path, "value": value}


def add(path: str, value: Any) -> Operation:
    """Set `path`, or insert before that list index (`-` appends). The parent must exist."""
    return {"op": "add", "path": path, "value": value}


def replace(path: str, value: Any) -> Operation:
    """Set `path`, which must exist."""
    return {"op": "replace", "path": path, "value": value}


def remove(path: str) -> Operation:
    """Remove `path`, which must exist."""
    return {"op": "remove", "path": path}


class JsonPatch(msgspec.Struct, frozen=True):
    """RFC 6902: a list of operations, applied all or none."""

    operations: Sequence[Operation]
    media_type: ClassVar[str] = "application/json-patch+json"

    def encode(self) -> bytes:
        return msgspec.json.encode(self.operations)

    @property
    def is_pinned(self) -> bool:
        """Whether an operation tests metadata.resourceVersion."""
        return any(op["op"] == "test" and op["path"] == "/metadata/resourceVersion" for op in self.operations)


class MergePatch(msgspec.Struct, frozen=True):
    """RFC 7386: set what the body names, remove what it sets to null, replace lists whole."""

    body: Body
    media_type: ClassVar[str] = "application/merge-patch+json"

    def encode(self) -> bytes:
        return encode(self.body)

    @property
    def is_pinned(self) -> bool:
        """Whether the body names metadata.resourceVersion."""
        return bool(read_head(self.body).metadata.resource_version)


class StrategicPatch(msgspec.Struct, frozen=True):
    """Kubernetes' own merge, which merges known lists by key. Core kinds only: custom kinds answer 415."""

    body: Body
    media_type: ClassVar[str] = "application/strategic-merge-patch+json"

    def encode(self) -> bytes:
        return encode(self.body)

    @property
    def is_pinned(self) -> bool:
        """Whether the body names metadata.resourceVersion."""
        return bool(read_head(self.body).metadata.resource_version)


Patch: TypeAlias = JsonPatch | MergePatch | StrategicPatch
