"""
Where HyperNodes come from: the discovery part of the controllers' configuration (controllers.md 11.1).

Each source is read by itself, so that a mistake in one doesn't stop the others.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import msgspec
import yaml

from api import names
from runtime import duration, yamlguard
from runtime.duration import DurationError
from runtime.objects import Key

UFM: Final = "ufm"
LABEL: Final = "label"
SOURCES: Final = (UFM, LABEL)
DEFAULT_INTERVAL: Final = 3600.0
_LIST: Final = "networkTopologyDiscovery"


class SettingsError(Exception):
    """The configuration as a whole can't be used. Says why."""


class Source(msgspec.Struct, frozen=True):
    """One enabled source."""

    name: str
    interval: float = DEFAULT_INTERVAL
    """Seconds between two looks."""
    secret: Key | None = None
    """Where the credentials are; without namespace in that of the configuration."""
    config: Mapping[str, Any] = msgspec.field(default_factory=dict)


class Settings(msgspec.Struct, frozen=True):
    """The enabled sources by name, and why others can't be used."""

    sources: Mapping[str, Source] = msgspec.field(default_factory=dict)
    problems: Mapping[str, str] = msgspec.field(default_factory=dict)
    """By name of the source; of one without a readable name by its place."""


class _SecretRef(msgspec.Struct):
    name: str = ""
    namespace: str = ""


class _Credentials(msgspec.Struct, rename="camel"):
    secret_ref: _SecretRef | None = None


class _Entry(msgspec.Struct):
    source: str
    enabled: bool = False
    interval: str | int | None = None
    credentials: _Credentials | None = None
    config: dict[str, Any] | None = None


def read(data: Mapping[str, str]) -> Settings:
    """The settings in the data of the config map. Raises SettingsError."""
    key = names.ConfigKey.CONTROLLER
    if key not in data:
        raise SettingsError(f"config key not found in ConfigMap: {key}")
    try:
        document = yamlguard.safe_load(data[key])
    except (yaml.YAMLError, ValueError) as error:  # such as an impossible date
        raise SettingsError(f"failed to parse config: {' '.join(str(error).split())}") from error
    if document is None:
        return Settings()
    if not isinstance(document, dict):
        raise SettingsError("failed to parse config: the top level is no mapping")
    entries = document.get(_LIST) or []
    if not isinstance(entries, list):
        raise SettingsError(f"failed to parse config: {_LIST} is no list")
    sources: dict[str, Source] = {}
    problems: dict[str, str] = {}
    for place, entry in enumerate(entries):
        _read_entry(place, entry, sources, problems)
    return Settings(sources, problems)


def _read_entry(place: int, value: Any, sources: dict[str, Source], problems: dict[str, str]) -> None:
    """The first enabled entry of a source counts."""
    named = value.get("source") if isinstance(value, dict) else None
    name = named if isinstance(named, str) and named else f"{_LIST}[{place}]"
    if name in sources or name in problems:
        return
    try:
        entry = msgspec.convert(value, _Entry)
        if not entry.enabled:
            return
        if entry.source not in SOURCES:
            problems[name] = f"unsupported discoverer type: {entry.source}"
            return
        sources[name] = _source(entry)
    except (msgspec.ValidationError, DurationError) as error:
        problems[name] = f"failed to parse config: {_LIST}[{place}]: {error}"


def _source(entry: _Entry) -> Source:
    """Raises DurationError."""
    ref = entry.credentials.secret_ref if entry.credentials is not None else None
    return Source(
        name=entry.source,
        interval=_interval(entry.interval),
        secret=Key(ref.namespace, ref.name) if ref is not None and ref.name else None,
        config=entry.config or {},
    )


def _interval(value: str | int | None) -> float:
    """Seconds; a number is in nanoseconds. Raises DurationError."""
    nanoseconds = duration.parse_nanoseconds(value) if isinstance(value, str) else value or 0
    return nanoseconds / duration.SECOND if nanoseconds > 0 else DEFAULT_INTERVAL
