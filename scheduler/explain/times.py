"""
Which plugin made it slow: the last cycle by part, each filter and score as it was asked for this answer, and who keeps
jobs from sleeping.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from scheduler.contract.view import View
from scheduler.explain.nodes import MILLISECONDS
from scheduler.explain.report import Awake, Times, Took
from scheduler.placing.sleeping import keepers

if TYPE_CHECKING:
    from scheduler.explain.nodes import Survey
    from scheduler.reporting.timings import Span
    from scheduler.session import Session
    from scheduler.state.task import Task

MOST = 10


def scores_asked(session: Session, task: Task, stopwatch: Callable[[], float]) -> list[Took]:
    """How long each rating of all nodes takes for one pod."""
    template = session.template(task)
    loose = session.loose.scores if session.loose is not None else ()
    view = View.all(session.cluster)
    took = []
    for score in (*template.scores, *(s for s in loose if s.applies is None or s.applies(task))):
        begun = stopwatch()
        score.evaluate(task, view)
        took.append(_took(score.name, score.plugin, stopwatch() - begun))
    return took


def filters_asked(survey: Survey) -> list[Took]:
    """How long each filter took over all nodes for one pod."""
    return [
        _took(function.name, function.plugin, seconds)
        for function, seconds in zip(survey.filters, survey.seconds, strict=True)
    ]


def times(session: Session, spans: Iterable[Span], asked: list[Took]) -> Times:
    """Everything, the slowest first. `spans` are those of the last cycle."""
    held = list(spans)
    cycle = sum(span.seconds for span in held if span.kind == "cycle") * MILLISECONDS
    actions = _sorted(_took(span.name, "", span.seconds) for span in held if span.kind == "action")
    plugins = _sorted(_took(span.part, span.name, span.seconds) for span in held if span.kind == "plugin")
    slowest = next(iter(_sorted([*plugins, *asked])), None)
    return Times(
        cycle_milliseconds=round(cycle, 3),
        slowest=_told(slowest) if slowest is not None and slowest.milliseconds > 0.0 else "",
        actions=actions,
        plugins=plugins[:MOST],
        asked=_sorted(asked)[:MOST],
        undeclared=undeclared(session),
        awake=[Awake(plugin=plugin, why=why) for plugin, why in keepers(session)],
    )


def undeclared(session: Session) -> list[str]:
    """The functions that declare nothing, as `plugin/name`."""
    if session.loose is None:
        return []
    names = [f"{function.plugin}/{function.name}" for function in session.loose.filters]
    names += [f"{score.plugin}/{score.name}" for score in session.loose.scores]
    return sorted(set(names))


def _told(took: Took) -> str:
    return f"plugin {took.plugin}: {took.name} took {took.milliseconds:.1f} ms"


def _took(name: str, plugin: str, seconds: float) -> Took:
    return Took(name=name, plugin=plugin, milliseconds=round(max(0.0, seconds) * MILLISECONDS, 3))


def _sorted(took: Iterable[Took]) -> list[Took]:
    return sorted(took, key=lambda each: (-each.milliseconds, each.plugin, each.name))
