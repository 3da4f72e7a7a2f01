"""
The arguments of job plugins: which each of them knows, and how a list of them is read.

They are read like the flags of a Go program. Reading ends at the first word that is no flag, at `--`, and at a flag that
is unknown or can't be read; what came before it counts, what follows doesn't, and the plugin works all the same.
Admission shows what was left out, controllers use what was read.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final

import msgspec

from api import names
from api.names import JobPlugin
from runtime.flagtypes import BOOL, INT, STRING, Kind

Flags = Mapping[str, tuple[Kind[Any], Any]]
"""Type and default by name, without dashes."""

_MASTER_WORKER: Final[Flags] = {"master": (STRING, "master"), "worker": (STRING, "worker")}
FLAGS: Final[Mapping[str, Flags]] = MappingProxyType(
    {
        JobPlugin.SVC: {
            "publish-not-ready-addresses": (BOOL, False),
            "disable-network-policy": (BOOL, False),
            "inject-hosts-env": (BOOL, True),
        },
        JobPlugin.SSH: {
            "ssh-key-file-path": (STRING, names.SSH_MOUNT_PATH),
            "ssh-private-key": (STRING, ""),
            "ssh-public-key": (STRING, ""),
            "ssh-port": (INT, 22),
        },
        JobPlugin.ENV: {},
        JobPlugin.MPI: {**_MASTER_WORKER, "port": (INT, 22)},
        JobPlugin.TENSORFLOW: {
            "ps": (STRING, "ps"),
            "worker": (STRING, "worker"),
            "chief": (STRING, "chief"),
            "evaluator": (STRING, "evaluator"),
            "port": (INT, 2222),
        },
        JobPlugin.PYTORCH: {
            **_MASTER_WORKER,
            "port": (INT, 23456),
            "wait-master-enabled": (BOOL, False),
            "wait-master-timeout": (INT, 300),
            "wait-master-image": (STRING, "busybox:1.36.1"),
        },
        JobPlugin.RAY: {
            "head": (STRING, "head"),
            "headContainer": (STRING, "head"),
            "worker": (STRING, "worker"),
            "workerContainer": (STRING, "worker"),
            "port": (INT, 6379),
            "dashboardPort": (INT, 8265),
            "clientPort": (INT, 10001),
        },
        JobPlugin.HCCLRANK: dict(_MASTER_WORKER),
    }
)
"""The flags of each plugin."""


class PluginArguments(msgspec.Struct, frozen=True):
    """What a plugin was told."""

    values: Mapping[str, Any] = msgspec.field(default_factory=dict)
    """By name of the flag, defaults included."""
    refused: str = ""
    """The argument at which reading ended, empty when all were read."""
    reason: str = ""
    """Why it ended there."""


def parse(plugin: str, arguments: Sequence[str]) -> PluginArguments:
    """Read the arguments of a plugin. Raises KeyError for one that doesn't exist."""
    flags = FLAGS[plugin]
    values = {name: default for name, (_, default) in flags.items()}
    rest = deque(arguments)
    while rest:
        argument = rest.popleft()
        if argument == "--":
            return PluginArguments(values, *((rest[0], "follows --") if rest else ()))
        try:
            name, value = _read(argument, rest, flags)
        except ValueError as error:
            return PluginArguments(values, argument, str(error))
        values[name] = value
    return PluginArguments(values)


def _read(argument: str, rest: deque[str], flags: Flags) -> tuple[str, Any]:
    """Name and value of a flag, for whose value `rest` may lose its first word. Raises ValueError."""
    if len(argument) < 2 or not argument.startswith("-"):
        raise ValueError("is no flag")
    body = argument[2:] if argument.startswith("--") else argument[1:]
    name, equals, text = body.partition("=")
    if not name or name.startswith("-"):
        raise ValueError("bad flag syntax")
    if name not in flags:
        known = ", ".join(f"--{flag}" for flag in flags) or "none"
        raise ValueError(f"no such flag; known: {known}")
    kind = flags[name][0]
    if not equals and kind is BOOL:
        text = "true"
    elif not equals:
        if not rest:
            raise ValueError("needs a value")
        text = rest.popleft()
    return name, kind.parse(text)
