"""Volumes of storage systems, most of which only old clusters know."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Final

from generated.core.v1 import (
    AzureDiskVolumeSource,
    CSIVolumeSource,
    FCVolumeSource,
    FlexVolumeSource,
    FlockerVolumeSource,
    ISCSIVolumeSource,
    QuobyteVolumeSource,
)
from webhooks import wellformed
from webhooks.causes import Causes, within

_ISCSI = re.compile(
    r"iqn\.\d{4}-\d{2}\.([0-9a-z-]+\.)*[0-9a-z-]+(:[^,;*&$|\s]+)?|eui\.[0-9a-fA-F]{16}|naa\.([0-9a-fA-F]{16}){1,2}",
    re.IGNORECASE,
)
_ISCSI_WORDS: Final = "must be valid format starting with iqn, eui, or naa"
_MAX_LUN: Final = 255
_CSI_LENGTH: Final = 63
_TENANT_LENGTH: Final = 65
_CACHING: Final = ("None", "ReadOnly", "ReadWrite")
_AZURE_KINDS: Final = ("Dedicated", "Managed", "Shared")
_BLOB_URI: Final = "https://{account-name}.blob.core.windows.net/{container-name}/{disk-name}.vhd"
_MANAGED_URI: Final = "/subscriptions/{sub-id}/resourcegroups/{group-name}/providers/microsoft.compute/disks/{disk-id}"
_NEEDED: Final[dict[str, Sequence[str]]] = {  # JSON names of texts and lists that must not be empty
    "rbd": ("monitors", "image"),
    "cephfs": ("monitors",),
    "cinder": ("volumeID", "secretRef.name"),
    "glusterfs": ("endpoints", "path"),
    "azureFile": ("secretName", "shareName"),
    "photonPersistentDisk": ("pdID",),
    "portworxVolume": ("volumeID",),
    "scaleIO": ("gateway", "system", "volumeName"),
    "storageos": ("volumeName", "secretRef.name"),
    "vsphereVolume": ("volumePath",),
}
_ATTRIBUTES: Final = {
    "volumeID": "volume_id",
    "secretRef": "secret_ref",
    "secretName": "secret_name",
    "shareName": "share_name",
    "pdID": "pd_id",
    "volumeName": "volume_name",
    "volumePath": "volume_path",
}


def check(causes: Causes, word: str, field: str, source: Any) -> None:
    """`word` is the JSON name of the source, `field` its path."""
    for path in _NEEDED.get(word, ()):
        value: Any = source
        for step in path.split("."):
            value = getattr(value, _ATTRIBUTES.get(step, step)) if value is not None else None
        if value is not None and not value:
            causes.required(f"{field}.{path}")
    special = _SPECIAL.get(word)
    if special is not None:
        special(causes, field, source)


def _check_nfs(causes: Causes, field: str, source: Any) -> None:
    if not source.server:
        causes.required(f"{field}.server")
    if not source.path:
        causes.required(f"{field}.path")
    if not source.path.startswith("/"):
        causes.invalid(f"{field}.path", source.path, "must be an absolute path")


def _check_cloud_disk(causes: Causes, field: str, source: Any) -> None:
    has_name, word = (source.pd_name, "pdName") if hasattr(source, "pd_name") else (source.volume_id, "volumeID")
    if not has_name:
        causes.required(f"{field}.{word}")
    if source.partition:
        within(causes, f"{field}.partition", source.partition, 1, _MAX_LUN)


def _check_git(causes: Causes, field: str, source: Any) -> None:
    if not source.repository:
        causes.required(f"{field}.repository")
    causes.invalid(f"{field}.directory", source.directory, *wellformed.descending(source.directory))


def _check_iscsi(causes: Causes, field: str, source: ISCSIVolumeSource) -> None:
    if not source.target_portal:
        causes.required(f"{field}.targetPortal")
    if not source.iqn:
        causes.required(f"{field}.iqn")
    elif not _ISCSI.fullmatch(source.iqn):
        causes.invalid(f"{field}.iqn", source.iqn, _ISCSI_WORDS)
    if not 0 <= source.lun <= _MAX_LUN:
        within(causes, f"{field}.lun", source.lun, 0, _MAX_LUN)
    if (source.chap_auth_discovery or source.chap_auth_session) and source.secret_ref is None:
        causes.required(f"{field}.secretRef")
    if source.initiator_name is not None and not _ISCSI.fullmatch(source.initiator_name):
        causes.invalid(f"{field}.initiatorname", source.initiator_name, _ISCSI_WORDS)


def _check_fc(causes: Causes, field: str, source: FCVolumeSource) -> None:
    if not source.target_wwns and not source.wwids:
        causes.required(f"{field}.targetWWNs", "must specify either targetWWNs or wwids, but not both")
    if source.target_wwns and source.wwids:
        how = "targetWWNs and wwids can not be specified simultaneously"
        causes.invalid(f"{field}.targetWWNs", source.target_wwns, how)
    if not source.target_wwns:
        return
    if source.lun is None:
        causes.required(f"{field}.lun", "lun is required if targetWWNs is specified")
    else:
        within(causes, f"{field}.lun", source.lun, 0, _MAX_LUN)


def _check_flocker(causes: Causes, field: str, source: FlockerVolumeSource) -> None:
    if not source.dataset_name and not source.dataset_uuid:
        causes.required(field, "one of datasetName and datasetUUID is required")
    if source.dataset_name and source.dataset_uuid:
        causes.invalid(field, "resource", "datasetName and datasetUUID can not be specified simultaneously")
    if "/" in source.dataset_name:
        causes.invalid(f"{field}.datasetName", source.dataset_name, "must not contain '/'")


def _check_azure_disk(causes: Causes, field: str, source: AzureDiskVolumeSource) -> None:
    if not source.disk_name:
        causes.required(f"{field}.diskName")
    if not source.disk_uri:
        causes.required(f"{field}.diskURI")
    if source.caching_mode is not None and source.caching_mode not in _CACHING:
        causes.unsupported(f"{field}.cachingMode", source.caching_mode, _CACHING)
    kind = "Shared" if source.kind is None else source.kind
    if kind not in _AZURE_KINDS:
        causes.unsupported(f"{field}.kind", kind, _AZURE_KINDS)
    if kind == "Managed" and not source.disk_uri.startswith("/subscriptions"):
        causes.unsupported(f"{field}.diskURI", source.disk_uri, (_MANAGED_URI,))
    elif kind != "Managed" and not source.disk_uri.startswith("https://"):
        causes.unsupported(f"{field}.diskURI", source.disk_uri, (_BLOB_URI,))


def _check_quobyte(causes: Causes, field: str, source: QuobyteVolumeSource) -> None:
    pairs = "must be a host:port pair or multiple pairs separated by commas"
    if not source.registry:
        causes.required(f"{field}.registry", pairs)
    elif len(source.tenant) >= _TENANT_LENGTH:
        causes.required(f"{field}.tenant", "must be a UUID and may not exceed a length of 64 characters")
    else:
        for pair in source.registry.split(","):
            if pair.count(":") != 1:
                causes.invalid(f"{field}.registry", source.registry, pairs)
    if not source.volume:
        causes.required(f"{field}.volume")


def _check_flex(causes: Causes, field: str, source: FlexVolumeSource) -> None:
    if not source.driver:
        causes.required(f"{field}.driver")
    for key in source.options:
        space = key.rpartition("/")[0]
        if f".{space}".endswith((".kubernetes.io", ".k8s.io")):
            causes.invalid(f"{field}.options[{key}]", key, "kubernetes.io and k8s.io namespaces are reserved")


def _check_csi(causes: Causes, field: str, source: CSIVolumeSource) -> None:
    driver = source.driver
    if not driver:
        causes.required(f"{field}.driver")
    else:
        if len(driver) > _CSI_LENGTH:
            causes.too_long(f"{field}.driver", _CSI_LENGTH)
        causes.invalid(f"{field}.driver", driver, *wellformed.subdomain(driver.lower()))
    if source.node_publish_secret_ref is not None and not source.node_publish_secret_ref.name:
        causes.required(f"{field}.nodePublishSecretRef.name")


_SPECIAL: Final[dict[str, Any]] = {
    "nfs": _check_nfs,
    "gcePersistentDisk": _check_cloud_disk,
    "awsElasticBlockStore": _check_cloud_disk,
    "gitRepo": _check_git,
    "iscsi": _check_iscsi,
    "fc": _check_fc,
    "flocker": _check_flocker,
    "azureDisk": _check_azure_disk,
    "quobyte": _check_quobyte,
    "flexVolume": _check_flex,
    "csi": _check_csi,
}
