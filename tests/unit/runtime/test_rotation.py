from __future__ import annotations

import itertools
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runtime.certs import CertificateError, ServingPair, check_pair, is_same_bundle, issuing_ca
from runtime.rotation import (
    CA,
    CERT,
    KEY,
    NEXT_CA,
    NEXT_CERT,
    NEXT_KEY,
    SINCE,
    RotationTimes,
    Secret,
    Step,
    changes_for,
    next_step,
    pair_of,
)
from runtime.wire import ObjectMeta
from tests.unit.runtime.tls_clients import quick_pair

NOW = datetime(2026, 8, 1, 12, tzinfo=UTC)
NAMES = ("svc", "svc.ns", "svc.ns.svc")
TIMES = RotationTimes()
LONG = timedelta(days=1)
ZERO = timedelta()
ONE = quick_pair(NAMES, NOW, timedelta(days=365))
TWO = quick_pair(NAMES, NOW, timedelta(days=365))
SHORT = quick_pair(NAMES, NOW, timedelta(days=29))
LAST_HOURS = quick_pair(NAMES, NOW, timedelta(hours=20))
OTHER_NAMES = quick_pair(NAMES[:2], NOW, timedelta(days=365))
STAMP = b"2026-08-01T12:00:00Z"


def secret(pair: ServingPair | None, following: ServingPair | None = None, **more: bytes) -> Secret:
    data = {CERT: pair.cert, KEY: pair.key, CA: pair.ca} if pair else {}
    if following:
        data |= {NEXT_CERT: following.cert, NEXT_KEY: following.key, NEXT_CA: following.ca}
        data[CA] = data.get(CA, b"") + following.ca
    return Secret(data=data | {name.replace("_", "-"): value for name, value in more.items()})


def after(before: Secret, changes: Mapping[str, bytes | None]) -> Secret:
    """What a merge patch makes of the Secret."""
    data = {**before.data, **changes}
    return Secret(metadata=before.metadata, data={name: value for name, value in data.items() if value is not None})


@pytest.mark.parametrize(
    ("found", "now", "in_place_for", "step"),
    [
        pytest.param(secret(ONE), NOW, LONG, Step.KEEP, id="steady"),
        pytest.param(Secret(data={CERT: ONE.cert, KEY: ONE.key, CA: ONE.ca + TWO.ca}), NOW, LONG, Step.KEEP, id="a bundle of two by hand"),
        pytest.param(secret(SHORT), NOW, LONG, Step.STAGE, id="less than 30 days left"),
        pytest.param(secret(OTHER_NAMES), NOW, LONG, Step.STAGE, id="a name is missing"),
        pytest.param(Secret(), NOW, LONG, Step.REPLACE, id="an empty Secret"),
        pytest.param(Secret(data={"password": b"x"}), NOW, LONG, Step.REPLACE, id="other keys only"),
        pytest.param(secret(ServingPair(b"rubbish", ONE.key, ONE.ca)), NOW, LONG, Step.REPLACE, id="no certificate"),
        pytest.param(secret(ServingPair(ONE.cert, TWO.key, ONE.ca)), NOW, LONG, Step.REPLACE, id="another key"),
        pytest.param(secret(ServingPair(ONE.cert, ONE.key, TWO.ca)), NOW, LONG, Step.REPLACE, id="another CA"),
        pytest.param(secret(ONE), NOW + timedelta(days=366), LONG, Step.REPLACE, id="expired"),
        pytest.param(secret(ONE, TWO, rotation_since=STAMP), NOW + timedelta(minutes=2), ZERO, Step.KEEP, id="staged, not in place"),
        pytest.param(secret(ONE, TWO, rotation_since=STAMP), NOW + timedelta(seconds=59), LONG, Step.KEEP, id="staged just now"),
        pytest.param(secret(ONE, TWO, rotation_since=STAMP), NOW + timedelta(minutes=2), timedelta(seconds=59), Step.KEEP, id="in place just now"),
        pytest.param(secret(ONE, TWO, rotation_since=STAMP), NOW + timedelta(minutes=1), timedelta(minutes=1), Step.PROMOTE, id="staged and settled"),
        pytest.param(secret(LAST_HOURS, TWO, rotation_since=STAMP), NOW, ZERO, Step.PROMOTE, id="no time to wait"),
        pytest.param(secret(ServingPair(b"", b"", b""), TWO), NOW, ZERO, Step.PROMOTE, id="the old one is spoilt"),
        pytest.param(secret(ONE, SHORT, rotation_since=STAMP), NOW, LONG, Step.STAGE, id="staged long ago"),
        pytest.param(secret(ONE, OTHER_NAMES, rotation_since=STAMP), NOW, LONG, Step.STAGE, id="staged for other names"),
        pytest.param(secret(ONE, ServingPair(b"x", b"y", TWO.ca)), NOW, LONG, Step.STAGE, id="what is staged is spoilt"),
        pytest.param(secret(ONE, rotation_since=STAMP), NOW + timedelta(minutes=9), LONG, Step.KEEP, id="rolling"),
        pytest.param(secret(ONE, rotation_since=STAMP), NOW + timedelta(minutes=10), ZERO, Step.RETIRE, id="rolled"),
        pytest.param(secret(ONE, rotation_since=b"rubbish"), NOW, ZERO, Step.RETIRE, id="the record is spoilt"),
        pytest.param(secret(ONE, TWO), NOW, LONG, Step.PROMOTE, id="the record is missing"),
    ],
)  # fmt: skip
def test_the_step_that_is_due(found: Secret, now: datetime, in_place_for: timedelta, step: Step) -> None:
    assert next_step(found, NAMES, now, TIMES, in_place_for) is step


@pytest.mark.parametrize(
    ("found", "owner"),
    [
        (Secret(metadata=ObjectMeta(annotations={"cert-manager.io/certificate-name": "x"})), "belongs to cert-manager"),
        (Secret(immutable=True), "is immutable"),
    ],
)
def test_a_secret_that_is_not_ours_is_only_read(found: Secret, owner: str) -> None:
    def filled(pair: ServingPair) -> Secret:
        return Secret(metadata=found.metadata, immutable=found.immutable, data=secret(pair).data)

    for pair in (ONE, SHORT, OTHER_NAMES):
        assert next_step(filled(pair), NAMES, NOW, TIMES, LONG) is Step.KEEP
    with pytest.raises(CertificateError, match=f"a Secret that {owner} can't be used: not a PEM certificate"):
        next_step(found, NAMES, NOW, TIMES, LONG)


def test_a_rotation_goes_its_way() -> None:
    staged = after(secret(SHORT), changes_for(Step.STAGE, secret(SHORT), TWO, NOW))
    assert pair_of(staged) == ServingPair(SHORT.cert, SHORT.key, SHORT.ca + TWO.ca)
    assert staged.data[SINCE] == STAMP

    rolling = after(staged, changes_for(Step.PROMOTE, staged, None, NOW + timedelta(hours=1)))
    assert pair_of(rolling) == ServingPair(TWO.cert, TWO.key, TWO.ca + SHORT.ca)
    assert rolling.data[SINCE] == b"2026-08-01T13:00:00Z"
    assert set(rolling.data) == {CERT, KEY, CA, SINCE}

    steady = after(rolling, changes_for(Step.RETIRE, rolling, None, NOW))
    assert steady.data == {CERT: TWO.cert, KEY: TWO.key, CA: TWO.ca}


def test_a_replaced_pair_keeps_the_old_ca_for_those_who_serve_under_it() -> None:
    spoilt = secret(ServingPair(b"rubbish", b"", ONE.ca), TWO)
    replaced = after(spoilt, changes_for(Step.REPLACE, spoilt, SHORT, NOW))

    assert pair_of(replaced) == ServingPair(SHORT.cert, SHORT.key, SHORT.ca + ONE.ca + TWO.ca)
    assert set(replaced.data) == {CERT, KEY, CA, SINCE}


def test_an_empty_secret_is_filled_and_steady_at_once() -> None:
    found = Secret(data={"password": b"x"})
    filled = after(found, changes_for(Step.REPLACE, found, ONE, NOW))

    assert filled.data == {"password": b"x", CERT: ONE.cert, KEY: ONE.key, CA: ONE.ca}
    assert next_step(filled, NAMES, NOW, TIMES, ZERO) is Step.KEEP


def test_expired_cas_are_left_behind() -> None:
    later = NOW + timedelta(days=40)
    found = Secret(data={CERT: ONE.cert, KEY: ONE.key, CA: SHORT.ca + ONE.ca})

    assert changes_for(Step.STAGE, found, TWO, later)[CA] == ONE.ca + TWO.ca


@pytest.mark.parametrize(("step", "fresh"), [(Step.KEEP, ONE), (Step.STAGE, None), (Step.REPLACE, None)])
def test_a_step_without_what_it_needs_is_a_mistake(step: Step, fresh: ServingPair | None) -> None:
    with pytest.raises(ValueError, match="changes nothing, or lacks its new pair"):
        changes_for(step, secret(ONE), fresh, NOW)


class Cluster:
    """Replicas that look at the Secret now and then, and an API server that hears of the configurations late."""

    def __init__(self, replicas: int) -> None:
        self.now = NOW
        self.secret = secret(quick_pair(NAMES, NOW - timedelta(days=335), timedelta(days=365)))
        self.served = [pair_of(self.secret)] * replicas
        self.bundles = [(NOW - LONG, self.secret.data[CA])]
        """What the configurations held, and since when."""

    def sync(self, replica: int) -> None:
        since, bundle = self.bundles[-1]
        in_place_for = self.now - since if is_same_bundle(bundle, self.secret.data[CA]) else ZERO
        step = next_step(self.secret, NAMES, self.now, TIMES, in_place_for)
        if step is not Step.KEEP:
            fresh = quick_pair(NAMES, self.now, timedelta(days=365)) if step in {Step.STAGE, Step.REPLACE} else None
            self.secret = after(self.secret, changes_for(step, self.secret, fresh, self.now))
        self.served[replica] = pair_of(self.secret)
        if not is_same_bundle(self.bundles[-1][1], self.secret.data[CA]):
            self.bundles.append((self.now, self.secret.data[CA]))

    def seen(self, delay: timedelta) -> bytes:
        """The bundle by which an API server verifies that is behind by `delay`."""
        return next(bundle for since, bundle in reversed(self.bundles) if since <= self.now - delay)


@settings(max_examples=6, deadline=None)
@given(st.data(), st.integers(1, 3))
def test_no_call_fails_while_replicas_and_api_servers_lag_behind(data: st.DataObject, replicas: int) -> None:
    cluster = Cluster(replicas)
    first = issuing_ca(cluster.served[0])
    looked = [NOW] * replicas
    for seconds in itertools.accumulate(data.draw(st.lists(st.integers(10, 60), min_size=50, max_size=50))):
        cluster.now = NOW + timedelta(seconds=seconds)
        for replica in range(replicas):
            # A replica may be slow, but one that isn't heard of for longer than the overlap is none.
            if data.draw(st.booleans()) or cluster.now - looked[replica] > timedelta(minutes=5):
                looked[replica] = cluster.now
                cluster.sync(replica)
        for pair in cluster.served:
            bundle = cluster.seen(timedelta(seconds=data.draw(st.integers(0, 55))))
            check_pair(ServingPair(pair.cert, pair.key, bundle), NAMES, cluster.now)
    for replica in range(replicas):
        cluster.sync(replica)
    assert all(issuing_ca(pair) != first for pair in cluster.served), "the rotation didn't come to its end"
    assert len({pair.cert for pair in cluster.served}) == 1
