"""The queue that a namespace gives its groups."""

from __future__ import annotations

from typing import Any

import pytest

from generated.core.v1 import Namespace
from generated.meta.v1 import ObjectMeta
from generated.scheduling.v1beta1 import POD_GROUPS
from runtime.errors import ConnectionFailed
from tests.unit.webhooks.queues.worlds import Queues, read
from tests.unit.webhooks.reviews import answer, body, message, operations
from webhooks.podgroups.defaults import PodGroupDefaults


def namespace(name: str, **annotations: str) -> Namespace:
    given = {key.replace("_", "-"): value for key, value in annotations.items()}
    return Namespace(metadata=ObjectMeta(name=name, annotations=given))


def marked(name: str, queue: str) -> Namespace:
    return Namespace(metadata=ObjectMeta(name=name, annotations={"scheduling.volcano.sh/queue-name": queue}))


def review(spec: Any, **metadata: Any) -> bytes:
    return body(POD_GROUPS, {"metadata": {"name": "g", **metadata}, "spec": spec})


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ({"queue": "default"}, [("add", "/spec/queue", "research")]),
        ({"queue": "other"}, []),
        ({"queue": ""}, []),
        ({}, []),
    ],
)
def test_only_the_default_queue_is_replaced(spec: Any, expected: Any) -> None:
    world = Queues()
    world.namespaces.put(marked("n", "research"))
    assert operations(answer(world.endpoint(PodGroupDefaults), review(spec))) == expected
    assert world.server.asked == []


def test_the_object_says_which_namespace_before_the_request_does() -> None:
    world = Queues()
    world.namespaces.put(marked("n", "research"))
    world.namespaces.put(marked("m", "sales"))
    response = answer(world.endpoint(PodGroupDefaults), review({"queue": "default"}, namespace="m"))
    assert operations(response) == [("add", "/spec/queue", "sales")]


@pytest.mark.parametrize("found", [marked("n", ""), namespace("n")])
def test_a_namespace_that_names_no_queue_changes_nothing(found: Namespace) -> None:
    world = Queues()
    world.namespaces.put(found)
    assert operations(answer(world.endpoint(PodGroupDefaults), review({"queue": "default"}))) == []


def test_a_namespace_that_was_made_a_moment_ago_is_asked_for() -> None:
    world = Queues(n=marked("n", "research"))
    response = answer(world.endpoint(PodGroupDefaults), review({"queue": "default"}))
    assert operations(response) == [("add", "/spec/queue", "research")]
    assert world.server.asked == ["n"]


@pytest.mark.parametrize(
    ("objects", "problem"),
    [
        ({}, "there is no namespace n"),
        ({"n": ConnectionFailed("refused")}, "Namespace n is not in the cache and can't be read: refused"),
    ],
)
def test_a_namespace_that_cannot_be_read_is_a_warning(objects: Any, problem: str) -> None:
    response = answer(Queues(**objects).endpoint(PodGroupDefaults), review({"queue": "default"}))
    assert operations(response) == []
    [warning] = read(response).warnings
    assert warning == f"spec.queue stays default: the queue of the namespace is unknown: {problem}"


def test_other_operations_are_refused_in_known_words() -> None:
    response = answer(Queues().endpoint(PodGroupDefaults), body(POD_GROUPS, {}, {}))
    assert message(response) == "invalid operation `UPDATE`, expect operation to be `CREATE`"
