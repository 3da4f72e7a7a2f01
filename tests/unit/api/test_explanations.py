"""Explanations of the scheduler as text."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from api.explanations import is_explanation, lines
from scheduler.explain import report


def answer(**rest: Any) -> dict[str, Any]:
    """An answer as the scheduler's own types have it, so that a field that is renamed there shows here."""
    given: dict[str, Any] = {
        "namespace": "ns",
        "name": "a",
        "summary": "1 pod finds no node",
        "phase": "Inqueue",
        "is_waiting": True,
        "can_start": False,
        "causes": [],
        "needs": [],
        "gang": report.Gang(min_member=2, pods=3, ready=1, missing=1, statuses={"Pending": 2, "Running": 1}, roles=[]),
        "queue": report.QueueStanding(name="q"),
        "ancestors": [],
        "waiting": [],
        "competition": report.Competition(),
        "promises": [],
        "topology": None,
        "priority": 0,
        "share": None,
        "condition": "",
        "times": report.Times(),
    }
    found: dict[str, Any] = msgspec.to_builtins(report.Explanation(**given | rest))
    return found


HEAD = ["Why: 1 pod finds no node"]
GANG = "Gang: 1 of 2 needed pods have their place, 1 missing (2 Pending, 1 Running)"
NODES = report.NodeCounts(
    total=4,
    roomy=1,
    passing=2,
    fitting=0,
    insufficient=[report.InsufficientCount(resource="cpu", nodes=3, alone=2)],
    filters=[
        report.FilterCount(
            name="Taints", plugin="p", refused=2, alone=1, reasons={"no": 1, "never": 1}, milliseconds=0.1
        )
    ],
)
WAITING = report.Waiting(
    role="w",
    pods=2,
    gated=0,
    placeable=1,
    example="ns/a-w-1",
    requests={"cpu": "2"},
    message="0/4 nodes are unavailable",
    nodes=NODES,
    nearest=report.NearestNode(node="n", text="needs 2 cpu, the best node n has 1 free"),
)
LACK = report.Shortage(resource="cpu", needs="4", free="1", missing="3")


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({}, [*HEAD, GANG, "Queue: q, weight 1"]),
        (
            {"causes": [report.Cause(kind="A", text="b"), report.Cause(kind="C", text="d")], "needs": ["x", "y"]},
            [
                *HEAD,
                "Causes:",
                "  - A: b",
                "  - C: d",
                "What would make it start:",
                "  - x",
                "  - y",
                GANG,
                "Queue: q, weight 1",
            ],
        ),
        (
            {"causes": [report.Cause(kind="A", text="b")]},
            [*HEAD, GANG, "Queue: q, weight 1"],
        ),
        (
            {
                "queue": report.QueueStanding(
                    name="q", share=0.25, plugin="drf", is_open=False, is_overused=True, deserved={"cpu": "2"},
                    capability={"cpu": "8"}, inqueue={"cpu": "1", "memory": "1Gi"},
                ),
                "ancestors": [report.QueueStanding(name="root"), report.QueueStanding(name="x", exists=False)],
            },
            [
                *HEAD,
                GANG,
                "Queue: q, weight 1, share 0.25 by drf, not open, holds all that it deserves",
                "  deserved: cpu 2",
                "  limited to: cpu 8",
                "  kept free: cpu 1, memory 1Gi",
                "Above it: root, weight 1",
                "Above it: x does not exist",
            ],
        ),
        (
            {"waiting": [WAITING]},
            [
                *HEAD,
                GANG,
                "Queue: q, weight 1",
                "Waiting: 2 pods of role w such as ns/a-w-1, asking for cpu 2; 1 find a node",
                "  told: 0/4 nodes are unavailable",
                "  nearest: needs 2 cpu, the best node n has 1 free",
                "  nodes: 4, 1 with room, 2 passing every filter, 0 both",
                "    3 have too little cpu (2 nothing else)",
                "    2 refused by Taints (1 nothing else): no; never",
            ],
        ),
        (
            {
                "competition": report.Competition(
                    position=3, waiting=5, jobs_before=2, queues_before=1,
                    jobs=[report.Competitor(name="ns/b", why="it is older")],
                    queues=[report.Competitor(name="vip", why="priority 3 against 0")],
                ),
                "promises": [
                    report.Promise(pod="ns/p", node="n", action="preempt", victims=["ns/v"]),
                    report.Promise(pod="ns/r", node="n", action="reclaim", victims=[]),
                ],
            },
            [
                *HEAD,
                GANG,
                "Queue: q, weight 1",
                "Turn: number 3 of 5 waiting jobs in its queue",
                "  before it job ns/b: it is older",
                "  and 1 more jobs",
                "  before it queue vip: priority 3 against 0",
                "Room kept by evictions:",
                "  - ns/p on node n by preempt, once ns/v are gone",
                "  - ns/r on node n by reclaim",
            ],
        ),
        (
            {
                "topology": report.TopologyStanding(
                    mode="hard", highest_tier=1, domains=2, errors={"s2": "claimed twice"},
                    best=[
                        report.DomainRoom(name="s0", tier=1, nodes=2, lacks=[LACK]),
                        report.DomainRoom(name="s1", tier=1, nodes=1, lacks=[]),
                    ],
                ),
                "times": report.Times(
                    cycle_milliseconds=12.34, slowest="plugin x: y took 9.0 ms",
                    actions=[report.Took(name="allocate", plugin="", milliseconds=9.0)], undeclared=["x/y"],
                    awake=[report.Awake(plugin="x", why="its class does not say lets_jobs_sleep")],
                ),
            },
            [
                *HEAD,
                GANG,
                "Queue: q, weight 1",
                "Topology: hard, tier 1 at most, 2 hypernodes",
                "  s0 (tier 1, 2 nodes) lacks 3 cpu",
                "  s1 (tier 1, 1 nodes) has room by its totals",
                "  s2: claimed twice",
                "Last cycle: 12.3 ms (allocate 9.0 ms)",
                "Slowest: plugin x: y took 9.0 ms",
                "Asked for every pod anew, as they declare nothing: x/y",
                "No job sleeps, so that each cycle visits all that wait, because of:",
                "  - plugin x: its class does not say lets_jobs_sleep",
            ],
        ),
    ],
)  # fmt: skip
def test_each_part_has_its_lines(given: dict[str, Any], told: list[str]) -> None:
    found = answer(**given)
    assert is_explanation(found)
    assert list(lines(found)) == told


@pytest.mark.parametrize(
    ("least", "ready", "role", "title"),
    [
        (2, 1, 0, "What would make it start:"),
        (2, 2, 0, "What would let more of its pods start:"),
        (2, 2, 3, "What would make it start:"),
        (0, 0, 0, "What would make it start:"),
    ],
    ids=["it waits", "it runs", "a role lacks pods", "it needs none and has none"],
)
def test_what_helps_a_job_that_has_started_is_for_more_of_its_pods(
    least: int, ready: int, role: int, title: str
) -> None:
    roles = [report.RoleCount(name="w", needed=role, ready=ready)]
    gang = report.Gang(min_member=least, pods=3, ready=ready, missing=0, statuses={}, roles=roles)
    assert list(lines(answer(gang=gang, needs=["x"])))[1] == title


def test_pods_for_others_are_not_said_to_be_none() -> None:
    gang = report.Gang(min_member=2, pods=0, ready=0, missing=2, statuses={}, roles=[])
    found = answer(gang=gang, causes=[report.Cause(kind=report.CauseKind.OTHER_SCHEDULER, text="a")])
    assert list(lines(found))[1] == (
        "Gang: 0 of 2 needed pods have their place, 2 missing (no pods for this scheduler)"
    )


@pytest.mark.parametrize("value", [None, [], "text", {}, {"summary": 1, "causes": []}, {"summary": "x"}])
def test_what_is_something_else_is_no_explanation(value: Any) -> None:
    assert not is_explanation(value)


@pytest.mark.parametrize("part", ["gang", "queue", "waiting", "competition", "promises", "topology", "times", "needs"])
@pytest.mark.parametrize("odd", [None, "text", 7, ["x"], {"jobs": "x", "actions": [{"milliseconds": "x"}]}])
def test_odd_parts_are_passed_over(part: str, odd: Any) -> None:
    told = list(lines(answer() | {part: odd}))
    assert told[0] == HEAD[0]
