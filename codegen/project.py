"""
The project as the generator sees it: kinds, schema components and where each was written.

Everything here is plain data; `codegen.source` fills it from `api/`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

Schema = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Column:
    """One column of `kubectl get`; priority 1 shows with `-o wide` only."""

    name: str
    type: str
    path: str
    priority: int = 0


@dataclass(frozen=True, slots=True)
class Webhook:
    """One admission path of a kind. `default` tells whether it is served unless a flag says otherwise."""

    path: str
    name: str
    operations: tuple[str, ...]
    default: bool = True
    planned: bool = False
    """No class serves it yet: it has an interface, and no webhook configuration."""
    side_effects: str = "NoneOnDryRun"
    failure_policy: str = "Fail"
    """What becomes of a request when the webhook can't be asked."""
    every_namespace: bool = False
    """Whether the namespaces of the system itself are judged, too."""
    match_conditions: Mapping[str, str] = field(default_factory=dict)
    """Name -> CEL expression; the webhook is asked only where all of them hold."""


@dataclass(frozen=True, slots=True)
class Kind:
    """One entry of `api/project.yaml`: a kind of ours, or an external one that clients are made for."""

    group: str
    version: str
    kind: str
    plural: str
    singular: str
    short_names: tuple[str, ...] = ()
    scope: str = "Namespaced"
    status: bool = True
    """Whether the kind has the status subresource."""
    optional: bool = False
    """Typed and documented; its CRD is an extra that a site installs when it wants the kind."""
    descriptions: str = "keep"
    """What the CRD keeps of our own descriptions: `keep`, `drop` or `max N` characters each."""
    columns: tuple[Column, ...] = ()
    annotations: Mapping[str, str] = field(default_factory=dict)
    controller: bool = False
    indexes: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Lister indexes: name -> paths whose values are indexed."""
    mutate: Webhook | None = None
    validate: Webhook | None = None
    external: bool = False
    file: str = "api/project.yaml"
    """Where the entry stands, relative to the project root."""

    @property
    def group_short(self) -> str:
        """First label of the group; `core` for the core group. Names files, modules and components."""
        return self.group.split(".", 1)[0] or "core"

    @property
    def module(self) -> str:
        """`batch.v1alpha1`: the prefix of the component names and of the generated module."""
        return f"{self.group_short}.{self.version}"

    @property
    def component(self) -> str:
        """Dotted name of the schema component of the whole object."""
        return f"{self.module}.{self.kind}"

    @property
    def list_kind(self) -> str:
        """Kind of the list object."""
        return f"{self.kind}List"

    @property
    def api_version(self) -> str:
        """`group/version`, or the bare version for the core group."""
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def crd_name(self) -> str:
        """`plural.group`, the name of the CustomResourceDefinition."""
        return f"{self.plural}.{self.group}" if self.group else self.plural

    @property
    def namespaced(self) -> bool:
        """Whether objects live in namespaces."""
        return self.scope == "Namespaced"

    @property
    def webhooks(self) -> Iterator[tuple[str, Webhook]]:
        """(`mutate` or `validate`, webhook) for each admission path of the kind."""
        if self.mutate:
            yield "mutate", self.mutate
        if self.validate:
            yield "validate", self.validate


@dataclass(frozen=True, slots=True)
class Project:
    """All sources, read and merged. References inside schemas are dotted component names."""

    domain: str
    kinds: tuple[Kind, ...]
    external: tuple[Kind, ...]
    components: dict[str, Schema]
    """Our own components, extensions merged in, by dotted name (`batch.v1alpha1.JobSpec`)."""
    core: dict[str, Schema]
    """The vendored Kubernetes components that we do not define ourselves."""
    origins: dict[str, str]
    """Own component, or `component:path` of an addition by an extension -> the file that wrote it."""
    samples: dict[str, Schema] = field(default_factory=dict)
    """Hand-written sample values by dotted component name of the kind."""
    root: Path = Path()
    """The folder that holds `api/`."""

    def schema(self, name: str) -> Schema:
        """The component of that dotted name. Raises KeyError when there is none."""
        found = self.components.get(name)
        return self.core[name] if found is None else found

    def is_core(self, name: str) -> bool:
        """Whether the component is a vendored Kubernetes type."""
        return name not in self.components and name in self.core

    def file_of(self, component: str, path: str = "") -> str:
        """The file that wrote the node at `path` (dotted keys) of an own component."""
        keys = path.split(".") if path else []
        for length in range(len(keys), 0, -1):
            found = self.origins.get(f"{component}:{'.'.join(keys[:length])}")
            if found:
                return found
        return self.origins.get(component, "api/k8s/openapi.json")

    @property
    def modules(self) -> tuple[str, ...]:
        """Own modules in order (`batch.v1alpha1`)."""
        return tuple(sorted({name.rsplit(".", 1)[0] for name in self.components}))
