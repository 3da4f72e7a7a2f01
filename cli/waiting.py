"""`--wait`: stay until an order has had its effect, or until the time is up."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from cli import fields
from cli.context import Context
from cli.errors import CommandError
from cli.kinds import Kind, Object
from runtime.errors import NotFound

_PERIOD = 0.5  # seconds between two looks


def until(
    context: Context,
    kind: Kind,
    obj: Object,
    done: str,
    *,
    holds: Callable[[Object], bool],
    phase: Callable[[Object], str],
    final: Sequence[str] = (),
    hindrance: Callable[[Object], str] = lambda _: "",
) -> Object:
    """
    Wait, if `--wait` asks for it, until `holds` is true of the object; the object as last seen.

    Raises CommandError when the time is up, with the `hindrance` if one is known, when the object is gone or replaced, and in a phase that it can't leave.
    """
    if not context.flags.is_on("wait"):
        return obj
    name, namespace = fields.name(obj), fields.namespace(obj) or None
    label = f"{kind.kind.lower()} {name}"
    clock = _Deadline(context)
    while True:
        try:
            now = context.client.get(kind, name, namespace)
        except NotFound as error:
            raise CommandError(f"{label} was deleted before it was {done}") from error
        if fields.text(now, "metadata", "uid") != fields.text(obj, "metadata", "uid"):
            raise CommandError(f"{label} was replaced by another of its name before it was {done}")
        if holds(now):
            return now
        if phase(now) in final:
            raise CommandError(f"{label} is {phase(now)} and won't be {done}")
        clock.next(f"{label} is {phase(now) or 'without phase'}, not yet {done}", partial(hindrance, now))


def until_gone(context: Context, kind: Kind, obj: Object) -> None:
    """Wait until the object no longer exists. Raises CommandError when the time is up."""
    name, namespace = fields.name(obj), fields.namespace(obj) or None
    clock = _Deadline(context)
    while True:
        try:
            now = context.client.get(kind, name, namespace)
        except NotFound:
            return
        if fields.text(now, "metadata", "uid") != fields.text(obj, "metadata", "uid"):
            return
        clock.next(f"{kind.kind.lower()} {name} still exists")


class _Deadline:
    def __init__(self, context: Context) -> None:
        self._context = context
        self._seconds = context.flags.seconds("timeout")
        self._begin = context.clock()

    def next(self, state: str, hindrance: Callable[[], str] = str) -> None:
        """Pause until the next look. Raises CommandError when no time is left."""
        if self._seconds and self._context.clock() - self._begin >= self._seconds:
            told = ": ".join(filter(None, (state, hindrance())))
            raise CommandError(f"timed out after {self._seconds:g}s: {told}")
        self._context.pause(_PERIOD)
