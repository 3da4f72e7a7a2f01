"""The events of a job and of its PodGroup, newest last."""

from __future__ import annotations

from collections.abc import Iterator

from api import names
from cli import fields, times
from cli.context import Context
from cli.kinds import EVENTS, JOBS, POD_GROUPS, Kind, Object
from cli.requesting import list_objects
from runtime.errors import ApiError, ConnectionFailed

_TITLES = ("Type", "Reason", "Age", "Form", "Message")  # compat: CLI-2
_DASHES = "-------"


def event_lines(context: Context, job: Object) -> Iterator[str]:
    """The table of events, or `<none>`; a list that fails is told on stderr and counts as empty."""
    try:
        events = events_of(context, job)
    except (ApiError, ConnectionFailed) as error:
        context.hint(f"Failed to list events: {error}")
        events = []
    if not events:
        yield "Events: \t<none>"
        return
    yield "Events:"
    yield _line(*_TITLES)
    yield _line(*(_DASHES for _ in _TITLES))
    for event in events:
        yield _line(
            fields.text(event, "type"),
            fields.text(event, "reason"),
            _age(event, context.nanoseconds),
            _source(event),
            (fields.text(event, "message") or fields.text(event, "note")).strip(),
        )


def events_of(context: Context, job: Object) -> list[Object]:
    """All events of the job and its PodGroup in order of time. Raises ApiError, ConnectionFailed."""
    uid = fields.text(job, "metadata", "uid")
    events = _about(context, JOBS, job, uid)
    group = {"metadata": {**job["metadata"], "name": names.pod_group_name(fields.name(job), uid)}}
    events += _about(context, POD_GROUPS, group, "")
    return sorted(events, key=lambda event: times.order(_last(event)))


def _about(context: Context, kind: Kind, obj: Object, uid: str) -> list[Object]:
    terms = [f"involvedObject.kind={kind.kind}", f"involvedObject.name={fields.name(obj)}"]
    if uid:
        terms.append(f"involvedObject.uid={uid}")
    return list_objects(context, EVENTS, fields.namespace(obj), fields=",".join(terms))[0]


def _line(kind: str, reason: str, age: str, source: str, message: str) -> str:
    return f"{kind:<15}\t{reason:<40}\t{age:<30}\t{source:<40}\t{message}"


def _age(event: Object, now: int) -> str:
    count = fields.number(event, "series", "count") or fields.number(event, "count")
    first = times.age(_first(event), now, keep_zero_days=True)
    if count <= 1:
        return first
    return f"{times.age(_last(event), now, keep_zero_days=True)} (x{count} over {first})"


def _first(event: Object) -> str:
    return fields.text(event, "firstTimestamp") or fields.text(event, "eventTime")


def _last(event: Object) -> str:
    return fields.text(event, "series", "lastObservedTime") or fields.text(event, "lastTimestamp") or _first(event)


def _source(event: Object) -> str:
    component = fields.text(event, "source", "component") or fields.text(event, "reportingComponent")
    host = fields.text(event, "source", "host")
    return f"{component}, {host}" if host else component
