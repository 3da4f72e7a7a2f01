"""
The configuration of sharding: a document in a config map, or flags (controllers.md 12.1).

A document is taken whole or not at all: every policy is built while it is read, and the first mistake refuses it.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec
import yaml

from api import names
from controllers.options import SCHEDULER_CONFIGS, ShardingOptions
from controllers.sharding import policies as makers
from controllers.sharding.policies import Policy, PolicyError
from runtime import duration, yamlguard
from runtime.duration import DurationError
from runtime.flagtypes import parse_bool, parse_float, parse_integer

_log = logging.getLogger(__name__)

DEFAULT_PERIOD: Final = 120.0
_INFINITE: Final = {"inf": "1.0", "infinity": "1.0", "-inf": "0.0", "-infinity": "0.0"}
_FLAG_PARTS: Final = 7


class SettingsError(Exception):
    """The configuration can't be used. Says where and why."""


class Scheduler(msgspec.Struct, frozen=True):
    """A scheduler that gets a shard, which is called like it."""

    name: str
    policies: tuple[Policy, ...] = ()


class Settings(msgspec.Struct, frozen=True):
    """A configuration that can be used."""

    schedulers: tuple[Scheduler, ...]
    period: float
    """Seconds between two looks at all nodes."""
    follows_nodes: bool
    """Whether changes of nodes and pods are looked at before that."""


class _Policy(msgspec.Struct):
    name: str = ""
    weight: int | None = None
    arguments: dict[str, Any] | None = None


class _Scheduler(msgspec.Struct, rename="camel"):
    name: str = ""
    type: str = ""
    policies: list[_Policy] | None = None
    arguments: dict[str, Any] | None = None
    cpu_utilization_min: float = 0.0
    cpu_utilization_max: float = 0.0
    prefer_warmup_nodes: bool = False
    min_nodes: int = 0
    max_nodes: int = 0


class _Document(msgspec.Struct, rename="camel"):
    scheduler_configs: list[_Scheduler] | None = None
    shard_sync_period: str | int | None = None
    enable_node_event_trigger: bool | None = None


def from_flags(flags: ShardingOptions) -> Settings:
    """The settings of the command line; what can't be used in it is left out with a warning."""
    try:
        entries = [_flag_entry(text) for text in flags.scheduler_configs]
    except ValueError as error:
        _log.warning("flag left out, defaults count flag=--scheduler-configs reason=%s", error)
        entries = [_flag_entry(text) for text in SCHEDULER_CONFIGS]
    schedulers = []
    for place, entry in enumerate(entries):
        try:
            schedulers.append(_scheduler(place, entry))
        except SettingsError as error:
            _log.warning("scheduler left out flag=--scheduler-configs reason=%s", error)
    period = flags.sync_period if flags.sync_period > 0 else DEFAULT_PERIOD
    return Settings(tuple(schedulers), period, flags.follows_nodes)


def from_data(data: Mapping[str, str], before: Settings) -> Settings:
    """The settings in the data of the config map; what it doesn't say stays as before. Raises SettingsError."""
    key = names.ConfigKey.SHARDING
    if key not in data:
        raise SettingsError(f"config key not found in ConfigMap: {key}")
    try:
        document = msgspec.convert(yamlguard.safe_load(data[key]) or {}, _Document)
    except (yaml.YAMLError, msgspec.ValidationError, ValueError) as error:  # such as an impossible date
        raise SettingsError(f"failed to parse config: {' '.join(str(error).split())}") from error
    if not document.scheduler_configs:
        raise SettingsError("schedulerConfigs is empty: at least one scheduler is needed")
    schedulers = tuple(_scheduler(place, entry) for place, entry in enumerate(document.scheduler_configs))
    follows = document.enable_node_event_trigger
    return Settings(
        schedulers,
        _period(document.shard_sync_period, before.period),
        before.follows_nodes if follows is None else follows,
    )


def _period(value: str | int | None, before: float) -> float:
    """Seconds; a number is in nanoseconds, and what is no positive duration changes nothing."""
    try:
        nanoseconds = duration.parse_nanoseconds(value) if isinstance(value, str) else value or 0
    except DurationError as error:
        _log.warning("setting left out field=shardSyncPeriod reason=%s", error)
        return before
    return nanoseconds / duration.SECOND if nanoseconds > 0 else before


def _flag_entry(text: str) -> _Scheduler:
    """One scheduler of the flag. Raises ValueError."""
    parts = text.strip().split(":")
    if len(parts) != _FLAG_PARTS:
        raise ValueError(f"{text!r} is not name:type:min:max:preferWarmup:minNodes:maxNodes")
    name, kind, low, high, warmup, least, most = (part.strip() for part in parts)
    shares = [parse_float(_INFINITE.get(share.lower().removeprefix("+"), share)) for share in (low, high)]
    if any(map(math.isnan, shares)):
        raise ValueError(f"{text!r}: shares of cpu must be numbers")
    counts = [parse_integer(count, -(2**31), 2**31 - 1, "Atoi") for count in (least, most)]
    share = {makers.MIN_CPU: shares[0], makers.MAX_CPU: shares[1]}
    return _Scheduler(
        name=name,
        type=kind,
        policies=[_Policy(makers.ALLOCATION_RATE, 1, share)],
        cpu_utilization_min=shares[0],
        cpu_utilization_max=shares[1],
        prefer_warmup_nodes=parse_bool(warmup),
        min_nodes=counts[0],
        max_nodes=counts[1],
    )


def _scheduler(place: int, entry: _Scheduler) -> Scheduler:
    """Raises SettingsError."""
    head = f"schedulerConfigs[{place}] ({entry.name})"
    if problem := _problem(entry):
        raise SettingsError(f"{head}: {problem}")
    try:
        chain = tuple(makers.build(each.name, each.weight or 1, each.arguments or {}) for each in _chain(entry))
    except PolicyError as error:
        raise SettingsError(f"{head}: {error}") from error
    return Scheduler(entry.name, chain)


def _problem(entry: _Scheduler) -> str:
    """What is wrong with a scheduler's own fields, empty when nothing is."""
    low, high = entry.cpu_utilization_min, entry.cpu_utilization_max
    if not entry.name:
        return "name is empty"
    if not 0 <= low <= high <= 1:
        return f"0 <= cpuUtilizationMin <= cpuUtilizationMax <= 1 is needed, got {low} and {high}"
    if entry.min_nodes < 0:
        return f"minNodes must not be negative, got {entry.min_nodes}"
    if entry.max_nodes < entry.min_nodes:
        return f"maxNodes must not be less than minNodes, got {entry.max_nodes} and {entry.min_nodes}"
    return next(filter(None, map(_policy_problem, entry.policies or ())), "")


def _policy_problem(policy: _Policy) -> str:
    if not policy.name:
        return "the name of a policy is empty"
    if policy.weight is not None and policy.weight < 0:
        return f"policy {policy.name}: weight must not be negative, got {policy.weight}"
    limits = {makers.MIN_NODES, makers.MAX_NODES} & (policy.arguments or {}).keys()
    if limits and policy.name != makers.NODE_LIMIT:
        return f"policy {policy.name}: {', '.join(sorted(limits))} can only be given to {makers.NODE_LIMIT}"
    return ""


def _chain(entry: _Scheduler) -> Sequence[_Policy]:
    """The policies of a scheduler, those that its plain fields stand for included."""
    chain = list(entry.policies or ())
    if not chain:
        share = {makers.MIN_CPU: entry.cpu_utilization_min, makers.MAX_CPU: entry.cpu_utilization_max}
        chain.append(_Policy(makers.ALLOCATION_RATE, 1, entry.arguments or share))
        if entry.prefer_warmup_nodes:
            chain.append(_Policy(makers.WARMUP, 1))
    limited = any(each.name == makers.NODE_LIMIT for each in chain)
    if not limited and (entry.min_nodes > 0 or entry.max_nodes > 0):
        limits = {makers.MIN_NODES: entry.min_nodes, makers.MAX_NODES: entry.max_nodes}
        chain.append(_Policy(makers.NODE_LIMIT, 1, limits))
    return chain
