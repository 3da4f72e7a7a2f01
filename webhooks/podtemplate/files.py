"""Volumes whose files come from objects: ConfigMaps, Secrets, the pod itself, tokens."""

from __future__ import annotations

from typing import Final

from generated.core.v1 import (
    ConfigMapVolumeSource,
    DownwardAPIVolumeFile,
    DownwardAPIVolumeSource,
    KeyToPath,
    ProjectedVolumeSource,
    SecretVolumeSource,
    ServiceAccountTokenProjection,
    VolumeProjection,
)
from webhooks import wellformed
from webhooks.causes import Causes
from webhooks.podtemplate.env import OF_VOLUMES, check_field, check_resource

_MAX_MODE: Final = 0o777
_MODE: Final = "must be a number between 0 and 0777 (octal), both inclusive"
_LEAST_SECONDS: Final = 600
_MOST_SECONDS: Final = 1 << 32


def check_secret(causes: Causes, field: str, source: SecretVolumeSource) -> None:
    """The keys of a Secret."""
    if not source.secret_name:
        causes.required(f"{field}.secretName")
    _check_mode(causes, f"{field}.defaultMode", source.default_mode)
    _check_items(causes, f"{field}.items", source.items)


def check_config_map(causes: Causes, field: str, source: ConfigMapVolumeSource) -> None:
    """The keys of a ConfigMap."""
    if not source.name:
        causes.required(f"{field}.name")
    _check_mode(causes, f"{field}.defaultMode", source.default_mode)
    _check_items(causes, f"{field}.items", source.items)


def check_downward(causes: Causes, field: str, source: DownwardAPIVolumeSource) -> None:
    """Fields of the pod."""
    _check_mode(causes, f"{field}.defaultMode", source.default_mode)
    for item in source.items:
        _check_downward_file(causes, field, item)


def check_projected(causes: Causes, field: str, source: ProjectedVolumeSource) -> None:
    """Several of these in one directory, each file once."""
    _check_mode(causes, f"{field}.defaultMode", source.default_mode)
    paths: dict[str, None] = {}
    for index, projection in enumerate(source.sources):
        _check_projection(causes, field, f"{field}.sources[{index}]", projection, paths)


def _check_mode(causes: Causes, field: str, mode: int | None) -> None:
    if mode is not None and not 0 <= mode <= _MAX_MODE:
        causes.invalid(field, mode, _MODE)


def _check_path(causes: Causes, field: str, path: str) -> None:
    if not path:
        causes.required(field)
    else:
        causes.invalid(field, path, *wellformed.descending_name(path))


def _check_items(causes: Causes, field: str, items: tuple[KeyToPath, ...]) -> None:
    for index, item in enumerate(items):
        if not item.key:
            causes.required(f"{field}[{index}].key")
        _check_path(causes, f"{field}[{index}].path", item.path)
        _check_mode(causes, f"{field}[{index}].mode", item.mode)


def _check_downward_file(causes: Causes, field: str, item: DownwardAPIVolumeFile) -> None:
    _check_path(causes, f"{field}.path", item.path)
    if item.field_ref is not None:
        check_field(causes, f"{field}.fieldRef", item.field_ref, OF_VOLUMES)
        if item.resource_field_ref is not None:
            how = "fieldRef and resourceFieldRef can not be specified simultaneously"
            causes.invalid(field, "resource", how)
    elif item.resource_field_ref is not None:
        check_resource(causes, f"{field}.resourceFieldRef", item.resource_field_ref, needs_container=True)
    else:
        causes.required(field, "one of fieldRef and resourceFieldRef is required")
    _check_mode(causes, f"{field}.mode", item.mode)


def _check_projection(
    causes: Causes, field: str, place: str, projection: VolumeProjection, paths: dict[str, None]
) -> None:
    count = 0
    for word, ref in (("secret", projection.secret), ("configMap", projection.config_map)):
        if ref is None:
            continue
        count += 1
        if count > 1:
            causes.forbidden(place, "may not specify more than 1 volume type per source")
            continue
        if not ref.name:
            causes.required(f"{place}.{word}.name")
        _check_items(causes, f"{place}.{word}.items", ref.items)
        for item in ref.items:
            _claim(causes, field, item.path, paths, ref.name)
    if projection.downward_api is not None:
        count += 1
        if count > 1:
            causes.forbidden(place, "may not specify more than 1 volume type per source")
        else:
            _check_downward_projection(causes, field, place, projection, paths)
    if projection.service_account_token is not None:
        if count:
            causes.forbidden(place, "may not specify more than 1 volume type per source")
        else:
            _check_token(causes, field, place, projection.service_account_token)


def _check_downward_projection(
    causes: Causes, field: str, place: str, projection: VolumeProjection, paths: dict[str, None]
) -> None:
    assert projection.downward_api is not None
    for item in projection.downward_api.items:
        _check_downward_file(causes, f"{place}.downwardAPI", item)
        _claim(causes, field, item.path, paths, item.path)


def _check_token(causes: Causes, field: str, place: str, token: ServiceAccountTokenProjection) -> None:
    seconds = token.expiration_seconds
    lifetime = f"{place}.serviceAccountToken.expirationSeconds"
    if seconds is not None and seconds < _LEAST_SECONDS:
        causes.invalid(lifetime, seconds, "may not specify a duration less than 10 minutes")
    elif seconds is not None and seconds > _MOST_SECONDS:
        causes.invalid(lifetime, seconds, "may not specify a duration larger than 2^32 seconds")
    if not token.path:
        causes.required(f"{field}.path")
    else:
        causes.invalid(f"{field}.path", token.path, *wellformed.descending_name(token.path))


def _claim(causes: Causes, field: str, path: str, paths: dict[str, None], owner: str) -> None:
    """Take a path of the directory. Tokens don't: the server lets them share one."""
    if path and path in paths:
        causes.invalid(field, owner, "conflicting duplicate paths")
    paths[path] = None
