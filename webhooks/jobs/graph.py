"""The order in which tasks start: who waits for whom must come to an end (webhooks.md 4.9)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from generated.batch.v1alpha1 import TaskSpec

_TEXT = " job has dependencies between tasks, but doesn't form a directed acyclic graph(DAG)"


def problem(tasks: Sequence[TaskSpec]) -> str:
    """Which dependencies can never be met; empty when all can."""
    if all(task.depends_on is None for task in tasks):
        return ""
    needs = {task.name: tuple(dict.fromkeys(task.depends_on.name)) if task.depends_on else () for task in tasks}
    for task, needed in needs.items():
        unknown = next((name for name in needed if name not in needs), None)
        if unknown is not None:
            return f"{_TEXT}: unknown task {unknown} in dependsOn of task {task};"
    cycle = find_cycle(needs)
    return f"{_TEXT}: {' -> '.join(cycle)};" if cycle else ""


def find_cycle(needs: Mapping[str, Sequence[str]]) -> list[str]:
    """
    A way through the graph that ends where it begins, `[]` when there is none. Linear in nodes and edges.

    `needs` names for each node those that it needs, all of which are nodes.
    """
    done: set[str] = set()
    for start in needs:
        if start in done:
            continue
        way, on_way = [start], {start: 0}
        ahead = [iter(needs[start])]
        while way:
            following = next(ahead[-1], None)
            if following is None:
                ahead.pop()
                left = way.pop()
                del on_way[left]
                done.add(left)
            elif following in on_way:
                return [*way[on_way[following] :], following]
            elif following not in done:
                on_way[following] = len(way)
                way.append(following)
                ahead.append(iter(needs[following]))
    return []
