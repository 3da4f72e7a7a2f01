"""Where containers find the volumes of their pod: mounts and block devices."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Final

from generated.core.v1 import Container, Volume, VolumeDevice, VolumeMount
from webhooks import wellformed
from webhooks.causes import Causes, by_identity

_PROPAGATION: Final = ("Bidirectional", "HostToContainer", "None")
_RECURSIVE: Final = ("Disabled", "Enabled", "IfPossible")


def check(causes: Causes, field: str, container: Container, volumes: Mapping[str, Volume]) -> None:
    """All mounts and devices of a container. `volumes` are the valid ones of the pod."""
    mounts, devices = container.volume_mounts, container.volume_devices
    if mounts:
        wanted = _volumes_of_plain(mounts)
        if wanted is None or devices or not wanted <= volumes.keys():
            _check_mounts(causes, f"{field}.volumeMounts", container, volumes)
    if devices:
        _check_devices(causes, f"{field}.volumeDevices", devices, mounts, volumes)


@by_identity
def _volumes_of_plain(mounts: tuple[VolumeMount, ...]) -> frozenset[str] | None:
    """The volumes of mounts in which nothing but a volume can be missing; None for mounts to be looked at one by one."""
    paths = {mount.mount_path for mount in mounts}
    if "" in paths or len(paths) < len(mounts) or not all(map(_is_plain, mounts)):
        return None
    return frozenset(mount.name for mount in mounts)


def _is_plain(mount: VolumeMount) -> bool:
    has_modes = mount.mount_propagation is not None or mount.recursive_read_only is not None
    return not (has_modes or mount.sub_path_expr or wellformed.descending(mount.sub_path))


def _check_mounts(causes: Causes, field: str, container: Container, volumes: Mapping[str, Volume]) -> None:
    seen: set[str] = set()
    devices = {device.name: device.device_path for device in container.volume_devices}
    paths = frozenset(devices.values())
    for index, mount in enumerate(container.volume_mounts):
        if mount.name not in volumes:
            if not mount.name:
                causes.required(f"{field}[{index}].name")
            causes.not_found(f"{field}[{index}].name", mount.name)
        if not mount.mount_path:
            causes.required(f"{field}[{index}].mountPath")
        if mount.mount_path in seen:
            causes.invalid(f"{field}[{index}].mountPath", mount.mount_path, "must be unique")
        seen.add(mount.mount_path)
        if devices:
            _check_apart(causes, f"{field}[{index}]", mount, devices, paths)
        if mount.sub_path or mount.sub_path_expr:
            _check_sub_paths(causes, field, index, mount)
        if mount.mount_propagation is not None or mount.recursive_read_only is not None:
            _check_modes(causes, field, mount, container)


def _check_apart(
    causes: Causes, field: str, mount: VolumeMount, devices: Collection[str], paths: Collection[str]
) -> None:
    if mount.name in devices:
        causes.invalid(f"{field}.name", mount.name, "must not already exist in volumeDevices")
    if mount.mount_path in paths:
        causes.invalid(f"{field}.mountPath", mount.mount_path, "must not already exist as a path in volumeDevices")


def _check_sub_paths(causes: Causes, field: str, index: int, mount: VolumeMount) -> None:
    if mount.sub_path:
        causes.invalid(f"{field}.subPath", mount.sub_path, *wellformed.descending(mount.sub_path))
    if mount.sub_path_expr:
        if mount.sub_path:
            how = "subPathExpr and subPath are mutually exclusive"
            causes.invalid(f"{field}[{index}].subPathExpr", mount.sub_path_expr, how)
        causes.invalid(f"{field}.subPathExpr", mount.sub_path_expr, *wellformed.descending(mount.sub_path_expr))


def _check_modes(causes: Causes, field: str, mount: VolumeMount, container: Container) -> None:
    propagation = mount.mount_propagation
    if propagation is not None:
        place = f"{field}.mountPropagation"
        if propagation not in _PROPAGATION:
            causes.unsupported(place, propagation, _PROPAGATION)
        context = container.security_context
        if propagation == "Bidirectional" and not (context is not None and context.privileged):
            causes.forbidden(place, "Bidirectional mount propagation is available only to privileged containers")
    recursive = mount.recursive_read_only
    if recursive is None:
        return
    place = f"{field}.recursiveReadOnly"
    if recursive not in _RECURSIVE:
        causes.unsupported(place, recursive, _RECURSIVE)
    elif recursive != "Disabled":
        if not mount.read_only:
            causes.forbidden(place, "may only be specified when readOnly is true")
        if propagation not in {None, "None"}:
            causes.forbidden(place, "may only be specified when mountPropagation is None or not specified")


def _check_devices(
    causes: Causes,
    field: str,
    devices: tuple[VolumeDevice, ...],
    mounts: tuple[VolumeMount, ...],
    volumes: Mapping[str, Volume],
) -> None:
    names: set[str] = set()
    paths: set[str] = set()
    mounted = {mount.name for mount in mounts}
    mount_paths = {mount.mount_path for mount in mounts}
    for index, device in enumerate(devices):
        name, path = f"{field}[{index}].name", f"{field}[{index}].devicePath"
        _check_device_name(causes, name, device.name, names, volumes)
        _check_device_path(causes, path, device.device_path, paths)
        if device.name in mounted:
            causes.invalid(name, device.name, "must not already exist in volumeMounts")
        if device.device_path in mount_paths:
            causes.invalid(path, device.device_path, "must not already exist as a path in volumeMounts")
        names.add(device.name)
        paths.add(device.device_path)


def _check_device_name(causes: Causes, field: str, name: str, seen: set[str], volumes: Mapping[str, Volume]) -> None:
    if not name:
        causes.required(field)
    elif name in seen:
        causes.invalid(field, name, "must be unique")
    volume = volumes.get(name)
    if volume is None:
        causes.not_found(field, name)
    elif volume.persistent_volume_claim is None and volume.ephemeral is None:
        how = "can only use volume source type of PersistentVolumeClaim or Ephemeral for block mode"
        causes.invalid(field, name, how)


def _check_device_path(causes: Causes, field: str, path: str, seen: set[str]) -> None:
    if not path:
        causes.required(field)
    if path in seen:
        causes.invalid(field, path, "must be unique")
    if wellformed.backsteps(path):
        causes.invalid(field, path, "can not contain backsteps ('..')")
