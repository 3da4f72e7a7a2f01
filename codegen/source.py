"""
Loading `api/`: the project, the schema components, the vendored core types and a site's extensions.

`load` gives one `Project` in which everything is resolved to dotted component names, or raises
`SourceError` with every mistake that it found.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from codegen import check, extensions, keywords
from codegen.expand import OBJECT_META
from codegen.kinds import clashes, read_kinds
from codegen.problems import Problem, SourceError
from codegen.project import Column, Kind, Project, Schema, Webhook
from codegen.schema import map_children, walk
from codegen.yamlfile import read, unfit

__all__ = ["Column", "Kind", "Problem", "Project", "Schema", "SourceError", "Webhook", "load"]

PROJECT_FILE = "api/project.yaml"
SAMPLES_FILE = "api/samples.yaml"
CORE_FILE = "api/k8s/openapi.json"
_REF_PREFIX = "#/components/schemas/"
_NAME = re.compile(r"[a-z0-9]+\.v[a-z0-9]+\.[A-Za-z][A-Za-z0-9]*")


def load(root: Path) -> Project:
    """
    Read all sources below `root`, the folder that holds `api/`.

    Raises SourceError listing every mistake, each with file, path and what to do.
    """
    problems: list[Problem] = []
    head = _document(root / PROJECT_FILE, root, problems) or {}
    kinds = read_kinds(head.get("kinds", []), PROJECT_FILE, "kinds", problems)
    external = read_kinds(head.get("external", []), PROJECT_FILE, "external", problems, external=True)
    unknown = head.keys() - {"domain", "kinds", "external"}
    problems += [Problem(PROJECT_FILE, key, "unknown key; known: domain, kinds, external") for key in unknown]
    core = _core(root, problems)
    sources = extensions.Sources(kinds=kinds, external=external)
    is_whole = _add_files(sources, root, core, problems)
    problems += clashes([*sources.kinds, *external])
    problems += sources.strangers() if is_whole else []
    project = Project(
        domain=str(head.get("domain", "")),
        kinds=tuple(sources.kinds),
        external=tuple(external),
        components=dict(sorted(sources.components.items())),
        core={name: schema for name, schema in sorted(core.items()) if name not in sources.components},
        origins=sources.origins,
        samples=_samples(root, sources.kinds, problems),
        root=root,
    )
    problems += check.problems(project, is_whole=is_whole and bool(core))
    problems = problems or list(check.unused(project, core))  # among other mistakes it may only seem so
    if problems:
        raise SourceError(problems)
    return project


def _document(path: Path, root: Path, problems: list[Problem]) -> dict[str, Any] | None:
    """The mapping in a YAML file, or None when it can't be read or is none."""
    try:
        value = read(path, root)
    except SourceError as error:
        problems += error.problems
        return None
    if isinstance(value, dict):
        return value
    problems.append(Problem(path.relative_to(root).as_posix(), "", "must be a mapping"))
    return None


def _add_files(sources: extensions.Sources, root: Path, core: dict[str, Schema], problems: list[Problem]) -> bool:
    """Add all schema files, then the extensions; tells whether every file could be read."""
    schemas = sorted(path for path in (root / "api").glob("*/v*.yaml") if path.parent.name != "extensions")
    is_whole = True
    for path in (*schemas, *sorted((root / "api" / "extensions").glob("*.yaml"))):
        document = _document(path, root, problems)
        file = path.relative_to(root).as_posix()
        if document is None:
            is_whole = False
        elif path.parent.name == "extensions":
            extensions.merge(sources, document, file, problems, core)
        else:
            _add_schemas(sources, document, file, problems)
    return is_whole


def _add_schemas(sources: extensions.Sources, document: dict[str, Any], file: str, problems: list[Problem]) -> None:
    """Add the components of one `api/<group>/<version>.yaml`."""
    module = extensions.module_of(document, file, problems)
    place = ".".join(Path(file).with_suffix("").parts[-2:])
    if module and module != place:
        message = f"group and version say {module}, the file's place says {place}: make them agree"
        problems.append(Problem(file, "group", message))
    elif module and (foreign := sources.claim(document, module, file)):
        problems.append(foreign)
    for name, schema in extensions.components_of(document, file, problems).items():
        sources.define(f"{module}.{name}", extensions.qualified(schema, module), file)


def _core(root: Path, problems: list[Problem]) -> dict[str, Schema]:
    """The vendored document's components, references plain (`{$ref: core.v1.PodSpec, default: {}}`)."""
    try:
        document = json.loads((root / CORE_FILE).read_bytes())
        schemas: dict[str, Schema] = document["components"]["schemas"]
        fault = next(_document_faults(schemas), "")
        if not fault:
            return {name: _plain_refs(schema) for name, schema in schemas.items()}
    except FileNotFoundError:
        problems.append(Problem(CORE_FILE, "", "is missing: run `make vendor-schemas K8S=<version>`"))
        return {}
    except OSError as error:
        problems.append(Problem(CORE_FILE, "", f"cannot be read: {error.strerror}"))
        return {}
    except RecursionError:
        fault = "is nested too deeply"
    except (ValueError, KeyError, TypeError) as error:
        fault = repr(error)
    problems.append(Problem(CORE_FILE, "", f"is no OpenAPI document: {fault}; run `make vendor-schemas` again"))
    return {}


def _document_faults(schemas: Any) -> Iterator[str]:
    """What keeps the generators from working with the components, with places."""
    if not isinstance(schemas, dict):
        yield "components.schemas is no mapping"
        return
    if OBJECT_META not in schemas:
        yield f"components.schemas has no {OBJECT_META}"
    for name, schema in schemas.items():
        if not isinstance(schema, dict):
            yield f"components.schemas.{name} is no schema"
        elif not _NAME.fullmatch(name):
            yield f"components.schemas: {name!r} is no name such as core.v1.Pod"
        else:
            for path, node in walk(schema):
                place = ".".join(filter(None, ("components.schemas", name, path)))
                yield from (f"{place}.{fault}" for fault in _node_faults(node, schemas))


def _node_faults(node: Schema, schemas: Schema) -> Iterator[str]:
    yield from (f"{keyword} {message}" for keyword, message in keywords.shape_faults(node, known_only=True))
    if fault := unfit(node.get("default")):
        yield f"default {fault}"
    target = node.get("$ref")
    if isinstance(target, str) and target.removeprefix(_REF_PREFIX) not in schemas:
        yield f"$ref: there is no component {target!r}"


def _plain_refs(node: Schema) -> Schema:
    """Fold `allOf` with one reference into a reference with siblings and cut the JSON pointer."""
    plain = map_children(node, _plain_refs)
    joined = plain.get("allOf")
    if joined and len(joined) == 1 and "$ref" in joined[0]:
        del plain["allOf"]
        plain["$ref"] = joined[0]["$ref"]
    if isinstance(plain.get("$ref"), str):
        plain["$ref"] = plain["$ref"].removeprefix(_REF_PREFIX)
    return plain


def _samples(root: Path, kinds: Iterable[Kind], problems: list[Problem]) -> dict[str, Schema]:
    """Hand-written sample values, `batch.v1alpha1.Job: {spec: {...}}`."""
    path = root / SAMPLES_FILE
    if not path.exists():
        return {}
    document = _document(path, root, problems) or {}
    known = {kind.component for kind in kinds}
    message = f"is no kind of {PROJECT_FILE}; known: {', '.join(sorted(known))}"
    problems += [Problem(SAMPLES_FILE, name, message) for name in document.keys() - known]
    broken = {name for name, value in document.items() if not isinstance(value, dict)}
    problems += [
        Problem(SAMPLES_FILE, name, "must be a mapping: an object without metadata") for name in broken & known
    ]
    return {name: value for name, value in document.items() if name in known - broken}
