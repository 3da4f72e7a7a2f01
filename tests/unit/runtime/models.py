"""Small models with the shape of Kubernetes objects, for the tests of caches and decoders."""

from __future__ import annotations

import msgspec

from runtime.model import Model
from runtime.objects import Key
from runtime.resource import Resource


class ManagedFields(Model):
    manager: str = ""


class Meta(Model):
    name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    creation_timestamp: str = ""
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}
    managed_fields: tuple[ManagedFields, ...] = ()


class EnvVar(Model):
    name: str = ""
    value: str = ""


class Container(Model):
    name: str = ""
    image: str = ""
    env: tuple[EnvVar, ...] = ()
    limits: dict[str, str] = {}


class Affinity(Model):
    zone: str = ""


class PodSpec(Model):
    node_name: str = ""
    containers: tuple[Container, ...] = ()
    affinity: Affinity | None = None
    node_selector: dict[str, str] = {}
    priority: int | None = None


class PodStatus(Model):
    phase: str = ""


class Pod(Model):
    api_version: str = ""
    kind: str = ""
    metadata: Meta = Meta()
    spec: PodSpec = PodSpec()
    status: PodStatus = PodStatus()


PODS: Resource[Pod] = Resource("", "v1", "Pod", "pods", Pod, has_status=True)


def pod(
    name: str, version: int | str = 1, *, namespace: str = "ns", uid: str = "", node: str = "", **labels: str
) -> Pod:
    """A pod; its uid is `<name>-uid` unless given."""
    meta = Meta(
        name=name, namespace=namespace, uid=uid or f"{name}-uid", resource_version=str(version), labels=dict(labels)
    )
    return Pod(metadata=meta, spec=PodSpec(node_name=node))


def key(name: str, namespace: str = "ns") -> Key:
    return Key(namespace, name)


def text(obj: object) -> bytes:
    return msgspec.json.encode(obj)


def line(event: str, obj: object) -> bytes:
    """A line of a watch."""
    return b'{"type":"%s","object":%s}' % (event.encode(), obj if isinstance(obj, bytes) else text(obj))
