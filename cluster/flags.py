"""The command line of `python -m cluster`, and what its flags mean."""

from __future__ import annotations

import argparse
import math
import os
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final

from msgspec.structs import replace

from cluster import versions
from cluster.annotations import EXIT_CODE, GPU, RUN_SECONDS
from cluster.binaries import NAMES
from cluster.errors import UsageError
from cluster.nodes import MOST_NODES, QUANTITY, NodePool, Taint
from cluster.options import Options

_WAIT_SECONDS: Final = 60.0
_FLAGS_OF_SERVERS: Final = {
    "--apiserver-arg": "flag of kube-apiserver; wins over ours",
    "--controller-manager-arg": "flag of kube-controller-manager",
}

NAME_VARIABLE: Final = "STROMBOLI_CLUSTER"
"""Set by `env`: the commands of that shell are about the same control plane."""
_DESCRIPTION = """\
A local control plane: real etcd, kube-apiserver and kube-controller-manager on loopback, with simulated nodes.
Pods bound to these nodes run and become ready; annotations say for how long and how they end
(%s, %s)."""  # filled in below: percent signs keep argparse's own formatting away


def parser() -> argparse.ArgumentParser:
    """Every command and flag."""
    root = argparse.ArgumentParser(
        prog="python -m cluster",
        description=_DESCRIPTION % (RUN_SECONDS, EXIT_CODE),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    commands = root.add_subparsers(dest="command", required=True, metavar="COMMAND")
    _add_up(commands.add_parser("up", help="start one and return when it is ready"))
    _add_place(commands.add_parser("down", help="end it and delete its data"))
    status = commands.add_parser("status", help="what runs: addresses, versions, processes, nodes")
    _add_place(status)
    status.add_argument("--all", action="store_true", help="all named control planes, a line each")
    _add_place(commands.add_parser("env", help="print shell exports: eval $(python -m cluster env)"))
    nodes = commands.add_parser("nodes", help="add simulated nodes to a running one")
    _add_place(nodes)
    _add_nodes(nodes)
    webhooks = commands.add_parser("webhooks", help="apply webhook configurations, pointed at a server on this machine")
    _add_place(webhooks)
    webhooks.add_argument("files", nargs="+", type=Path, metavar="FILE", help="such as config/webhooks/manifests.yaml")
    webhooks.add_argument("--url", default="https://localhost:8443", help="of the server (default: %(default)s)")
    binaries = commands.add_parser("binaries", help="find, fetch or build binaries and print where they are")
    binaries.add_argument(
        "binary", nargs="*", metavar="NAME", help=f"of {', '.join(NAMES)}; default: all that `up` needs"
    )
    _add_version(binaries)
    return root


def parse(argv: Sequence[str] | None = None) -> argparse.Namespace:
    """What was typed, `sys.argv` by default. Ends the process, as argparse does, when that makes no sense."""
    return parser().parse_args(_joined(sys.argv[1:] if argv is None else argv))


def _joined(argv: Sequence[str]) -> list[str]:
    """With `--apiserver-arg --v=4` as one word: argparse takes what begins with dashes for a flag of ours."""
    joined: list[str] = []
    for word in argv:
        if joined and joined[-1] in _FLAGS_OF_SERVERS and word.startswith("-") and "=" in word:
            joined[-1] += f"={word}"
        else:
            joined.append(word)
    return joined


def options(arguments: argparse.Namespace) -> Options:
    """What `up` asks of the servers. UsageError for a value that makes no sense."""
    if not 0 <= arguments.port < 65536:
        raise UsageError(f"--port {arguments.port}: a port is 1 to 65535, and 0 takes a free one")
    return Options(
        kubernetes=versions.resolve(arguments.k8s),
        api_port=arguments.port,
        heartbeats=arguments.heartbeats,
        webhooks=arguments.webhooks,
        feature_gates={gate: _boolean(gate, value) for gate, value in _pairs("--feature-gate", arguments.feature_gate)},
        runtime_config=tuple(arguments.runtime_config),
        apiserver_args=tuple(arguments.apiserver_arg),
        controller_manager_args=tuple(arguments.controller_manager_arg),
    )


def node_pools(arguments: argparse.Namespace) -> list[NodePool]:
    """The pools of `--nodes`, completed by the flags that hold for all of them."""
    common = {
        resource: _quantity(flag, value)
        for flag, resource, value in (
            ("--cpu", "cpu", arguments.cpu),
            ("--memory", "memory", arguments.memory),
            ("--pods", "pods", arguments.pods),
            ("--gpus", GPU, arguments.gpus),
        )
        if value is not None
    }
    for flag, count in (("--racks", arguments.racks), ("--zones", arguments.zones)):
        if count < 0:
            raise UsageError(f"{flag} {count}: how many, or 0 for none")
    pools = [NodePool.parse(text) for text in arguments.nodes]
    if (total := sum(pool.count for pool in pools)) > MOST_NODES:
        raise UsageError(f"--nodes: {total} nodes altogether, at most {MOST_NODES} can be simulated")
    labels = dict(_pairs("--label", arguments.label))
    taints = tuple(Taint.parse(text) for text in arguments.taint)
    return [
        replace(
            pool,
            resources={**common, **pool.resources},
            labels=labels,
            taints=taints,
            racks=arguments.racks,
            zones=arguments.zones,
        )
        for pool in pools
    ]


def _add_up(command: argparse.ArgumentParser) -> None:
    _add_place(command)
    _add_version(command)
    _add_nodes(command)
    command.add_argument("--port", type=int, default=0, help="port of the API server (default: a free one)")
    command.add_argument(
        "--no-heartbeats",
        dest="heartbeats",
        action="store_false",
        help="nodes renew no leases and are never marked unready: thousands of nodes cost nothing at rest",
    )
    command.add_argument(
        "--no-webhooks", dest="webhooks", action="store_false", help="the API server calls no admission webhooks"
    )
    _add_repeatable(command, "--feature-gate", "NAME=true|false", "Kubernetes feature gate")
    _add_repeatable(command, "--runtime-config", "API=true|false", "API version to serve beyond the default")
    for flag, about in _FLAGS_OF_SERVERS.items():
        _add_repeatable(command, flag, "--FLAG=VALUE", about)
    command.add_argument(
        "--wait",
        type=_seconds,
        nargs="?",
        default=_WAIT_SECONDS,
        const=_WAIT_SECONDS,
        metavar="SECONDS",
        help="give up when it is not ready in time (default: 60)",
    )
    command.add_argument("--foreground", action="store_true", help="stay until Ctrl-C, then take it down")
    command.add_argument("--quiet", action="store_true", help="no progress lines")


def _add_place(command: argparse.ArgumentParser) -> None:
    chosen = os.environ.get(NAME_VARIABLE) or "default"
    command.add_argument("--name", default=chosen, help=f"which one, when several run (default: {chosen})")
    command.add_argument("--dir", type=Path, help="state directory (default: by name under ~/.local/state/stromboli)")


def _add_version(command: argparse.ArgumentParser) -> None:
    known = ", ".join(f"v{minor}" for minor in versions.KUBERNETES)
    default = versions.DEFAULT_KUBERNETES
    command.add_argument("--k8s", default=default, metavar="VERSION", help=f"{known} (default: {default})")


def _add_nodes(command: argparse.ArgumentParser) -> None:
    _add_repeatable(
        command,
        "--nodes",
        "COUNT[:KEY=VALUE,...]",
        "a pool of equal nodes; keys: cpu, memory, pods, ephemeral-storage, gpus, name (prefix), vendor/resource",
    )
    command.add_argument("--cpu", help="of nodes that name none (default: 8)")
    command.add_argument("--memory", help="of nodes that name none (default: 32Gi)")
    command.add_argument("--pods", help="of nodes that name none (default: 110)")
    command.add_argument("--gpus", help=f"{GPU} of nodes that name none (default: no GPU)")
    _add_repeatable(command, "--label", "KEY=VALUE", "label of the nodes")
    _add_repeatable(command, "--taint", "KEY[=VALUE]:EFFECT", "taint of the nodes")
    command.add_argument("--racks", type=int, default=0, help="spread the nodes over so many racks, by label")
    command.add_argument("--zones", type=int, default=0, help="spread racks, or nodes, over so many zones, by label")


def _add_repeatable(command: argparse.ArgumentParser, flag: str, metavar: str, text: str) -> None:
    command.add_argument(flag, action="append", default=[], metavar=metavar, help=f"{text} (may be repeated)")


def _pairs(flag: str, texts: Iterable[str]) -> list[tuple[str, str]]:
    pairs = []
    for text in texts:
        key, equals, value = text.partition("=")
        if not key or not equals:
            raise UsageError(f"{flag} {text}: write KEY=VALUE")
        pairs.append((key, value))
    return pairs


def _quantity(flag: str, text: str) -> str:
    if not QUANTITY.fullmatch(text):
        raise UsageError(f"{flag} {text}: write a quantity such as 8, 500m or 32Gi")
    return text


def _seconds(text: str) -> float:
    """For argparse: how long to wait. One that is no number would never be over."""
    try:
        seconds = float(text)
    except ValueError:
        seconds = math.nan
    if not (math.isfinite(seconds) and seconds > 0):
        raise argparse.ArgumentTypeError(f"{text!r} is no number of seconds above 0")
    return seconds


def _boolean(gate: str, text: str) -> bool:
    if text not in {"true", "false"}:
        raise UsageError(f"--feature-gate {gate}={text}: write true or false")
    return text == "true"
