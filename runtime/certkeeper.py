"""
Where the serving certificate comes from, and the order in which a new one is taken into use.

A pair under a new CA may be served only once the API server trusts that CA. So a `Rollover` first has both CAs written
into the webhook configurations, waits until they stand there, and then serves the new pair; the old CA goes later
(see `runtime.cabundle`). It is fed either from files that somebody else replaces, or from a Secret that we rotate.
"""

from __future__ import annotations

import asyncio
import logging
from contextlib import aclosing
from pathlib import Path

import msgspec

from runtime import admission_metrics as metrics
from runtime.backoff import Backoff
from runtime.cabundle import BundleKeeper
from runtime.certs import CertificateError, ServingPair, check_match, issuing_ca, join_bundles, parse_certificates
from runtime.certstore import CertificateStore
from runtime.errors import ApiError, ConnectionFailed, DecodeError
from runtime.filewatch import Contents, follow
from runtime.servingtls import ServingTls

logger = logging.getLogger(__name__)

PATIENCE = 60.0
SETTLE = 2.0
SYNC_INTERVAL = 30.0
"""Seconds between looks at the Secret."""


class Rollover:
    """
    Takes pairs into use.

    A pair with a new CA waits for up to `patience` seconds until the configurations carry it, and `settle` seconds more
    until API servers have heard of that. The first pair waits for nothing: nothing is served yet.
    """

    def __init__(
        self, tls: ServingTls, keeper: BundleKeeper, *, patience: float = PATIENCE, settle: float = SETTLE
    ) -> None:
        self._tls = tls
        self._keeper = keeper
        self._patience = patience
        self._settle = settle
        self._served: ServingPair | None = None

    async def adopt(self, pair: ServingPair, client_ca: bytes | None = None) -> None:
        """
        Serve this pair and publish its bundle; does nothing when both are in use.

        A pair without a bundle leaves the published one alone. Raises CertificateError, and goes on with the old pair,
        when the new one can't be used.
        """
        if pair.ca:
            parse_certificates(pair.ca)  # nothing is taken into use unless all of it can be
        old = self._served
        if old is not None and (old.cert, old.key) != (pair.cert, pair.key):
            check_match(pair.cert, pair.key)
            if pair.ca:
                issuing_ca(pair)
                await self._announce(join_bundles(pair.ca, old.ca))
        self._tls.install(pair.cert, pair.key, client_ca)
        self._served = pair
        if pair.ca:
            self._keeper.set_bundle(pair.ca)

    async def _announce(self, bundle: bytes) -> None:
        self._keeper.set_bundle(bundle)
        if self._keeper.is_in_place:
            return
        if not await self._keeper.wait_in_place(self._patience):
            logger.warning(
                'msg="serving a new certificate although its CA is not everywhere" missing="%s"',
                "; ".join(self._keeper.missing),
            )
        await asyncio.sleep(self._settle)


class CertificateFiles(msgspec.Struct, frozen=True):
    """Paths of PEM files. Without `ca` no bundle is published, without `client_ca` client certificates aren't asked for."""

    cert: Path
    key: Path
    ca: Path | None = None
    client_ca: Path | None = None

    @property
    def paths(self) -> tuple[Path, ...]:
        """All paths that are set."""
        return tuple(path for path in (self.cert, self.key, self.ca, self.client_ca) if path is not None)


async def adopt_files(rollover: Rollover, files: CertificateFiles, contents: Contents) -> None:
    """Take into use what the files hold. Raises CertificateError when one can't be read or doesn't fit the others."""
    unreadable = [str(path) for path in files.paths if contents.get(path) is None]
    if unreadable:
        raise CertificateError(f"unable to read {', '.join(unreadable)}")
    texts = {path: text or b"" for path, text in contents.items()}
    pair = ServingPair(texts[files.cert], texts[files.key], texts[files.ca] if files.ca else b"")
    await rollover.adopt(pair, texts[files.client_ca] if files.client_ca else None)


async def keep_from_files(rollover: Rollover, files: CertificateFiles) -> None:
    """Follow the files until cancelled. What doesn't fit, such as a pair half written, leaves the old pair in use."""
    async with aclosing(follow(files.paths)) as changes:
        async for contents in changes:
            try:
                await adopt_files(rollover, files, contents)
            except CertificateError as error:
                metrics.CERTIFICATE_REFUSALS.inc()
                logger.warning('msg="keeping the old certificate" cert=%s error="%s"', files.cert, error)


async def keep_from_secret(
    rollover: Rollover,
    keeper: BundleKeeper,
    store: CertificateStore,
    *,
    interval: float = SYNC_INTERVAL,
    backoff: Backoff | None = None,
) -> None:
    """Follow and rotate the pair in the Secret until cancelled. Failures are repeated; the old pair stays in use."""
    pauses = backoff or Backoff(base=0.5, cap=interval)
    failures = 0
    while True:
        try:
            await rollover.adopt(await store.sync(keeper.in_place_for))
            failures = 0
        except (ApiError, ConnectionFailed, DecodeError, CertificateError) as error:
            failures += 1
            metrics.CERTIFICATE_REFUSALS.inc()
            logger.warning('msg="certificate secret can not be used" attempt=%d error="%s"', failures, error)
        await asyncio.sleep(pauses.pause(failures) if failures else interval)
