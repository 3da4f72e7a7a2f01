"""The formats of `-o`: the whole object as JSON or YAML, its name, or more columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from cli import fields
from cli.context import Context
from cli.errors import CommandError
from cli.kinds import Kind, Object

WIDE, JSON, YAML, NAME = "wide", "json", "yaml", "name"
FORMATS = (JSON, NAME, WIDE, YAML)

NOTHING = "No resources found"


def output_format(context: Context) -> str:
    """The format that `-o` names, empty for the table. Raises CommandError for one that doesn't exist."""
    wanted = context.flags.text("output")
    if wanted and wanted not in FORMATS:
        allowed = ",".join(FORMATS)
        raise CommandError(f'--output: unable to match a printer for the format "{wanted}", allowed: {allowed}')
    return wanted


def is_table(wanted: str) -> bool:
    return wanted in ("", WIDE)


def print_object(context: Context, kind: Kind, obj: Object, wanted: str) -> None:
    """One object in a format other than a table."""
    if wanted == NAME:
        context.print(resource_name(kind, obj))
    elif wanted == JSON:
        context.out.write(to_json(typed(kind, obj)))
    else:
        context.out.write(to_yaml(typed(kind, obj)))


def print_objects(context: Context, kind: Kind, objects: Sequence[Object], wanted: str) -> None:
    """Several objects in a format other than a table: names, or one List."""
    if wanted == NAME:
        context.print_lines(resource_name(kind, obj) for obj in objects)
        return
    items = [typed(kind, obj) for obj in objects]
    whole = {"apiVersion": "v1", "items": items, "kind": "List", "metadata": {"resourceVersion": ""}}
    context.out.write(to_json(whole) if wanted == JSON else to_yaml(whole))


def resource_name(kind: Kind, obj: Object) -> str:
    """As `-o name` shows it: `job.batch.volcano.sh/j1`."""
    singular = kind.kind.lower()
    return f"{singular}.{kind.group}/{fields.name(obj)}" if kind.group else f"{singular}/{fields.name(obj)}"


def typed(kind: Kind, obj: Object) -> Object:
    """The object with its apiVersion and kind, which items of a list lack, and without the record of field managers."""
    metadata = {key: value for key, value in fields.mapping(obj, "metadata").items() if key != "managedFields"}
    return {**obj, "apiVersion": kind.api_version, "kind": kind.kind, "metadata": metadata}


def to_json(value: Any) -> str:
    """As kubectl prints it: keys sorted, indented by four."""
    import json  # noqa: PLC0415  # tables don't need it

    return json.dumps(value, indent=4, sort_keys=True, ensure_ascii=False) + "\n"


def to_yaml(value: Any) -> str:
    """As Go programs print it; see `cli.yamltext`."""
    from cli.yamltext import dump  # noqa: PLC0415  # tables don't need it

    return dump(value)


def confirm(context: Context, kind: Kind, obj: Object, done: str, *, is_void: bool = False) -> None:
    """
    Say that something was done, for commands that are silent unless asked by `--verbose` or `-o`.

    After a void order, of which a hint told, nothing is said to be done; `-o` shows the object all the same.
    """
    wanted = output_format(context)
    if wanted == NAME:
        context.print(resource_name(kind, obj))
    elif wanted:
        print_object(context, kind, obj, wanted if wanted != WIDE else YAML)
    elif context.flags.is_on("verbose") and not is_void:
        context.print(f"{resource_name(kind, obj)} {done}")
