"""
The configuration over the life of the process: loaded at the start, again whenever a file changes (scheduler.md 2.4, 2.5).

A configuration that can't be used leaves the last good one in effect. It is told in the log, by a Warning event and by
the gauge `volcano_scheduler_config_valid`; with `--disable-default-scheduler-config` it ends the process.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping
from contextlib import aclosing
from pathlib import Path

import msgspec

from runtime.filewatch import follow
from scheduler.reporting import metrics
from scheduler.settings import conf
from scheduler.settings.conf import ConfigError, Configuration
from scheduler.settings.loading import Catalog, Directory, LoadError, files_of

log = logging.getLogger(__name__)

_ANY_FILE = ".new"
"""Stands for files that may appear in the directory of plugins."""


class Loaded(msgspec.Struct, frozen=True):
    """A configuration together with what its names mean, and the text that it was read from."""

    configuration: Configuration
    catalog: Catalog
    text: str


class InvalidTextError(ConfigError):
    """A file whose text can't be used. The error's own text is the log's line, with the file's whole text."""

    def __init__(self, line: str, reason: str) -> None:
        super().__init__(line)
        self.reason = reason
        """What is wrong, in few words."""


class Configurations:
    """
    Loads and follows the file of `--scheduler-conf` and the files of `--plugins-dir`.

    `is_strict` says that nothing takes the place of a configuration that can't be used. `complain(text)` brings a
    problem to where users look. `default` is what holds where there is no file, `parse` reads the text of one.
    """

    def __init__(
        self,
        path: str,
        plugins_dir: str,
        base: Catalog,
        *,
        is_strict: bool,
        complain: Callable[[str], None],
        default: str = conf.DEFAULT,
        parse: Callable[..., Configuration] = conf.parse,
    ) -> None:
        self._path = Path(path) if path else None
        self._plugins_dir = Path(plugins_dir) if plugins_dir else None
        self._base = base
        self._is_strict = is_strict
        self._complain = complain
        self._default = default
        self._parse = parse
        self._directory = Directory()
        self._content: bytes | None = None
        self.loaded: Loaded
        """What is in effect, from `start` on."""

    def start(self) -> Loaded:
        """Load for the first time. Raises ConfigError where the process can't begin."""
        if self._path is not None and not self._path.parent.is_dir():
            raise ConfigError(f"--scheduler-conf {self._path}: the directory {self._path.parent} does not exist")
        if self._plugins_dir is not None and not self._plugins_dir.is_dir():
            log.warning("no custom plugins: the directory does not exist path=%s", self._plugins_dir)
        problems = self._directory.take({path: path.read_bytes() for path in self._plugin_files()})
        if problems:
            raise problems[0]
        if not self._is_strict:
            self._take_text(self._default)
        self._content = _read(self._path) if self._path is not None else None
        self._load(self._content)
        return self.loaded

    async def run(self, on_change: Callable[[Loaded], None]) -> None:
        """Follow the files until cancelled. Raises ConfigError when strict and a reload can't be used."""
        async with aclosing(follow(self._watched)) as changes:
            async for contents in changes:
                before = self.loaded
                self.look(contents)
                if self.loaded is not before:
                    on_change(self.loaded)

    def look(self, contents: Mapping[Path, bytes | None]) -> None:
        """Take in what the files hold now. Raises ConfigError when strict and it can't be used."""
        plugins = {path: content for path, content in contents.items() if path != self._path}
        catalog = self._directory.catalog
        for problem in self._directory.take(plugins):
            text = f"{problem}; the last good one stays"
            self._reject(text, text)
        content = contents[self._path] if self._path is not None else None
        changed = content != self._content
        if changed or self._directory.catalog != catalog:
            self._content = content
            self._load(content)

    def _watched(self) -> Iterable[Path]:
        if self._path is not None:
            yield self._path
        if self._plugins_dir is not None:
            yield self._plugins_dir / _ANY_FILE
            yield from self._plugin_files()

    def _plugin_files(self) -> list[Path]:
        return files_of(self._plugins_dir) if self._plugins_dir is not None else []

    def _load(self, content: bytes | None) -> None:
        try:
            text = self._text(content)
            self._take_text(text)
        except ConfigError as error:
            if self._is_strict:
                raise
            metrics.CONFIG_VALID.set(0 if self._path is not None else 1)
            self._reject(str(error), self._told(error) if self._path is not None else "")
        else:
            metrics.CONFIG_VALID.set(1)

    def _text(self, content: bytes | None) -> str:
        if self._path is None:
            return ""
        if content is None:
            raise ConfigError(
                f"Failed to read the Scheduler config in '{self._path}', using previous configuration: "
                f"{_problem(self._path)}"
            )
        try:
            return content.decode().strip()
        except UnicodeDecodeError as error:
            reason = f"it is not UTF-8: {error}"
            raise InvalidTextError(f"Scheduler config in '{self._path}' is invalid: {reason}", reason) from error

    def _take_text(self, text: str) -> None:
        catalog = self._directory.catalog.over(self._base)
        try:
            found = self._parse(
                text,
                actions=catalog.actions,
                plugins=catalog.plugins,
                plugin_arguments=catalog.plugin_arguments,
                action_arguments=catalog.action_arguments,
            )
        except ConfigError as error:
            raise InvalidTextError(f"Scheduler config {text} is invalid: {error}", str(error)) from error
        for warning in found.warnings:
            log.warning("scheduler configuration: %s", warning)
        log.info("Successfully loaded Scheduler conf as follows:")
        for line in text.strip().splitlines():
            log.info("%s", line)
        for line in conf.effective(found):
            log.info("effective configuration: %s", line)
        self.loaded = Loaded(found, catalog, text)

    def _told(self, error: ConfigError) -> str:
        """What users are told: the reason comes first, and a file's text isn't repeated; events are short."""
        if not isinstance(error, InvalidTextError):
            return str(error)
        return f"{error.reason}; scheduler configuration {self._path} is invalid, the last good one stays in effect"

    def _reject(self, problem: str, told: str) -> None:
        log.error("%s", problem)
        if told:
            self._complain(told)


def _read(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except OSError:
        return None


def _problem(path: Path) -> str:
    """Why a file can't be read, as the operating system says it."""
    try:
        path.read_bytes()
    except OSError as error:
        return f"open {path}: {(error.strerror or str(error)).lower()}"
    return f"open {path}: it could not be read a moment ago"


__all__ = ["Configurations", "LoadError", "Loaded"]
