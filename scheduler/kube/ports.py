"""NodePorts: a port of a node goes to one pod (plugins.md 18.2)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from scheduler.contract.effects import Code, Refusal, Verdicts
from scheduler.contract.view import View
from scheduler.placing.tracks import FilterTrack

if TYPE_CHECKING:
    from scheduler.state.cluster import Cluster
    from scheduler.state.task import Task

TAKEN = Refusal(Code.UNSCHEDULABLE, "node(s) didn't have free ports for the requested pod ports")


def wants_ports(task: Task) -> bool:
    """Whether the pod takes ports of its node."""
    return bool(task.shape.ports)


def free_ports(task: Task, view: View) -> Verdicts:
    """Nodes where no pod has one of the ports, on the same address or on all."""
    nodes = len(view.cluster.nodes)
    taken: Verdicts = np.zeros(nodes, dtype=np.int32)
    for port in task.shape.ports:
        for tally in view.cluster.sight.ports(port):
            taken[tally.columns(nodes) > 0.0] = 1
    result: Verdicts = taken[view.rows]
    return result


def track_ports(task: Task, cluster: Cluster) -> FilterTrack:
    """A pod is in its own way: a node takes one of a kind."""
    base = free_ports(task, View.all(cluster)) == 0
    return FilterTrack(base=base, limits=np.ones(len(base)))
