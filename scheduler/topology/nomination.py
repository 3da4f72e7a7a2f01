"""
Redeeming a nomination: the hypernode that evictions cleared for a sub-job, with a node named for each pod.

All tasks find room together on their named nodes, or the nomination is void and the regular search follows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from scheduler.placing.placement import choose

if TYPE_CHECKING:
    from scheduler.session import Session
    from scheduler.state.queue import Queue
    from scheduler.state.subjob import SubJob
    from scheduler.state.task import Task
    from scheduler.statement import Statement
    from scheduler.topology.domain import Domain
    from scheduler.topology.worksheet import Worksheet


def redeem(session: Session, queue: Queue, sheet: Worksheet, sub_job: SubJob) -> Statement | None:
    """
    Place all tasks of a worksheet on the nodes named for them; the plan, or None.

    On success the worksheet is empty and the sub-job's hypernode widened by the nominated one; the caller clears the
    nomination when it commits. A miss clears it, and the names of the nodes, in memory.
    """
    name = sub_job.nominated
    view = session.topology.view
    statement = session.statement()
    tasks = sheet.rest()
    if name in view and all(
        task.is_gated or _place(session, queue, task, session.topology.domain(name), statement) for task in tasks
    ):
        sheet.skip(len(tasks))
        sub_job.allocated = view.common(sub_job.allocated, name)
        return statement
    statement.discard()
    sub_job.nominated = ""
    for task in tasks:
        task.nominated = ""
    return None


def _place(session: Session, queue: Queue, task: Task, domain: Domain, statement: Statement) -> bool:
    node = session.cluster.node_by_name.get(task.nominated)
    if node is None or node.row < 0 or not np.isin(node.row, domain.rows):
        return False
    if not session.allocatable(queue, task) or session.pre_predicate(task) is not None:
        return False
    alone = np.zeros(len(session.nodes), dtype=np.bool_)
    alone[node.row] = True
    choice = choose(session.template(task), (task,), alone, session.loose)
    return bool(choice.rows) and statement.place((task,), (node,), choice.status) is None
