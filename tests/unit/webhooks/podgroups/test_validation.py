"""Whether a queue takes a new group."""

from __future__ import annotations

from typing import Any

import pytest

from generated.scheduling.v1beta1 import POD_GROUPS
from runtime.errors import ConnectionFailed
from tests.unit.webhooks.queues.worlds import Answer, Queues, queue, read
from tests.unit.webhooks.reviews import answer, body, message
from webhooks.options import Options
from webhooks.podgroups.validation import PodGroupRules
from webhooks.readers import LookupFailed

TWICE = "must not specify 'highestTierAllowed' and 'highestTierName' in networkTopology simultaneously."
BOTH = {"highestTierAllowed": 0, "highestTierName": "rack"}


def told(spec: Any, *, leaf: bool = False, **objects: Any) -> Answer:
    queues = (
        queue("root"),
        queue("default", "root", state="Open"),
        queue("new", "root"),
        queue("closed", "root", state="Closed"),
        queue("parent", "root", state="Open"),
        queue("child", "parent", state="Open"),
    )
    world = Queues(*queues, options=Options(requires_leaf_queues=leaf), **objects)
    response = answer(world.endpoint(PodGroupRules), body(POD_GROUPS, {"metadata": {"name": "g"}, "spec": spec}))
    return read(response)


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ({}, ""),
        ({"queue": ""}, ""),
        ({"queue": "default"}, ""),
        ({"queue": "new"}, ""),
        ({"queue": "gone"}, 'unable to find queue: queue.scheduling.volcano.sh "gone" not found'),
        (
            {"queue": "closed"},
            "can only submit PodGroup to queue with state `Open`, queue `closed` status is `Closed`.",
        ),
        ({"networkTopology": BOTH}, TWICE),
        ({"networkTopology": {"highestTierAllowed": 0}}, ""),
        ({"networkTopology": {"highestTierName": "rack"}}, ""),
        ({"networkTopology": {"highestTierAllowed": 1, "highestTierName": ""}}, ""),
        (
            {
                "subGroupPolicy": [
                    {"name": "fine", "networkTopology": {"highestTierAllowed": 1}},
                    {"name": "a", "networkTopology": BOTH},
                    {"name": "b", "networkTopology": BOTH},
                ]
            },
            f"in subGroupPolicy 'a': {TWICE}",
        ),
        (
            {"queue": "gone", "networkTopology": BOTH, "subGroupPolicy": [{"name": "a", "networkTopology": BOTH}]},
            (
                'unable to find queue: queue.scheduling.volcano.sh "gone" not found; '
                f"{TWICE} in subGroupPolicy 'a': {TWICE}"
            ),
        ),
    ],
)
def test_each_mistake_has_its_words(spec: Any, expected: str) -> None:
    assert told(spec) == (expected, ())


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("root", "can not submit PodGroup to root queue"),
        ("parent", "can only submit PodGroup to leaf queue, queue `parent` has 1 child queues"),
    ],
)
def test_a_queue_that_is_no_leaf_is_a_warning_or_with_the_flag_a_mistake(name: str, text: str) -> None:
    assert told({"queue": name}) == ("", (text,))
    assert told({"queue": name}, leaf=True) == (text, ())
    assert told({"queue": "child"}, leaf=True) == ("", ())


def test_a_queue_that_was_made_a_moment_ago_is_asked_for() -> None:
    assert told({"queue": "late"}, late=queue("late", "root")) == ("", ())
    assert "is `Closing`" in told({"queue": "late"}, late=queue("late", state="Closing")).message


def test_without_an_answer_there_is_no_verdict() -> None:
    with pytest.raises(LookupFailed, match="Queue late is not in the cache"):
        told({"queue": "late"}, late=ConnectionFailed("refused"))


def test_an_update_is_refused_in_known_words() -> None:
    assert message(answer(Queues().endpoint(PodGroupRules), body(POD_GROUPS, {}, {}))) == "unsupported operation UPDATE"
