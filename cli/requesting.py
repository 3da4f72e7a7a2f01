"""Reads and writes that several commands share."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from cli import fields
from cli.errors import CommandError
from cli.kinds import COMMANDS, Kind, Object
from runtime import requests
from runtime.errors import Forbidden
from runtime.reading import read_object
from runtime.responses import check

if TYPE_CHECKING:
    from cli.context import Context

DRY_RUNS = ("none", "client", "server")


def list_objects(
    context: Context, kind: Kind, namespace: str | None = None, *, labels: str = "", fields: str = ""
) -> tuple[list[Object], str]:
    """All objects, and the version of the list that a watch may start from."""
    page = context.client.list(kind, namespace, label_selector=labels, field_selector=fields)
    return list(page.items), page.resource_version


def get_object(context: Context, kind: Kind, name: str, namespace: str | None = None) -> Object:
    """One object, with the name and namespace that it was asked for by if it doesn't tell its own. Raises NotFound."""
    obj = context.client.get(kind, name, namespace)
    asked = {"name": name, "namespace": namespace} if kind.namespaced else {"name": name}
    return {**obj, "metadata": {**asked, **fields.mapping(obj, "metadata")}}


def create_object(
    context: Context, kind: Kind, obj: Object, namespace: str | None, *, dry_run: bool = False, strict: bool = False
) -> Object:
    """Create an object; the object as stored. `strict` makes fields that the server doesn't know an error."""
    request = requests.create(kind, obj, namespace, dry_run=dry_run)
    if strict:
        request = msgspec.structs.replace(request, query={**request.query, "fieldValidation": "Strict"})
    return read_object(kind, check(context.client.transport.send(request), request).body)


def dry_run(context: Context) -> str:
    """What `--dry-run` says: none, client or server. Raises CommandError."""
    wanted = context.flags.text("dry-run") or "none"
    if wanted not in DRY_RUNS:
        raise CommandError(f'--dry-run: invalid value "{wanted}", must be one of: {", ".join(DRY_RUNS)}')
    return wanted


def order(context: Context, kind: Kind, target: Object, action: str, namespace: str, *, in_body: bool = True) -> None:
    """
    Tell a controller to act on an object, by a Command that belongs to it.

    Whether the Command's body names its namespace too is as the original tool has it for each kind. Raises ApiError.
    """
    reference = {**reference_to(kind, target), "controller": True, "blockOwnerDeletion": True}
    head = {"generateName": f"{fields.name(target)}-{action.lower()}-", "ownerReferences": [reference]}
    if in_body:
        head["namespace"] = namespace
    try:
        context.client.create(COMMANDS, {"metadata": head, "action": action, "target": reference}, namespace)
    except Forbidden as error:
        missing = f"create {COMMANDS.qualified_name} in namespace {namespace}"
        raise CommandError(f"{error} (missing permission: {missing})") from error


def reference_to(kind: Kind, owner: Object) -> Object:
    """How what belongs to an object names it. Raises CommandError for one without identity."""
    uid = fields.text(owner, "metadata", "uid")
    if not uid:
        raise CommandError(f"{kind.kind} {fields.name(owner)}: the server's answer has no metadata.uid")
    return {"apiVersion": kind.api_version, "kind": kind.kind, "name": fields.name(owner), "uid": uid}
