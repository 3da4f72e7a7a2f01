"""What the fast path may do: read what its state is made of, bind, say why a pod waits, confirm its shard."""

from __future__ import annotations

from runtime.rbac import Rule
from scheduler.cache import feed, shards

RULES = (
    *feed.POD_RULES,
    Rule("", ("pods/binding",), ("create",)),
    Rule("", ("pods/status",), ("patch",)),
    *shards.RULES,
)
