"""
Kubernetes' scores over arrays (plugins.md 18.2 and 18.5). Raw values; the session normalises and weighs them.

Whole-number divisions are done on whole numbers: amounts are exact below 2**53.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from scheduler.contract.view import View
from scheduler.kube import filters, selectors, tolerations
from scheduler.state.dimensions import CPU, MEMORY, Floats

if TYPE_CHECKING:
    from generated.core.v1 import PreferredSchedulingTerm
    from scheduler.state.node import Node
    from scheduler.state.task import Task

MAX_SCORE = 100
BALANCED_RESOURCES = ("cpu", "memory", "nvidia.com/gpu")
_MIB = 1024 * 1024
_MIN_IMAGE, _MAX_IMAGE = 23 * _MIB, 1000 * _MIB

Whole = NDArray[np.int64]


def least_allocated(task: Task, view: View) -> Floats:
    """100 where nothing is requested, 0 where all is; the mean over cpu and memory, with default requests."""
    return _mean_share(task, view, lambda alloc, want: np.where(want > alloc, 0, (alloc - want) * MAX_SCORE))


def most_allocated(task: Task, view: View) -> Floats:
    """100 where all is requested; the mean over cpu and memory, with default requests."""
    return _mean_share(task, view, lambda alloc, want: np.minimum(want, alloc) * MAX_SCORE)


def _mean_share(task: Task, view: View, share: Callable[[Whole, Whole], Whole]) -> Floats:
    total: Whole = np.zeros(len(view), dtype=np.int64)
    weights: Whole = np.zeros(len(view), dtype=np.int64)
    for row, column in enumerate((CPU, MEMORY)):
        alloc = view.allocatable[column].astype(np.int64)
        want = view.nonzero[row].astype(np.int64) + int(task.request.nonzero[row])
        offered = alloc > 0
        total += np.where(offered, share(alloc, want) // np.maximum(alloc, 1), 0)
        weights += offered
    return (total // np.maximum(weights, 1)).astype(np.float64)


def wants_balance(task: Task) -> bool:
    """Whether the pod asks for any of the balanced resources."""
    return any(task.request.amounts.get(name, 0.0) > 0.0 for name in BALANCED_RESOURCES)


def balanced_allocation(task: Task, view: View) -> Floats:
    """How much more even the shares of cpu, memory and gpus get by the pod: 50 is no change."""
    columns = [column for column in map(_balanced_column(task, view), BALANCED_RESOURCES) if column is not None]
    alloc = view.allocatable[columns]
    ask = task.request.row(view.cluster.dimensions)[columns][:, None]
    with_pod, without = (_evenness(view.requested[columns] + extra, alloc) for extra in (ask, 0.0))
    return 50.0 + np.trunc((50.0 + with_pod - without) / 2.0)


def _balanced_column(task: Task, view: View) -> Callable[[str], int | None]:
    def column(name: str) -> int | None:
        if name in {"cpu", "memory"} or task.request.amounts.get(name, 0.0) > 0.0:
            return view.cluster.dimensions.get(name)
        return None

    return column


def _evenness(requested: Floats, alloc: Floats) -> Floats:
    """100 where all offered resources are taken to the same share, less by the deviation between them."""
    offered = alloc > 0.0
    shares = np.where(offered, np.minimum(requested / np.where(offered, alloc, 1.0), 1.0), 0.0)
    number = offered.sum(axis=0)
    if len(shares) == 2:
        deviation = np.where(number == 2, np.abs(shares[0] - shares[1]) / 2.0, 0.0)
    else:
        mean = shares.sum(axis=0) / np.maximum(number, 1)
        spread = np.where(offered, (shares - mean) ** 2, 0.0).sum(axis=0) / np.maximum(number, 1)
        deviation = np.where(number >= 2, np.sqrt(spread), 0.0)
    evenness: Floats = np.trunc((1.0 - deviation) * MAX_SCORE)
    return evenness


def preferred_terms(task: Task) -> Sequence[PreferredSchedulingTerm]:
    """The node affinity terms that the pod would like, those of weight 0 left out."""
    affinity = task.shape.spec.affinity
    if affinity is None or affinity.node_affinity is None:
        return ()
    terms = affinity.node_affinity.preferred_during_scheduling_ignored_during_execution
    return tuple(term for term in terms if term.weight)


def has_preferences(task: Task) -> bool:
    """Whether any preferred term counts."""
    return bool(preferred_terms(task))


def node_affinity(task: Task, view: View) -> Floats:
    """Sum of the weights of the preferred terms that select the node."""
    total = np.zeros(len(view))
    for term in preferred_terms(task):
        total += term.weight * selectors.match_term(term.preference, view)
    return total


def taint_toleration(task: Task, view: View) -> Floats:
    """Number of PreferNoSchedule taints that the pod doesn't tolerate; the normaliser turns it round."""
    facet, lists = filters.taint_lists(view)
    borne = task.shape.spec.tolerations
    table = np.array([tolerations.count_untolerated_preferences(taints, borne) for taints in lists], dtype=np.float64)
    result: Floats = table[facet.numbers[view.rows]]
    return result


def image_locality(task: Task, view: View) -> Floats:
    """How much of the pod's images a node has, an image counting less the fewer nodes have it."""
    spec = task.shape.spec
    containers = (*spec.init_containers, *spec.containers)
    volumes = [volume.image.reference for volume in spec.volumes if volume.image is not None]
    wanted = [normalised_name(name) for name in (*(container.image for container in containers), *volumes)]
    facet = view.cluster.facet("images", _images)
    sizes = [dict(value) if isinstance(value, tuple) else {} for value in facet.values]
    having = np.bincount(facet.numbers, minlength=len(sizes))
    nodes = max(1, len(view.cluster.nodes))
    totals = np.zeros(len(sizes))
    for name in wanted:
        holders = sum(int(having[number]) for number, images in enumerate(sizes) if name in images)
        totals += [images.get(name, 0) * holders // nodes for images in sizes]
    ceiling = _MAX_IMAGE * max(1, len(containers))
    clamped = np.clip(totals, _MIN_IMAGE, ceiling).astype(np.int64)
    table = (MAX_SCORE * (clamped - _MIN_IMAGE) // (ceiling - _MIN_IMAGE)).astype(np.float64)
    result: Floats = table[facet.numbers[view.rows]]
    return result


def _images(node: Node) -> tuple[tuple[str, int], ...]:
    found = node.object.status.images if node.object is not None else ()
    return tuple(sorted((normalised_name(name), image.size_bytes) for image in found for name in image.names))


def normalised_name(image: str) -> str:
    """The image name with the tag `latest` where it has none."""
    return image if ":" in image.rsplit("/", 1)[-1] else f"{image}:latest"
