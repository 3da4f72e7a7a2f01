from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any

import msgspec
import pytest

from runtime.certs import CertificateError, ServingPair, check_pair
from runtime.certstore import ATTEMPTS, CertificateStore
from runtime.client import Client
from runtime.errors import ApiError, ConnectionFailed, NotFound
from runtime.patches import MergePatch
from runtime.resource import Resource
from runtime.rotation import CA, CERT, KEY, NEXT_CA, NEXT_CERT, NEXT_KEY, SINCE, Secret
from runtime.wire import ObjectMeta
from tests.unit.runtime.scripted import failure
from tests.unit.runtime.tls_clients import quick_pair

NOW = datetime(2026, 8, 1, 12, tzinfo=UTC)
NAMES = ("svc", "svc.ns", "svc.ns.svc")
ONE, TWO = (quick_pair(NAMES, NOW, timedelta(days=365)) for _ in range(2))
SHORT = quick_pair(NAMES, NOW, timedelta(days=20))


def stored(pair: ServingPair, data: dict[str, bytes] | None = None, *, version: str = "7") -> Secret:
    content = {CERT: pair.cert, KEY: pair.key, CA: pair.ca} | (data or {})
    return Secret(metadata=ObjectMeta(name="s", namespace="ns", resource_version=version), data=content)


class Script:
    """A client that answers in the order written down and notes what it was asked."""

    def __init__(self, *answers: Secret | Exception) -> None:
        self._answers = list(answers)
        self.asked: list[tuple[str, Any]] = []

    def as_client(self) -> Client:
        client: Any = self
        result: Client = client
        return result

    def _answer(self, verb: str, body: Any = None) -> Secret:
        self.asked.append((verb, body))
        answer = self._answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    async def get(self, resource: Resource[Secret], name: str, namespace: str) -> Secret:
        assert (resource.plural, name, namespace) == ("secrets", "s", "ns")
        return self._answer("get")

    async def create(self, resource: Resource[Secret], obj: Any, namespace: str) -> Secret:
        return self._answer("create", msgspec.convert(msgspec.to_builtins(obj), Secret))

    async def patch(self, resource: Resource[Secret], name: str, namespace: str, patch: MergePatch) -> Secret:
        assert patch.is_pinned, "a patch must fail when somebody else changed the Secret"
        return self._answer("patch", msgspec.json.decode(patch.encode()))


def store(script: Script, *pairs: ServingPair) -> CertificateStore:
    """A store that makes these pairs, in order."""
    supply = list(pairs)

    def create(names: Sequence[str], now: datetime, lifetime: timedelta) -> ServingPair:
        assert (tuple(names), now, lifetime) == (NAMES, NOW, timedelta(days=3650))
        return supply.pop(0)

    return CertificateStore(script.as_client(), "s", "ns", NAMES, clock=lambda: NOW, create=create)


def never(bundle: bytes) -> timedelta:
    return timedelta()


NOT_FOUND = failure(404, "NotFound")
ALREADY = failure(409, "AlreadyExists")
CONFLICT = failure(409, "Conflict")


async def test_a_valid_pair_is_taken_as_it_is() -> None:
    script = Script(stored(ONE))

    assert await store(script).sync(never) == ONE
    assert [verb for verb, _ in script.asked] == ["get"]


async def test_a_missing_secret_is_made() -> None:
    script = Script(NOT_FOUND, stored(ONE))

    assert await store(script, ONE).sync(never) == ONE

    assert [verb for verb, _ in script.asked] == ["get", "create"]
    created = script.asked[1][1]
    assert created.type == "Opaque"
    assert (created.metadata.name, created.metadata.namespace) == ("s", "ns")
    assert created.data == {CERT: ONE.cert, KEY: ONE.key, CA: ONE.ca}


async def test_the_loser_of_a_race_takes_what_the_winner_made() -> None:
    script = Script(NOT_FOUND, ALREADY, stored(TWO))

    assert await store(script, ONE).sync(never) == TWO
    assert [verb for verb, _ in script.asked] == ["get", "create", "get"]


async def test_a_pair_near_its_end_is_staged_and_served_on() -> None:
    staged = stored(SHORT, {CA: SHORT.ca + TWO.ca, NEXT_CERT: TWO.cert, NEXT_KEY: TWO.key, NEXT_CA: TWO.ca})
    script = Script(stored(SHORT, version="41"), staged)

    assert await store(script, TWO).sync(never) == ServingPair(SHORT.cert, SHORT.key, SHORT.ca + TWO.ca)

    body = script.asked[1][1]
    assert body["metadata"] == {"resourceVersion": "41"}
    assert set(body["data"]) == {CA, NEXT_CERT, NEXT_KEY, NEXT_CA, SINCE}


async def test_the_bundle_that_must_be_in_place_is_that_of_the_secret() -> None:
    asked: list[bytes] = []

    def note(bundle: bytes) -> timedelta:
        asked.append(bundle)
        return timedelta(hours=1)

    since = {SINCE: b"2026-08-01T10:00:00Z"}
    staged = {CA: SHORT.ca + TWO.ca, NEXT_CERT: TWO.cert, NEXT_KEY: TWO.key, NEXT_CA: TWO.ca}
    script = Script(stored(SHORT, staged | since), stored(TWO, {CA: TWO.ca + SHORT.ca} | since))

    assert await store(script).sync(note) == ServingPair(TWO.cert, TWO.key, TWO.ca + SHORT.ca)
    assert asked == [SHORT.ca + TWO.ca]
    assert script.asked[1][1]["data"][NEXT_CERT] is None


@pytest.mark.parametrize("answer", [CONFLICT, NOT_FOUND])
async def test_a_step_that_somebody_else_took_is_looked_at_again(answer: ApiError) -> None:
    script = Script(stored(SHORT), answer, stored(ONE))

    assert await store(script, TWO, TWO).sync(never) == ONE


@pytest.mark.virtual_time
@pytest.mark.parametrize("answer", [CONFLICT, ALREADY])
async def test_races_that_are_always_lost_are_given_up_after_growing_pauses(answer: ApiError) -> None:
    times: list[float] = []

    def keep_time(bundle: bytes) -> timedelta:
        times.append(asyncio.get_running_loop().time())
        return timedelta()

    script = Script(*[answer if number % 2 else stored(SHORT) for number in range(2 * ATTEMPTS)])

    with pytest.raises(type(answer)):
        await store(script, *[TWO] * ATTEMPTS).sync(keep_time)

    pauses = [later - earlier for earlier, later in pairwise(times)]
    assert len(times) == ATTEMPTS
    assert pauses[0] >= 0.05
    assert pauses[-1] > 8 * pauses[0]
    assert sum(pauses) < 30


async def test_a_deleted_secret_comes_back_with_the_pair_in_use() -> None:
    script = Script(stored(ONE), NOT_FOUND, stored(ONE))
    kept = store(script)
    await kept.sync(never)

    assert await kept.sync(never) == ONE
    assert script.asked[2][1].data[CERT] == ONE.cert


async def test_a_spoilt_secret_is_replaced(caplog: pytest.LogCaptureFixture) -> None:
    script = Script(stored(ServingPair(b"rubbish", b"", b"")), stored(TWO))

    assert await store(script, TWO).sync(never) == TWO
    assert script.asked[1][1]["data"][SINCE] is None
    assert "step=replace" in caplog.text


@pytest.mark.parametrize("error", [failure(403, "Forbidden"), failure(500), ConnectionFailed("no answer")])
async def test_other_failures_are_the_callers(error: Exception) -> None:
    with pytest.raises(type(error)):
        await store(Script(error)).sync(never)
    with pytest.raises(type(error)):
        await store(Script(NOT_FOUND, error), ONE).sync(never)


async def test_a_namespace_that_does_not_exist_is_the_callers_matter() -> None:
    with pytest.raises(NotFound):
        await store(Script(NOT_FOUND, NOT_FOUND), ONE).sync(never)


async def test_a_foreign_secret_that_can_not_be_used_is_an_error() -> None:
    meta = ObjectMeta(name="s", annotations={"cert-manager.io/certificate-name": "x"})

    with pytest.raises(CertificateError, match="belongs to cert-manager"):
        await store(Script(Secret(metadata=meta))).sync(never)


async def test_keys_are_made_beside_the_loop() -> None:
    script = Script(NOT_FOUND, stored(ONE))
    real = CertificateStore(script.as_client(), "s", "ns", NAMES, clock=lambda: NOW)
    turns = 0

    async def count() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    counting = asyncio.ensure_future(count())
    await real.sync(never)
    counting.cancel()

    data = script.asked[1][1].data
    check_pair(ServingPair(data[CERT], data[KEY], data[CA]), NAMES, NOW)
    assert turns > 10, "the loop stood still"
