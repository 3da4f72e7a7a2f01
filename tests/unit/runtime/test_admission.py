from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from runtime.admission import ALLOWED, Allowed, Denial, Mutator, Operation, Validator, WrongOperation
from runtime.resource import Resource
from runtime.wire import AdmissionRequest, GroupVersionResource, Head

THINGS = Resource("example.org", "v1", "Thing", "things", Head)


def allow(request: AdmissionRequest, obj: Head, old: Head | None) -> Allowed:
    return ALLOWED


@pytest.mark.parametrize(
    ("form", "expected_operations", "message"),
    [
        (WrongOperation.EXPECT, ["CREATE"], "expect operation to be 'CREATE'"),
        (WrongOperation.EXPECT, ["CREATE", "UPDATE"], "expect operation to be 'CREATE' or 'UPDATE'"),
        (WrongOperation.EXPECT_TRAILING_SPACE, ["CREATE"], "expect operation to be 'CREATE' "),
        (WrongOperation.INVALID, ["CREATE"], "invalid operation `DELETE`, expect operation to be `CREATE`"),
        (
            WrongOperation.INVALID,
            ["CREATE", "UPDATE", "CONNECT"],
            "invalid operation `DELETE`, expect operation to be `CREATE`, `UPDATE` or `CONNECT`",
        ),
        (WrongOperation.UNSUPPORTED, ["CREATE"], "unsupported operation DELETE"),
    ],
)
def test_a_wrong_operation_is_denied_in_the_words_of_its_handler(
    form: WrongOperation, expected_operations: Sequence[str], message: str
) -> None:
    assert form.verdict("DELETE", expected_operations) == Denial(message)


def test_a_wrong_operation_may_pass() -> None:
    assert WrongOperation.ALLOW.verdict("DELETE", ["CREATE"]) == ALLOWED


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        (["a;", " b; "], "a; b;"),
        (["  a", "", "\n"], "a"),
        ([], ""),
    ],
)
def test_a_message_of_parts_is_trimmed_as_a_whole(parts: list[str], message: str) -> None:
    assert Denial.joined(parts) == Denial(message)


def test_a_registration_knows_what_it_serves() -> None:
    other = Resource("", "v1", "Pod", "pods", Head)
    handler = Validator(
        path="/things/validate",
        resources=(THINGS, other),
        operations=(Operation.CREATE,),
        model=Head,
        validate=allow,
    )

    assert handler.serves(GroupVersionResource(group="example.org", version="v1", resource="things"))
    assert handler.serves(GroupVersionResource(version="v1", resource="pods"))
    assert not handler.serves(GroupVersionResource(group="example.org", version="v2", resource="things"))


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"path": "things"}, "admission path 'things' must start with a slash"),
        ({"resources": ()}, "admission path /x is registered for no resource or no operation"),
        ({"operations": ()}, "admission path /x is registered for no resource or no operation"),
    ],
)
def test_a_registration_that_can_not_serve_is_refused(fields: dict[str, Any], message: str) -> None:
    complete: dict[str, Any] = {"path": "/x", "resources": (THINGS,), "operations": ("CREATE",), "model": Head}

    with pytest.raises(ValueError, match=message):
        Mutator(**{**complete, **fields}, mutate=allow)
