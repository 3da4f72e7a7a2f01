"""The part of the contract with plugins that is about sub-jobs, hypernodes and other clusters."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from scheduler.contract.contexts import Purpose
from scheduler.contract.points import Point
from scheduler.contract.registering import Compare, Key, Registering

REJECT = -1

if TYPE_CHECKING:
    from scheduler.state.job import Job
    from scheduler.state.node import Node
    from scheduler.state.subjob import SubJob

Gradients = Sequence[Sequence[Any]]
"""Hypernodes in groups; a later group is tried only when an earlier one gave nothing."""


class DomainRegistration(Registering):
    """Mixed into `Registration`."""

    def add_sub_job_ready(self, plugin: str, function: Callable[[SubJob], bool]) -> None:
        """Whether a sub-job is whole. A job without sub-group policies is asked by `job_ready` instead."""
        self._add(Point.SUB_JOB_READY, plugin, function, False)

    def add_sub_job_pipelined(self, plugin: str, function: Callable[[SubJob], int]) -> None:
        """Vote on whether a sub-job would be whole once releasing resources are free."""
        self._add(Point.SUB_JOB_PIPELINED, plugin, function, REJECT)

    def add_sub_job_order(self, plugin: str, compare: Compare | None = None, *, key: Key | None = None) -> None:
        """Which of two sub-jobs of a job first."""
        self._add_order(Point.SUB_JOB_ORDER, plugin, compare, key)

    def add_hyper_node_order(
        self,
        plugin: str,
        function: Callable[[Any, Mapping[str, Sequence[Node]]], Mapping[str, float]],
        *,
        alone: Callable[[Any], bool] | None = None,
    ) -> None:
        """
        The ratings of hypernodes for a sub-job, by name: `function(sub_job, {hypernode: its nodes})`.

        `alone(sub_job)` says that the rating of each is the same whatever the other candidates are: the best rated is
        then tried first, and the others only when it takes nothing.
        """
        self._add(Point.HYPER_NODE_ORDER, plugin, function, {})
        self._add(Point.HYPER_NODE_ORDER_ALONE, plugin, alone if alone is not None else _never, False)

    def add_hyper_node_gradient_for_job(self, plugin: str, function: Callable[[Job, Any, Purpose], Gradients]) -> None:
        """Where a job may go below a hypernode. The first plugin that registers decides alone."""
        self._add(Point.HYPER_NODE_GRADIENT_FOR_JOB, plugin, function, ())

    def add_hyper_node_gradient_for_sub_job(
        self, plugin: str, function: Callable[[SubJob, Any, Purpose], Gradients]
    ) -> None:
        """Where a sub-job may go below a hypernode. The first plugin that registers decides alone."""
        self._add(Point.HYPER_NODE_GRADIENT_FOR_SUB_JOB, plugin, function, ())

    def add_cluster_order(self, plugin: str, compare: Compare | None = None, *, key: Key | None = None) -> None:
        """Which of two clusters, known by their names, first. Off unless `enabledClusterOrder` says true."""
        self._add_order(Point.CLUSTER_ORDER, plugin, compare, key)

    def add_target_job(self, plugin: str, function: Callable[[Sequence[Job]], Job | None]) -> None:
        """Pick the job that nodes are kept for. The first plugin that registers decides alone."""
        self._add(Point.TARGET_JOB, plugin, function, None)

    def add_reserved_nodes(self, plugin: str, function: Callable[[], None]) -> None:
        """Keep nodes for the target job."""
        self._add(Point.RESERVED_NODES, plugin, function, None)


def _never(_: object) -> bool:
    return False
