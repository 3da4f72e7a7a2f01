"""
Plugins and actions that come from outside the tree: entry points of installed packages, and files of `--plugins-dir`.

What can't be loaded at the start ends the process. Later, when a file changes, the last good one stays.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable, Iterable, Mapping
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from types import ModuleType
from typing import Any

import msgspec

from runtime import errors
from scheduler import actions, plugins
from scheduler.actions import Action
from scheduler.contract.arguments import Declared
from scheduler.plugin import Plugin

log = logging.getLogger(__name__)

PLUGINS_GROUP = "volcano.scheduler.plugins"
ACTIONS_GROUP = "volcano.scheduler.actions"
ACTION_FUNCTION = "execute"
"""A file that defines this function is an action."""
_GO_SUFFIX = ".so"
_MODULES = "volcano_custom_"


class LoadError(errors.ConfigError):
    """A plugin or action that can't be loaded; the message names its file or entry point."""


class Catalog(msgspec.Struct, frozen=True):
    """What a configuration may name."""

    plugins: Mapping[str, type[Plugin]] = msgspec.field(default_factory=dict)
    actions: Mapping[str, Action] = msgspec.field(default_factory=dict)

    def over(self, other: Catalog) -> Catalog:
        """Both; where a name stands twice, this one's."""
        return Catalog({**other.plugins, **self.plugins}, {**other.actions, **self.actions})

    @property
    def plugin_arguments(self) -> dict[str, Declared]:
        """The arguments of the plugins that declare theirs."""
        return {name: plugin.declares for name, plugin in self.plugins.items() if plugin.declares is not None}

    @property
    def action_arguments(self) -> dict[str, Declared]:
        """The arguments of the actions that declare theirs: those of the tree, and functions with `arguments`."""
        declared: dict[str, Declared] = {}
        for name, action in self.actions.items():
            own = getattr(action, "arguments", None)
            if own is None and actions.BUILT_IN.get(name) is action:
                own = actions.ARGUMENTS.get(name)
            if own is not None:
                declared[name] = own
        return declared


def built_in() -> Catalog:
    """What the tree has."""
    return Catalog(dict(plugins.BUILT_IN), dict(actions.BUILT_IN))


def installed(find: Callable[..., Iterable[EntryPoint]] = entry_points) -> Catalog:
    """What installed packages offer. Raises LoadError."""
    found = {point.name: _plugin_of(point) for point in find(group=PLUGINS_GROUP)}
    return Catalog(found, {point.name: _action_of(point) for point in find(group=ACTIONS_GROUP)})


def _plugin_of(point: EntryPoint) -> type[Plugin]:
    found = _load(point)
    if not (isinstance(found, type) and issubclass(found, Plugin)):
        raise LoadError(f"entry point {point.name} of {PLUGINS_GROUP}: {point.value} is no subclass of Plugin")
    return _named(found, point.name)


def _action_of(point: EntryPoint) -> Action:
    found = _load(point)
    if not callable(found):
        raise LoadError(f"entry point {point.name} of {ACTIONS_GROUP}: {point.value} can't be called with a session")
    return found  # type: ignore[no-any-return]  # what it answers is looked at by nobody


def _load(point: EntryPoint) -> Any:
    try:
        return point.load()
    except Exception as error:
        raise LoadError(f"entry point {point.name} of {point.group} ({point.value}): {_told(error)}") from error


def files_of(directory: Path) -> list[Path]:
    """The files that make plugins and actions, by name. Hidden ones and other kinds of files are passed over."""
    if not directory.is_dir():
        return []
    return sorted(
        path
        for path in directory.iterdir()
        if path.suffix in {".py", _GO_SUFFIX} and not path.name.startswith((".", "_")) and path.is_file()
    )


class Directory:
    """The plugins of `--plugins-dir`, as they stand in the files or stood when these could last be loaded."""

    def __init__(self) -> None:
        self._seen: dict[Path, bytes] = {}
        self._good: dict[Path, Catalog] = {}

    def take(self, contents: Mapping[Path, bytes | None]) -> list[LoadError]:
        """Load what changed; gives what couldn't be loaded, whose last good form stays."""
        problems: list[LoadError] = []
        for path in [path for path in self._seen if contents.get(path) is None]:
            log.info("custom file is gone path=%s", path)
            del self._seen[path]
            self._good.pop(path, None)
        for path, content in contents.items():
            if content is None or self._seen.get(path) == content:
                continue
            self._seen[path] = content
            try:
                self._good[path] = load_file(path, content)
            except LoadError as error:
                problems.append(error)
            else:
                log.info("custom file loaded path=%s", path)
        return problems

    @property
    def catalog(self) -> Catalog:
        """Everything that could be loaded."""
        found = Catalog()
        for path in sorted(self._good):
            found = self._good[path].over(found)
        return found


def load_file(path: Path, content: bytes) -> Catalog:
    """
    The plugin and the action that a file defines, under the file's name without its last extension.

    A plugin is the one subclass of Plugin that the file itself defines; an action is its function `execute(session)`.
    Raises LoadError.
    """
    if path.suffix == _GO_SUFFIX:
        raise LoadError(
            f"plugin {path}: plugins built for the Go scheduler can't be loaded here; "
            "docs/migrate.md shows how to bring one over to Python"
        )
    name = path.stem
    module = _run(path, content)
    classes = [
        found
        for found in vars(module).values()
        if isinstance(found, type) and issubclass(found, Plugin) and found.__module__ == module.__name__
    ]
    if len(classes) > 1:
        raise LoadError(f"plugin {path}: it defines {len(classes)} subclasses of Plugin, one is needed")
    action = getattr(module, ACTION_FUNCTION, None)
    if not classes and not callable(action):
        raise LoadError(f"plugin {path}: it defines neither a subclass of Plugin nor a function {ACTION_FUNCTION}")
    found_plugins = {name: _named(classes[0], name)} if classes else {}
    return Catalog(found_plugins, {name: action} if callable(action) else {})


def _run(path: Path, content: bytes) -> ModuleType:
    """
    Execute a file as a module of its own.

    Not by the import system: its cache of compiled files would hide a change within the same second.
    """
    module = ModuleType(f"{_MODULES}{path.stem}")
    module.__file__ = str(path)
    before = sys.modules.get(module.__name__)
    sys.modules[module.__name__] = module
    try:
        exec(compile(content, str(path), "exec"), vars(module))  # noqa: S102  # what the directory is for
    except (Exception, SystemExit) as error:
        if before is not None:
            sys.modules[module.__name__] = before
        else:
            del sys.modules[module.__name__]
        raise LoadError(f"plugin {path}: {_told(error)}") from error
    return module


def _named(plugin: type[Plugin], name: str) -> type[Plugin]:
    """The class under the name that configurations use for it."""
    if getattr(plugin, "name", None) == name:
        return plugin
    return type(plugin.__name__, (plugin,), {"name": name, "__module__": plugin.__module__})


def _told(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}"
