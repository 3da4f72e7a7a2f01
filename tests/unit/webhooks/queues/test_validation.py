"""`/queues/validate` from review to answer."""

from __future__ import annotations

from typing import Any

import pytest

from generated.meta.v1 import ObjectMeta
from generated.scheduling.v1beta1 import QUEUES, PodGroup, PodGroupSpec, Queue
from runtime.errors import ConnectionFailed
from tests.unit.webhooks.queues.worlds import Queues, document, queue
from tests.unit.webhooks.reviews import answer, body, message
from webhooks.options import Options
from webhooks.queues.validation import QueueObjectRules, place_only

NOT_SMALL = 'requestBody.spec.capability.cpu: Invalid value: "-1": must be greater than or equal to 0'
BAD: dict[str, Any] = {"capability": {"cpu": "-1"}}


def world(*queues: Queue, **options: Any) -> Queues:
    return Queues(queue("root"), queue("default", "root"), *queues, options=Options(**options))


# Creation.


def test_a_queue_that_stands_alone_is_judged_without_a_look_at_the_server() -> None:
    made = world()
    assert made.ask(document("q")) == ("", ())
    assert made.ask(document("q", "root", **BAD)) == (NOT_SMALL, ())
    assert made.lists.lists == 0


@pytest.mark.parametrize(
    ("new", "expected"),
    [
        (document("root", "p"), "root queue's parent must stay empty, but spec.parent is p"),
        (document("q", "q"), "queue q cannot use itself as parent"),
        (
            document("q", "gone"),
            'failed to get parent queue gone of queue q: queue.scheduling.volcano.sh "gone" not found',
        ),
        (document("q", "gone", **BAD), NOT_SMALL),
        (document("q", "p", capability={"cpu": "9"}), "queue q capability[cpu]=9 exceeds its ancestor's capability=8"),
        (document("q", "p", capability={"cpu": "8"}), ""),
        (
            document("q", state="Closing"),
            (
                'requestBody.spec.state: Invalid value: "Closing": queue state must be in [Open Closed]'
                " (it stands in requestBody.status.state)"
            ),
        ),
        (document("q", state="Closed"), ""),
        (
            document("q", hierarchy="root/a"),
            (
                'requestBody.metadata.annotations: Invalid value: "root/a":'
                " root/a is not allowed to be in the sub path of root/a/b of queue p"
            ),
        ),
    ],
)
def test_the_first_step_that_fails_is_told(new: Any, expected: str) -> None:
    made = world(queue("p", "root", capability={"cpu": "8"}, hierarchy="root/a/b"))
    assert made.ask(new).message == expected


def test_mistakes_of_amounts_and_annotations_come_together() -> None:
    told = world().ask(document("q", hierarchy="root//a", **BAD)).message
    assert told.startswith(f"[{NOT_SMALL}, requestBody.metadata.annotations: ")


def test_the_depth_is_a_flag() -> None:
    chain = [queue("p", "root"), queue("a", "p")]
    assert world(*chain).ask(document("q", "a")).message == ""
    assert world(*chain, max_queue_depth=2).ask(document("q", "a")).message == (
        "queue q exceeds the maximum allowed depth of 2"
    )


def test_a_closed_parent_is_worth_a_warning() -> None:
    told = world(queue("p", "root", state="Closed")).ask(document("q", "p"))
    assert told == ("", ("spec.parent: queue `p` status is `Closed`: `q` takes no jobs until it is open",))


def test_what_the_cache_does_not_know_yet_counts() -> None:
    made = world()
    parent, sibling = queue("p", "root", deserved={"cpu": "8"}), queue("a", "p", deserved={"cpu": "6"})
    made.lists.queues = [*made.queues, parent, sibling]
    assert made.ask(document("q", "p", deserved={"cpu": "2"})).message == ""
    assert "sum of children's deserved (cpu 9000.00" in made.ask(document("q", "p", deserved={"cpu": "3"})).message
    assert "has 1 child queues: a" in made.delete(document("p", "root")).message


def test_a_child_that_the_cache_does_not_know_yet_keeps_its_parent_large_enough() -> None:
    parent = queue("p", "root", deserved={"cpu": "8"})
    made = world(parent)
    made.lists.queues = [*made.queues, queue("a", "p", deserved={"cpu": "6"})]
    told = made.ask(document("p", "root", deserved={"cpu": "5"}), document("p", "root", deserved={"cpu": "8"}))
    assert told.message.startswith("queue p validation failed: sum of children's deserved (cpu 6000.00")


def test_without_an_answer_of_the_server_the_cache_decides_and_says_so() -> None:
    made = world(queue("p", "root", deserved={"cpu": "8"}))
    made.lists.failure = ConnectionFailed("refused")
    warning = "queues can't be listed: refused; judged by queues as they were a moment ago"
    assert made.ask(document("q", "p", deserved={"cpu": "2"})) == ("", (warning,))
    told = made.ask(document("q", "p", deserved={"cpu": "9"}))
    assert "exceeds parent's deserved limit" in told.message
    assert told.warnings == (warning,)


# Updates.


def test_an_update_that_says_nothing_new_passes_whatever_the_queue_is() -> None:
    made = world()
    old = document("q", "gone", hierarchy="root//x", capability={"pods": "500m"})
    new = {**old, "metadata": {**old["metadata"], "labels": {"a": "b"}, "finalizers": []}}
    assert made.ask(new, old) == ("", ())
    assert made.ask({**old, "spec": {**old["spec"], "capability": {"pods": "0.5"}}}, old) == ("", ())
    changed = document("q", "other", capability={"pods": "700m"})
    changed["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    assert made.ask(changed, old) == ("", ())
    assert made.lists.lists == 0


@pytest.mark.parametrize("state", ["Closing", "Unknown", "Closed", "Open", ""])
def test_a_queue_may_be_changed_in_every_state(state: str) -> None:
    made = world()
    assert made.ask(document("q", state=state, weight=2), document("q", state=state, weight=1)) == ("", ())


def test_a_move_is_judged_like_a_creation() -> None:
    made = world(queue("a", "root"), queue("b", "a"), queue("c", "b"), queue("busy", "root", pods="2"))
    assert made.ask(document("a", "c"), document("a", "root")).message == (
        "queue a cannot be moved under its descendant c"
    )
    assert "because it has allocated Pods: 2" in made.ask(document("c", "busy"), document("c", "b")).message
    assert made.ask(document("c", "root"), document("c", "b")).message == ""
    assert made.ask(document("a", "a"), document("a", "root")).message == "queue a cannot use itself as parent"


def test_a_queue_that_its_controller_hangs_below_the_root_has_not_moved() -> None:
    made = world(queue("a", deserved={"cpu": "1"}), queue("b", "a", deserved={"cpu": "4"}))
    assert made.ask(document("a", "root", deserved={"cpu": "1"}), document("a", deserved={"cpu": "1"})) == ("", ())
    assert made.ask(document("root", "root"), document("root")).message.startswith(
        "root queue's parent must stay empty"
    )


def test_a_queue_that_is_resized_must_fit_above_and_below() -> None:
    made = world(queue("a", "root", capability={"cpu": "8"}), queue("b", "a", capability={"cpu": "4"}))
    told = made.ask(document("a", "root", capability={"cpu": "3"}), document("a", "root", capability={"cpu": "8"}))
    assert told.message == "queue a capability[cpu]=3 is smaller than its descendants' max capability=4"
    told = made.ask(document("b", "a", capability={"cpu": "9"}), document("b", "a", capability={"cpu": "4"}))
    assert told.message == "queue b capability[cpu]=9 exceeds its ancestor's capability=8"


def test_a_queue_that_does_not_fit_any_more_can_still_get_another_weight() -> None:
    made = world(queue("a", "root", capability={"cpu": "1"}), queue("b", "a", capability={"cpu": "4"}))
    old = document("b", "a", capability={"cpu": "4"}, weight=1)
    assert made.ask(document("b", "a", capability={"cpu": "4"}, weight=2), old) == ("", ())
    assert made.ask(document("b", "a", capability={"cpu": "4000m"}, weight=2), old) == ("", ())


def test_annotations_are_judged_when_they_change() -> None:
    made = world(queue("a", "root", hierarchy="root/x/y"))
    old = document("q", hierarchy="root//z")
    assert made.ask(document("q", hierarchy="root//z", weight=3), old) == ("", ())
    assert "root/x is not allowed to be in the sub path" in made.ask(document("q", hierarchy="root/x"), old).message


ROOT_IS_FIXED = "root queue's resource attributes (capability, deserved, guarantee) cannot be modified"


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ({"capability": {"cpu": "1"}}, ROOT_IS_FIXED),
        ({"deserved": {"cpu": "1"}}, ROOT_IS_FIXED),
        ({"guarantee": {"resource": {"cpu": "1"}}, "deserved": {"cpu": "1"}}, ROOT_IS_FIXED),
        ({"capability": {}, "deserved": None, "weight": 2}, ""),
        ({"reclaimable": False}, ""),
        (BAD, NOT_SMALL),
    ],
)
def test_the_resources_of_the_root_are_fixed(spec: Any, expected: str) -> None:
    made = world(queue("child", "root", capability={"cpu": "4"}))
    assert made.ask(document("root", **spec), document("root")).message == expected


def test_a_flag_frees_the_root() -> None:
    made = world(queue("child", "root", capability={"cpu": "4"}), protects_root_queue=False)
    assert made.ask(document("root", capability={"cpu": "1"}), document("root")) == ("", ())
    assert "must stay empty" in made.ask(document("root", "child"), document("root")).message


# Deletion.


def group(name: str, queue: str) -> PodGroup:
    metadata = ObjectMeta(name=name, namespace="n", labels={"a": "b"}, annotations={"c": "d"})
    return PodGroup(metadata=metadata, spec=PodGroupSpec(queue=queue, min_member=3))


@pytest.mark.parametrize("name", ["default", "root"])
def test_two_queues_are_never_deleted(name: str) -> None:
    made = world()
    assert made.delete(document(name)).message == f"`{name}` queue can not be deleted"
    assert made.delete(None, name).message == f"`{name}` queue can not be deleted"


def test_a_review_of_many_deletions_names_the_queue_in_the_object() -> None:
    made = world(queue("p", "root"), queue("a", "p"), queue("b", "p"))
    told = made.ask(None, document("p", "root"), operation="DELETE", name="").message
    assert told == "queue p can not be deleted because it has 2 child queues: a, b"
    assert made.ask(None, document("a", "p"), operation="DELETE", name="").message == ""
    assert made.ask(None, document("root"), operation="DELETE", name="").message != ""


def test_a_queue_that_nobody_knows_may_go() -> None:
    assert world().delete(None, "ghost") == ("", ())


def test_allocated_pods_keep_a_queue_where_the_flag_says_so() -> None:
    stored = queue("q", "root", pods="3")
    assert world(stored).delete(document("q", "root", pods="3")) == ("", ())
    expected = "queue q cannot be deleted because it has allocated Pods: 3"
    made = world(stored, checks_allocated_pods=True)
    assert made.delete(document("q", "root", pods="3")).message == expected
    assert made.delete(None, "q").message == expected
    assert made.delete(document("q", "root", pods="0")).message == "", "the object of the review is the newer one"


def test_pod_groups_are_counted_and_keep_a_queue_where_the_flag_says_so() -> None:
    warning = "queue q: 2 PodGroups are in it and can't be scheduled without it"
    for flag in (False, True):
        made = world(queue("q", "root"), checks_pod_groups=flag)
        for each in (group("a", "q"), group("b", "q"), group("c", "default")):
            made.groups.put(place_only(each))
        told = made.delete(document("q", "root"))
        assert told.message == ("queue q can not be deleted because 2 PodGroups are in it" if flag else "")
        assert told.warnings == (warning,)


def test_of_a_pod_group_only_the_place_is_kept() -> None:
    kept = place_only(group("a", "q"))
    assert kept == PodGroup(metadata=ObjectMeta(name="a", namespace="n"), spec=PodGroupSpec(queue="q"))


# What is no queue, and no operation.


@pytest.mark.parametrize("operation", ["CONNECT", "", "x"])
def test_another_operation_is_refused_in_known_words(operation: str) -> None:
    told = message(answer(world().endpoint(QueueObjectRules), body(QUEUES, document("q"), operation=operation)))
    assert told == f"invalid operation `{operation}`, expect operation to be `CREATE`, `UPDATE` or `DELETE`"


def test_an_update_without_its_old_object_is_judged_beside_the_stored_one() -> None:
    made = world(queue("q", "root", **BAD))
    assert made.ask(document("q", "root", **BAD), None, operation="UPDATE", name="q").message == ""
    assert made.ask(document("other", **BAD), None, operation="UPDATE", name="other").message == NOT_SMALL


def test_a_field_of_the_wrong_type_is_named() -> None:
    told = world().ask({"metadata": {"name": "q"}, "spec": {"weight": "x"}}).message
    assert "spec.weight" in told
