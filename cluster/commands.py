"""What each command of `python -m cluster` does. All of them return an exit code."""

from __future__ import annotations

import argparse
import shlex
import signal
import sys
import time
from collections.abc import Callable
from typing import NoReturn

from cluster import components, flags, versions, webhookfiles
from cluster.binaries import Binaries
from cluster.control_plane import ControlPlane, Status
from cluster.errors import AlreadyRunningError, ClusterError, NotRunningError, UsageError
from cluster.hints import typed
from cluster.processes import marked_with
from cluster.state import clusters_directory, is_name
from cluster.telling import say
from runtime.errors import ApiError, ConnectionFailed

_WATCH_SECONDS = 0.5


def main(argv: list[str] | None = None) -> int:
    """Parse, run, and turn failures into one message and exit code 1 (2 for wrong flags, 130 for Ctrl-C)."""
    arguments = flags.parse(argv)
    try:
        return _COMMANDS[arguments.command](arguments)
    except (ClusterError, ApiError, ConnectionFailed) as error:
        sys.stderr.write(f"cluster: {error}\n")
        return 2 if isinstance(error, UsageError) else 1
    except KeyboardInterrupt:
        return 130


def up(arguments: argparse.Namespace) -> int:
    """Start one; in the background unless asked otherwise."""
    plane = ControlPlane(
        arguments.name,
        directory=arguments.dir,
        options=flags.options(arguments),
        nodes=flags.node_pools(arguments),
        report=_quiet if arguments.quiet else say,
    )
    signal.signal(signal.SIGTERM, _interrupt)  # so that an `up` that is asked to end also cleans up
    try:
        plane.start(arguments.wait)
    except AlreadyRunningError:
        if arguments.foreground:
            raise
        return _leave_running(plane, arguments)
    say(f"kubeconfig: {plane.kubeconfig}")
    if not arguments.foreground:
        plane.disown()
        say(f'use it: eval "$({_typed("env", arguments)})"   end it: {_typed("down", arguments)}')
        return 0
    return _stay(plane, arguments)


def down(arguments: argparse.Namespace) -> int:
    """End one; fine when nothing runs."""
    plane = _plane(arguments)
    if not plane.layout.root.exists() and not marked_with(plane.layout.root):  # its directory may have been deleted
        say(f"{_title(arguments)} does not run: there is no {plane.layout.root}")
        return 0
    plane.stop()
    say(f"{_title(arguments)} is down")
    return 0


def status(arguments: argparse.Namespace) -> int:
    """Tell what runs; exit code 1 when it does not."""
    if arguments.all:
        for name in sorted(path.name for path in clusters_directory().glob("*/")):
            say(_summary(name))
        return 0
    plane = _plane(arguments)
    state = plane.status()
    if state.facts is None or state.processes is None or not state.is_running:
        say(f"{_title(arguments)} {_why_not(plane, state, arguments)}")
        return 1
    facts = state.facts
    since = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(facts.created))
    took = f"ready after {facts.ready_seconds:.1f} s" if facts.ready_seconds is not None else ""
    say(f"control plane {facts.name!r}, running since {since} ({took}), state in {plane.layout.root}")
    say(f"  API server  {plane.server}   etcd http://{components.HOST}:{facts.etcd_port}")
    say(f"  kubeconfig  {plane.kubeconfig}")
    for record in state.processes.all():
        version = facts.binaries.get(record.name) and versions.of(record.name, facts.options.kubernetes)
        say(f"  {record.name:<24} pid {record.pid:<8} {version or ''} {record.exit}".rstrip())
    say(f"  nodes       {_count_nodes(plane)}")
    return 0


def env(arguments: argparse.Namespace) -> int:
    """Print exports for a shell. Fails, printing nothing to evaluate, when nothing runs."""
    plane = _plane(arguments)
    state = plane.status()
    if state.facts is None or not state.is_running:
        raise NotRunningError(f"{_title(arguments)} does not run: {state.problem}")
    exports = {
        "KUBECONFIG": str(plane.kubeconfig),
        # What Kubebuilder's test environment reads to use a running cluster.
        "USE_EXISTING_CLUSTER": "true",
        flags.NAME_VARIABLE: plane.name,
        "STROMBOLI_API_SERVER": plane.server,
        "STROMBOLI_ETCD": f"http://{components.HOST}:{state.facts.etcd_port}",
        "STROMBOLI_KUBERNETES": state.facts.options.kubernetes,
    }
    for name, value in exports.items():
        say(f"export {name}={shlex.quote(value)}")
    return 0


def nodes(arguments: argparse.Namespace) -> int:
    """Add nodes to a running one."""
    plane = _plane(arguments)
    names = plane.add_nodes(*flags.node_pools(arguments))
    plane.close()
    say(f"{len(names)} nodes ready: {names[0]} to {names[-1]}" if names else "no --nodes given, none added")
    return 0


def webhooks(arguments: argparse.Namespace) -> int:
    """Send admission to a server beside the control plane, which writes its CA into the configurations itself."""
    found = [configuration for file in arguments.files for configuration in webhookfiles.read(file)]
    plane = _plane(arguments)
    plane.apply_webhooks(found, arguments.url, b"")
    plane.close()
    for configuration in found:
        say(f"{configuration['metadata']['name']} -> {arguments.url}")
    return 0


def binaries(arguments: argparse.Namespace) -> int:
    """Make binaries available ahead of time."""
    found = Binaries(versions.resolve(arguments.k8s), say)
    for name in arguments.binary or components.ALL:
        found.find(name)
    return 0


def _plane(arguments: argparse.Namespace) -> ControlPlane:
    return ControlPlane(arguments.name, directory=arguments.dir, report=say)


def _leave_running(plane: ControlPlane, arguments: argparse.Namespace) -> int:
    """`up` is content when what was asked for runs already, and says what it did not do."""
    facts = plane.status().facts
    if facts is not None and facts.options != plane.options:
        raise AlreadyRunningError(
            f"{_title(arguments)} runs already, with other options; "
            f"take it down first, or start another one under another --name"
        )
    say(f"{_title(arguments)} runs already; kubeconfig: {plane.kubeconfig}")
    if arguments.nodes:
        say(f"its nodes stay as they are; to add some: {_typed('nodes', arguments)} --nodes ...")
    return 0


def _stay(plane: ControlPlane, arguments: argparse.Namespace) -> int:
    """Watch over it until Ctrl-C, or until it ends."""
    try:
        say("Ctrl-C ends it")  # within, so that whoever reads it may be as quick as it likes
        while plane.status().is_running:
            time.sleep(_WATCH_SECONDS)
        raise ClusterError(f"{_title(arguments)} {plane.status().problem}; logs are in {plane.layout.logs}")
    except KeyboardInterrupt:
        plane.stop()
        say(f"{_title(arguments)} is down")
        return 0


def _why_not(plane: ControlPlane, state: Status, arguments: argparse.Namespace) -> str:
    """Why it counts as not running, the rest of a sentence."""
    if state.processes is None and marked_with(plane.layout.root):
        return f"has lost its state directory, but its processes are there; end them: {_typed('down', arguments)}"
    return f"does not run: {state.problem}"


def _summary(name: str) -> str:
    """A line for a directory in the place of the named ones, which may hold anything."""
    if not is_name(name):
        return f"{name!r}: no control plane, none can be called so"
    try:
        return f"{name}: {ControlPlane(name).status().problem or 'running'}"
    except ClusterError as error:
        return f"{name}: {error}"


def _count_nodes(plane: ControlPlane) -> str:
    try:
        found = plane.api.items("/api/v1/nodes", resourceVersion="0")
    except (ApiError, ConnectionFailed) as error:
        return f"unknown: {error}"
    finally:
        plane.close()
    ready = sum(
        condition["type"] == "Ready" and condition["status"] == "True"
        for node in found
        for condition in node["status"].get("conditions", ())
    )
    return f"{len(found)}, {ready} ready"


def _title(arguments: argparse.Namespace) -> str:
    """The control plane in messages, by what the user called it."""
    return f"control plane {arguments.name!r}" if arguments.dir is None else f"the control plane in {arguments.dir}"


def _typed(command: str, arguments: argparse.Namespace) -> str:
    """A command for the same control plane."""
    return typed(command, name=arguments.name, directory=arguments.dir)


def _interrupt(*_: object) -> NoReturn:
    raise KeyboardInterrupt


def _quiet(_: str) -> None:
    """Say nothing."""


_COMMANDS: dict[str, Callable[[argparse.Namespace], int]] = {
    "up": up,
    "down": down,
    "status": status,
    "env": env,
    "nodes": nodes,
    "webhooks": webhooks,
    "binaries": binaries,
}
