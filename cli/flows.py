"""What `vcctl jobflow` and `vcctl jobtemplate` have in common: files of objects, and descriptions of them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

from cli import documents, fields
from cli.context import Context
from cli.errors import CommandError, Unfinished
from cli.kinds import Kind, Object
from cli.output import typed
from cli.requesting import create_object, get_object, list_objects
from runtime.errors import ApiError, ConnectionFailed

DEFAULT_NAMESPACE = "default"
YAML, JSON = "yaml", "json"

_HEAD = ("kind", "apiVersion", "metadata", "spec", "status")
_METADATA = (
    "name", "generateName", "namespace", "uid", "resourceVersion", "generation", "creationTimestamp",
    "deletionTimestamp", "deletionGracePeriodSeconds", "labels", "annotations", "ownerReferences", "finalizers",
)  # fmt: skip
_JOB = (
    "schedulerName", "minAvailable", "volumes", "tasks", "policies", "plugins", "runningEstimate", "queue", "maxRetry",
    "ttlSecondsAfterFinished", "priorityClassName", "minSuccess", "networkTopology",
)  # fmt: skip
_TASK = ("name", "replicas", "minAvailable", "template", "policies", "topologyPolicy", "maxRetry", "dependsOn")
_FLOW = ("flows", "jobRetainPolicy", "name", "dependsOn", "patch", "targets", "probe")
_ORDER = {key: index for index, key in enumerate(dict.fromkeys((*_FLOW, *_TASK, *_JOB)))}


def create(context: Context, kind: Kind) -> None:
    """Create every object of `--file`; all are tried, and one failure makes the command fail."""
    context.require_configuration()

    def work(obj: Object) -> str:
        stored = create_object(context, kind, obj, fields.namespace(obj))
        return f"Created {kind.kind}: {fields.namespace(obj)}/{fields.name(stored)}"

    _each(context, kind, "create", work)


def delete(context: Context, kind: Kind, word: str) -> None:
    """Delete every object of `--file`, or the one of `--name`."""
    context.require_configuration()
    if context.flags.text("file"):
        _each(context, kind, "delete", lambda obj: _delete(context, kind, fields.name(obj), fields.namespace(obj)))
        return
    name = context.flags.text("name")
    if not name:
        raise CommandError(f"{word} name must be specified")
    obj = get_object(context, kind, name, context.namespace)
    context.print(_delete(context, kind, name, fields.namespace(obj) or context.namespace))


def describe(context: Context, kind: Kind) -> None:
    """One object, or all of the namespace. Raises CommandError for a format other than yaml and json."""
    form = context.flags.text("format")
    if form not in (YAML, JSON):
        raise CommandError(f"Unsupported format: {form}")
    context.require_configuration()
    name = context.flags.text("name")
    if name:
        objects = [get_object(context, kind, name, context.namespace)]
    else:
        objects, _ = list_objects(context, kind, context.namespace)
    context.out.write("\n\n".join(_text(typed(kind, obj), form) for obj in objects))


def _text(obj: Object, form: str) -> str:
    if form == JSON:
        return json.dumps(in_declared_order(obj), indent=2, ensure_ascii=False) + "\n"
    from cli.yamltext import dump  # noqa: PLC0415  # JSON doesn't need it

    return dump(obj)


def in_declared_order(obj: Object) -> Object:
    """The object with its keys in the order in which the types declare them, unknown ones behind, by name."""
    ordered = _sorted(obj, {key: index for index, key in enumerate(_HEAD)})
    metadata = {key: index for index, key in enumerate(_METADATA)}
    for key, value in ordered.items():
        if isinstance(value, dict):
            ordered[key] = _sorted(value, metadata) if key == "metadata" else _deep(value)
    return ordered


def _deep(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _deep(item) for key, item in _sorted(value, _ORDER).items()}
    return [_deep(item) for item in value] if isinstance(value, list) else value


def _sorted(obj: Object, order: dict[str, int]) -> Object:
    return dict(sorted(obj.items(), key=lambda item: (order.get(item[0], len(order)), item[0])))


def _delete(context: Context, kind: Kind, name: str, namespace: str) -> str:
    context.client.delete(kind, name, namespace)
    return f"Deleted {kind.kind}: {namespace}/{name}"


def _each(context: Context, kind: Kind, verb: str, work: Callable[[Object], str]) -> None:
    """Do the work on each document. Each success and each failure is a line; raises Unfinished when one failed."""
    failed = False
    for obj in _objects(context, kind):
        try:
            done = work(_located(kind, obj) if isinstance(obj, dict) else _raise(obj))
        except (ApiError, CommandError, ConnectionFailed) as error:
            _tell(context, f"Failed to {verb} {kind.kind}: {error}")
            failed = True
        else:
            context.print(done)
    if failed:
        raise Unfinished


def _objects(context: Context, kind: Kind) -> Iterator[Object | CommandError]:
    """The objects of the file, or why a document is none. Raises OSError when there is no such file."""
    for value in documents.parse_all(documents.read_text(context.flags.text("file"))):
        try:
            yield CommandError(str(value)) if isinstance(value, ValueError) else documents.check_object(value, kind)
        except CommandError as error:
            yield error


def _raise(error: CommandError) -> Object:
    raise error


def _located(kind: Kind, obj: Object) -> Object:
    """The object with the namespace that it goes to. Raises CommandError when it has no name."""
    metadata = dict(fields.mapping(obj, "metadata"))
    if not fields.text(metadata, "name") and not fields.text(metadata, "generateName"):
        raise CommandError(f"{kind.kind}: metadata.name is missing")
    metadata["namespace"] = fields.text(metadata, "namespace") or DEFAULT_NAMESPACE
    return {**obj, "metadata": metadata}


def _tell(context: Context, line: str) -> None:
    """A failure among others, where failures go."""
    context.failures.write(f"{line}\n")
