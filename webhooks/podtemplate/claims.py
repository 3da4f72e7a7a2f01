"""Claims of storage that don't exist yet: those of ephemeral volumes, and those of jobs."""

from __future__ import annotations

from typing import Final

from generated.core.v1 import PersistentVolumeClaimSpec, PersistentVolumeClaimTemplate
from webhooks import wellformed
from webhooks.causes import Causes
from webhooks.podtemplate.metadata import check_annotations, check_labels, check_selector
from webhooks.podtemplate.resources import amount

_ONE_POD: Final = "ReadWriteOncePod"
_MODES: Final = ("ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", _ONE_POD)
_VOLUME_MODES: Final = ("Block", "Filesystem")


def check_template(causes: Causes, field: str, template: PersistentVolumeClaimTemplate) -> None:
    """The claim of an ephemeral volume; its name follows from the pod's."""
    metadata = template.metadata
    check_annotations(causes, f"{field}.metadata.annotations", metadata.annotations)
    check_labels(causes, f"{field}.metadata.labels", metadata.labels)
    if metadata.name:
        causes.forbidden(f"{field}.metadata.name", "cannot be set")
    check_spec(causes, f"{field}.spec", template.spec)


def check_spec(causes: Causes, field: str, spec: PersistentVolumeClaimSpec) -> None:
    """How much storage of which sort."""
    if not spec.access_modes:
        causes.required(f"{field}.accessModes", "at least 1 access mode is required")
    check_selector(causes, f"{field}.selector", spec.selector)
    for mode in spec.access_modes:
        if mode not in _MODES:
            causes.unsupported(f"{field}.accessModes", mode, _MODES)
    if _ONE_POD in spec.access_modes and len(set(spec.access_modes)) > 1:
        causes.forbidden(f"{field}.accessModes", f"may not use {_ONE_POD} with other access modes")
    size = spec.resources.requests.get("storage")
    if size is None:
        causes.required(f"{field}.resources[storage]")
    elif amount(size).nano <= 0:
        causes.invalid(f"{field}.resources[storage]", str(amount(size)), "must be greater than zero")
    if spec.storage_class_name:
        name = spec.storage_class_name
        causes.invalid(f"{field}.storageClassName", name, *wellformed.subdomain(name))
    if spec.volume_mode and spec.volume_mode not in _VOLUME_MODES:
        causes.unsupported(f"{field}.volumeMode", spec.volume_mode, _VOLUME_MODES)
    if spec.volume_attributes_class_name:
        name = spec.volume_attributes_class_name
        causes.invalid(f"{field}.volumeAttributesClassName", name, *wellformed.subdomain(name))
