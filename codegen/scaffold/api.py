"""`create api`: a kind with schema, model, client, lister, sample, CRD, reference page, reconciler and tests."""

from __future__ import annotations

from dataclasses import dataclass

from codegen.project import Kind, Project
from codegen.scaffold import clashes, names
from codegen.scaffold.changes import Changes
from codegen.scaffold.controller import add_controller
from codegen.scaffold.errors import AlreadyThere, ScaffoldError
from codegen.scaffold.project import add_components, add_kind, taken_names
from codegen.scaffold.render import Named, render


@dataclass(frozen=True, slots=True)
class Api:
    """What was asked for."""

    group: str
    version: str
    kind: str
    plural: str = ""
    scope: str = "Namespaced"
    has_status: bool = True
    has_controller: bool = True


def create(changes: Changes, project: Project, asked: Api) -> None:
    """Collect the changes. Raises ScaffoldError, and AlreadyThere when the kind exists."""
    kind = _kind(project, asked)
    _refuse_clashes(changes, project, kind)
    if kind.controller:
        _refuse_hiding(kind)
    named = Named(kind)
    add_kind(changes, render("project.yaml", named=named))
    path = f"api/{kind.module.replace('.', '/')}.yaml"
    head = f"group: {kind.group}\nversion: {kind.version}\n"
    add_components(changes, path, render("schema.yaml", named=named), head)
    changes.next_step = f"describe the fields in {path}, then: make generate"
    if kind.controller:
        module = kind.kind.lower()
        body = render("kind_controller.py", named=named, module=module)
        test = render("test_kind_controller.py", named=named, module=module)
        add_controller(changes, module, body, test, "--kind")
        changes.next_step += f"; write the work in controllers/{module}.py"


def _kind(project: Project, asked: Api) -> Kind:
    name = names.kind(asked.kind)
    return Kind(
        group=names.group(asked.group, project.domain),
        version=names.version(asked.version),
        kind=name,
        plural=names.plural(asked.plural or names.plural_of(name)),
        singular=name.lower(),
        scope=asked.scope,
        status=asked.has_status,
        controller=asked.has_controller,
    )


def _refuse_clashes(changes: Changes, project: Project, kind: Kind) -> None:
    known = [*project.kinds, *project.external]
    for other in known:
        if (other.group, other.kind) == (kind.group, kind.kind):
            _refuse_twin(changes, other, kind)
        if other.module == kind.module and other.group != kind.group:
            message = f"{kind.group}/{kind.version} and {other.api_version} would share the module {kind.module}"
            raise ScaffoldError("--group", f"{message}: choose another group or version")
    taken = taken_names(known, kind.group)
    for argument, name in (("--plural", kind.plural), ("--kind", kind.singular)):
        if name in taken:
            owner = taken[name]
            raise ScaffoldError(
                argument, f"{name!r} is a name of {owner.api_version} {owner.kind} already: choose another"
            )
    for suffix in ("", "Spec", *(("Status",) if kind.status else ())):
        component = f"{kind.component}{suffix}"
        if component in project.components or component in project.core:
            raise ScaffoldError("--kind", f"the schema {component} is there already: choose another name")


def _refuse_hiding(kind: Kind) -> None:
    templates = ("kind_controller.py", "test_kind_controller.py")
    strange = {"named": clashes.stranger(kind), "module": clashes.STRANGE}
    clashes.refuse(templates, {"named": Named(kind), "module": kind.kind.lower()}, strange, "--kind")


def _refuse_twin(changes: Changes, other: Kind, kind: Kind) -> None:
    if other.version != kind.version:
        message = f"{kind.kind} of {kind.group} is there as {other.version}: one version of a kind is served"
        raise ScaffoldError("--version", message)
    module = kind.kind.lower()
    paths = (
        other.file,
        f"api/{other.module.replace('.', '/')}.yaml",
        f"controllers/{module}.py",
        f"tests/unit/controllers/test_{module}.py",
    )
    raise AlreadyThere(f"{other.kind} of {other.api_version}", [path for path in paths if changes.exists(path)])
