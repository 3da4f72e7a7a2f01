"""Whether jobs that wait may be passed over at all, and which."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scheduler.contract.points import Point
from scheduler.gates import asks_for_admission
from scheduler.state.status import Status

if TYPE_CHECKING:
    from scheduler.session import Session
    from scheduler.state.job import Job
    from scheduler.state.task import Task


def may_sleep(session: Session) -> bool:
    """
    Whether jobs may sleep at all.

    Not where a function must be asked for each single task, where a plugin may answer differently without a change,
    where each search for nodes begins where the last one ended, or while room is promised to some jobs and held back
    from others.
    """
    return (
        session.loose is None
        and not session.asks_each_task
        and session.memory.sampling is None
        and not len(session.nominations)
        and not restless(session)
    )


def keepers(session: Session) -> list[tuple[str, str]]:
    """The plugins that keep every job from sleeping, each with why, for those who ask what makes cycles long."""
    found = [(name, "its class does not say lets_jobs_sleep") for name in restless(session)]
    found += [(name, "it is asked before each pod") for name, _ in session.points.named(Point.PRE_PREDICATE)]
    if session.loose is not None:
        functions = {(each.plugin, each.name) for each in session.loose.filters}
        functions |= {(each.plugin, each.name) for each in session.loose.scores}
        found += [(plugin, f"{name} declares nothing of what it reads") for plugin, name in sorted(functions)]
        found += [(name, "it picks the node of each pod") for name, _ in session.points.named(Point.BEST_NODE)]
    return found


def restless(session: Session) -> list[str]:
    """The plugins because of which every waiting job is visited in every cycle: those whose class doesn't say otherwise."""
    return [plugin.name for plugin in session.plugins if not vars(type(plugin)).get("lets_jobs_sleep", False)]


def is_plain(session: Session, job: Job) -> bool:
    """Whether nothing but nodes without room keeps a job's pods back, and it holds nothing and keeps no plan."""
    counts = job.counts
    return (
        job.id in session.fit_errors
        and bool(job.pending)
        and job.id not in session.job_messages
        and job.grouping is None
        and not counts[Status.PIPELINED]
        and not counts[Status.ALLOCATED]
        and not job.pending_for_free
        and not job.claimed.any()
        and all(_is_plain_task(session, task) for task in job.pending.values())
    )


def _is_plain_task(session: Session, task: Task) -> bool:
    names_a_node = task.nominated or (task.pod is not None and task.pod.status.nominated_node_name)
    is_let_in = session.gates.is_on and asks_for_admission(task)
    return not (task.is_gated or is_let_in or task.shape.claims or names_a_node)
