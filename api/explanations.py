"""
An explanation of the scheduler as text (docs/explain.md), from its JSON: for whoever shows one.

Absent and odd fields are passed over, so that an answer of another version still reads.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

_AMOUNTS: Final = ("deserved", "realCapability", "capability", "guarantee", "allocated", "inqueue", "request")
_WORDS: Final = {
    "realCapability": "may hold",
    "capability": "limited to",
    "inqueue": "kept free",
    "request": "asked for",
}
_OTHERS: Final = "OtherScheduler"
_FEW: Final = 3


def is_explanation(value: Any) -> bool:
    """Whether this is an answer whose fields are known here."""
    return isinstance(value, dict) and isinstance(value.get("summary"), str) and isinstance(value.get("causes"), list)


def lines(answer: Mapping[str, Any]) -> Iterator[str]:
    """The answer for people."""
    yield f"Why: {_text(answer, 'summary')}"
    causes = [f"{_text(cause, 'kind')}: {_text(cause, 'text')}" for cause in _items(answer, "causes")]
    yield from _list("Causes", causes if len(causes) > 1 else [])
    for cause in _items(answer, "causes"):
        yield from (_taken(part) for part in _items(cause, "taken"))
    title = "What would let more of its pods start" if _has_started(answer) else "What would make it start"
    yield from _list(title, [str(need) for need in _list_of(answer, "needs")])
    yield _gang(answer)
    yield from _queue(answer)
    for waiting in _items(answer, "waiting"):
        yield from _waiting(waiting)
    yield from _competition(_map(answer, "competition"))
    yield from _list("Room kept by evictions", [_promise(each) for each in _items(answer, "promises")])
    yield from _topology(_map(answer, "topology"))
    yield from _times(_map(answer, "times"))


def _has_started(answer: Mapping[str, Any]) -> bool:
    """Whether the gang is whole, and what waits is beyond it."""
    gang = _map(answer, "gang")
    ready, needed = gang.get("ready"), gang.get("minMember")
    roles = ((role.get("ready"), role.get("needed")) for role in _items(gang, "roles"))
    return _is_reached(ready, needed) and bool(ready) and all(_is_reached(*role) for role in roles)


def _is_reached(ready: Any, needed: Any) -> bool:
    return isinstance(ready, int) and isinstance(needed, int) and ready >= needed


def _taken(taken: Mapping[str, Any]) -> str:
    """What is taken of a resource, by whom."""
    jobs = [f"{_text(job, 'name')} {_text(job, 'amount')}" for job in _items(taken, "jobs")]
    count = taken.get("keptJobs")
    more = [f"{count - len(jobs)} more"] if isinstance(count, int) and count > len(jobs) else []
    text = f"Taken of {_text(taken, 'resource')}: {_text(taken, 'used')} used, {_text(taken, 'kept')} kept"
    return f"{text} for jobs that were let in and have not started: {', '.join(jobs + more)}" if jobs else text


def _gang(answer: Mapping[str, Any]) -> str:
    gang = _map(answer, "gang")
    statuses = ", ".join(f"{count} {status}" for status, count in _map(gang, "statuses").items())
    are_others = any(cause.get("kind") == _OTHERS for cause in _items(answer, "causes"))
    none = "no pods for this scheduler" if are_others else "no pods"
    roles = [f"{_text(role, 'name')} {_text(role, 'ready')}/{_text(role, 'needed')}" for role in _items(gang, "roles")]
    return (
        f"Gang: {_text(gang, 'ready')} of {_text(gang, 'minMember')} needed pods have their place,"
        f" {_text(gang, 'missing')} missing ({statuses or none})"
        f"{'; by role: ' + ', '.join(roles) if roles else ''}"
    )


def _queue(answer: Mapping[str, Any]) -> Iterator[str]:
    for title, queue in (
        ("Queue", _map(answer, "queue")),
        *(("Above it", each) for each in _items(answer, "ancestors")),
    ):
        if queue.get("exists") is False:
            yield f"{title}: {_text(queue, 'name')} does not exist"
            continue
        share = queue.get("share")
        told = [f"weight {_text(queue, 'weight')}"]
        told += (
            [f"share {share:.3g}" + (f" by {_text(queue, 'plugin')}" if queue.get("plugin") else "")]
            if isinstance(share, int | float)
            else []
        )
        told += ["not open"] if queue.get("isOpen") is False else []
        told += ["holds all that it deserves"] if queue.get("isOverused") is True else []
        yield f"{title}: {_text(queue, 'name')}, {', '.join(told)}"
        for key in _AMOUNTS:
            if amounts := _map(queue, key):
                shown = ", ".join(f"{name} {amount}" for name, amount in amounts.items())
                yield f"  {_WORDS.get(key, key)}: {shown}"


def _waiting(waiting: Mapping[str, Any]) -> Iterator[str]:
    asked = ", ".join(f"{name} {amount}" for name, amount in _map(waiting, "requests").items())
    role = f" of role {_text(waiting, 'role')}" if waiting.get("role") else ""
    yield (
        f"Waiting: {_text(waiting, 'pods')} pods{role} such as {_text(waiting, 'example')}, asking for {asked or 'nothing'};"
        f" {_text(waiting, 'placeable')} find a node"
    )
    if message := _text(waiting, "message"):
        yield f"  told: {message}"
    if nearest := _text(_map(waiting, "nearest"), "text"):
        yield f"  nearest: {nearest}"
    nodes = _map(waiting, "nodes")
    if not nodes:
        return
    yield (
        f"  nodes: {_text(nodes, 'total')}, {_text(nodes, 'roomy')} with room, {_text(nodes, 'passing')} passing"
        f" every filter, {_text(nodes, 'fitting')} both"
    )
    for lack in _items(nodes, "insufficient"):
        yield f"    {_text(lack, 'nodes')} have too little {_text(lack, 'resource')} ({_text(lack, 'alone')} nothing else)"
    for found in _items(nodes, "filters"):
        reasons = "; ".join(_map(found, "reasons"))
        alone = _text(found, "alone")
        yield f"    {_text(found, 'refused')} refused by {_text(found, 'name')} ({alone} nothing else): {reasons}"


def _competition(competition: Mapping[str, Any]) -> Iterator[str]:
    if competition.get("position"):
        yield f"Turn: number {_text(competition, 'position')} of {_text(competition, 'waiting')} waiting jobs in its queue"
    for key, total, noun in (("jobs", "jobsBefore", "job"), ("queues", "queuesBefore", "queue")):
        named = _items(competition, key)
        for rival in named:
            yield f"  before it {noun} {_text(rival, 'name')}: {_text(rival, 'why')}"
        count = competition.get(total)
        if isinstance(count, int) and count > len(named):
            yield f"  and {count - len(named)} more {noun}s"


def _promise(promise: Mapping[str, Any]) -> str:
    victims = ", ".join(str(victim) for victim in _list_of(promise, "victims"))
    waits = f", once {victims} are gone" if victims else ""
    return f"{_text(promise, 'pod')} on node {_text(promise, 'node')} by {_text(promise, 'action')}{waits}"


def _topology(topology: Mapping[str, Any]) -> Iterator[str]:
    if not topology:
        return
    tier = topology.get("highestTier")
    limit = f"tier {tier} at most" if tier is not None else "no tier excluded"
    yield f"Topology: {_text(topology, 'mode') or 'by its sub-groups'}, {limit}, {_text(topology, 'domains')} hypernodes"
    for domain in _items(topology, "best"):
        lacks = [f"{_text(lack, 'missing')} {_text(lack, 'resource')}" for lack in _items(domain, "lacks")]
        room = f"lacks {', '.join(lacks)}" if lacks else "has room by its totals"
        yield f"  {_text(domain, 'name')} (tier {_text(domain, 'tier')}, {_text(domain, 'nodes')} nodes) {room}"
    for name, error in _map(topology, "errors").items():
        yield f"  {name}: {error}"


def _times(times: Mapping[str, Any]) -> Iterator[str]:
    cycle = times.get("cycleMilliseconds")
    if isinstance(cycle, int | float) and cycle:
        actions = [
            f"{_text(took, 'name')} {took['milliseconds']:.1f} ms"
            for took in _items(times, "actions")[:_FEW]
            if isinstance(took.get("milliseconds"), int | float)
        ]
        yield f"Last cycle: {cycle:.1f} ms ({', '.join(actions)})"
    if slowest := _text(times, "slowest"):
        yield f"Slowest: {slowest}"
    if undeclared := [str(name) for name in _list_of(times, "undeclared")]:
        yield f"Asked for every pod anew, as they declare nothing: {', '.join(undeclared)}"
    awake = [f"plugin {_text(each, 'plugin')}: {_text(each, 'why')}" for each in _items(times, "awake")]
    yield from _list("No job sleeps, so that each cycle visits all that wait, because of", awake)


# Reading.


def _list(title: str, entries: list[str]) -> Iterator[str]:
    if entries:
        yield f"{title}:"
        yield from (f"  - {entry}" for entry in entries)


def _map(value: Mapping[str, Any], key: str) -> dict[str, Any]:
    found = value.get(key)
    return found if isinstance(found, dict) else {}


def _list_of(value: Mapping[str, Any], key: str) -> list[Any]:
    found = value.get(key)
    return found if isinstance(found, list) else []


def _items(value: Mapping[str, Any], key: str) -> list[dict[str, Any]]:
    return [item for item in _list_of(value, key) if isinstance(item, dict)]


def _text(value: Mapping[str, Any], key: str) -> str:
    found = value.get(key)
    return "" if found is None else str(found)
