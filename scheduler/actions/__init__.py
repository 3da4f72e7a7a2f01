"""The actions of the tree, by name. An action is a function of a session, run once a cycle in the configured order."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from scheduler.actions.allocate import allocate
from scheduler.actions.backfill import backfill
from scheduler.actions.enqueue import enqueue

if TYPE_CHECKING:
    from scheduler.session import Session

Action = Callable[["Session"], None]

BUILT_IN: dict[str, Action] = {"enqueue": enqueue, "allocate": allocate, "backfill": backfill}
