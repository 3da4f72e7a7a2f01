"""The volumes of a pod: their names, and that each has one source."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from msgspec.structs import astuple

from generated.core.v1 import EmptyDirVolumeSource, HostPathVolumeSource, ImageVolumeSource, Volume
from webhooks import wellformed
from webhooks.causes import Causes, by_identity, one_of
from webhooks.podtemplate import claims, disks, files
from webhooks.podtemplate.resources import amount

_SOURCES: Final = (  # in the order in which they are looked at: JSON name, attribute
    ("emptyDir", "empty_dir"),
    ("hostPath", "host_path"),
    ("gitRepo", "git_repo"),
    ("gcePersistentDisk", "gce_persistent_disk"),
    ("awsElasticBlockStore", "aws_elastic_block_store"),
    ("secret", "secret"),
    ("nfs", "nfs"),
    ("iscsi", "iscsi"),
    ("glusterfs", "glusterfs"),
    ("flocker", "flocker"),
    ("persistentVolumeClaim", "persistent_volume_claim"),
    ("rbd", "rbd"),
    ("cinder", "cinder"),
    ("cephfs", "cephfs"),
    ("quobyte", "quobyte"),
    ("downwardAPI", "downward_api"),
    ("fc", "fc"),
    ("flexVolume", "flex_volume"),
    ("configMap", "config_map"),
    ("azureFile", "azure_file"),
    ("vsphereVolume", "vsphere_volume"),
    ("photonPersistentDisk", "photon_persistent_disk"),
    ("portworxVolume", "portworx_volume"),
    ("azureDisk", "azure_disk"),
    ("storageos", "storageos"),
    ("projected", "projected"),
    ("scaleIO", "scale_io"),
    ("csi", "csi"),
    ("ephemeral", "ephemeral"),
    ("image", "image"),
)
_PLACES: Final = tuple((word, Volume.__struct_fields__.index(attribute)) for word, attribute in _SOURCES)
_SECOND: Final = {"downwardAPI": "downwarAPI", "cephfs": "cephFS"}
"""How the server spells these in the paths of sources that are too many (compat: ADM-3)."""
_HOST_TYPES: Final = (
    "",
    "BlockDevice",
    "CharDevice",
    "Directory",
    "DirectoryOrCreate",
    "File",
    "FileOrCreate",
    "Socket",
)
_PULL_POLICIES: Final = ("Always", "IfNotPresent", "Never")


def check(causes: Causes, field: str, volumes: tuple[Volume, ...]) -> Mapping[str, Volume]:
    """All volumes; gives the valid ones by name, which are those that containers may use."""
    if not volumes:
        return {}
    found, valid = _judge(volumes)
    if found:
        causes.below(field, found)
    return valid


@by_identity
def _judge(volumes: tuple[Volume, ...]) -> tuple[Causes, Mapping[str, Volume]]:
    """The mistakes, below the list's own path, and the valid volumes. Many pods have the same ones."""
    causes = Causes()
    valid: dict[str, Volume] = {}
    for index, volume in enumerate(volumes):
        before = len(causes) + causes.untold
        place = f"[{index}]"
        _check_source(causes, place, volume)
        if not volume.name:
            causes.required(f"{place}.name")
        elif faults := wellformed.label(volume.name):
            causes.invalid(f"{place}.name", volume.name, *faults)
        if volume.name in valid:
            causes.duplicate(f"{place}.name", volume.name)
        if len(causes) + causes.untold == before:
            valid[volume.name] = volume
    return causes, valid


def _check_source(causes: Causes, field: str, volume: Volume) -> None:
    """The first source is judged, every other one is too many; none is an empty directory."""
    values = astuple(volume)
    count = len(values) - 1 - values.count(None)  # all but the name are sources
    if not count:
        return
    is_first = True
    for word, place in _PLACES:
        source = values[place]
        if source is None:
            continue
        if is_first:
            is_first = False
            _check_one(causes, word, field, source)
        else:
            causes.forbidden(f"{field}.{_SECOND.get(word, word)}", "may not specify more than 1 volume type")
        count -= 1
        if not count:
            return


def _check_one(causes: Causes, word: str, volume: str, source: Any) -> None:
    field = f"{volume}.{'persistentDisk' if word == 'gcePersistentDisk' else word}"
    special = _CHECKS.get(word)
    if special is not None:
        special(causes, field, source)
    else:
        disks.check(causes, word, field, source)


def _check_empty_dir(causes: Causes, field: str, source: EmptyDirVolumeSource) -> None:
    if source.size_limit is not None and amount(source.size_limit).nano < 0:
        causes.forbidden(f"{field}.sizeLimit", "SizeLimit field must be a valid resource quantity")


def _check_host_path(causes: Causes, field: str, source: HostPathVolumeSource) -> None:
    if not source.path:
        causes.required(f"{field}.path")
        return
    causes.invalid(f"{field}.path", source.path, *wellformed.backsteps(source.path))
    if source.type is not None:
        one_of(causes, f"{field}.type", source.type, _HOST_TYPES)


def _check_claim(causes: Causes, field: str, source: Any) -> None:
    if not source.claim_name:
        causes.required(f"{field}.claimName")


def _check_ephemeral(causes: Causes, field: str, source: Any) -> None:
    if source.volume_claim_template is None:
        causes.required(f"{field}.volumeClaimTemplate")
    else:
        claims.check_template(causes, f"{field}.volumeClaimTemplate", source.volume_claim_template)


def _check_image(causes: Causes, field: str, source: ImageVolumeSource) -> None:
    if source.pull_policy:
        one_of(causes, f"{field}.pullPolicy", source.pull_policy, _PULL_POLICIES)


_CHECKS: Final[dict[str, Any]] = {
    "emptyDir": _check_empty_dir,
    "hostPath": _check_host_path,
    "secret": files.check_secret,
    "configMap": files.check_config_map,
    "persistentVolumeClaim": _check_claim,
    "downwardAPI": files.check_downward,
    "projected": files.check_projected,
    "ephemeral": _check_ephemeral,
    "image": _check_image,
}
