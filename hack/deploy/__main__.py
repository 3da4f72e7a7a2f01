"""
`python -m hack.deploy COMMAND`: renders, checks, applies and removes an installation.

Exit codes: 0 done, 1 findings stand in the way or it failed, 2 wrong usage, 130 interrupted.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from cluster.telling import say
from hack.deploy import applying, order, ownership, preflight, pruning, removal, rendering, waiting
from hack.deploy.errors import DeployError
from hack.deploy.findings import Check, blocking, line
from hack.deploy.kubectl import Kubectl, Object, dump, kind_of

DONE, FAILED, INTERRUPTED = 0, 1, 130
_PASSABLE = {Check.VERSION, Check.KIND, Check.STORED, Check.SCHEMA, Check.RIGHTS}
"""Findings that may well be passed over. Not two schedulers for the same pods, and never the fields of others."""
_STANDARD_OUTPUT = "-"
_AGAIN = "interrupted: the same command again does the rest"
_NOTHING = "interrupted: nothing was changed"
_INTERRUPTED = {
    "apply": _AGAIN, "undeploy": _AGAIN, "undeploy-crds": _AGAIN, "preflight": _NOTHING, "manifest": _NOTHING,
}  # fmt: skip


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; gives the exit code."""
    options = _parser().parse_args(arguments)
    try:
        return _COMMANDS[options.command](options)
    except DeployError as error:
        print(error, file=sys.stderr)
        return FAILED
    except KeyboardInterrupt:
        print(f"\n{_INTERRUPTED[options.command]}", file=sys.stderr)
        return INTERRUPTED


def _apply(options: argparse.Namespace) -> int:
    """Check, apply, remove what earlier ones left, wait."""
    kubectl, objects = Kubectl(options.kubeconfig, options.context), _objects(options)
    say(f"{len(objects)} objects for {kubectl.context}: looking for what stands in their way")
    if _report(kubectl, objects, _accepted(options)):
        return FAILED
    if Check.KIND in options.accept:
        objects = _served(kubectl, objects)
    if options.dry_run:
        problems = applying.rehearse(kubectl, objects, say, force=options.take_over)
        for problem in problems:
            print(problem, file=sys.stderr)
        return FAILED if problems else DONE
    if options.take_over:
        ownership.take_over(kubectl, kubectl.live(objects), say)
    applying.apply(kubectl, objects, say, force=options.take_over)
    pruning.prune(kubectl, objects, say)
    if options.wait:
        waiting.wait(kubectl, objects, options.wait, say)
    return DONE


def _preflight(options: argparse.Namespace) -> int:
    """Check only."""
    if _report(Kubectl(options.kubeconfig, options.context), _objects(options), _accepted(options)):
        return FAILED
    say("nothing stands in the way")
    return DONE


def _manifest(options: argparse.Namespace) -> int:
    """All objects in one file, in an order in which `kubectl apply` takes them in one go."""
    text = dump(order.sort(_objects(options)))
    if options.output == _STANDARD_OUTPUT:
        sys.stdout.write(text)
    else:
        path = Path(options.output)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        say(f"written to {path}")
    return DONE


def _undeploy(options: argparse.Namespace) -> int:
    kubectl = Kubectl(options.kubeconfig, options.context)
    say(f"removing the installation of {kubectl.context}")
    removal.undeploy(kubectl, _objects(options), say)
    return DONE


def _undeploy_crds(options: argparse.Namespace) -> int:
    removal.undeploy_crds(Kubectl(options.kubeconfig, options.context), say, confirmed=options.confirm)
    return DONE


_COMMANDS: dict[str, Callable[[argparse.Namespace], int]] = {
    "apply": _apply,
    "preflight": _preflight,
    "manifest": _manifest,
    "undeploy": _undeploy,
    "undeploy-crds": _undeploy_crds,
}


def _objects(options: argparse.Namespace) -> list[Object]:
    return rendering.render(options.env, options.components, options.image)


def _accepted(options: argparse.Namespace) -> set[str]:
    return {*options.accept, *([Check.OWNER] if options.take_over else [])}


def _served(kubectl: Kubectl, objects: Sequence[Object]) -> list[Object]:
    """Without those whose kinds the cluster lacks, each of which is told."""
    served = kubectl.served(map(kind_of, objects))
    for found in objects:
        if kind_of(found) not in served:
            say(f"{order.label(found)}: left out, the cluster doesn't serve its kind")
    return [found for found in objects if kind_of(found) in served]


def _report(kubectl: Kubectl, objects: Sequence[Object], accepted: set[str]) -> bool:
    """Print what was found; whether it stands in the way."""
    findings = preflight.look(kubectl, objects)
    for finding in findings:
        print(line(finding, accepted), file=sys.stderr)
    stopping = blocking(findings, accepted)
    if stopping:
        ways = ",".join(sorted({finding.check for finding in stopping} & _PASSABLE))
        hint = f"; ACCEPT={ways} goes on in spite of it" if ways else ""
        print(f"nothing was applied{hint}", file=sys.stderr)
    return bool(stopping)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m hack.deploy", description="Deploy to any cluster.")
    commands = parser.add_subparsers(dest="command", required=True)
    rendered, clusters = argparse.ArgumentParser(add_help=False), argparse.ArgumentParser(add_help=False)
    rendered.add_argument("--env", default="dev", choices=rendering.environments(), help="overlay; default dev")
    rendered.add_argument(
        "--components", type=_features, default=[], help=f"further features: {', '.join(rendering.features())}"
    )
    rendered.add_argument("--image", default="", help="image to run instead of the overlay's")
    clusters.add_argument("--kubeconfig", default="", help="default: as kubectl")
    clusters.add_argument("--context", default="", help="default: the current one")
    accept = argparse.ArgumentParser(add_help=False)
    accept.add_argument("--accept", type=_checks, default=[], help=f"findings to pass over: {', '.join(Check)}")
    apply = commands.add_parser("apply", parents=[rendered, clusters, accept], help="apply and wait")
    apply.add_argument("--dry-run", action="store_true", help="let the server judge, store nothing")
    apply.add_argument("--wait", type=int, default=300, help="seconds until all must be up; 0: don't wait")
    check = commands.add_parser(
        "preflight", parents=[rendered, clusters, accept], help="look for what stands in the way"
    )
    for each in (apply, check):
        each.add_argument("--take-over", action="store_true", help="make what other installers set ours")
    manifest = commands.add_parser("manifest", parents=[rendered], help="write all objects into one file")
    manifest.add_argument("--output", default=_STANDARD_OUTPUT, help="path, or - for the standard output")
    commands.add_parser("undeploy", parents=[rendered, clusters], help="remove all but CRDs and namespaces")
    crds = commands.add_parser("undeploy-crds", parents=[clusters], help="remove CRDs, with all jobs and queues")
    crds.add_argument("--confirm", action="store_true", help="yes, delete every job and queue")
    return parser


def _list(text: str) -> list[str]:
    return [word for word in text.replace(" ", ",").split(",") if word]


def _features(text: str) -> list[str]:
    return _known(text, rendering.features())


def _checks(text: str) -> list[str]:
    words = _known(text, list(Check))
    if Check.OWNER in words:  # the server would refuse it in the middle of everything
        raise argparse.ArgumentTypeError(
            "owner: can't be passed over; TAKE_OVER=yes (--take-over) makes the fields ours"
        )
    return words


def _known(text: str, known: Sequence[str]) -> list[str]:
    """The words of a list. Raises ArgumentTypeError for one that isn't known."""
    words = _list(text)
    unknown = [word for word in words if word not in known]
    if unknown:
        raise argparse.ArgumentTypeError(f"{', '.join(unknown)}: known are {', '.join(known)}")
    return words


if __name__ == "__main__":
    sys.exit(main())
