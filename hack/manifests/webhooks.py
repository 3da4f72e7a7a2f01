"""
Webhook configurations: one object a path, for each path that a class serves.

An API server that is told of a path which nobody serves turns every write of that kind away. So a path in
`api/project.yaml` must have its class, or say `planned: true`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from api import names
from codegen.project import Kind, Project, Webhook
from hack.manifests.components import ManifestError
from hack.manifests.roles import text

if TYPE_CHECKING:
    from webhooks.blueprint import WebhookClass

FOLDER = "config/webhooks"
FILE = f"{FOLDER}/manifests.yaml"
ON_DEMAND = f"{FOLDER}/on-demand"
ON_DEMAND_FILE = f"{ON_DEMAND}/manifests.yaml"
"""Configurations of paths that are served only where `--enabled-admission` names them."""
_REGISTRATION = "admissionregistration.k8s.io/v1"
_TYPES = {"mutate": "MutatingWebhookConfiguration", "validate": "ValidatingWebhookConfiguration"}
_SYSTEM_NAMESPACES = (names.DEFAULT_NAMESPACE, "kube-system")
_TIMEOUT_SECONDS = 10


class Path(NamedTuple):
    """One admission path of the project."""

    kind: Kind
    action: str
    """`mutate` or `validate`."""
    webhook: Webhook


def paths(project: Project) -> list[Path]:
    """All admission paths, mutating ones first, in the order of their names."""
    found = [
        Path(kind, action, webhook) for kind in (*project.kinds, *project.external) for action, webhook in kind.webhooks
    ]
    return sorted(found, key=lambda path: (path.action, path.webhook.path))


def files(project: Project, classes: Sequence[WebhookClass]) -> dict[str, str]:
    """Text by path of the configurations. Raises ManifestError for paths without a class and classes that clash."""
    known = paths(project)
    mistakes = list(_mistakes(known, classes))
    if mistakes:
        raise ManifestError("\n".join(mistakes))
    found = {}
    for file, is_default in ((FILE, True), (ON_DEMAND_FILE, False)):
        served = [path for path in known if not path.webhook.planned and path.webhook.default is is_default]
        if served:
            found[file] = text("api/project.yaml", map(_configuration, served))
    return found


def planned(project: Project) -> list[str]:
    """The paths that no configuration is made for."""
    return [path.webhook.path for path in paths(project) if path.webhook.planned]


def _mistakes(known: Sequence[Path], classes: Sequence[WebhookClass]) -> Iterator[str]:
    served: dict[str, str] = {}
    for served_by in classes:
        path, name = served_by.PATH, getattr(served_by, "__qualname__", repr(served_by))
        if path in served:
            yield f"{path}: both {served[path]} and {name} serve it: remove one from WEBHOOKS"
        served[path] = name
    for kind, _, webhook in known:
        place = f"{kind.file}: [{kind.kind}] {webhook.path}"
        if webhook.path not in served and not webhook.planned:
            yield f"{place}: no class in webhooks.WEBHOOKS serves it: register one, or say `planned: true`"
        if webhook.path in served and webhook.planned:
            yield f"{place}: is `planned: true`, but {served[webhook.path]} serves it: remove the key"
    for path in sorted(served.keys() - {path.webhook.path for path in known}):
        yield f"{path}: {served[path]} serves it, but api/project.yaml has no such webhook: run `make generate` first"


def _configuration(path: Path) -> dict[str, Any]:
    return {
        "apiVersion": _REGISTRATION,
        "kind": _TYPES[path.action],
        "metadata": {"name": names.webhook_configuration(path.webhook.path)},
        "webhooks": [_webhook(path)],
    }


def _webhook(path: Path) -> dict[str, Any]:
    kind, action, webhook = path
    entry: dict[str, Any] = {
        "name": webhook.name,
        "admissionReviewVersions": ["v1"],
        "clientConfig": {
            "service": {
                "name": names.admission_service(names.DEFAULT_RELEASE),
                "namespace": names.DEFAULT_NAMESPACE,
                "path": webhook.path,
                "port": 443,
            }
        },
        "failurePolicy": webhook.failure_policy,
        "matchPolicy": "Equivalent",
        "objectSelector": {},
        "rules": [
            {
                "apiGroups": [kind.group],
                "apiVersions": [kind.version],
                "operations": list(webhook.operations),
                "resources": [kind.plural],
                "scope": "*",
            }
        ],
        "sideEffects": webhook.side_effects,
        "timeoutSeconds": _TIMEOUT_SECONDS,
    }
    if not webhook.every_namespace:
        entry["namespaceSelector"] = {"matchExpressions": [outside_the_system()]}
    if webhook.match_conditions:
        conditions = webhook.match_conditions.items()
        entry["matchConditions"] = [{"name": name, "expression": expression} for name, expression in conditions]
    return entry | {"reinvocationPolicy": "Never"} if action == "mutate" else entry


def outside_the_system() -> dict[str, Any]:
    """A match expression on namespaces: the system must be able to start by itself."""
    return {"key": "kubernetes.io/metadata.name", "operator": "NotIn", "values": list(_SYSTEM_NAMESPACES)}
