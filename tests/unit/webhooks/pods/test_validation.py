from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from generated.core.v1 import PODS
from runtime.wire import ObjectReference
from tests.unit.webhooks.reviews import World, answer, body, message
from webhooks.options import Options
from webhooks.pods.validation import PodRules, annotation_problem

MIN, MAX = "volcano.sh/jdb-min-available", "volcano.sh/jdb-max-unavailable"
Json = dict[str, Any]


def pod(annotations: dict[str, str], scheduler: str = "volcano", **metadata: Any) -> Json:
    return {
        "metadata": {"name": "p", "namespace": "n", "annotations": annotations, **metadata},
        "spec": {"schedulerName": scheduler, "containers": []},
    }


def integer(value: str) -> str:
    return f'invalid value <"{value}"> for {MIN}, it must be a positive integer'


def percentage(value: str) -> str:
    return f'invalid value <"{value}"> for {MIN}, it must be a valid percentage which between 1% ~ 99%'


def syntax(value: str) -> str:
    return f'invalid value strconv.Atoi: parsing "{value}": invalid syntax for {MIN}'


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("1", ""),
        ("+5", ""),
        ("2147483647", ""),
        ("99%", ""),
        ("1%", ""),
        ("%5", ""),
        ("0", integer("0")),
        ("-3", integer("-3")),
        ("100%", percentage("100%")),
        ("0%", percentage("0%")),
        ("-5%", percentage("-5%")),
        ("4294967296", percentage("4294967296")),
        ("", syntax("")),
        ("%", syntax("")),
        ("5.5%", syntax("5.5")),
        (" 5", syntax(" 5")),
        ("1_0", syntax("1_0")),
        ("x", syntax("x")),
        ("\u0665", syntax("\u0665")),
        ("9" * 20, f'invalid value strconv.Atoi: parsing "{"9" * 20}": value out of range for {MIN}'),
    ],
)
def test_a_value_is_a_number_of_pods_or_a_share_of_them(value: str, expected: str) -> None:
    assert annotation_problem({MIN: value}) == expected


def test_the_first_invalid_one_is_told_before_that_there_are_two() -> None:
    assert annotation_problem({MAX: "x", MIN: "0"}) == integer("0")
    assert annotation_problem({MAX: "0", MIN: "1"}) == integer("0").replace(MIN, MAX)
    assert annotation_problem({MAX: "1", MIN: "1"}) == (
        f"not allow configure multiple annotations <[{MIN} {MAX}]> at same time"
    )


@given(st.text())
def test_every_text_has_an_answer(value: str) -> None:
    annotation_problem({MIN: value})


@pytest.mark.parametrize(("scheduler", "is_judged"), [("volcano", True), ("mine", True), ("default-scheduler", False)])
def test_only_pods_of_our_schedulers_are_judged(scheduler: str, is_judged: bool) -> None:
    world = World(options=Options(scheduler_names=("volcano", "mine")))
    response = answer(world.endpoint(PodRules), body(PODS, pod({MIN: "0"}, scheduler)))
    assert response.allowed is not is_judged


OWNER = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "r", "uid": "u1", "controller": True}


def test_who_made_the_pod_hears_of_it() -> None:
    world = World()
    response = answer(world.endpoint(PodRules), body(PODS, pod({MIN: "0"}, ownerReferences=[OWNER])))
    assert message(response) == integer("0")
    place = ObjectReference(api_version="apps/v1", kind="ReplicaSet", namespace="n", name="r", uid="u1")
    assert world.events.recorded == [(place, "Warning", "Admit", f"Create pod failed due to {integer('0')}")]


@pytest.mark.parametrize(
    ("owners", "is_dry"), [([OWNER], True), ([], False), ([{**OWNER, "controller": False}], False)]
)
def test_a_dry_run_and_a_pod_that_nobody_manages_leave_no_event(owners: list[Json], is_dry: bool) -> None:
    world = World()
    text = body(PODS, pod({MIN: "0"}, ownerReferences=owners), dryRun=is_dry)
    assert not answer(world.endpoint(PodRules), text).allowed
    assert world.events.recorded == []


def test_other_operations_and_resources_are_not_for_it() -> None:
    endpoint = World().endpoint(PodRules)
    assert message(answer(endpoint, body(PODS, pod({}), operation="UPDATE"))) == "expect operation to be 'CREATE'"
    text = body(PODS, pod({}), resource={"group": "apps", "version": "v1", "resource": "pods"})
    assert message(answer(endpoint, text)) == "expect resource to be { v1 pods}"


@pytest.mark.parametrize("value", ["9" * 5000, "-" + "9" * 5000, "9" * 5000 + "%", "-" + "9" * 5000 + "%"])
def test_digits_without_end_are_out_of_range(value: str) -> None:
    expected = f'invalid value strconv.Atoi: parsing "{value.strip("%")}": value out of range for {MIN}'
    assert annotation_problem({MIN: value}) == expected
