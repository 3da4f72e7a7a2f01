"""
The scheduler's configuration file: actions, tiers of plugins, arguments (scheduler.md 2).

Parsing is pure and gives either a whole configuration with warnings, or a `ConfigError`. Nothing here knows which
plugins and actions exist; the caller hands in their names.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import yaml

from runtime import errors

DEFAULT = """\
actions: "enqueue, allocate, backfill"
tiers:
- plugins:
  - name: priority
  - name: gang
  - name: conformance
- plugins:
  - name: overcommit
  - name: drf
  - name: predicates
  - name: proportion
  - name: nodeorder
"""
"""The built-in configuration."""

SWITCHES: Mapping[str, bool] = {
    "enableJobOrder": True,
    "enableHierarchy": False,
    "enableJobReady": True,
    "enableJobPipelined": True,
    "enableTaskOrder": True,
    "enablePreemptable": True,
    "enableReclaimable": True,
    "enablePreemptive": True,
    "enableQueueOrder": True,
    "enabledClusterOrder": False,
    "enablePredicate": True,
    "enableBestNode": True,
    "enableNodeOrder": True,
    "enableTargetJob": True,
    "enableReservedNodes": True,
    "enableJobEnqueued": True,
    "enabledVictim": True,
    "enableJobStarving": True,
    "enabledOverused": True,
    "enabledAllocatable": True,
    "enabledHyperNodeOrder": True,
    "enabledSubJobReady": True,
    "enabledSubJobPipelined": True,
    "enabledSubJobOrder": True,
    "enabledHyperNodeGradient": True,
}
"""The switches of a plugin option and what an absent one means. Mind the two spellings."""


class ConfigError(errors.ConfigError):
    """The configuration can't be used; the message says what is wrong and where."""


@dataclass(frozen=True, slots=True)
class PluginOption:
    """One listing of a plugin in a tier."""

    name: str
    switches: Mapping[str, bool] = field(default_factory=dict)
    arguments: Mapping[str, Any] = field(default_factory=dict)

    def is_on(self, switch: str) -> bool:
        """Whether a switch is on; points without a switch always are."""
        return not switch or self.switches.get(switch, SWITCHES[switch])


@dataclass(frozen=True, slots=True)
class Configuration:
    """A configuration that can be used, and what is odd about it."""

    actions: tuple[str, ...]
    tiers: tuple[tuple[PluginOption, ...], ...] = ()
    action_arguments: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    metrics: Mapping[str, str] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
    """One line each for keys, plugins and doublets that have no effect, naming the key path."""

    @property
    def plugins(self) -> tuple[PluginOption, ...]:
        """All listings in order."""
        return tuple(option for tier in self.tiers for option in tier)


def parse(text: str, *, actions: Collection[str], plugins: Collection[str]) -> Configuration:
    """
    Read a configuration; `actions` and `plugins` are the known names.

    Raises ConfigError as scheduler.md 2.4 says: text that isn't YAML, wrong types, unknown actions, a conflict.
    """
    document = _load(text)
    reader = _Reader(plugins)
    reader.unknown_keys("", document, ("actions", "tiers", "configurations", "metrics"))
    names = _actions(document.get("actions"), actions)
    tiers = tuple(
        tuple(reader.option(f"tiers[{tier}].plugins[{place}]", entry) for place, entry in enumerate(entries))
        for tier, entries in enumerate(reader.tiers(document.get("tiers")))
    )
    _refuse_conflict(tiers)
    reader.doublets(tiers)
    return Configuration(
        actions=names,
        tiers=tiers,
        action_arguments=reader.action_arguments(document.get("configurations"), actions),
        metrics={str(key): _text(value) for key, value in _mapping("metrics", document.get("metrics")).items()},
        warnings=tuple(reader.warnings),
    )


def _load(text: str) -> Mapping[str, Any]:
    try:
        document = next(iter(yaml.safe_load_all(text.strip())), None)
    except yaml.YAMLError as error:
        raise ConfigError(f"not YAML: {error}") from error
    if document is None:
        return {}
    if not isinstance(document, dict):
        raise ConfigError(f"the top level is a {_kind(document)}, a mapping is needed")
    return document


def _actions(value: object, known: Collection[str]) -> tuple[str, ...]:
    if isinstance(value, (list, dict)):
        raise ConfigError(f"actions is a {_kind(value)}, a comma-separated text is needed")
    names = tuple(name.strip() for name in _text(value).split(","))
    for name in names:
        if name not in known:
            raise ConfigError(f"failed to find Action {name}")
    return names


def _refuse_conflict(tiers: Sequence[Sequence[PluginOption]]) -> None:
    for tier in tiers:
        hierarchical = any(option.name == "drf" and option.is_on("enableHierarchy") for option in tier)
        if hierarchical and any(option.name == "proportion" for option in tier):
            raise ConfigError("proportion and drf with hierarchy enabled conflicts")


class _Reader:
    """Collects warnings while it reads the parts."""

    def __init__(self, plugins: Collection[str]) -> None:
        self._plugins = plugins
        self.warnings: list[str] = []

    def unknown_keys(self, path: str, value: Mapping[str, Any], known: Collection[str]) -> None:
        for key in value:
            if key not in known:
                near = next((name for name in known if _folded(name) == _folded(str(key))), "")
                hint = f", did you mean {near}?" if near else ""
                self.warnings.append(f"{path}{'.' if path else ''}{key}: unknown key has no effect{hint}")

    def tiers(self, value: object) -> list[list[object]]:
        tiers: list[list[object]] = []
        for place, tier in enumerate(_sequence("tiers", value)):
            path = f"tiers[{place}]"
            entry = _mapping(path, tier)
            self.unknown_keys(path, entry, ("plugins",))
            tiers.append(_sequence(f"{path}.plugins", entry.get("plugins")))
        return tiers

    def option(self, path: str, value: object) -> PluginOption:
        entry = _mapping(path, value)
        self.unknown_keys(path, entry, ("name", "arguments", *SWITCHES))
        name = entry.get("name")
        if name is not None and not isinstance(name, str):
            raise ConfigError(f"{path}.name is a {_kind(name)}, a text is needed")
        if name not in self._plugins:
            self.warnings.append(f"{path}.name: unknown plugin {name or ''!r} is passed over")
        switches: dict[str, bool] = {}
        for key in SWITCHES:
            switch = entry.get(key)
            if switch is None:
                continue
            if not isinstance(switch, bool):
                raise ConfigError(f"{path}.{key} is {switch!r}, true or false is needed")
            switches[key] = switch
        return PluginOption(name or "", switches, _mapping(f"{path}.arguments", entry.get("arguments")))

    def doublets(self, tiers: Sequence[Sequence[PluginOption]]) -> None:
        seen: set[str] = set()
        for option in (option for tier in tiers for option in tier):
            if option.name in seen:
                self.warnings.append(f"plugin {option.name} is listed twice: the later arguments count")
            seen.add(option.name)

    def action_arguments(self, value: object, actions: Collection[str]) -> dict[str, Mapping[str, Any]]:
        arguments: dict[str, Mapping[str, Any]] = {}
        for place, item in enumerate(_sequence("configurations", value)):
            path = f"configurations[{place}]"
            entry = _mapping(path, item)
            self.unknown_keys(path, entry, ("name", "arguments"))
            name = _text(entry.get("name"))
            if name not in actions:
                self.warnings.append(f"{path}.name: unknown action {name!r} is passed over")
            arguments.setdefault(name, _mapping(f"{path}.arguments", entry.get("arguments")))
        return arguments


def _mapping(path: str, value: object) -> Mapping[str, Any]:
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise ConfigError(f"{path} is a {_kind(value)}, a mapping is needed")
    return value


def _sequence(path: str, value: object) -> list[object]:
    if value is None:
        return []
    if not isinstance(value, list):
        raise ConfigError(f"{path} is a {_kind(value)}, a list is needed")
    return value


def _text(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


def _kind(value: object) -> str:
    return {dict: "mapping", list: "list", str: "text", bool: "boolean"}.get(type(value), type(value).__name__)


def _folded(key: str) -> str:
    return key.lower().replace("enabled", "enable")
