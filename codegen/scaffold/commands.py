"""The command line of the scaffolds: what may be asked for, and what is said about it."""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections.abc import Callable, Iterable
from pathlib import Path

from codegen.generate import generate
from codegen.output import DONE
from codegen.project import Project
from codegen.scaffold import api, controller, plugin, webhook
from codegen.scaffold.changes import Changes
from codegen.scaffold.errors import AlreadyThere, ScaffoldError
from codegen.scaffold.tidy import has_formatter
from codegen.source import load

SECOND_STAGE = ("-m", "hack.manifests")
DONE_CODE, FAILED_CODE, REFUSED_CODE = 0, 1, 2

Create = Callable[[Changes, Project, argparse.Namespace], None]


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Declare `create` and what it creates."""
    parts = commands.add_parser("create", help="add a kind, webhook, controller or plugin, ready to be filled in")
    made = parts.add_subparsers(required=True, metavar="PART")
    _api(made.add_parser("api", help="a kind: schema, model, client, CRD, sample, reconciler, tests"))
    _webhook(made.add_parser("webhook", help="an admission webhook of a kind"))
    _controller(made.add_parser("controller", help="a reconciler woken by kinds that are there"))
    _plugin(made.add_parser("plugin", help="a scheduler plugin"))


def _api(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--group", required=True, help="API group; a single word gets the project's domain")
    parser.add_argument("--version", required=True, help="such as v1alpha1")
    parser.add_argument("--kind", required=True, help="in CamelCase")
    parser.add_argument("--plural", default="", help="where it isn't the usual one")
    parser.add_argument("--scope", choices=("Namespaced", "Cluster"), default="Namespaced")
    parser.add_argument("--no-status", action="store_true", help="without the status subresource")
    parser.add_argument("--no-controller", action="store_true", help="without a reconciler")

    def create(changes: Changes, project: Project, options: argparse.Namespace) -> None:
        asked = api.Api(
            options.group,
            options.version,
            options.kind,
            options.plural,
            options.scope,
            has_status=not options.no_status,
            has_controller=not options.no_controller,
        )
        api.create(changes, project, asked)

    parser.set_defaults(run=run, create=create)


def _webhook(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--kind", required=True, help="of ours or of Kubernetes; batch/v1/Job names one of several")
    parser.add_argument("--group", default="", help="where several kinds have the name")
    parser.add_argument("--version", default="", help="where several kinds have the name")
    parser.add_argument("--defaulting", action="append_const", dest="actions", const="mutate", default=[])
    parser.add_argument("--validating", action="append_const", dest="actions", const="validate")

    def create(changes: Changes, project: Project, options: argparse.Namespace) -> None:
        actions = [action for action in webhook.ACTIONS if action in options.actions]
        webhook.create(changes, project, options.kind, actions, group=options.group, version=options.version)

    parser.set_defaults(run=run, create=create)


def _controller(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--name", required=True, help="such as quota-guard; what --controllers switches")
    parser.add_argument("--watches", required=True, help="kinds: the one reconciled, then those that it may own")

    def create(changes: Changes, project: Project, options: argparse.Namespace) -> None:
        watches = [name.strip() for name in options.watches.split(",") if name.strip()]
        controller.create(changes, project, options.name, watches)

    parser.set_defaults(run=run, create=create)


def _plugin(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--name", required=True, help="such as my-plugin")

    def create(changes: Changes, project: Project, options: argparse.Namespace) -> None:
        del project
        plugin.create(changes, options.name)

    parser.set_defaults(run=run, create=create)


def run(options: argparse.Namespace) -> int:
    """Make one part and generate what follows from it; gives the exit code. Raises SourceError."""
    root: Path = options.root
    changes = Changes(root)
    try:
        options.create(changes, load(root), options)
        with changes.written():
            generated = generate(root).lines(*DONE) if changes.touches("api") else []
    except AlreadyThere as there:
        _say([f"{there}; nothing was written"])
        return DONE_CODE
    except ScaffoldError as error:
        sys.stderr.write(f"{error}; nothing was written\n")
        return REFUSED_CODE
    code, lines = _second_stage(root)
    new = set(changes.created)
    _say(f"{'created' if path in new else 'edited'}: {path}" for path in changes.paths())
    _say([*generated, *lines])
    if changes.next_step:
        _say([f"next: {changes.next_step}"])
    if not has_formatter():
        _say(["ruff is not installed here: run `make format`"])
    return code


def _second_stage(root: Path) -> tuple[int, list[str]]:
    """Roles and webhook configurations: they come from the code, which the generator itself never imports."""
    done = subprocess.run([sys.executable, *SECOND_STAGE], cwd=root, check=False, capture_output=True, text=True)
    lines = [line for line in done.stdout.splitlines() if line.split(":", 1)[0] in DONE]
    if done.returncode:
        sys.stderr.write(
            f"{done.stderr}the new part stands, but roles and webhook configurations are old: run `make generate`\n"
        )
    return FAILED_CODE if done.returncode else DONE_CODE, lines


def _say(lines: Iterable[str]) -> None:
    sys.stdout.writelines(f"{line}\n" for line in lines)
