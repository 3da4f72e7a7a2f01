"""The table of policies: names that installations know, and words that are those of the webhooks."""

from __future__ import annotations

import msgspec
import pytest

from api.jobs import USER_ACTIONS, USER_EVENTS
from api.names import JOB_PLUGINS
from generated.batch.v1alpha1 import JobSpec, TaskSpec
from tests.unit.webhooks.policies.cases import CREATIONS, UPDATES, Case
from tests.unit.webhooks.queues.worlds import Queues, queue
from tests.unit.webhooks.reviews import answer, body, message
from webhooks import WEBHOOKS
from webhooks.policies import MUTATIONS, POLICIES
from webhooks.policies.policy import Policy, given, literal, on

BY_KIND = {policy.resource.kind: policy for policy in POLICIES}


def expressions(policy: Policy) -> list[str]:
    return [*policy.variables.values(), *(part for rule in policy.rules for part in (rule.holds, rule.told))]


def test_the_names_are_those_that_installations_know() -> None:
    kinds = ["job", "queue", "podgroup", "pod", "hypernode", "jobflow"]
    assert [policy.name for policy in POLICIES] == [f"{kind}-validation-policy" for kind in kinds]
    assert [each.name for each in MUTATIONS] == [
        f"volcano-{kind}-mutation-policy" for kind in ("job", "queue", "podgroup")
    ]


def test_each_policy_is_asked_for_what_its_webhook_is_asked_for() -> None:
    paths = {webhook.PATH: webhook for webhook in WEBHOOKS}
    for policy in POLICIES:
        webhook = paths[f"/{policy.resource.plural}/validate"]
        assert policy.operations == webhook.OPERATIONS  # type: ignore[attr-defined]  # interfaces have it


@pytest.mark.parametrize("words", [USER_EVENTS, USER_ACTIONS, JOB_PLUGINS])
def test_lists_are_those_of_the_webhooks(words: tuple[str, ...]) -> None:
    assert any(literal(words) in text for text in expressions(BY_KIND["Job"]))


def test_each_field_of_a_job_is_either_free_or_compared() -> None:
    [rule] = [rule for rule in BY_KIND["Job"].rules if "may not change fields" in rule.message]
    for model, holder in ((JobSpec, "object.spec"), (TaskSpec, "t")):
        for field in msgspec.structs.fields(model):
            free = field.encode_name in {"minAvailable", "priorityClassName", "replicas", "tasks", "volumes"}
            assert (f"dyn({holder}.{field.encode_name}) :" in rule.holds) is not free, field.encode_name


def test_no_message_has_more_than_one_line() -> None:
    for policy in POLICIES:
        for rule in policy.rules:
            assert rule.message.strip()
            assert "\n" not in rule.message


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("a.b", "(has(a.b) && dyn(a.b) != null ? dyn(a.b) : dyn(''))"),
        (
            "a.b.c",
            "(has(a.b) && dyn(a.b) != null && has(a.b.c) && dyn(a.b.c) != null ? dyn(a.b.c) : dyn(''))",
        ),
    ],
)
def test_a_value_is_looked_for_step_by_step(path: str, expected: str) -> None:
    assert given(path, "''") == expected


def test_a_path_without_a_field_is_a_mistake() -> None:
    with pytest.raises(ValueError, match="a names no field of anything"):
        given("a", "''")


def test_a_test_for_one_operation_lets_the_others_pass() -> None:
    made = on("CREATE", "a && b")
    assert made == 'request.operation != "CREATE" || (a && b)'


@pytest.mark.parametrize(("value", "expected"), [("a'b", '"a\'b"'), (3, "3"), (("a", "b"), '["a", "b"]')])
def test_values_are_written_as_cel_reads_them(value: object, expected: str) -> None:
    written = literal(value)
    assert written == expected


@pytest.mark.parametrize("case", CREATIONS, ids=str)
def test_the_table_of_objects_is_right_about_the_webhooks(case: Case) -> None:
    policy = BY_KIND[case.kind]
    webhook = next(each for each in WEBHOOKS if each.PATH.startswith(f"/{policy.resource.plural}/v"))
    world = Queues(queue("root"), queue("default", "root", state="Open"))
    told = message(answer(world.endpoint(webhook), body(policy.resource, case.new)))
    assert bool(told) is case.denied, told


def test_the_table_has_both_verdicts_of_each_kind() -> None:
    for table, kinds in ((CREATIONS, set(BY_KIND)), (UPDATES, {"Job", "Queue", "JobFlow"})):
        found = {(case.kind, case.denied) for case in table}
        assert found == {(kind, verdict) for kind in kinds for verdict in (True, False)}
