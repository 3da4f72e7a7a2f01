"""The explanation of one job, from a session that stands at the state between two cycles."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

import msgspec

from scheduler.explain import obstacles, wording
from scheduler.explain.ceilings import MINIMUM_ASKS, pods_beyond
from scheduler.explain.competing import competition
from scheduler.explain.nodes import Survey, request_words, room_wanted
from scheduler.explain.places import promises, topology, topology_wanted
from scheduler.explain.report import (
    Cause,
    CauseKind,
    Competition,
    Explanation,
    Gang,
    NearestNode,
    NodeCounts,
    RoleCount,
    Took,
    Waiting,
)
from scheduler.explain.standing import share_of, standings
from scheduler.explain.times import filters_asked, scores_asked, times
from scheduler.explain.trial import Trial, tried
from scheduler.reporting.outcome import newest_condition
from scheduler.state.status import Status

if TYPE_CHECKING:
    from scheduler.explain.obstacles import Obstacle
    from scheduler.explain.shared import Shared
    from scheduler.reporting.timings import Span
    from scheduler.session import Session
    from scheduler.state.job import Job
    from scheduler.state.task import Task

MOST = 10
"""So many kinds of waiting pods are told of one by one."""
_PARTIAL = frozenset(
    {
        CauseKind.NO_PLACE,
        CauseKind.QUOTA,
        CauseKind.GATED,
        CauseKind.DEPENDENCY,
        CauseKind.NO_PRIORITY_CLASS,
        CauseKind.OTHER_SCHEDULER,
    }
)
"""What may concern some pods of a job that starts nevertheless."""


def _no_time() -> float:
    return 0.0


class _Findings(msgspec.Struct):
    """What is found on the way, each cause with what would end it."""

    causes: list[Cause] = msgspec.field(default_factory=list)
    needs: list[str] = msgspec.field(default_factory=list)
    waiting: list[Waiting] = msgspec.field(default_factory=list)
    stopwatch: Callable[[], float] = _no_time
    asked: list[Took] = msgspec.field(default_factory=list)
    never: str = ""
    """Why the queue can't ever hold the pods that the job needs; empty where it can."""
    starts: bool = False
    placed: int = 0

    def add(self, found: Obstacle | None) -> None:
        if found is not None:
            self.causes.append(found[0])
            self.needs.append(found[1])

    def join(self, known: Sequence[Obstacle]) -> None:
        """Take in what the asker knows: before all else where it tells why pods are missing, else behind it."""
        causes, needs = [cause for cause, _ in known], [need for _, need in known]
        if any(cause.kind == CauseKind.NOT_ENOUGH_PODS for cause in self.causes):
            self.causes, self.needs = causes + self.causes, needs + self.needs
        else:
            self.causes, self.needs = self.causes + causes, self.needs + needs


def explain(
    shared: Shared,
    job: Job,
    spans: Iterable[Span] = (),
    stopwatch: Callable[[], float] = _no_time,
    known: Sequence[Obstacle] = (),
) -> Explanation:
    """
    Why a job waits. `spans` are those of the last cycle, `stopwatch` gives seconds.

    `known` are obstacles that the asker knows of and the scheduler can't, such as pods that aren't made yet.
    """
    session = shared.session
    findings = _Findings(stopwatch=stopwatch)
    unknown = obstacles.unknown(session, job)
    findings.add(unknown)
    takes_part = unknown is None
    is_waiting = bool(job.pending) or (takes_part and not job.tasks)
    has_others = any(cause.kind == CauseKind.OTHER_SCHEDULER for cause, _ in known)
    rivals = competition(shared, job) if takes_part else Competition()
    if takes_part and is_waiting:
        for cause, need in obstacles.before_nodes(shared, job):
            # Who lacks pods because they ask for another scheduler needs no more of them.
            is_known = cause.kind == CauseKind.NOT_ENOUGH_PODS and has_others
            findings.add((cause, "" if is_known else need))
        told = (need for need in findings.needs if need.startswith(MINIMUM_ASKS))
        findings.never = next(told, "") or pods_beyond(shared, job)
        _try(session, job, findings)
    findings.join(known)
    blocking = [cause for cause in findings.causes if cause.kind not in _PARTIAL]
    queue, ancestors = standings(shared, job)
    can_start = takes_part and findings.starts and not blocking
    return Explanation(
        namespace=job.namespace,
        name=job.name,
        summary=_summary(job, findings, is_waiting=is_waiting, can_start=can_start),
        phase=_phase(session, job),
        is_waiting=is_waiting,
        can_start=can_start,
        causes=findings.causes,
        needs=list(filter(None, dict.fromkeys(findings.needs))),
        gang=_gang(job),
        queue=queue,
        ancestors=ancestors,
        waiting=findings.waiting,
        competition=rivals,
        promises=promises(session, job),
        topology=topology(session, job) if takes_part else None,
        priority=job.priority,
        share=share_of(session, job) if takes_part else None,
        condition=_condition(job),
        times=times(session, spans, findings.asked),
    )


# The trial.


def _try(session: Session, job: Job, findings: _Findings) -> None:
    kinds = _kinds(session, job)
    with tried(session, job) as trial:
        findings.starts = trial.is_whole and bool(trial.placed)
        findings.placed = len(trial.placed)
        if trial.message:
            cause = Cause(kind=CauseKind.TOPOLOGY, text=trial.message)
            findings.add((cause, topology_wanted(session, job)))
        if not trial.is_whole:
            findings.add(obstacles.gates(job))
            if trial.is_promised:
                findings.add(_releasing(job))
        for tasks in kinds[:MOST]:
            _look(session, job, tasks, trial, findings)


def _kinds(session: Session, job: Job) -> list[list[Task]]:
    """The pending tasks by role and template, in task order."""
    found: dict[tuple[str, int, bool], list[Task]] = {}
    tasks = session.sorted_tasks(list(job.pending.values()))
    for task in tasks:
        session.template(task)  # its terms may mean pods that come before it, and make these another kind
    for task in tasks:
        found.setdefault((task.role, id(session.template(task)), task.is_gated), []).append(task)
    return list(found.values())


def _look(session: Session, job: Job, tasks: Sequence[Task], trial: Trial, findings: _Findings) -> None:
    """Tell of one kind of pods."""
    rest = [task for task in tasks if task.uid not in trial.placed and not task.is_gated]
    first = rest[0] if rest else tasks[0]
    survey = Survey(session, first, findings.stopwatch)
    nearest, counts = survey.nearest(), survey.counts()
    error = trial.errors.get(first.uid)
    message = str(error) if error is not None else ""
    refused = (
        obstacles.quota(session, session.queue_of(job), first, findings.never)
        if rest and not first.is_best_effort
        else None
    )
    if rest and (nearest is not None or (refused is None and error is not None)):
        why = nearest.text if nearest is not None else message
        text = f"{wording.count(len(rest), 'pod')} {_of(first)}{'finds' if len(rest) == 1 else 'find'} no node: {why}"
        findings.add(
            (Cause(kind=CauseKind.NO_PLACE, text=text), _room(rest, nearest, survey.held_at_most(), len(tasks)))
        )
        findings.needs += _but_for(counts)
    findings.add(refused)
    findings.asked += [*filters_asked(survey), *scores_asked(session, first, findings.stopwatch)]
    findings.waiting.append(
        Waiting(
            role=first.role,
            pods=len(tasks),
            gated=sum(task.is_gated for task in tasks),
            placeable=sum(task.uid in trial.placed for task in tasks),
            example=first.key,
            requests=wording.amounts(
                {name: amount for name, amount in first.request.amounts.items() if name != "pods"}
            ),
            message=message,
            nodes=counts,
            nearest=nearest,
        )
    )


def _of(task: Task) -> str:
    return f"of role {task.role} " if task.role else ""


def _room(rest: Sequence[Task], nearest: NearestNode | None, most: int, pods: int) -> str:
    """What would make room for the rest of some pods, given how many the nodes could hold if nothing else ran."""
    each = "" if len(rest) == 1 else " each"
    text = f"room for {wording.count(len(rest), 'more pod')} asking for {request_words(rest[0])}{each}"
    if nearest is None:
        return text
    if nearest.is_too_small:
        return f"a larger node, or pods that ask for less: each {nearest.text}"
    if nearest.refusals or most >= pods:
        is_part = len(rest) > 1 and not nearest.refusals
        return f"{text}: {room_wanted(nearest)}{' for one of them' if is_part else ''}"
    return f"{text}: all nodes together hold {wording.count(most, 'such pod')} at most, even when empty: add nodes"


def _but_for(counts: NodeCounts) -> list[str]:
    """The nodes that only one filter keeps from taking the pod."""
    return [
        f"or {wording.count(found.alone, 'node')} with room that only {found.name} refuses: {'; '.join(found.reasons)}"
        for found in counts.filters
        if found.alone
    ]


def _releasing(job: Job) -> Obstacle:
    """The trial found room only where pods are leaving."""
    held = {task.node.name: task.node for task in job.tasks.values() if task.status is Status.PIPELINED and task.node}
    leaving = sorted(
        task.key for node in held.values() for task in node.tasks.values() if task.status is Status.RELEASING
    )
    names = ", ".join(leaving[:MOST]) + (", ..." if len(leaving) > MOST else "")
    text = f"its room on {', '.join(sorted(held)[:MOST])} is being released by {names or 'pods that are leaving'}"
    return Cause(kind=CauseKind.RELEASING, text=text), f"these pods to be gone: {names or 'those that are leaving'}"


# The job itself.


def _phase(session: Session, job: Job) -> str:
    """The phase that the API server shows; where it has none yet, what this scheduler makes of the job."""
    written = job.pod_group.status.phase if job.pod_group is not None else ""
    return written or session.phase(job)


def _gang(job: Job) -> Gang:
    ready = job.ready_count + job.pending_for_free
    return Gang(
        min_member=job.min_available,
        pods=len(job.tasks),
        ready=job.ready_count,
        missing=max(0, job.min_available - ready),
        statuses={status.label: count for status, count in zip(Status, job.counts, strict=True) if count},
        roles=[
            RoleCount(name=role, needed=needed, ready=job.role_ready_count(role))
            for role, needed in sorted(job.role_minimum.items())
        ],
    )


def _summary(job: Job, findings: _Findings, *, is_waiting: bool, can_start: bool) -> str:
    if not is_waiting:
        return findings.causes[0].text if findings.causes else "none of its pods waits for a place"
    pods = wording.count(len(job.pending), "waiting pod")
    if can_start:
        text = f"nothing keeps it from starting: {findings.placed} of {pods} find a node"
        return f"{text}; but {findings.causes[0].text}" if findings.causes else text
    if findings.causes:
        return findings.causes[0].text
    return "none of its pods exists yet" if not job.tasks else f"{pods}, and none was tried"


def _condition(job: Job) -> str:
    """The condition that was written last."""
    last = newest_condition(job.pod_group.status.conditions) if job.pod_group is not None else None
    return ": ".join(filter(None, (last.type, last.reason, last.message))) if last is not None else ""
