"""Owner references: whose object this is, and how we mark our own."""

from __future__ import annotations

from typing import Any

from generated.meta.v1 import ObjectMeta, OwnerReference
from runtime.objects import Object
from runtime.resource import Resource


def controller_of(metadata: ObjectMeta) -> OwnerReference | None:
    """The owner that manages the object, None when there is none."""
    return next((owner for owner in metadata.owner_references if owner.controller), None)


def is_controlled_by(metadata: ObjectMeta, uid: str) -> bool:
    """Whether the object of this UID manages it. Names may be taken again, UIDs never are."""
    owner = controller_of(metadata)
    return owner is not None and owner.uid == uid


def is_of_kind(owner: OwnerReference, resource: Resource[Any]) -> bool:
    """Whether an owner is of this kind, in exactly this version of its group."""
    return owner.api_version == resource.api_version and owner.kind == resource.kind


def owner_reference(resource: Resource[Any], owner: Object) -> OwnerReference:
    """What a child carries: the owner manages it, and is not gone before the child is."""
    return OwnerReference(
        api_version=resource.api_version,
        kind=resource.kind,
        name=owner.metadata.name,
        uid=owner.metadata.uid,
        controller=True,
        block_owner_deletion=True,
    )
