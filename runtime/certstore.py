"""
The serving pair in a Secret, shared by all replicas: made by whichever comes first, exchanged by whichever is due.

Each change is a patch that fails if somebody else changed the Secret first; then it is read again. Only get, create
and patch of one Secret are needed.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta

from runtime.backoff import Backoff
from runtime.certs import ServingPair, create_pair, utc_now
from runtime.client import Client
from runtime.errors import AlreadyExists, Conflict, NotFound
from runtime.patches import MergePatch
from runtime.rotation import CA, CERT, KEY, SECRETS, RotationTimes, Secret, Step, changes_for, next_step, pair_of

logger = logging.getLogger(__name__)

ATTEMPTS = 8
"""Lost races after which a sync is given up: then something else than a faster replica is in the way."""
_PAUSES = Backoff(base=0.05, cap=5.0)


class CertificateStore:
    """
    The pair in one Secret. `dns_names` are what the serving certificate must be valid for.

    A usable pair is never exchanged at once, and a Secret that cert-manager owns is only read.
    """

    def __init__(
        self,
        client: Client,
        name: str,
        namespace: str,
        dns_names: Sequence[str],
        *,
        times: RotationTimes | None = None,
        clock: Callable[[], datetime] = utc_now,
        create: Callable[[Sequence[str], datetime, timedelta], ServingPair] = create_pair,
    ) -> None:
        self._client = client
        self._name = name
        self._namespace = namespace
        self._dns_names = tuple(dns_names)
        self._times = times or RotationTimes()
        self._clock = clock
        self._create = create
        self._last: ServingPair | None = None

    async def sync(self, in_place_for: Callable[[bytes], timedelta]) -> ServingPair:
        """
        Read the Secret, take the steps that are due, and give the pair to serve with the bundle to publish.

        `in_place_for` tells for how long the webhook configurations have carried a bundle. Replicas that sync at the
        same moment end with the same pair. Raises ApiError (Conflict and AlreadyExists after `ATTEMPTS` lost races)
        and ConnectionFailed, and CertificateError when the Secret can neither be used nor changed.
        """
        for lost in range(1, ATTEMPTS):
            try:
                return await self._sync_once(in_place_for)
            except (AlreadyExists, Conflict):  # another replica was faster: see what it made
                await asyncio.sleep(_PAUSES.pause(lost))
        return await self._sync_once(in_place_for)

    async def _sync_once(self, in_place_for: Callable[[bytes], timedelta]) -> ServingPair:
        """One read and one step. Raises Conflict and AlreadyExists when somebody else wrote meanwhile."""
        try:
            secret = await self._client.get(SECRETS, self._name, self._namespace)
            bundle = pair_of(secret).ca
            step = next_step(secret, self._dns_names, self._clock(), self._times, in_place_for(bundle))
            if step is not Step.KEEP:
                secret = await self._take(step, secret)
        except NotFound:
            secret = await self._create_secret()
        self._last = pair_of(secret)
        return self._last

    async def _create_secret(self) -> Secret:
        """Make the Secret; one that somebody deleted comes back with the pair that is being served."""
        pair = self._last or await self._new_pair()
        body = {
            "metadata": {"name": self._name, "namespace": self._namespace},
            "type": "Opaque",
            "data": {CERT: pair.cert, KEY: pair.key, CA: pair.ca},
        }
        created = await self._client.create(SECRETS, body, self._namespace)
        logger.info('msg="certificate secret created" secret=%s/%s', self._namespace, self._name)
        return created

    async def _take(self, step: Step, secret: Secret) -> Secret:
        """Carry out one step; the Secret afterwards. Raises Conflict when it changed meanwhile."""
        fresh = await self._new_pair() if step in {Step.REPLACE, Step.STAGE} else None
        body = {
            "metadata": {"resourceVersion": secret.metadata.resource_version},
            "data": changes_for(step, secret, fresh, self._clock()),
        }
        changed = await self._client.patch(SECRETS, self._name, self._namespace, MergePatch(body))
        level = logging.WARNING if step is Step.REPLACE else logging.INFO
        logger.log(level, 'msg="certificate rotation" secret=%s/%s step=%s', self._namespace, self._name, step.value)
        return changed

    async def _new_pair(self) -> ServingPair:
        return await asyncio.to_thread(self._create, self._dns_names, self._clock(), self._times.lifetime)
