"""
Which nodes each scheduler gets: over all nodes at once, and no node twice (controllers.md 12.3).

A function of the configuration and the nodes. Nodes are taken by name where nothing else orders them, so that the same
nodes always give the same shards.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from controllers.sharding.policies import Candidate, Policy
from controllers.sharding.settings import Scheduler


def assign(schedulers: Iterable[Scheduler], nodes: Iterable[Candidate]) -> dict[str, tuple[str, ...]]:
    """The names of the nodes of each scheduler; earlier ones choose first. Some may get none."""
    free = sorted(nodes, key=lambda node: node.name)
    assigned: dict[str, tuple[str, ...]] = {}
    for scheduler in schedulers:
        chosen = _choose(scheduler.policies, free)
        taken = {node.name for node in chosen}
        free = [node for node in free if node.name not in taken]
        assigned[scheduler.name] = tuple(node.name for node in chosen)
    return assigned


def _choose(policies: Sequence[Policy], nodes: Sequence[Candidate]) -> Sequence[Candidate]:
    filters = [policy.accepts for policy in policies if policy.accepts is not None]
    found: Sequence[Candidate] = [node for node in nodes if all(accepts(node) for accepts in filters)]
    scorers = [(policy.weight, policy.score) for policy in policies if policy.score is not None]
    if scorers:
        found = sorted(found, key=lambda node: -sum(weight * score(node) for weight, score in scorers))
    for policy in policies:
        if policy.select is not None and found:
            found = policy.select(found)
    return found
