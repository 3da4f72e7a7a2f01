"""What a new queue gets."""

from __future__ import annotations

from typing import Any

import pytest

from generated.scheduling.v1beta1 import QUEUES
from tests.unit.webhooks.queues.worlds import Queues
from tests.unit.webhooks.reviews import answer, body, message, operations
from webhooks.queues.defaults import QueueDefaults

RECLAIMABLE = ("add", "/spec/reclaimable", True)
WEIGHT = ("add", "/spec/weight", 1)
FULL = {"reclaimable": False, "weight": 2}


def annotated(path: str, weights: str) -> dict[str, Any]:
    given = {"volcano.sh/hierarchy": path, "volcano.sh/hierarchy-weights": weights}
    return {"annotations": {key: value for key, value in given.items() if value}}


def rooted(path: str, weights: str) -> list[tuple[str, str, Any]]:
    return [
        ("add", "/metadata/annotations/volcano.sh~1hierarchy", path),
        ("add", "/metadata/annotations/volcano.sh~1hierarchy-weights", weights),
    ]


@pytest.mark.parametrize(
    ("metadata", "spec", "expected"),
    [
        ({}, {"weight": 3}, [RECLAIMABLE]),
        ({}, {"reclaimable": False}, [WEIGHT]),
        ({}, {"reclaimable": True, "weight": 0}, [WEIGHT]),
        ({}, {"reclaimable": None, "weight": None}, [RECLAIMABLE, WEIGHT]),
        ({}, FULL, []),
        (annotated("sci/dev", "2/3"), FULL, rooted("root/sci/dev", "1/2/3")),
        (annotated("root/sci", "1/2"), FULL, []),
        (annotated("root", "1"), FULL, []),
        (annotated("rootless/x", "2/3"), FULL, rooted("root/rootless/x", "1/2/3")),
        (annotated("sci", ""), FULL, []),
        (annotated("", "1"), FULL, []),
        (annotated("sci", "2"), {}, [*rooted("root/sci", "1/2"), RECLAIMABLE, WEIGHT]),
    ],
)
def test_only_what_is_missing_is_added(metadata: Any, spec: Any, expected: Any) -> None:
    response = answer(Queues().endpoint(QueueDefaults), body(QUEUES, {"metadata": metadata, "spec": spec}))
    assert operations(response) == expected


def test_a_queue_without_a_spec_gets_one() -> None:
    response = answer(Queues().endpoint(QueueDefaults), body(QUEUES, {"metadata": {"name": "q"}}))
    assert operations(response)[0] == ("add", "/spec", {})


def test_other_operations_and_kinds_are_refused_in_the_known_words() -> None:
    endpoint = Queues().endpoint(QueueDefaults)
    told = message(answer(endpoint, body(QUEUES, {}, {})))
    assert told == "invalid operation `UPDATE`, expect operation to be `CREATE`"
    resource = {"group": "", "version": "v1", "resource": "pods"}
    told = message(answer(endpoint, body(QUEUES, {}, resource=resource)))
    assert told == "expect resource to be {scheduling.volcano.sh v1beta1 queues}"
