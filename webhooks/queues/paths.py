"""
The annotations that place a queue for hierarchical fairness: a path, and a weight for each of its parts.

Only leaves of that tree have jobs, so no path may lead through another (webhooks.md 6.2, step 5).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from api import names
from generated.scheduling.v1beta1 import Queue
from runtime.flagtypes import parse_float
from webhooks.causes import Causes
from webhooks.queues.amounts import BODY

FIELD: Final = f"{BODY}.metadata.annotations"
SAME_LENGTH: Final = f"{names.HIERARCHY_ANNOTATION} must have the same length with {names.HIERARCHY_WEIGHTS_ANNOTATION}"
EMPTY_PART: Final = f"{names.HIERARCHY_ANNOTATION} must not have empty parts"


def annotated(queue: Queue) -> tuple[str, str]:
    """Path and weights, empty where there are none."""
    return _path(queue.metadata.annotations), queue.metadata.annotations.get(names.HIERARCHY_WEIGHTS_ANNOTATION, "")


def check(causes: Causes, queue: Queue, others: Iterable[Queue]) -> None:
    """The first thing that is wrong with the annotations, if there are any."""
    path, weights = annotated(queue)
    if not path and not weights:
        return
    wrong = next(_problems(queue.metadata.name, path, weights, others), None)
    if wrong is not None:
        causes.invalid(FIELD, *wrong)


def _problems(own: str, path: str, weights: str, others: Iterable[Queue]) -> Iterator[tuple[str, str]]:
    """Value and detail of each."""
    parts = path.split("/")
    if len(parts) != len(weights.split("/")):
        yield path, SAME_LENGTH
    for weight in weights.split("/"):
        if problem := _weight_problem(weight):
            yield weights, f"{weight} in the {weights} {problem}"
    if path and not all(parts):
        yield path, EMPTY_PART
    for other in sorted(others, key=lambda queue: queue.metadata.name):
        beside = _path(other.metadata.annotations)
        if other.metadata.name != own and beside and _leads_through(path, beside):
            detail = f"{path} is not allowed to be in the sub path of {beside} of queue {other.metadata.name}"
            yield path, detail


def _weight_problem(text: str) -> str:
    try:
        weight = parse_float(text)
    except ValueError as error:
        return f"is invalid number: {error}"
    if not math.isfinite(weight):
        return "must be a finite number"
    return "" if weight > 0 else "must be larger than 0"


def _leads_through(path: str, other: str) -> bool:
    """Whether one is above the other; below the root itself is everything."""
    return other.startswith(f"{path}/") or (other != names.ROOT_QUEUE and path.startswith(f"{other}/"))


def _path(annotations: Mapping[str, str]) -> str:
    return annotations.get(names.HIERARCHY_ANNOTATION, "")
