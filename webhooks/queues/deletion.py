"""When a queue may go (webhooks.md 6.5)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from api import names
from generated.scheduling.v1beta1 import Queue
from webhooks.queues.place import allocated_pods

PROTECTED: Final = (names.DEFAULT_QUEUE, names.ROOT_QUEUE)


def protection(name: str) -> str:
    """Why the queue may never go, empty when it may."""
    return f"`{name}` queue can not be deleted" if name in PROTECTED else ""


def problem(
    queue: Queue, children: Sequence[str], groups: int, *, checks_pods: bool = False, checks_groups: bool = False
) -> str:
    """The first reason against the deletion of a queue with these children and so many PodGroups."""
    return next(_problems(queue, children, groups, checks_pods, checks_groups), "")


def _problems(
    queue: Queue,
    children: Sequence[str],
    groups: int,
    checks_pods: bool,  # noqa: FBT001
    checks_groups: bool,  # noqa: FBT001
) -> Iterator[str]:
    name, pods = queue.metadata.name, allocated_pods(queue)
    if checks_pods and not pods.is_zero:
        yield f"queue {name} cannot be deleted because it has allocated Pods: {pods}"
    if children:
        yield f"queue {name} can not be deleted because it has {len(children)} child queues: {', '.join(children)}"
    if checks_groups and groups:
        yield f"queue {name} can not be deleted because {_groups(groups)} it"


def warnings(name: str, groups: int) -> tuple[str, ...]:
    """What is left behind."""
    return (f"queue {name}: {_groups(groups)} it and can't be scheduled without it",) if groups else ()


def _groups(count: int) -> str:
    return "1 PodGroup is in" if count == 1 else f"{count} PodGroups are in"
