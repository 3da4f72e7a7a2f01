"""The actions of the tree, by name. An action is a function of a session, run once a cycle in the configured order."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from scheduler.actions.allocate import allocate
from scheduler.actions.backfill import backfill
from scheduler.actions.enqueue import enqueue
from scheduler.actions.gangpreempt import gangpreempt
from scheduler.actions.gangreclaim import gangreclaim
from scheduler.actions.preempt import preempt
from scheduler.actions.reclaim import reclaim
from scheduler.actions.shuffle import shuffle
from scheduler.contract.arguments import Declared, Type

if TYPE_CHECKING:
    from scheduler.session import Session

Action = Callable[["Session"], None]

BUILT_IN: dict[str, Action] = {
    "enqueue": enqueue,
    "allocate": allocate,
    "backfill": backfill,
    "preempt": preempt,
    "reclaim": reclaim,
    "gangpreempt": gangpreempt,
    "gangreclaim": gangreclaim,
    "shuffle": shuffle,
}

_CACHE = {"predicateErrorCacheEnable": Type.BOOL}
_BUNDLES = {"maxDomains": Type.INT, "allowWholeBundle": Type.BOOL}
ARGUMENTS: dict[str, Declared] = {
    "enqueue": {},
    "allocate": _CACHE,
    "backfill": _CACHE,
    "preempt": {
        **_CACHE,
        "enableTopologyAwarePreemption": Type.BOOL,
        "topologyAwarePreemptWorkerNum": Type.INT,
        "minCandidateNodesPercentage": Type.INT,
        "minCandidateNodesAbsolute": Type.INT,
        "maxCandidateNodesAbsolute": Type.INT,
    },
    "reclaim": _CACHE,
    "gangpreempt": _BUNDLES,
    "gangreclaim": _BUNDLES,
    "shuffle": {},
}
"""The arguments that each action knows (scheduler.md 2.6)."""
