from __future__ import annotations

from typing import Any

import msgspec
import pytest

from runtime import errors, requests
from runtime.responses import Response, check, check_delete
from tests.things import THINGS
from tests.unit.runtime.nested import TOO_DEEP

GET = requests.get(THINGS, "a", "n")
LIST = requests.list_page(THINGS)


def failure(code: int, reason: str = "", message: str = "", **details: Any) -> Response:
    status = {"kind": "Status", "status": "Failure", "reason": reason, "message": message, "code": code}
    return Response(status=code, body=msgspec.json.encode({**status, "details": details}))


@pytest.mark.parametrize(
    ("code", "reason", "expected"),
    [
        (400, "BadRequest", errors.BadRequest),
        (401, "Unauthorized", errors.Unauthorized),
        (403, "Forbidden", errors.Forbidden),
        (404, "NotFound", errors.NotFound),
        (405, "MethodNotAllowed", errors.ApiError),
        (409, "AlreadyExists", errors.AlreadyExists),
        (409, "Conflict", errors.Conflict),
        (410, "Expired", errors.Gone),
        (422, "Invalid", errors.Invalid),
        (429, "TooManyRequests", errors.TooManyRequests),
        (500, "InternalError", errors.ServerError),
        (504, "Timeout", errors.ServerError),
    ],
)
def test_each_code_has_its_error_with_the_servers_words(
    code: int, reason: str, expected: type[errors.ApiError]
) -> None:
    with pytest.raises(errors.ApiError) as caught:
        check(failure(code, reason, "the server's words", kind="things"), GET)
    assert type(caught.value) is expected
    assert str(caught.value) == "the server's words"
    assert (caught.value.code, caught.value.reason) == (code, reason)
    assert caught.value.status.details is not None
    assert caught.value.status.details.kind == "things"


def test_a_success_passes() -> None:
    response = Response(status=201, body=b"{}")
    assert check(response, GET) is response


@pytest.mark.parametrize(
    ("code", "body", "reason", "message"),
    [
        (404, b"404 page not found\n", "NotFound", "the server could not find the requested resource"),
        (401, b"", "Unauthorized", "the server has asked for the client to provide credentials"),
        (503, b"<html>", "ServiceUnavailable", "the server is currently unable to handle the request"),
        (429, b"slow down", "TooManyRequests", "the server has received too many requests and has asked us to try again later"),
        (502, b'bad "gateway"', "InternalError", 'an error on the server ("bad \\"gateway\\"") has prevented the request from succeeding'),
        (500, b"", "InternalError", 'an error on the server ("unknown") has prevented the request from succeeding'),
        (418, b"", "", "the server answered with the unexpected code 418"),
        (302, b"", "", "the server answered with the unexpected code 302"),
        (404, b'{"kind":"List"}', "NotFound", "the server could not find the requested resource"),
        (404, b"\xff\xfe", "NotFound", "the server could not find the requested resource"),
    ],
)  # fmt: skip
def test_an_answer_without_status_gets_words_for_its_code(code: int, body: bytes, reason: str, message: str) -> None:
    error = Response(status=code, body=body).failure(LIST)
    assert str(error) == f"{message} (get things.example.org)"
    assert (error.reason, error.code) == (reason, code)


def test_the_text_of_an_unreadable_failure_is_kept_but_bounded() -> None:
    error = Response(status=404, body="ü".encode() * 5000).failure(GET)
    assert error.status.details is not None
    (cause,) = error.status.details.causes
    assert cause.reason == "UnexpectedServerResponse"
    assert cause.message == "ü" * 300


@pytest.mark.parametrize(
    ("response", "expected"),
    [
        (Response(status=429, headers={"Retry-After": "7"}), 7),
        (Response(status=429, headers={"Retry-After": "0"}), 0),
        (Response(status=429, headers={"Retry-After": "Wed, 21 Oct 2026 07:28:00 GMT"}), None),
        (Response(status=429, headers={"Retry-After": "9" * 5000}), None),
        (Response(status=429), None),
        (failure(429, retryAfterSeconds=3), 3),
        (Response(status=429, headers={"Retry-After": "7"}, body=failure(429, retryAfterSeconds=3).body), 7),
    ],
)
def test_the_wait_that_the_server_asks_for_comes_from_header_or_status(
    response: Response, expected: int | None
) -> None:
    assert response.retry_after == expected
    assert response.failure(GET).status.retry_after == (expected or 0)


@pytest.mark.parametrize(
    ("response", "expected"),
    [
        (failure(429, "TooManyRequests", causes=[{"reason": "DisruptionBudget", "message": "needs 1"}]), True),
        (failure(429, "TooManyRequests", causes=[{"reason": "other"}]), False),
        (failure(429, "TooManyRequests"), False),
        (Response(status=429, body=b"plain"), False),
        (failure(403, causes=[{"reason": "DisruptionBudget"}]), False),
    ],
)
def test_a_disruption_budgets_refusal_is_told_from_overload(response: Response, expected: bool) -> None:
    assert response.refuses_disruption is expected


def test_a_delete_that_our_own_lost_try_carried_out_is_a_success() -> None:
    delete = requests.delete(THINGS, "a", "n", uid="u")
    gone = failure(404, "NotFound")
    check_delete(msgspec.structs.replace(gone, repeated=True), delete)
    check_delete(Response(status=200), delete)
    with pytest.raises(errors.NotFound):
        check_delete(gone, delete)
    with pytest.raises(errors.Conflict):
        check_delete(msgspec.structs.replace(failure(409, "Conflict"), repeated=True), delete)


def test_a_failure_nested_too_deep_is_told_by_its_code() -> None:
    with pytest.raises(errors.ServerError, match="currently unable"):
        check(Response(status=503, body=b'{"odd":' * TOO_DEEP + b"1" + b"}" * TOO_DEEP), GET)
