"""
Changes of an entry over the job spec of its template, merged as `kubectl patch` merges the same fields of a pod.

Maps are merged by key, and null takes a key away. Lists whose items have names are merged item by item, what is new
comes last; every other list is replaced.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

_KEYS: Final[Mapping[str, str]] = {
    "tasks": "name",
    "containers": "name",
    "initContainers": "name",
    "ephemeralContainers": "name",
    "env": "name",
    "ports": "containerPort",
    "volumeMounts": "mountPath",
    "volumeDevices": "devicePath",
    "imagePullSecrets": "name",
    "hostAliases": "ip",
    "topologySpreadConstraints": "topologyKey",
    "resourceClaims": "name",
}
"""What identifies the items of a list, by the name of its field (the strategic merge of core types)."""
_VOLUMES: Final = "volumes"


def merge(base: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """The base with the changes; neither is modified."""
    merged = dict(base)
    for name, change in changes.items():
        if change is None:
            merged.pop(name, None)
        elif isinstance(change, Mapping) and isinstance(merged.get(name), Mapping):
            merged[name] = merge(merged[name], change)
        elif isinstance(change, list) and isinstance(merged.get(name), list):
            merged[name] = _merge_lists(name, merged[name], change)
        else:
            merged[name] = _fresh(change)
    return merged


def _fresh(change: Any) -> Any:
    """What comes where nothing was: nulls take nothing away."""
    if isinstance(change, Mapping):
        return merge({}, change)
    return [_fresh(item) for item in change] if isinstance(change, list) else change


def _merge_lists(name: str, base: list[Any], changes: list[Any]) -> list[Any]:
    key = _key_of(name, [*base, *changes])
    if not key:
        return [_fresh(change) for change in changes]
    given = {change[key]: change for change in changes}
    kept = [merge(item, given.pop(item[key])) if item[key] in given else item for item in base]
    return [*kept, *map(_fresh, given.values())]


def _key_of(name: str, items: list[Any]) -> str:
    """The field that identifies the items, empty when the list is replaced as a whole."""
    if name == _VOLUMES:  # those of a job have a path, those of a pod a name
        key = "mountPath" if all("mountPath" in item for item in items if isinstance(item, Mapping)) else "name"
    else:
        key = _KEYS.get(name, "")
    is_keyed = bool(key) and all(isinstance(item, Mapping) and isinstance(item.get(key), str | int) for item in items)
    return key if is_keyed else ""
