from __future__ import annotations

import msgspec
import pytest

from runtime import requests
from runtime.backoff import Backoff
from runtime.errors import ConnectionFailed
from runtime.requests import Request
from runtime.responses import Response
from runtime.retry import IMPATIENT, ONCE, Attempts, Outcome, RetryPolicy
from tests.things import THINGS

READ = requests.get(THINGS, "a", "n")
CREATE = requests.create(THINGS, {}, "n")
PINNED_DELETE = requests.delete(THINGS, "a", "n", uid="u")
DELETE = requests.delete(THINGS, "a", "n")

REFUSED = ConnectionFailed("refused", sent=False)
BROKEN = ConnectionFailed("reset", sent=True)
UNTRUSTED = ConnectionFailed("x509", sent=False, permanent=True)
BUDGET = Response(
    status=429,
    body=msgspec.json.encode({"status": "Failure", "details": {"causes": [{"reason": "DisruptionBudget"}]}}),
)

POLICY = RetryPolicy(attempts=3, deadline=30.0, backoff=Backoff(base=1.0, factor=2.0, cap=8.0, jitter=0.0))


def status(code: int, retry_after: str = "") -> Response:
    return Response(status=code, headers={"Retry-After": retry_after} if retry_after else {})


def pause(
    request: Request, outcome: Outcome, attempt: int = 1, elapsed: float = 0.0, policy: RetryPolicy = POLICY
) -> float | None:
    return policy.pause(request, outcome, attempt=attempt, elapsed=elapsed, rand=lambda: 0.0)


@pytest.mark.parametrize(
    ("outcome", "repeated"),
    [
        (status(429), "read create pinned delete"),
        (status(429, "1"), "read create pinned delete"),
        (BUDGET, ""),
        (REFUSED, "read create pinned delete"),
        (UNTRUSTED, ""),
        (BROKEN, "read pinned"),
        (status(500), "read"),
        (status(500, "1"), "read pinned"),
        (status(502), "read pinned"),
        (status(503), "read pinned"),
        (status(504), "read pinned"),
        (status(501), ""),
        (status(200), ""),
        (status(404), ""),
        (status(409), ""),
        (status(401), ""),
    ],
)
def test_only_what_is_safe_is_sent_again(outcome: Outcome, repeated: str) -> None:
    verbs = {"read": READ, "create": CREATE, "pinned": PINNED_DELETE, "delete": DELETE}
    assert " ".join(name for name, request in verbs.items() if pause(request, outcome) is not None) == repeated


@pytest.mark.parametrize(
    ("attempt", "elapsed", "outcome", "expected"),
    [
        (1, 0.0, BROKEN, 1.0),
        (2, 0.0, BROKEN, 2.0),
        (3, 0.0, BROKEN, None),
        (1, 29.0, BROKEN, 1.0),
        (1, 29.1, BROKEN, None),
        (1, 0.0, status(429, "7"), 8.0),
        (2, 0.0, status(429, "7"), 9.0),
        (1, 0.0, status(429, "0"), 1.0),
        (1, 0.0, status(429, "29"), 30.0),
        (1, 0.0, status(429, "30"), None),
        (1, 0.0, status(429), 1.0),
    ],
)
def test_pauses_follow_the_server_and_end_at_the_bounds(
    attempt: int, elapsed: float, outcome: Outcome, expected: float | None
) -> None:
    assert pause(READ, outcome, attempt, elapsed) == expected


def test_a_person_hears_of_a_refused_connection_at_once_but_waits_out_an_overload() -> None:
    assert pause(READ, REFUSED, policy=IMPATIENT) is None
    assert pause(READ, status(429, "1"), policy=IMPATIENT) is not None


def test_once_means_once() -> None:
    assert all(pause(READ, outcome, policy=ONCE) is None for outcome in (REFUSED, BROKEN, status(429, "1")))


def attempts(request: Request = READ) -> Attempts:
    return Attempts(POLICY, request, now=100.0, rand=lambda: 0.0)


def test_credentials_are_renewed_at_the_first_401_only() -> None:
    tries = attempts()
    assert not tries.wants_credentials(status(403))
    assert not tries.wants_credentials(BROKEN)
    assert tries.wants_credentials(status(401))
    assert not tries.wants_credentials(status(401))


def test_attempts_count_and_the_clock_runs_from_the_first() -> None:
    tries = attempts()
    assert [tries.pause(BROKEN, 100.0), tries.pause(BROKEN, 101.0), tries.pause(BROKEN, 103.0)] == [1.0, 2.0, None]
    assert attempts().pause(BROKEN, 130.0) is None


@pytest.mark.parametrize(
    ("earlier", "repeated"),
    [
        ([], False),
        ([BROKEN], True),
        ([status(503)], True),
        ([REFUSED], False),
        ([status(429)], False),
        ([BROKEN, REFUSED], True),
    ],
)
def test_an_answer_tells_whether_an_earlier_try_may_have_taken_effect(earlier: list[Outcome], repeated: bool) -> None:
    tries = attempts(PINNED_DELETE)
    for outcome in earlier:
        assert tries.pause(outcome, 100.0) is not None
    assert tries.pause(status(404), 100.0) is None
    assert tries.conclude(status(404)).repeated is repeated


def test_a_final_failure_to_connect_is_raised() -> None:
    with pytest.raises(ConnectionFailed) as caught:
        attempts().conclude(REFUSED)
    assert caught.value is REFUSED
