"""`vcctl queue create|delete|operate`."""

from __future__ import annotations

from typing import Any, Final

from cli import fields, output
from cli.context import Context
from cli.errors import CommandError
from cli.kinds import QUEUES, Object
from cli.quantities import resource_list
from cli.requesting import create_object, get_object, order
from cli.waiting import until
from runtime.errors import ApiError, ConnectionFailed, NotFound
from runtime.patches import MergePatch

OPEN, CLOSED = "Open", "Closed"
OPEN_QUEUE, CLOSE_QUEUE = "OpenQueue", "CloseQueue"

COMMAND_NAMESPACE: Final = "default"
"""Where the Commands for queues go, which have no namespace of their own."""

_SHUT: Final = (CLOSED, "Closing")
_WEIGHTS: Final = (1, 65535)
_ACTIONS: Final = ("open", "close", "update")
_QUOTA: Final = ("capability", "deserved", "guarantee", "parent", "reclaimable", "priority")


def create(context: Context) -> None:
    """Create a queue; one that is wanted closed is closed by a Command, since a new queue always opens."""
    context.require_configuration()
    flags = context.flags
    state = flags.text("state")
    if state not in (OPEN, CLOSED):
        raise CommandError(f"state {state} invalid")
    weight = flags.number("weight")
    spec = ({"weight": weight} if weight else {}) | _quota(context)
    output.output_format(context)
    queue = create_object(context, QUEUES, {"metadata": {"name": flags.text("name")}, "spec": spec}, None)
    if state == CLOSED:
        order(context, QUEUES, queue, CLOSE_QUEUE, COMMAND_NAMESPACE, in_body=False)
    output.confirm(context, QUEUES, queue, "created")


def delete(context: Context) -> None:
    """Delete a queue."""
    context.require_configuration()
    name = _name(context)
    output.output_format(context)
    context.client.delete(QUEUES, name)
    output.confirm(context, QUEUES, {"metadata": {"name": name}}, "deleted")


def operate(context: Context) -> None:
    """Open or close a queue by a Command, or change its spec."""
    context.require_configuration()
    name = _name(context)
    output.output_format(context)
    action = context.flags.text("action")
    if action == "update":
        _update(context, name)
    elif action in _ACTIONS:
        _turn(context, name, OPEN if action == "open" else CLOSED)
    elif not action:
        raise CommandError("action can not be null")
    else:
        raise CommandError(f"action {action} invalid, valid actions are open, close and update")


def _update(context: Context, name: str) -> None:
    spec = _quota(context)
    weight = context.flags.number("weight")
    if not weight and (not spec or context.flags.is_given("weight")):
        raise CommandError(f"when update queue {name}, weight must be specified, the value must be greater than 0")
    if weight:
        low, high = _WEIGHTS
        if not low <= weight <= high:
            raise CommandError(f"queue {name}: spec.weight: {weight} is invalid, must be from {low} to {high}")
        spec["weight"] = weight
    queue = context.client.patch(QUEUES, name, None, MergePatch({"spec": spec}))
    output.confirm(context, QUEUES, queue, "updated")


def _turn(context: Context, name: str, wanted: str) -> None:
    queue = get_object(context, QUEUES, name)
    is_void = state(queue) == wanted
    if is_void:
        context.hint(f"hint: queue {name} is {wanted} already")
    action = OPEN_QUEUE if wanted == OPEN else CLOSE_QUEUE
    order(context, QUEUES, queue, action, COMMAND_NAMESPACE, in_body=False)
    done = "opened" if wanted == OPEN else "closed"
    now = until(
        context,
        QUEUES,
        queue,
        done,
        holds=lambda now: state(now) == wanted,
        phase=state,
        hindrance=lambda now: _hindrance(context, now, wanted),
    )
    output.confirm(context, QUEUES, now, done, is_void=is_void)


def _hindrance(context: Context, queue: Object, wanted: str) -> str:
    """Why a queue doesn't open, as far as that is known: one below a queue that isn't open stays closed."""
    parent = fields.text(queue, "spec", "parent")
    if wanted != OPEN or not parent:
        return ""
    try:
        above = state(get_object(context, QUEUES, parent))
    except NotFound:
        return f"its parent {parent} does not exist"
    except (ApiError, ConnectionFailed):
        return ""
    return f"its parent {parent} is {above}, open that first" if above in _SHUT else ""


def state(queue: Object) -> str:
    return fields.text(queue, "status", "state")


def _quota(context: Context) -> dict[str, Any]:
    """The fields that flags give. Raises CommandError for amounts that can't be read."""
    flags = context.flags
    spec: dict[str, Any] = {}
    for name in _QUOTA:
        if not flags.is_given(name):
            continue
        if name == "reclaimable":
            spec[name] = flags.is_on(name)
        elif name == "priority":
            spec[name] = flags.number(name)
        elif name == "parent":
            spec[name] = flags.text(name)
        else:
            amounts = _amounts(name, flags.text(name))
            spec[name] = {"resource": amounts} if name == "guarantee" else amounts
    return spec


def _amounts(flag: str, text: str) -> dict[str, str]:
    try:
        return resource_list(text, naming=True)
    except CommandError as error:
        raise CommandError(f"--{flag}: {error}") from error


def _name(context: Context) -> str:
    name = context.flags.text("name")
    if not name:
        raise CommandError("queue name must be specified")
    return name
