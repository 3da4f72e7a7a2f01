"""
What the components declare, got by importing them.

The code may be broken while somebody works on it. Then the module that failed is named, with its line, and nothing is
written.
"""

from __future__ import annotations

import importlib
import pkgutil
import traceback
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from runtime.rbac import Rule
    from webhooks.blueprint import WebhookClass
    from webhooks.policies.policy import Mutation, Policy


class ManifestError(Exception):
    """The manifests can't be made. Says why, and where to mend it."""


@dataclass(frozen=True, slots=True)
class Declared:
    """What one process may do: in all namespaces, and in the system's own."""

    everywhere: tuple[Rule, ...]
    at_home: tuple[Rule, ...] = ()


@dataclass(frozen=True, slots=True)
class Components:
    """All that the manifests are made of."""

    controllers: Declared
    scheduler: Declared
    admission: Declared
    webhooks: tuple[WebhookClass, ...]
    policies: tuple[Policy, ...] = ()
    mutations: tuple[Mutation, ...] = ()
    hypernode: Declared = Declared(())
    """The HyperNode controller in a process of its own, which few installations run."""
    agent_scheduler: Declared = Declared(())
    """The fast path for single pods, which few installations run."""


def load(root: Path) -> Components:
    """Import the components of the project at `root`. Raises ManifestError."""
    machine = load_module("runtime.component", root)
    permissions = load_module("webhooks.permissions", root)
    webhooks = load_module("webhooks", root).WEBHOOKS
    policies = load_module("webhooks.policies", root)
    blueprints = load_module("controllers", root).CONTROLLERS
    hypernode = load_module("controllers.hypernode", root).BLUEPRINT
    agent_scheduler = load_module("scheduler.agentscheduler.permissions", root).RULES
    scheduler = [rule for module in modules_of("scheduler", root) for rule in getattr(module, "RULES", ())]
    controllers = [rule for blueprint in blueprints for rule in blueprint.rules]
    at_home = [rule for blueprint in blueprints for rule in blueprint.home_rules]
    return Components(
        controllers=Declared((*machine.EVENT_RULES, *controllers), (*machine.ELECTION_RULES, *at_home)),
        scheduler=Declared((*machine.EVENT_RULES, *scheduler), machine.ELECTION_RULES),
        admission=Declared(tuple(permissions.rules(webhooks)), permissions.SECRET_RULES),
        webhooks=tuple(webhooks),
        policies=policies.POLICIES,
        mutations=policies.MUTATIONS,
        hypernode=Declared((*machine.EVENT_RULES, *hypernode.rules), (*machine.ELECTION_RULES, *hypernode.home_rules)),
        agent_scheduler=Declared((*machine.EVENT_RULES, *agent_scheduler), machine.ELECTION_RULES),
    )


def modules_of(package: str, root: Path) -> Iterable[ModuleType]:
    """A package and everything below it but commands, in the order of names. Raises ManifestError."""
    top = load_module(package, root)
    yield top
    for found in sorted(pkgutil.walk_packages(top.__path__, f"{package}."), key=lambda found: found.name):
        if not found.name.endswith(".__main__"):
            yield load_module(found.name, root)


def load_module(name: str, root: Path) -> ModuleType:
    """Import a module. Raises ManifestError naming the place of the mistake, whatever it is."""
    try:
        return importlib.import_module(name)
    except Exception as error:
        raise ManifestError(f"{_place(error, name, root)}: {type(error).__name__}: {error}") from error


def _place(error: Exception, name: str, root: Path) -> str:
    """The innermost line of ours on the way to the error."""
    if isinstance(error, SyntaxError) and error.filename:
        return _relative(error.filename, error.lineno, root) or name
    frames = traceback.extract_tb(error.__traceback__)
    ours = (_relative(frame.filename, frame.lineno, root) for frame in reversed(frames))
    return next((place for place in ours if place and not place.startswith("hack/manifests/")), name)


def _relative(file: str, line: int | None, root: Path) -> str:
    path = Path(file)
    if not path.is_relative_to(root.resolve()) or ".venv" in path.parts:
        return ""
    return f"{path.relative_to(root.resolve()).as_posix()}:{line}"
