"""
Who manages the objects that are there, and how they become ours.

Server-side apply keeps what another manager set, even where we declare nothing: an argument list would be replaced, but
a container, a volume or an annotation of the old installation would stay. So a take-over first makes the old
installer's fields ours; the apply that follows then removes what isn't declared any more.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from api import names
from hack.deploy import order
from hack.deploy.applying import Say
from hack.deploy.findings import Check, Finding
from hack.deploy.kubectl import MANAGER, Kubectl, Object

_RELEASE, _RELEASE_NAMESPACE = "meta.helm.sh/release-name", "meta.helm.sh/release-namespace"
_INSTALLERS = re.compile(r"[Hh]elm|kubectl(-.+)?|argocd-controller|kustomize-controller")
"""Managers that install; not processes, which go on writing what is theirs."""
_CONFLICT = re.compile(r'conflicts? with "(?P<manager>[^"]+)"')


def helm_releases(live: Iterable[Object]) -> Iterator[Finding]:
    """One finding a release of helm that owns objects of ours."""
    owned: dict[str, list[str]] = {}
    for found in live:
        notes = found["metadata"].get("annotations", {})
        if _RELEASE in notes:
            release = f"{notes.get(_RELEASE_NAMESPACE, '')}/{notes[_RELEASE]}"
            owned.setdefault(release, []).append(order.label(found))
    for release, objects in sorted(owned.items()):
        yield Finding(
            Check.OWNER,
            f"{len(objects)} objects belong to the helm release {release}, among them {objects[0]}: TAKE_OVER=yes makes "
            "them ours, after which `helm upgrade` and `helm uninstall` of that release must not be run any more",
        )


def conflicts(kubectl: Kubectl, objects: Sequence[Object], live: Sequence[Object]) -> Iterator[Finding]:
    """Findings about objects that are there, of which somebody else set fields otherwise than we declare."""
    there = {order.key(found) for found in live}
    for found, problem in _refused(kubectl, [found for found in objects if order.key(found) in there]):
        managers = sorted(set(_CONFLICT.findall(problem)))
        yield Finding(
            Check.OWNER,
            f"{order.label(found)}: {', '.join(managers)} set {', '.join(_fields(problem))} otherwise: put it into your "
            "overlay, or let TAKE_OVER=yes replace it",
        )


def _refused(kubectl: Kubectl, objects: Sequence[Object]) -> Iterator[tuple[Object, str]]:
    """Objects whose apply would be a conflict, with kubectl's words, which don't name the object: hence the halving."""
    problem = _conflict(kubectl, objects) if objects else ""
    if problem and len(objects) == 1:
        yield objects[0], problem
    elif problem:
        middle = len(objects) // 2
        yield from _refused(kubectl, objects[:middle])
        yield from _refused(kubectl, objects[middle:])


def take_over(kubectl: Kubectl, live: Iterable[Object], say: Say) -> None:
    """Make what installers set on these objects ours. Raises DeployError."""
    for found in live:
        entries = found["metadata"].get("managedFields", [])
        taken = [entry for entry in entries if _is_installers(entry)]
        if not taken:
            continue
        patch = [
            {"op": "test", "path": "/metadata/resourceVersion", "value": found["metadata"]["resourceVersion"]},
            {"op": "replace", "path": "/metadata/managedFields", "value": merged(entries)},
        ]
        _, kind, namespace, name = order.key(found)
        group = found["apiVersion"].rpartition("/")[0]
        place = [f"--namespace={namespace}"] if namespace else []
        resource = f"{kind}.{_version(found)}.{group}" if group else kind
        kubectl.run("patch", resource, name, *place, "--type=json", f"--patch={json.dumps(patch)}")
        say(f"{order.label(found)}: taken over from {', '.join(sorted({entry['manager'] for entry in taken}))}")


def merged(entries: Sequence[Object]) -> list[Object]:
    """The managers of an object, those of installers become one: ours."""
    ours: dict[str, Any] = {}
    version = ""
    for entry in entries:
        if _is_installers(entry) or _is_ours(entry):
            ours, version = _union(ours, entry["fieldsV1"]), entry["apiVersion"]
    entry = {
        "manager": names.DEPLOY_FIELD_MANAGER,
        "operation": "Apply",
        "apiVersion": version,
        "fieldsType": "FieldsV1",
        "fieldsV1": ours,
    }
    return [entry, *(other for other in entries if not _is_installers(other) and not _is_ours(other))]


def _union(one: dict[str, Any], other: dict[str, Any]) -> dict[str, Any]:
    """Field sets are trees of objects without values."""
    return {
        key: _union(one.get(key, {}), other.get(key, {})) for key in (*one, *(key for key in other if key not in one))
    }


def _is_installers(entry: Object) -> bool:
    return not entry.get("subresource") and bool(_INSTALLERS.fullmatch(entry["manager"]))


def _is_ours(entry: Object) -> bool:
    return bool(entry["manager"] == names.DEPLOY_FIELD_MANAGER and entry["operation"] == "Apply")


def _conflict(kubectl: Kubectl, objects: Sequence[Object]) -> str:
    problem = kubectl.attempt("apply", "--server-side", "--dry-run=server", MANAGER, "--filename=-", objects=objects)
    return problem if _CONFLICT.search(problem) else ""


def _fields(problem: str) -> list[str]:
    """The fields that kubectl names: after a colon when there is one, else a line each."""
    found = re.findall(r"(?m)(?:^- |: )(\.[\w.\[\]\"=:,{}/-]+)", problem)
    return sorted(set(found))


def _version(found: Object) -> str:
    return str(found["apiVersion"].rpartition("/")[2])
