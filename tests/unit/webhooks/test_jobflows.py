"""Flows must come to an end."""

from __future__ import annotations

import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from generated.flow.v1alpha1 import JOB_FLOWS
from tests.unit.webhooks.queues.worlds import Answer, Queues, read
from tests.unit.webhooks.reviews import answer, body, message
from webhooks.jobflows import JobFlowRules
from webhooks.options import Options


def flow(*steps: Any, phase: str = "") -> dict[str, Any]:
    """Steps are names, or a name with its targets."""
    flows = [
        {"name": step} if isinstance(step, str) else {"name": step[0], "dependsOn": {"targets": list(step[1:])}}
        for step in steps
    ]
    status = {"state": {"phase": phase}} if phase else {}
    return {"metadata": {"name": "f"}, "spec": {"flows": flows}, "status": status}


def told(new: Any, old: Any = None, *, fixed: bool = False) -> Answer:
    world = Queues(options=Options(fixes_started_flows=fixed))
    return read(answer(world.endpoint(JobFlowRules), body(JOB_FLOWS, new, old)))


@pytest.mark.parametrize(
    ("steps", "expected"),
    [
        ((), ""),
        (("a", "b"), ""),
        (("a", ("b", "a"), ("c", "a"), ("d", "b", "c")), ""),
        (("a", ("b", "a", "a")), ""),
        ((("b", "a"), "a"), ""),
        ((("a", "x", "y"), ("b", "z")), "jobflow Flow is not DAG: vertex is not defined: x"),
        ((("a", "a"), ("b", "z")), "jobflow Flow is not DAG: vertex is not defined: z"),
        ((("a", "a"),), "jobflow Flow is not DAG: a -> a"),
        ((("a", "b"), ("b", "c"), ("c", "b")), "jobflow Flow is not DAG: b -> c -> b"),
    ],
)
def test_a_flow_that_cannot_end_is_refused(steps: Any, expected: str) -> None:
    assert told(flow(*steps)).message == expected
    assert told(flow(*steps), flow("old")).message == expected


def test_two_steps_of_one_name_are_a_warning_and_the_later_counts() -> None:
    warning = "spec.flows: 2 flows are named a: only the last one counts"
    assert told(flow(("a", "b"), ("b", "a"), "a")) == ("", (warning,))
    assert told(flow("a", ("b", "a"), ("a", "b"))) == ("jobflow Flow is not DAG: a -> b -> a", (warning,))


def test_a_wide_and_deep_flow_is_judged_at_once() -> None:
    layers = [[f"s{layer}-{place}" for place in range(20)] for layer in range(50)]
    steps = [(name, *(layers[index - 1] if index else ())) for index, layer in enumerate(layers) for name in layer]
    began = time.process_time()
    assert told(flow(*steps)).message == ""
    assert time.process_time() - began < 5


def test_a_flow_that_started_goes_on_as_it_was() -> None:
    old, new = flow("a", phase="Running"), flow("a", "b", phase="Running")
    tail = "the flow has started and goes on as it was"
    assert told(new, old) == ("", (f"spec.flows: {tail}: the change has no effect",))
    assert told(new, old, fixed=True) == (f"spec.flows can't be changed any more: {tail}", ())
    assert told(flow("a", "b"), flow("a"), fixed=True) == ("", ()), "one that has not started may change"
    assert told(old, old, fixed=True) == ("", ())


def test_a_flow_that_is_wrong_can_still_lose_its_finalizers() -> None:
    wrong = flow(("a", "a"), phase="Running")
    assert told({**wrong, "metadata": {"name": "f", "labels": {"a": "b"}}}, wrong) == ("", ())
    leaving = {**flow(("b", "b")), "metadata": {"name": "f", "deletionTimestamp": "2026-01-01T00:00:00Z"}}
    assert told(leaving, wrong) == ("", ())


def test_a_deletion_is_refused_in_known_words() -> None:
    response = answer(Queues().endpoint(JobFlowRules), body(JOB_FLOWS, None, {}, operation="DELETE"))
    assert message(response) == "expect operation to be 'CREATE' or 'UPDATE'"


steps = st.sampled_from("abcde")


@given(needs=st.dictionaries(steps, st.lists(steps, max_size=3), max_size=5))
def test_a_flow_is_accepted_exactly_when_its_steps_can_run_one_after_the_other(needs: dict[str, list[str]]) -> None:
    waiting = {step: set(targets) for step, targets in needs.items()}
    done: set[str] = set()
    while free := [step for step, targets in waiting.items() if targets <= done]:
        done.update(free)
        for step in free:
            del waiting[step]
    accepted = told(flow(*((step, *targets) for step, targets in needs.items()))).message == ""
    assert accepted is (not waiting)
