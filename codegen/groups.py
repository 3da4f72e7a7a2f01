"""What templates ask of a group version and its kinds."""

from __future__ import annotations

from dataclasses import dataclass

from codegen import naming
from codegen.problems import Problem, SourceError
from codegen.project import Kind, Project
from codegen.pytext import literal


@dataclass(frozen=True, slots=True)
class Described:
    """A kind with its names in Python."""

    kind: Kind

    @property
    def name(self) -> str:
        """Class of the model."""
        return self.kind.kind

    @property
    def constant(self) -> str:
        """Descriptor: `HYPER_NODES`."""
        return naming.resource_constant(self.kind.kind, self.kind.plural)

    @property
    def attribute(self) -> str:
        """Member of a client or of fakes: `hyper_nodes`."""
        return self.constant.lower()

    @property
    def short_names(self) -> list[str]:
        """Python literals."""
        return [literal(name) for name in self.kind.short_names]


@dataclass(frozen=True, slots=True)
class GroupVersion:
    """The kinds of one module (`batch.v1alpha1`)."""

    module: str
    kinds: tuple[Described, ...]

    @property
    def group(self) -> str:
        return self.module.split(".")[0]

    @property
    def version(self) -> str:
        return self.module.split(".")[1]

    @property
    def api_version(self) -> str:
        """`batch.volcano.sh/v1alpha1`; the core group is called by its name, for readers."""
        first = self.kinds[0].kind
        return first.api_version if first.group else f"core {first.version}"

    @property
    def file(self) -> str:
        """`batch_v1alpha1`: name of the module of clients or listers."""
        return self.module.replace(".", "_")

    @property
    def class_name(self) -> str:
        """`BatchV1alpha1`."""
        return naming.pascal(self.group) + naming.pascal(self.version)

    @property
    def is_external(self) -> bool:
        """Whether Kubernetes serves it itself."""
        return self.kinds[0].kind.external


def group_versions(project: Project) -> list[GroupVersion]:
    """
    All group versions in order, their kinds in the order of their names.

    Raises SourceError for two groups that would share a module, such as batch and batch.example.com in one version.
    """
    found: dict[str, list[Described]] = {}
    problems = []
    for kind in sorted((*project.kinds, *project.external), key=lambda kind: (kind.kind, kind.group)):
        members = found.setdefault(kind.module, [])
        if members and members[0].kind.group != kind.group:
            other = members[0].kind
            message = (
                f"{kind.api_version} and {other.api_version} would share the module {kind.module}: change a version"
            )
            problems.append(Problem(kind.file, f"[{kind.kind}].group", message))
        members.append(Described(kind))
    if problems:
        raise SourceError(problems)
    return [GroupVersion(module, tuple(found[module])) for module in sorted(found)]
