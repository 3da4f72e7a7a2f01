"""The priority classes of a job for `vcctl job explain`: the API server refuses pods that name one that doesn't exist."""

from __future__ import annotations

from collections.abc import Iterator

from cli import fields
from cli.context import Context
from cli.kinds import PRIORITY_CLASSES, Object
from cli.requesting import get_object
from runtime.errors import ApiError, NotFound


def missing_classes(context: Context, job: Object) -> list[Object]:
    """The classes that don't exist, with the first field that names each. A failure to look is told on stderr."""
    found: list[Object] = []
    for name, field in _named(job).items():
        try:
            get_object(context, PRIORITY_CLASSES, name)
        except NotFound:
            found.append({"name": name, "field": field})
        except ApiError as error:
            context.hint(f"priority classes are left out: {error}")
            break
    return found


def class_lines(missing: list[Object]) -> Iterator[str]:
    """The same for people."""
    for each in missing:
        name, field = fields.text(each, "name"), fields.text(each, "field")
        yield (
            f'Priority:  there is no PriorityClass "{name}", so pods with it can\'t be made: create it, or change {field}'
        )


def _named(job: Object) -> dict[str, str]:
    """The field that names each class first: the job's own, else that of a task."""
    own = {fields.text(job, "spec", "priorityClassName"): "spec.priorityClassName"}
    for index, task in enumerate(fields.items(job, "spec", "tasks")):
        name = fields.text(task, "template", "spec", "priorityClassName")
        own.setdefault(name, f"spec.tasks[{index}].template.spec.priorityClassName")
    return {name: field for name, field in own.items() if name}
