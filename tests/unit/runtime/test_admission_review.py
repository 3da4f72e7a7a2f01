from __future__ import annotations

import sys
from collections.abc import Awaitable
from typing import Any

import msgspec
import pytest

from runtime.admission import (
    ALLOWED,
    Allowed,
    Changed,
    Denial,
    Handler,
    Mutation,
    Mutator,
    Patch,
    Validation,
    Validator,
    WrongOperation,
)
from runtime.admission_review import Endpoint, MalformedReview, describe, read_review, write_review
from runtime.jsonpatch import PatchError
from runtime.patches import add, remove
from runtime.resource import Resource
from runtime.wire import AdmissionRequest
from tests.unit.runtime.admissions import THINGS, Meta, Spec, Thing, encoded, patch_of
from tests.unit.runtime.nested import DEEP, TOO_DEEP

PODS = Resource("", "v1", "Pod", "pods", Thing)


def mutator(answer: Any, **fields: Any) -> Mutator[Thing]:
    """A mutating handler with one answer, or the answer of a function of (object, old object)."""

    def mutate(request: AdmissionRequest, obj: Thing, old: Thing | None) -> Mutation[Thing]:
        result: Mutation[Thing] = answer(obj, old) if callable(answer) else answer
        return result

    registration = {"path": "/m", "resources": (THINGS,), "operations": ("CREATE", "UPDATE"), "model": Thing}
    return Mutator(**{**registration, **fields}, mutate=mutate)


def validator(answer: Any, **fields: Any) -> Validator[Thing]:
    def validate(request: AdmissionRequest, obj: Thing, old: Thing | None) -> Validation:
        result: Validation = answer(obj, old) if callable(answer) else answer
        return result

    operations = ("CREATE", "UPDATE", "DELETE")
    registration = {"path": "/v", "resources": (THINGS,), "operations": operations, "model": Thing}
    return Validator(**{**registration, **fields}, validate=validate)


def ask(handler: Handler, **arguments: Any) -> dict[str, Any]:
    """The whole answer to a review, as sent."""
    asked, request = read_review(encoded(**arguments))
    response = Endpoint[Any](handler).answer(request)
    assert not isinstance(response, Awaitable)
    answer: dict[str, Any] = msgspec.json.decode(write_review(asked, response))
    return answer


def never(obj: Thing, old: Thing | None) -> Validation:
    raise AssertionError("the handler must not be called")


@pytest.mark.parametrize("version", ["v1", "v1beta1"])
def test_the_answer_has_the_version_of_the_question_and_its_uid(version: str) -> None:
    assert ask(validator(ALLOWED), obj={}, version=version, uid="u-7") == {
        "apiVersion": f"admission.k8s.io/{version}",
        "kind": "AdmissionReview",
        "response": {"uid": "u-7", "allowed": True},
    }


@pytest.mark.parametrize(
    ("verdict", "response"),
    [
        (Allowed(("a\nb  c", "d")), {"allowed": True, "warnings": ["a b c", "d"]}),
        (Denial("no "), {"allowed": False, "status": {"message": "no "}}),
        (
            Denial("no", code=403, reason="Forbidden", warnings=("w",)),
            {"allowed": False, "status": {"message": "no", "code": 403, "reason": "Forbidden"}, "warnings": ["w"]},
        ),
        (Denial(""), {"allowed": False, "status": {}}),
    ],
)
def test_a_verdict_becomes_a_response(verdict: Validation, response: dict[str, Any]) -> None:
    assert ask(validator(verdict), obj={})["response"] == {"uid": "u-1", **response}
    assert ask(mutator(verdict), obj={})["response"] == {"uid": "u-1", **response}


@pytest.mark.parametrize(
    ("resources", "asked", "message"),
    [
        ((THINGS,), {"group": "", "version": "v1", "resource": "pods"}, "{example.org v1 things}"),
        ((PODS,), {"group": "example.org", "version": "v1", "resource": "things"}, "{ v1 pods}"),
        ((THINGS,), {"group": "example.org", "version": "v2", "resource": "things"}, "{example.org v1 things}"),
        ((THINGS, PODS), {"group": "x", "version": "v1", "resource": "y"}, "{example.org v1 things} or { v1 pods}"),
    ],
)
def test_another_resource_is_denied(resources: Any, asked: Any, message: str) -> None:
    answer = ask(validator(never, resources=resources), obj={}, resource=asked)

    assert answer["response"]["status"] == {"message": f"expect resource to be {message}"}


def test_the_resource_is_checked_before_the_operation() -> None:
    answer = ask(validator(never), obj={}, resource={}, operation="CONNECT")

    assert answer["response"]["status"]["message"] == "expect resource to be {example.org v1 things}"


def test_another_operation_is_answered_as_the_registration_says() -> None:
    denied = ask(mutator(never), operation="DELETE", obj={})
    assert denied["response"]["status"]["message"] == "expect operation to be 'CREATE' or 'UPDATE'"

    allowed = ask(mutator(never, wrong_operation=WrongOperation.ALLOW), operation="DELETE", obj={})
    assert allowed["response"] == {"uid": "u-1", "allowed": True}


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ({"obj": {"spec": {"queue": "a"}}}, (Thing(spec=Spec(queue="a")), None)),
        ({"obj": {}, "old": {"spec": {"queue": "a"}}, "operation": "UPDATE"}, (Thing(), Thing(spec=Spec(queue="a")))),
        ({"old": {"spec": {"queue": "a"}}, "operation": "DELETE"}, (Thing(), Thing(spec=Spec(queue="a")))),
        ({"obj": {}, "old": {}, "operation": "UPDATE"}, (Thing(), Thing())),
        ({}, (Thing(), None)),
    ],
)
def test_the_handler_gets_the_object_and_the_old_one(arguments: Any, expected: tuple[Thing, Thing | None]) -> None:
    seen = []

    def note(obj: Thing, old: Thing | None) -> Validation:
        seen.append((obj, old))
        return ALLOWED

    ask(validator(note), **arguments)

    assert seen == [expected]


def test_objects_that_the_review_leaves_out_count_as_null() -> None:
    request = {
        "uid": "u",
        "operation": "CREATE",
        "resource": {"group": "example.org", "version": "v1", "resource": "things"},
    }
    asked, read = read_review(
        msgspec.json.encode({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request})
    )

    response = Endpoint[Any](mutator(lambda _obj, _old: Changed(Thing(spec=Spec(queue="a"))))).answer(read)

    assert asked.request is read
    assert not isinstance(response, Awaitable)
    assert response.patch == b'[{"op":"add","path":"/spec","value":{"queue":"a"}}]'


def test_a_changed_object_becomes_a_patch_of_what_differs() -> None:
    def mutate(obj: Thing, old: Thing | None) -> Changed[Thing]:
        spec = msgspec.structs.replace(obj.spec, queue="default", min_available=obj.spec.min_available or 1)
        return Changed(msgspec.structs.replace(obj, spec=spec), ("defaulted",))

    document = {"spec": {"queue": "", "minAvailable": 0, "new": True}, "metadata": {"managedFields": [{}]}}
    response = ask(mutator(mutate), obj=document)["response"]

    assert patch_of(response) == [
        {"op": "add", "path": "/spec/queue", "value": "default"},
        {"op": "add", "path": "/spec/minAvailable", "value": 1},
    ]
    assert response["warnings"] == ["defaulted"]


@pytest.mark.parametrize(
    "answer",
    [
        pytest.param(lambda obj, old: Changed(obj), id="the same object"),
        pytest.param(lambda obj, old: Changed(Thing(spec=Spec(queue=obj.spec.queue))), id="an equal object"),
        pytest.param(Patch(()), id="no operations"),
    ],
)
def test_without_a_patch_there_is_no_patch_type(answer: Any) -> None:
    assert ask(mutator(answer), obj={"spec": {"queue": "a"}})["response"] == {"uid": "u-1", "allowed": True}


def test_operations_get_the_parents_that_they_lack() -> None:
    answer = Patch((add("/spec/queue", "a"), add("/metadata/labels/x~1y", Meta(name="typed"))))

    assert patch_of(ask(mutator(answer), obj={"metadata": {}})["response"]) == [
        {"op": "add", "path": "/spec", "value": {}},
        {"op": "add", "path": "/spec/queue", "value": "a"},
        {"op": "add", "path": "/metadata/labels", "value": {}},
        {"op": "add", "path": "/metadata/labels/x~1y", "value": {"name": "typed"}},
    ]


def test_operations_that_do_not_fit_fail_here_and_not_at_the_server() -> None:
    with pytest.raises(PatchError, match="remove '/spec/queue': there is no member 'spec'"):
        ask(mutator(Patch((remove("/spec/queue"),))), obj={})


def test_a_validating_handler_can_not_change_the_object() -> None:
    with pytest.raises(TypeError, match="the validating handler of /v answered with a change"):
        ask(validator(Changed(Thing(spec=Spec(queue="a")))), obj={})


MIN_AVAILABLE = 'spec.minAvailable: Invalid value: "three": expected integer, got string'
QUEUE = 'spec.queue: Invalid value: ["q"]: expected string, got array'
BROKEN = {"spec": {"minAvailable": "three", "queue": ["q"]}}


def test_a_mutating_handler_leaves_an_object_alone_that_does_not_fit() -> None:
    response = ask(mutator(never), obj=BROKEN)["response"]

    assert response == {
        "uid": "u-1",
        "allowed": True,
        "warnings": [
            f"{MIN_AVAILABLE}; defaults are not applied",
            f"{QUEUE}; defaults are not applied",
        ],
    }


@pytest.mark.parametrize(
    ("obj", "message"),
    [
        ({"spec": {"minAvailable": "x"}}, 'spec.minAvailable: Invalid value: "x": expected integer, got string'),
        (
            BROKEN,
            f"[{MIN_AVAILABLE}, {QUEUE}]",
        ),
        ([], ": Invalid value: []: expected object, got array"),
    ],
)
def test_a_validating_handler_names_what_does_not_fit(obj: Any, message: str) -> None:
    response = ask(validator(never), obj=obj)["response"]

    assert response == {"uid": "u-1", "allowed": False, "status": {"message": message}}


def test_what_is_wrong_in_the_stored_object_too_is_only_a_warning() -> None:
    seen = []

    def note(obj: Thing, old: Thing | None) -> Validation:
        seen.append((obj, old))
        return Allowed(("own",))

    obj = {"spec": {"minAvailable": "x", "queue": "b"}}
    old = {"spec": {"minAvailable": "x", "queue": "a"}}
    response = ask(validator(note), obj=obj, old=old, operation="UPDATE")["response"]

    assert seen == [(Thing(spec=Spec(queue="b")), Thing(spec=Spec(queue="a")))]
    assert response["warnings"] == [
        'spec.minAvailable: Invalid value: "x": expected integer, got string; taken as absent',
        "own",
    ]


def test_a_new_problem_beside_an_old_one_is_denied_alone() -> None:
    old = {"spec": {"minAvailable": "x"}}
    response = ask(validator(never), obj=BROKEN, old=old, operation="UPDATE")["response"]

    assert "spec.queue" in response["status"]["message"]
    assert '"three"' in response["status"]["message"], "another wrong value is a new problem"


def test_an_old_object_that_does_not_fit_hinders_nobody() -> None:
    response = ask(validator(ALLOWED), obj={}, old={"spec": {"minAvailable": "x"}}, operation="UPDATE")["response"]

    assert response == {"uid": "u-1", "allowed": True}


def test_nulls_are_absent_for_mutating_handlers_too() -> None:
    def mutate(obj: Thing, old: Thing | None) -> Changed[Thing]:
        return Changed(msgspec.structs.replace(obj, spec=msgspec.structs.replace(obj.spec, queue="a")))

    response = ask(mutator(mutate), obj={"spec": {"queue": None, "minAvailable": 1.0}})["response"]

    assert patch_of(response) == [{"op": "add", "path": "/spec/queue", "value": "a"}]


async def test_an_asynchronous_handler_answers_later() -> None:
    async def validate(request: AdmissionRequest, obj: Thing, old: Thing | None) -> Validation:
        return Denial(f"{obj.spec.queue} is closed")

    handler = validator(ALLOWED)
    handler = Validator(
        path="/v", resources=handler.resources, operations=handler.operations, model=Thing, validate=validate
    )
    _, request = read_review(encoded(obj={"spec": {"queue": "q"}}))

    response = Endpoint[Any](handler).answer(request)

    assert isinstance(response, Awaitable)
    assert (await response).status.message == "q is closed"  # type: ignore[union-attr]  # it is set, or the test fails


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (b"", "the body is no AdmissionReview: Input data was truncated"),
        (b"{", "the body is no AdmissionReview: Input data was truncated"),
        (b"[]", "the body is no AdmissionReview: Expected `object`, got `array`"),
        (b"{}", "got an object without apiVersion and kind"),
        (
            b'{"apiVersion":"v1","kind":"Pod"}',
            "expected an AdmissionReview of admission.k8s.io/v1 or v1beta1, got v1 Pod",
        ),
        (b'{"apiVersion":"admission.k8s.io/v2","kind":"AdmissionReview"}', "got admission.k8s.io/v2 AdmissionReview"),
        (b'{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview"}', "the AdmissionReview has no request"),
        (
            b'{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":null}',
            "the AdmissionReview has no request",
        ),
        (
            b'{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"uid":1}}',
            "Expected `str`, got `int` - at `$.request.uid`",
        ),
        (b'{"other":' + b"[" * TOO_DEEP, "Stack overflow" if sys.version_info >= (3, 14) else "recursion"),
    ],
)
def test_a_malformed_review_says_why(body: bytes, reason: str) -> None:
    with pytest.raises(MalformedReview) as caught:
        read_review(body)

    assert reason in str(caught.value)


def test_an_object_that_only_its_patch_looks_at_whole_is_malformed() -> None:
    body = encoded(obj="here").replace(b'"here"', b'{"unknown":"\xff"}')
    _, request = read_review(body)
    with pytest.raises(MalformedReview, match="the object of the request can't be read"):
        Endpoint[Any](mutator(Patch((add("/spec/queue", "a"),)))).answer(request)


@pytest.mark.parametrize("raw", [b'{"metadata":{"name":"\xff"}}', b'{"spec":' + DEEP + b"}"])
def test_an_object_that_is_no_json_is_malformed(raw: bytes) -> None:
    body = encoded(obj="here").replace(b'"here"', raw)

    def answer() -> None:
        _, request = read_review(body)
        Endpoint[Any](validator(never)).answer(request)

    with pytest.raises(MalformedReview):
        answer()


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({}, "things space/one"),
        ({"namespace": ""}, "things one"),
        ({"name": "", "obj": {"metadata": {"generateName": "job-"}}}, "things space/job-*"),
        ({"name": "", "obj": {}}, "things space/*"),
        ({"name": "", "obj": [1]}, "things space/*"),
        ({"name": "", "namespace": ""}, "things"),
    ],
)
def test_a_request_is_described_by_what_it_is_about(arguments: Any, text: str) -> None:
    _, request = read_review(encoded(**arguments))

    assert describe(request) == text
