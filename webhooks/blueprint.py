"""
What a class in `WEBHOOKS` is, and what it is made from.

Such a class derives from an interface in `generated.webhooks`, which carries path, name and operations from
`api/project.yaml`; it adds the rules of what it reads and the judgement itself.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from typing import Any, Protocol

import msgspec

from generated.webhooks.base import Defaulting, Validating
from runtime.rbac import Rule
from runtime.wire import ObjectReference
from webhooks.options import Options
from webhooks.readers import Readers


class EventSink(Protocol):
    """Takes events to be sent later, so that no review waits for one."""

    def record(self, ref: ObjectReference, kind: str, reason: str, message: str) -> None:
        """Queue an event of type `kind`, `Normal` or `Warning`. Returns at once."""


Work = Callable[[], Awaitable[None]]


class Context(msgspec.Struct, frozen=True):
    """What webhook classes are made from: one of each a process. `clock` gives unix seconds."""

    readers: Readers
    options: Options = msgspec.field(default_factory=Options)
    clock: Callable[[], float] = time.time
    events: EventSink | None = None
    beside: dict[str, Work] = msgspec.field(default_factory=dict)
    """What runs as long as the process does, by name."""

    def run_beside(self, name: str, work: Work) -> None:
        """Have the process run this, until cancelled, beside the answers. For a class that is being made."""
        self.beside[name] = work


class WebhookClass(Protocol):
    """
    One admission path, before it is made.

    A class asks for its listers when it is made, so that their caches are full before the first request.
    """

    PATH: str
    NAME: str
    SERVED_BY_DEFAULT: bool
    RULES: tuple[Rule, ...]
    """The permissions that its code needs."""

    def __call__(self, context: Context) -> Defaulting[Any] | Validating[Any]:
        """Make the webhook."""
