"""
CustomResourceDefinitions, one file a kind, and the kustomizations that list them.

Kinds marked optional go to a folder of their own: a site installs them when it wants them.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import yaml

from codegen.expand import Expander, sorted_schema
from codegen.output import first_line
from codegen.problems import Problem, SourceError
from codegen.project import Kind, Project, Schema

BASES = "config/crd/bases"
OPTIONAL = "config/crd/optional"
ANNOTATIONS = {
    "controller-gen.kubebuilder.io/version": "v0.20.0",
    "helm.sh/resource-policy": "keep",
}
"""On every CRD: tools look for the first, the second keeps user objects when a chart is uninstalled."""
MOST_BYTES = 262_144 - 10_000
"""Client-side apply stores the manifest in an annotation; all annotations share 262,144 bytes, some stay free."""


if TYPE_CHECKING:
    _Base = yaml.SafeDumper
else:
    _Base = getattr(yaml, "CSafeDumper", yaml.SafeDumper)  # the same text, several times faster


class _Dumper(_Base):
    """YAML without anchors: every node of a schema is written out."""

    def ignore_aliases(self, data: Any) -> bool:  # noqa: ARG002  # pyyaml's signature
        return True


def to_yaml(value: Any) -> str:
    """Block-style YAML, keys in the order given."""
    text: str = yaml.dump(value, Dumper=_Dumper, sort_keys=False, width=120, allow_unicode=True)
    return text


def manifest(project: Project, kind: Kind, expander: Expander | None = None) -> Schema:
    """The CustomResourceDefinition of a kind."""
    expand = expander or Expander(project, kind.descriptions)
    names = {"kind": kind.kind, "listKind": kind.list_kind, "plural": kind.plural, "singular": kind.singular}
    if kind.short_names:
        names["shortNames"] = list(kind.short_names)  # type: ignore[assignment]  # the one list among names
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {
            "annotations": dict(sorted({**ANNOTATIONS, **kind.annotations}.items())),
            "name": kind.crd_name,
        },
        "spec": {
            "group": kind.group,
            "names": dict(sorted(names.items())),
            "scope": kind.scope,
            "versions": [_version(kind, expand)],
        },
    }


def _version(kind: Kind, expander: Expander) -> Schema:
    version: Schema = {"name": kind.version, "served": True, "storage": True}
    if kind.columns:
        version["additionalPrinterColumns"] = [
            {"jsonPath": column.path, "name": column.name, "type": column.type}
            | ({"priority": column.priority} if column.priority else {})
            for column in kind.columns
        ]
    root = expander.kind(kind)
    if kind.status:
        version["subresources"] = {"status": {}}
    elif "status" in root["properties"]:
        version["subresources"] = {}  # says: the status is a plain field, written with the object itself
    version["schema"] = {"openAPIV3Schema": sorted_schema(root)}
    return dict(sorted(version.items()))


def file_of(kind: Kind) -> str:
    """Path of a kind's CRD relative to the project root."""
    return f"{OPTIONAL if kind.optional else BASES}/{kind.group}_{kind.plural}.yaml"


def outputs(project: Project) -> dict[str, str]:
    """
    All CRDs and the kustomizations that list them.

    Raises SourceError for a CRD that client-side apply could not store.
    """
    expanders: dict[str, Expander] = {}
    texts, problems = {}, []
    for kind in project.kinds:
        expander = expanders.setdefault(kind.descriptions, Expander(project, kind.descriptions))
        document = manifest(project, kind, expander)
        size = len(json.dumps(document, separators=(",", ":")).encode())
        if size > MOST_BYTES:
            message = (
                f"its CRD has {size} bytes, client-side apply stores at most {MOST_BYTES}: "
                "write `descriptions: drop`, `descriptions: max N`, or shorten the schema"
            )
            problems.append(Problem(kind.file, f"kinds.[{kind.kind}]", message))
        texts[file_of(kind)] = first_line(".yaml", source_of(project, kind)) + to_yaml(document)
    if problems:
        raise SourceError(problems)
    return texts | _kustomizations(project)


def source_of(project: Project, kind: Kind) -> str:
    """The file that holds a kind's schema."""
    return project.file_of(kind.component)


def _kustomizations(project: Project) -> dict[str, str]:
    bases = sorted(file_of(kind) for kind in project.kinds if not kind.optional)
    extras = sorted(file_of(kind) for kind in project.kinds if kind.optional)
    listed = {"config/crd/kustomization.yaml": [path.removeprefix("config/crd/") for path in bases]}
    if extras:
        listed[f"{OPTIONAL}/kustomization.yaml"] = [path.removeprefix(f"{OPTIONAL}/") for path in extras]
    return {path: kustomization(resources) for path, resources in listed.items()}


def kustomization(resources: list[str]) -> str:
    """A kustomization of the given resources."""
    document = {"apiVersion": "kustomize.config.k8s.io/v1beta1", "kind": "Kustomization", "resources": resources}
    return first_line(".yaml", "api/project.yaml") + to_yaml(document)
