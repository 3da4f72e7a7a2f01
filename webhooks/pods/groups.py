"""
Resource groups: what pods get that fit a group of the admission configuration (webhooks.md 3).

A file is taken as a whole or not at all, so that a slip in it can't take half of a working configuration away.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

import msgspec
import yaml

from api import names
from generated.core.v1 import Affinity, Toleration
from runtime import yamlguard
from runtime.errors import ConfigError
from webhooks.causes import Causes, aggregate
from webhooks.podtemplate import affinity as affinities
from webhooks.podtemplate.placing import check_tolerations

_BY_NAMESPACE: Final = "namespace"
_BY_ANNOTATION: Final = "annotation"
_KEYS: Final = ("", _BY_NAMESPACE, _BY_ANNOTATION)


class ResourceGroup(msgspec.Struct, frozen=True):
    """Which pods, and what they get."""

    name: str
    key: str = ""
    """`namespace`, `annotation`, or empty for annotations and the group's own name."""
    namespaces: frozenset[str] = frozenset()
    annotations: Mapping[str, str] = msgspec.field(default_factory=dict)
    scheduler_name: str = ""
    tolerations: tuple[Mapping[str, Any], ...] = ()
    """As JSON, to be appended."""
    labels: Mapping[str, str] = msgspec.field(default_factory=dict)
    affinity: Mapping[str, Any] | None = None
    """As JSON."""

    def matches(self, namespace: str, annotations: Mapping[str, str]) -> bool:
        """Whether a pod belongs to the group. An absent annotation, and an empty value, match nothing."""
        if self.key == _BY_NAMESPACE:
            return namespace in self.namespaces
        if any(value and annotations.get(key) == value for key, value in self.annotations.items()):
            return True
        by_name = self.key == "" and bool(self.name)
        return by_name and annotations.get(names.RESOURCE_GROUP_ANNOTATION) == self.name


Groups = tuple[ResourceGroup, ...]


def find(groups: Iterable[ResourceGroup], namespace: str, annotations: Mapping[str, str]) -> ResourceGroup | None:
    """The first group that a pod belongs to."""
    return next((group for group in groups if group.matches(namespace, annotations)), None)


def parse(text: bytes | str) -> Groups:
    """The groups of a file; none when it is empty. Raises ConfigError with everything that is wrong."""
    try:
        document = yamlguard.safe_load(text)
    except (yaml.YAMLError, ValueError) as error:
        raise ConfigError(f"the file is no YAML: {' '.join(str(error).split())}") from error
    if document is None:
        return ()
    if not isinstance(document, dict):
        raise ConfigError("the file must be a mapping with the key resourceGroups")
    entries = document.get("resourceGroups") or []
    if not isinstance(entries, list):
        raise ConfigError("resourceGroups must be a list")
    reader = _Reader()
    groups = tuple(reader.group(entry, f"resourceGroups[{index}]") for index, entry in enumerate(entries))
    if reader.problems:
        raise ConfigError("; ".join(reader.problems))
    return groups


class _Reader:
    """Reads entries, and notes what is wrong with them."""

    def __init__(self) -> None:
        self.problems: list[str] = []

    def group(self, entry: Any, place: str) -> ResourceGroup:
        content = self._mapping(entry, place)
        target = self._mapping(content.get("object"), f"{place}.object")
        key = self._text(target.get("key"), f"{place}.object.key")
        if key not in _KEYS:
            known = ", ".join(repr(word) for word in _KEYS)
            self.problems.append(f"{place}.object.key: {key!r} is unknown, expected one of {known}")
        values = self._texts(target.get("value"), f"{place}.object.value")
        return ResourceGroup(
            name=self._text(content.get("resourceGroup"), f"{place}.resourceGroup"),
            key=key,
            namespaces=frozenset(filter(None, values)) if key == _BY_NAMESPACE else frozenset(),
            annotations={} if key == _BY_NAMESPACE else _merged(values),
            scheduler_name=self._text(content.get("schedulerName"), f"{place}.schedulerName"),
            tolerations=self._tolerations(content.get("tolerations"), f"{place}.tolerations"),
            labels=self._labels(content.get("labels"), f"{place}.labels"),
            affinity=self._affinity(content.get("affinity"), f"{place}.affinity"),
        )

    def _mapping(self, value: Any, place: str) -> dict[str, Any]:
        if value is None:
            return {}
        if isinstance(value, dict):
            return value
        self.problems.append(f"{place}: expected a mapping, got {value!r}")
        return {}

    def _text(self, value: Any, place: str) -> str:
        if value is None or isinstance(value, str):
            return value or ""
        self.problems.append(f"{place}: expected a text, got {value!r}")
        return ""

    def _texts(self, value: Any, place: str) -> list[str]:
        if value is None:
            return []
        if isinstance(value, list):
            return [self._text(item, f"{place}[{index}]") for index, item in enumerate(value)]
        self.problems.append(f"{place}: expected a list, got {value!r}")
        return []

    def _labels(self, value: Any, place: str) -> dict[str, str]:
        return {str(key): self._text(text, f"{place}[{key}]") for key, text in self._mapping(value, place).items()}

    def _tolerations(self, value: Any, place: str) -> tuple[Mapping[str, Any], ...]:
        items = value if isinstance(value, list) else []
        if value is not None and not isinstance(value, list):
            self.problems.append(f"{place}: expected a list, got {value!r}")
        sent = [_with_known_spelling(self._mapping(item, f"{place}[{index}]")) for index, item in enumerate(items)]
        try:
            tolerations = msgspec.convert(sent, tuple[Toleration, ...])
        except msgspec.ValidationError as error:
            self.problems.append(f"{place}: {error}")
            return ()
        causes = Causes()
        check_tolerations(causes, place, tolerations)
        if causes:
            self.problems.append(aggregate(causes))
        return tuple(msgspec.to_builtins(toleration) for toleration in tolerations)

    def _affinity(self, value: Any, place: str) -> Mapping[str, Any] | None:
        """A mapping, or JSON text of one."""
        if value is None or value == "":
            return None
        try:
            sent = msgspec.json.decode(value) if isinstance(value, str) else value
            read = msgspec.convert(sent, Affinity)
        except (msgspec.MsgspecError, RecursionError) as error:
            self.problems.append(f"{place}: it is no affinity: {error}")
            return None
        causes = Causes()
        affinities.check(causes, place, read)
        if causes:
            self.problems.append(aggregate(causes))
        return msgspec.to_builtins(read)  # type: ignore[no-any-return]  # an object becomes a mapping


def _with_known_spelling(toleration: dict[str, Any]) -> dict[str, Any]:
    """The reference knows the seconds in small letters only."""
    seconds = toleration.get("tolerationSeconds", toleration.get("tolerationseconds"))
    known = {key: toleration[key] for key in ("key", "operator", "value", "effect") if toleration.get(key) is not None}
    return known if seconds is None else {**known, "tolerationSeconds": seconds}


def _merged(values: Iterable[str]) -> dict[str, str]:
    """The annotations of entries such as `volcano.sh/resource-group: cpu`; what is none is left out."""
    merged: dict[str, str] = {}
    for text in values:
        try:
            entry = yamlguard.safe_load(text)
        except (yaml.YAMLError, ValueError):
            continue
        if isinstance(entry, dict) and all(isinstance(value, str) for value in entry.values()):
            for key, value in entry.items():
                merged.setdefault(str(key), value)
    return merged
