"""
What a class in `WEBHOOKS` is, and what it is made from.

Such a class derives from an interface in `generated.webhooks`, which carries path, name and operations from
`api/project.yaml`; it adds the rules of what it reads and the judgement itself.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

from generated.webhooks.base import Defaulting, Validating
from runtime.rbac import Rule
from webhooks.options import Options
from webhooks.readers import Readers


@dataclass(frozen=True, slots=True)
class Context:
    """What webhook classes are made from: one of each a process. `clock` gives unix seconds."""

    readers: Readers
    options: Options = field(default_factory=Options)
    clock: Callable[[], float] = time.time


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
