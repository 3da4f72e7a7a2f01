"""Everything under `generated/`: Python for the kinds and types of the project."""

from __future__ import annotations

from codegen import apply, clients, defaults, listers, models, registry, structs, webhooks
from codegen.project import Project
from codegen.rendering import render
from codegen.typereader import types_of


def outputs(project: Project) -> dict[str, str]:
    """Text by path of all generated Python. Raises SourceError."""
    types = types_of(project)
    modules = structs.render(types)
    texts = {
        **models.files(project, types, modules),
        **apply.files(modules),
        **clients.files(project),
        **listers.files(project, types),
        **webhooks.files(project),
        **registry.files(project),
        **defaults.files(project),
    }
    packages = {path.rpartition("/")[0] for path in texts} | {"generated", "generated/apply"}
    for package in sorted(packages):
        texts.setdefault(f"{package}/__init__.py", render("package.py.j2", {"summary": _summary(package)}, "api"))
    return texts


def _summary(package: str) -> str:
    return _SUMMARIES.get(package, f"Types of the groups called {package.rpartition('/')[2]}.")


_SUMMARIES = {
    "generated": "Types, clients, listers and webhook interfaces made from api/. Edit there, then run the generator.",
    "generated/apply": "Builders for server-side apply and merge patches, one module a group version.",
    "generated/clients": "Typed clients: see `clientset`.",
    "generated/fakes": "What unit tests give to code under test: see `fakes`.",
    "generated/listers": "Typed listers, one module a group version.",
    "generated/webhooks": "Webhook interfaces, one module a group version.",
}
