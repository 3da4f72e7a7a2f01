"""
Which tasks of a Job wait for others by `dependsOn`, and what that means for its gang.

The controller makes no pod of a task before those that it depends on are ready; a gang that counts such pods can't be
whole before that. The controller, simulations and the command line ask here, each with the pods that it knows.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple


class Waiting(NamedTuple):
    """A task whose pods aren't made yet."""

    task: str
    pods: int
    """So many are missing."""
    lacking: tuple[str, ...]
    """The tasks that must be ready first."""


def pods_needed(replicas: int, min_available: int | None) -> int:
    """So many ready pods make a task ready for those that depend on it."""
    return min(replicas, replicas if min_available is None else min_available)


def lacking(
    depends_on: Sequence[str], needed: Mapping[str, int], ready: Mapping[str, int], *, is_any: bool
) -> tuple[str, ...]:
    """
    The dependencies that keep a task waiting; one that doesn't exist is never ready.

    `needed` gives the ready pods that each task of the job needs, `ready` those that it has. With `is_any` one ready
    dependency is enough.
    """
    found = tuple(name for name in depends_on if name not in needed or ready.get(name, 0) < needed[name])
    return () if is_any and len(found) < len(depends_on) else found


def counts_them(
    waiting: Collection[Waiting],
    *,
    min_available: int,
    pods: Mapping[str, int],
    role_minimum: Mapping[str, int],
) -> bool:
    """
    Whether the gang needs pods of the tasks that wait. `pods` has the pods that exist, by task.

    The minimum of a role counts unless the job's own is below the sum of them: it then takes any pods.
    """
    if not waiting:
        return False
    if sum(pods.values()) < min_available:
        return True
    if min_available < sum(role_minimum.values()):
        return False
    return any(pods.get(each.task, 0) < role_minimum.get(each.task, 0) for each in waiting)


def told(waiting: Waiting, *, is_counted: bool) -> str:
    """`the gang counts 3 pods of task worker that wait for task master`."""
    pods = f"{waiting.pods} pod{'' if waiting.pods == 1 else 's'} of task {waiting.task}"
    verb = "waits" if waiting.pods == 1 else "wait"
    tasks = f"task{'' if len(waiting.lacking) == 1 else 's'} {', '.join(waiting.lacking)}"
    return f"the gang counts {pods} that {verb} for {tasks}" if is_counted else f"{pods} {verb} for {tasks}"


def remedy(waiting: Collection[Waiting], *, is_counted: bool, pods: int) -> str:
    """What lets such tasks go on. `pods` is the number of pods that exist or can be made."""
    awaited = sorted({name for each in waiting for name in each.lacking} - {each.task for each in waiting})
    if not pods:
        return "a task that depends on no other, as nothing can begin in a circle"
    first = f"task{'' if len(awaited) == 1 else 's'} {', '.join(awaited)} to be ready" if awaited else ""
    if not is_counted:
        return first or "tasks that do not depend on each other in a circle"
    least = f"minAvailable of the job lowered to at most {pods}, the pods that wait for no other task"
    return f"{least}, and {first}" if first else least
