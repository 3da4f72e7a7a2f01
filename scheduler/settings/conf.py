"""
The scheduler's configuration file: actions, tiers of plugins, arguments (scheduler.md 2).

Parsing is pure and gives either a whole configuration with warnings, or a `ConfigError`. Nothing here knows which
plugins and actions exist; the caller hands in their names.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import msgspec
import yaml

from runtime import errors
from scheduler.contract.arguments import Declared, checked
from scheduler.settings import yamltext
from scheduler.settings.nearest import hint, nearest

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


_KEYS = ("actions", "tiers", "configurations", "metrics")


class ConfigError(errors.ConfigError):
    """The configuration can't be used; the message says what is wrong and where."""


class PluginOption(msgspec.Struct, frozen=True):
    """One listing of a plugin in a tier."""

    name: str
    switches: Mapping[str, bool] = msgspec.field(default_factory=dict)
    arguments: Mapping[str, Any] = msgspec.field(default_factory=dict)

    def is_on(self, switch: str) -> bool:
        """Whether a switch is on; points without a switch always are."""
        return not switch or self.switches.get(switch, SWITCHES[switch])


class Configuration(msgspec.Struct, frozen=True):
    """A configuration that can be used, and what is odd about it."""

    actions: tuple[str, ...]
    tiers: tuple[tuple[PluginOption, ...], ...] = ()
    action_arguments: Mapping[str, Mapping[str, Any]] = msgspec.field(default_factory=dict)
    metrics: Mapping[str, str] = msgspec.field(default_factory=dict)
    warnings: tuple[str, ...] = ()
    """One line each for keys, plugins and doublets that have no effect, naming the key path."""

    @property
    def plugins(self) -> tuple[PluginOption, ...]:
        """All listings in order."""
        return tuple(option for tier in self.tiers for option in tier)


def parse(
    text: str,
    *,
    actions: Collection[str],
    plugins: Collection[str],
    plugin_arguments: Mapping[str, Declared] | None = None,
    action_arguments: Mapping[str, Declared] | None = None,
    refuses_conflicts: bool = True,
) -> Configuration:
    """
    Read a configuration; `actions` and `plugins` are the known names.

    The arguments of plugins and actions that declare theirs are checked: those that can't be read are warned of and
    left out. Raises ConfigError as scheduler.md 2.4 says: text that isn't YAML, wrong types, unknown actions, a
    conflict.
    """
    document = _load(text)
    value: Mapping[str, Any] = document.value
    reader = _Reader(plugins, plugin_arguments or {}, action_arguments or {})
    reader.warnings += [f"{path}: the key stands twice, the last one counts" for path in document.doublets]
    reader.unknown_keys("", value, _KEYS)
    names = _actions(value, actions)
    tiers = tuple(
        tuple(reader.option(f"tiers[{tier}].plugins[{place}]", entry) for place, entry in enumerate(entries))
        for tier, entries in enumerate(reader.tiers(value.get("tiers")))
    )
    if refuses_conflicts:
        _refuse_conflict(tiers)
    metrics = _mapping("metrics", value.get("metrics"))
    texts = document.texts.get("metrics", {})
    return Configuration(
        actions=names,
        tiers=tiers,
        action_arguments=reader.action_arguments(value.get("configurations"), actions),
        metrics={str(key): texts.get(str(key), _text(item)) for key, item in metrics.items()},
        warnings=tuple(reader.warnings),
    )


def _load(text: str) -> yamltext.Document:
    try:
        document = yamltext.load(text.strip())
    except yaml.MarkedYAMLError as error:
        raise ConfigError(f"not YAML: {_located(error)}") from error
    except (yaml.YAMLError, ValueError) as error:
        raise ConfigError(f"not YAML: {error}") from error
    if document.value is None:
        return yamltext.Document({}, (), {})
    if not isinstance(document.value, dict):
        raise ConfigError(f"the top level is a {_kind(document.value)}, a mapping is needed")
    return document


def _located(error: yaml.MarkedYAMLError) -> str:
    """What is wrong and where, in one line and without the lines of the text around it."""
    mark = error.problem_mark or error.context_mark
    place = f"line {mark.line + 1}, column {mark.column + 1}: " if mark is not None else ""
    return place + " ".join(filter(None, (error.context, error.problem)))


def effective(configuration: Configuration) -> list[str]:
    """The configuration as it is in effect, a line an action or plugin, for the log."""
    lines = [f"actions={','.join(configuration.actions)}"]
    for name, arguments in configuration.action_arguments.items():
        lines.append(f"action={name} arguments={dict(arguments)}")
    for tier, options in enumerate(configuration.tiers):
        for option in options:
            off = [switch for switch, default in SWITCHES.items() if default and not option.is_on(switch)]
            on = [switch for switch, default in SWITCHES.items() if not default and option.is_on(switch)]
            lines.append(
                f"tier={tier} plugin={option.name} off={','.join(off) or '-'} on={','.join(on) or '-'} "
                f"arguments={dict(option.arguments)}"
            )
    return lines


def _actions(document: Mapping[str, Any], known: Collection[str]) -> tuple[str, ...]:
    value = document.get("actions")
    if isinstance(value, (list, dict)):
        raise ConfigError(f"actions is a {_kind(value)}, a comma-separated text is needed")
    names = tuple(name.strip() for name in _text(value).split(","))
    for name in names:
        if not name:
            raise ConfigError(f"failed to find Action : {_no_name(document)}")
        if name not in known:
            raise ConfigError(f"failed to find Action {name}{hint(name, known)}")
    return names


def _no_name(document: Mapping[str, Any]) -> str:
    """Why there is an action without a name."""
    if _text(document.get("actions")).strip(" ,"):
        return "actions has a comma without a name beside it"
    if "actions" in document:
        return "actions is empty, name the actions of a cycle"
    if not document:
        return "the configuration is empty, name the actions of a cycle under actions"
    misspelt = next((key for key in document if key not in _KEYS and nearest(str(key), _KEYS) == "actions"), None)
    return f"actions is missing{f', {misspelt} is no known key: did you mean actions?' if misspelt is not None else ''}"


def _refuse_conflict(tiers: Sequence[Sequence[PluginOption]]) -> None:
    for tier in tiers:
        hierarchical = any(option.name == "drf" and option.is_on("enableHierarchy") for option in tier)
        if hierarchical and any(option.name == "proportion" for option in tier):
            raise ConfigError("proportion and drf with hierarchy enabled conflicts")


class _Reader:
    """Collects warnings while it reads the parts."""

    def __init__(
        self,
        plugins: Collection[str],
        plugin_arguments: Mapping[str, Declared],
        action_arguments: Mapping[str, Declared],
    ) -> None:
        self._plugins = plugins
        self._plugin_arguments = plugin_arguments
        self._action_arguments = action_arguments
        self._listed: set[str] = set()
        self.warnings: list[str] = []

    def unknown_keys(self, path: str, value: Mapping[str, Any], known: Collection[str]) -> None:
        for key in value:
            if key not in known:
                place = f"{path}{'.' if path else ''}{key}"
                self.warnings.append(f"{place}: unknown key has no effect{hint(str(key), known)}")

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
            self.warnings.append(
                f"{path}.name: unknown plugin {name or ''!r} is passed over{hint(name or '', self._plugins)}"
            )
        switches: dict[str, bool] = {}
        for key in SWITCHES:
            switch = entry.get(key)
            if switch is None:
                continue
            if not isinstance(switch, bool):
                raise ConfigError(f"{path}.{key} is {switch!r}, true or false is needed")
            switches[key] = switch
        if name in self._listed:
            self.warnings.append(f"{path}.name: plugin {name} is listed twice, the later arguments count")
        self._listed.add(name or "")
        arguments = self._arguments(f"{path}.arguments", entry, self._plugin_arguments.get(name or ""))
        return PluginOption(name or "", switches, arguments)

    def _arguments(self, path: str, entry: Mapping[str, Any], declared: Declared | None) -> Mapping[str, Any]:
        values = {str(key): value for key, value in _mapping(path, entry.get("arguments")).items()}
        if declared is None:
            return values
        kept, warnings = checked(path, values, declared)
        self.warnings += warnings
        return kept

    def action_arguments(self, value: object, actions: Collection[str]) -> dict[str, Mapping[str, Any]]:
        arguments: dict[str, Mapping[str, Any]] = {}
        for place, item in enumerate(_sequence("configurations", value)):
            path = f"configurations[{place}]"
            entry = _mapping(path, item)
            self.unknown_keys(path, entry, ("name", "arguments"))
            name = _text(entry.get("name"))
            if name not in actions:
                self.warnings.append(f"{path}.name: unknown action {name!r} is passed over{hint(name, actions)}")
            elif name in arguments:
                self.warnings.append(f"{path}.name: action {name} is listed twice, the first arguments count")
            found = self._arguments(f"{path}.arguments", entry, self._action_arguments.get(name))
            arguments.setdefault(name, found)
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
