"""What the fast path may do: read what its state is made of, bind, say why a pod waits, confirm its shard."""

from __future__ import annotations

from runtime.rbac import READ, Rule
from scheduler.cache import shards

RULES = (
    Rule(
        "",
        ("namespaces", "nodes", "persistentvolumeclaims", "pods", "replicationcontrollers", "services"),
        READ,
    ),
    Rule("apps", ("replicasets", "statefulsets"), READ),
    Rule("shard.volcano.sh", ("nodeshards",), READ),
    Rule("", ("pods/binding",), ("create",)),
    Rule("", ("pods/status",), ("patch",)),
    *shards.RULES,
)
