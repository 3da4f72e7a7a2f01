"""
The steps by which a serving pair in a Secret is exchanged without a failing call. Decisions only, no I/O.

The state of a rotation is in the Secret itself, so any replica can go on with it after a restart:

    steady    tls.crt, tls.key; ca.crt holds its CA
    staged    a next pair stands beside it; ca.crt holds both CAs; the old pair is still served, until the webhook
              configurations carry both
    rolling   the next pair has taken the place of the old; ca.crt holds both CAs until every replica serves it

tls.crt, tls.key and ca.crt are the keys that an installer writes and other programs mount, so a mounted copy of the
Secret goes through the same steps.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from enum import Enum

import msgspec

from runtime.certs import (
    LIFETIME,
    RENEW_BEFORE,
    CertificateError,
    ServingPair,
    check_pair,
    issuing_ca,
    join_bundles,
    parse_certificates,
    split_bundle,
    to_pem,
)
from runtime.resource import Resource
from runtime.wire import ObjectMeta, Wire

CERT, KEY, CA = "tls.crt", "tls.key", "ca.crt"
NEXT_CERT, NEXT_KEY, NEXT_CA = "next-tls.crt", "next-tls.key", "next-ca.crt"
SINCE = "rotation-since"
"""When the present step of a rotation began, RFC 3339."""
_OWNER_MARK = "cert-manager.io/"
_LAST_MOMENT = timedelta(days=1)


class Secret(Wire, frozen=True):
    """core/v1 Secret."""

    metadata: ObjectMeta = ObjectMeta()
    type: str = ""
    data: dict[str, bytes] = msgspec.field(default_factory=dict)
    immutable: bool = False


SECRETS = Resource("", "v1", "Secret", "secrets", Secret)


class Step(Enum):
    """What to do with the Secret next."""

    KEEP = "keep"
    REPLACE = "replace"
    """The pair can't be used at all: nothing is lost by exchanging it at once."""
    STAGE = "stage"
    PROMOTE = "promote"
    RETIRE = "retire"


class RotationTimes(msgspec.Struct, frozen=True):
    """How long the steps of a rotation last."""

    settle: timedelta = timedelta(minutes=1)
    """From both CAs in all configurations to the new pair: every API server must have heard of them."""
    overlap: timedelta = timedelta(minutes=10)
    """From the new pair to the removal of the old CA: every replica, mounted copies too, must serve the new pair."""
    renew_before: timedelta = RENEW_BEFORE
    """How long before its expiry a pair is exchanged."""
    lifetime: timedelta = LIFETIME
    """Of a new pair."""


def pair_of(secret: Secret) -> ServingPair:
    """The pair to serve and the bundle to publish; empty texts for what isn't there."""
    data = secret.data
    return ServingPair(data.get(CERT, b""), data.get(KEY, b""), data.get(CA, b""))


def next_step(
    secret: Secret, dns_names: Sequence[str], now: datetime, times: RotationTimes, in_place_for: timedelta
) -> Step:
    """
    The step that is due. `in_place_for` tells for how long all configurations have carried ca.crt, zero if they don't.

    Raises CertificateError when a new pair is needed and the Secret isn't ours to change.
    """
    pair = pair_of(secret)
    unusable = _fault(pair, (), now)
    if owner := _owner(secret):
        if unusable:
            raise CertificateError(f"the certificate in a Secret that {owner} can't be used: {unusable}")
        return Step.KEEP
    if NEXT_CERT in secret.data:
        return _staged_step(secret, dns_names, now, times, in_place_for)
    if unusable:
        return Step.REPLACE
    if SINCE in secret.data:
        return Step.RETIRE if now - _since(secret.data, pair.cert) >= times.overlap else Step.KEEP
    return Step.STAGE if _fault(pair, dns_names, now, times.renew_before) else Step.KEEP


def _staged_step(
    secret: Secret, dns_names: Sequence[str], now: datetime, times: RotationTimes, in_place_for: timedelta
) -> Step:
    pair, following = pair_of(secret), _next_pair(secret)
    if _fault(following, dns_names, now, min(times.renew_before, times.lifetime / 2)):
        return Step.STAGE
    if _fault(pair, (), now, _LAST_MOMENT):
        return Step.PROMOTE  # waiting any longer would be worse than a CA that isn't in place everywhere
    waited = min(in_place_for, now - _since(secret.data, following.cert))
    return Step.PROMOTE if waited >= times.settle else Step.KEEP


def changes_for(step: Step, secret: Secret, fresh: ServingPair | None, now: datetime) -> dict[str, bytes | None]:
    """
    The data that carries out a step, None for a key to remove.

    `fresh` is the new pair for REPLACE and STAGE.
    """
    since = now.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ").encode()
    no_next: dict[str, bytes | None] = {NEXT_CERT: None, NEXT_KEY: None, NEXT_CA: None}
    old = _unexpired(secret.data.get(CA, b""), now)
    if step is Step.STAGE and fresh is not None:
        return {
            NEXT_CERT: fresh.cert,
            NEXT_KEY: fresh.key,
            NEXT_CA: fresh.ca,
            CA: join_bundles(old, fresh.ca),
            SINCE: since,
        }
    if step is Step.REPLACE and fresh is not None:
        # A replica may still serve a pair that the old CA vouches for, read before the Secret was spoilt.
        return {
            CERT: fresh.cert,
            KEY: fresh.key,
            CA: join_bundles(fresh.ca, old),
            SINCE: since if old else None,
            **no_next,
        }
    if step is Step.PROMOTE:
        following = _next_pair(secret)
        return {CERT: following.cert, KEY: following.key, CA: join_bundles(following.ca, old), SINCE: since, **no_next}
    if step is Step.RETIRE:
        return {CA: issuing_ca(pair_of(secret)), SINCE: None}
    raise ValueError(f"step {step} changes nothing, or lacks its new pair")


def _next_pair(secret: Secret) -> ServingPair:
    data = secret.data
    return ServingPair(data.get(NEXT_CERT, b""), data.get(NEXT_KEY, b""), data.get(NEXT_CA, b""))


def _fault(pair: ServingPair, dns_names: Sequence[str], now: datetime, remaining: timedelta = timedelta()) -> str:
    try:
        check_pair(pair, dns_names, now, remaining)
    except CertificateError as error:
        return str(error)
    return ""


def _owner(secret: Secret) -> str:
    """Why the Secret isn't ours to change; empty when it is."""
    if secret.immutable:
        return "is immutable"
    if any(name.startswith(_OWNER_MARK) for name in secret.metadata.annotations):
        return "belongs to cert-manager"
    return ""


def _since(data: dict[str, bytes], cert: bytes) -> datetime:
    """When the step began; if somebody spoilt the record, when the newest certificate became valid."""
    try:
        return datetime.fromisoformat(data.get(SINCE, b"").decode("ascii", "replace")).astimezone(UTC)
    except ValueError:
        return parse_certificates(cert)[0].not_valid_before_utc


def _unexpired(bundle: bytes, now: datetime) -> bytes:
    return b"".join(to_pem(ca) for ca in split_bundle(bundle) if ca.not_valid_after_utc > now)
