"""
The configuration of the fast path: the scheduler's format, with its own default and its own sense of absent switches.

Only what concerns nodes is asked of plugins unless a configuration says otherwise, and there is one action.
"""

from __future__ import annotations

from typing import Any

from scheduler.agentscheduler.allocation import ACTION, allocate
from scheduler.settings import conf
from scheduler.settings.conf import Configuration, PluginOption
from scheduler.settings.loading import Catalog, built_in, installed

DEFAULT = """\
actions: "allocate"
tiers:
- plugins:
  - name: predicates
  - name: nodeorder
"""
"""The built-in configuration."""

_ON = frozenset({"enablePredicate", "enableNodeOrder"})
_ABSENT = {switch: switch in _ON for switch in conf.SWITCHES}


def catalog() -> Catalog:
    """What a configuration may name: every plugin, the one action. Raises LoadError."""
    known = installed().over(built_in())
    return Catalog(known.plugins, {ACTION: allocate})


def parse(text: str, **known: Any) -> Configuration:
    """As `conf.parse`; what an absent switch means is written out. Raises ConfigError."""
    found = conf.parse(text, refuses_conflicts=False, **known)
    tiers = tuple(tuple(_explicit(option) for option in tier) for tier in found.tiers)
    return Configuration(found.actions, tiers, found.action_arguments, found.metrics, found.warnings)


def _explicit(option: PluginOption) -> PluginOption:
    return PluginOption(option.name, {**_ABSENT, **option.switches}, option.arguments)
