"""
How many more tasks of a kind nodes and domains could hold at most: an upper bound that saves hopeless trials.

Resources and what never changes with a placement count; everything else can only make it fewer.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from scheduler.state.dimensions import MIN_RESOURCE, Floats, Mask, Rows

if TYPE_CHECKING:
    from collections.abc import Mapping

    from scheduler.placing.template import Template
    from scheduler.state.hypernode_view import HyperNodeView


def slots(template: Template, rows: Rows | None = None, *, future: bool = False) -> Floats:
    """
    `(rows,)`, or `(nodes,)` without them: the number of tasks of a template that each node has room for.

    In what is idle, or with `future` in what is or will be, whichever is more.
    """
    columns = template.cluster.columns
    picked = slice(None) if rows is None else rows
    available = columns.allocatable[:, picked] - columns.used[:, picked]
    if future:
        available = np.maximum(available, available + columns.releasing[:, picked] - columns.pipelined[:, picked])
    room = np.full(available.shape[1], np.inf)
    for column, amount in template.request.needed(template.cluster.dimensions):
        np.minimum(room, np.ceil((available[column] + MIN_RESOURCE) / amount) - 1.0, out=room)
    return np.where(template.static.passes[picked], np.maximum(room, 0.0), 0.0)


def hopeful(view: HyperNodeView, demand: Mapping[Template, int], needed: int) -> Mask:
    """`(domains,)`: whether `needed` of the tasks in demand, none of which is placed yet, could find room there."""
    room = []
    for template, number in demand.items():
        template.refresh()
        room.append(np.minimum(view.total(slots(template, future=True)), number))
    enough: Mask = np.sum(room, axis=0) >= needed
    return enough
