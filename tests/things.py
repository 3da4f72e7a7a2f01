"""A kind that nobody serves, for tests that need a model and no particular one."""

from __future__ import annotations

import msgspec

from runtime.resource import Resource


class Meta(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}


class ThingSpec(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    size: int = 0
    node_name: str = ""
    tags: tuple[str, ...] = ()


class Thing(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    api_version: str = ""
    kind: str = ""
    metadata: Meta = Meta()
    spec: ThingSpec = ThingSpec()


THINGS: Resource[Thing] = Resource("example.org", "v1", "Thing", "things", Thing, has_status=True)
ZONES: Resource[Thing] = Resource("example.org", "v1", "Zone", "zones", Thing, namespaced=False)
