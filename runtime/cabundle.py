"""
The CA bundle in the webhook configurations: written, and kept.

The API server calls a webhook only when it can verify its certificate by the `caBundle` that stands in the webhook
configuration. The configurations belong to whoever installed us; we patch this one field, in all of them at once, as
soon as they appear, and again when somebody overwrites it. No failure here ends the process: handlers that are
reachable go on, `is_in_place` tells readiness.

What others put into the field is not dropped at once: while replicas roll from one CA to the next, one of them may
still serve under a CA that this one has never seen. So a foreign certificate stays beside ours for `overlap`.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable
from datetime import datetime, timedelta
from typing import NamedTuple

import msgspec

from runtime import admission_metrics as metrics
from runtime.admission import Handler, Mutator
from runtime.certs import expiry, fingerprint, is_same_bundle, join_bundles, split_bundle, to_pem, utc_now
from runtime.client import Client
from runtime.controller import DONE, Controller, Result, Watch, again_after
from runtime.informer import Informer
from runtime.objects import Key
from runtime.patches import JsonPatch, Operation, add, pointer, test
from runtime.resource import Resource
from runtime.retry_limiter import RetryLimits
from runtime.wire import ObjectMeta, Wire

logger = logging.getLogger(__name__)

OVERLAP = 600.0
"""Seconds for which a CA that isn't ours stays: more than a mounted Secret takes to reach every replica."""
_TRUCE = 60.0
"""Seconds within which a repeated overwriting counts as a quarrel, in which we give in for longer each time."""
_RETRIES = RetryLimits(base=0.2, cap=30.0)


class ClientConfig(Wire, frozen=True, gc=False):
    """How a webhook is reached, as far as it concerns us."""

    ca_bundle: bytes = b""


class Webhook(Wire, frozen=True, gc=False):
    """One entry of a configuration."""

    name: str = ""
    client_config: ClientConfig = ClientConfig()


class WebhookConfiguration(Wire, frozen=True):
    """MutatingWebhookConfiguration and ValidatingWebhookConfiguration, which differ in nothing that we read."""

    metadata: ObjectMeta = ObjectMeta()
    webhooks: tuple[Webhook, ...] = ()


def _resource(kind: str) -> Resource[WebhookConfiguration]:
    plural = f"{kind.lower()}s"
    return Resource("admissionregistration.k8s.io", "v1", kind, plural, WebhookConfiguration, namespaced=False)


MUTATING = _resource("MutatingWebhookConfiguration")
VALIDATING = _resource("ValidatingWebhookConfiguration")
_BY_KIND = {resource.kind: resource for resource in (MUTATING, VALIDATING)}


class Target(NamedTuple):
    """One webhook configuration."""

    kind: str
    name: str

    def __str__(self) -> str:
        return f"{self.kind} {self.name}"


def target_of(handler: Handler, prefix: str) -> Target:
    """The configuration of a handler: the prefix and the path, with dashes for slashes."""
    resource = MUTATING if isinstance(handler, Mutator) else VALIDATING
    return Target(resource.kind, prefix + handler.path.replace("/", "-"))


class _Plan(msgspec.Struct):
    """What a configuration needs."""

    operations: list[Operation] = msgspec.field(default_factory=list)
    is_overwritten: bool = False
    """Whether a webhook lacks a certificate of ours."""
    patience: float | None = None
    """Seconds until the next foreign certificate may go."""


class BundleKeeper:
    """
    Keeps a CA bundle in all webhooks of the target configurations.

    With `manage` false it touches nothing and is always in place: somebody else injects the CA. `overlap` in seconds.
    """

    def __init__(
        self,
        client: Client,
        targets: Iterable[Target],
        *,
        manage: bool = True,
        overlap: float = OVERLAP,
        clock: Callable[[], datetime] = utc_now,
    ) -> None:
        self._client = client
        self._targets = tuple(dict.fromkeys(targets)) if manage else ()
        self._overlap = overlap
        self._clock = clock
        self._bundle = b""
        self._missing = dict.fromkeys(self._targets, "not looked at yet")
        self._foreign: dict[Target, dict[bytes, float]] = {target: {} for target in self._targets}
        """When each CA that isn't ours came to stand in a target, by its fingerprint."""
        self._repairs: dict[Target, tuple[float, int]] = {}
        """Of each target the time of the last repair, and how many in a row came within the truce."""
        self._in_place_since = 0.0
        self._changed = asyncio.Event()
        self._informers = {kind: self._follow(kind) for kind in sorted({target.kind for target in self._targets})}
        watches = [Watch(informer, _key_of(kind)) for kind, informer in self._informers.items()]
        self._controller: Controller[Target] = Controller(
            "ca-bundle", self._reconcile, watches=watches, workers=max(1, len(self._targets)), limits=_RETRIES
        )

    def _follow(self, kind: str) -> Informer[WebhookConfiguration]:
        names = {target.name for target in self._targets if target.kind == kind}
        return Informer(
            self._client, _BY_KIND[kind], transform=lambda found: found if found.metadata.name in names else None
        )

    def set_bundle(self, bundle: bytes) -> None:
        """Keep this bundle (PEM) from now on. Raises CertificateError when it holds no certificate."""
        first_expiry = expiry(bundle)
        if bundle == self._bundle:
            return
        metrics.CERTIFICATE_EXPIRY.labels("ca").set(first_expiry.timestamp())
        self._bundle = bundle
        self._repairs.clear()
        for target in self._targets:
            self._set_missing(target, "the CA bundle isn't written yet")
            self._controller.queue.add(target)

    @property
    def is_in_place(self) -> bool:
        """Whether each webhook of each target carries the bundle."""
        return not self._missing

    def in_place_for(self, bundle: bytes) -> timedelta:
        """For how long every target has carried this bundle; zero when it is not the one that is kept."""
        if self._missing or not is_same_bundle(bundle, self._bundle):
            return timedelta()
        return timedelta(seconds=asyncio.get_running_loop().time() - self._in_place_since)

    @property
    def missing(self) -> tuple[str, ...]:
        """What isn't in place and why, one line a target."""
        return tuple(f"{target}: {reason}" for target, reason in list(self._missing.items()))

    def problem(self) -> str:
        """What isn't in place, for `/readyz`; empty when all is. May be called from another thread."""
        return "; ".join(self.missing)

    async def wait_in_place(self, seconds: float) -> bool:
        """Wait until `is_in_place`, at most so many seconds; tells whether it is."""
        try:
            async with asyncio.timeout(seconds):
                while not self.is_in_place:
                    self._changed.clear()
                    await self._changed.wait()
        except TimeoutError:
            return False
        return True

    async def run(self) -> None:
        """Keep the bundle until cancelled."""
        if not self._targets:
            await asyncio.Event().wait()
        async with asyncio.TaskGroup() as tasks:
            for informer in self._informers.values():
                tasks.create_task(informer.run())
            # Targets that don't exist give no event: look at each once to say so.
            for target in self._targets:
                self._controller.queue.add(target)
            tasks.create_task(self._controller.run())

    async def _reconcile(self, target: Target) -> Result:
        found = self._informers[target.kind].lister.get(Key("", target.name))
        if found is None:
            self._set_missing(target, "does not exist yet")
            return DONE
        if not self._bundle:
            return DONE
        bundle, now = self._bundle, asyncio.get_running_loop().time()
        plan = self._plan(target, found, now)
        if plan.operations:
            pause = self._truce(target, now) if plan.is_overwritten else 0.0
            if pause > 0:
                self._set_missing(target, "somebody else overwrites the CA bundle")
                return again_after(pause)
            await self._write(target, plan)
        if bundle is self._bundle:  # else the target waits in the queue again
            self._set_in_place(target)
        return DONE if plan.patience is None else again_after(plan.patience)

    def _plan(self, target: Target, found: WebhookConfiguration, now: float) -> _Plan:
        ours = set(map(fingerprint, split_bundle(self._bundle)))
        plan = _Plan()
        foreign: dict[bytes, float] = {}
        for index, webhook in enumerate(found.webhooks):
            present = split_bundle(webhook.client_config.ca_bundle)
            plan.is_overwritten |= not ours <= set(map(fingerprint, present))
            kept: list[bytes] = []
            for certificate in present:
                mark = fingerprint(certificate)
                if mark in ours or certificate.not_valid_after_utc <= self._clock():
                    continue
                foreign[mark] = self._foreign[target].get(mark, now)
                left = foreign[mark] + self._overlap - now
                if left > 0:
                    kept.append(to_pem(certificate))
                    plan.patience = left if plan.patience is None else min(left, plan.patience)
            wanted = join_bundles(self._bundle, *kept) if kept else self._bundle
            if not is_same_bundle(webhook.client_config.ca_bundle, wanted):
                plan.operations.append(add(pointer("webhooks", str(index), "clientConfig", "caBundle"), wanted))
        if plan.operations:
            plan.operations.insert(0, test("/metadata/resourceVersion", found.metadata.resource_version))
        self._foreign[target] = foreign
        return plan

    def _truce(self, target: Target, now: float) -> float:
        """Seconds to hold back a repair, so that two writers who disagree don't overwrite each other at full speed."""
        last, count = self._repairs.get(target, (now, 0))
        return last + min(2.0**count, _TRUCE / 2) - now if count > 1 and now - last < _TRUCE else 0.0

    async def _write(self, target: Target, plan: _Plan) -> None:
        try:
            await self._client.patch(_BY_KIND[target.kind], target.name, None, JsonPatch(plan.operations))
        except Exception as error:
            metrics.CA_BUNDLE_WRITES.labels(target.name, "failed").inc()
            self._set_missing(target, f"the CA bundle could not be written: {error}")
            raise
        metrics.CA_BUNDLE_WRITES.labels(target.name, "written").inc()
        logger.info('msg="CA bundle written" configuration="%s"', target)
        if plan.is_overwritten:
            now = asyncio.get_running_loop().time()
            last, count = self._repairs.get(target, (now, 0))
            self._repairs[target] = (now, count + 1 if now - last < _TRUCE else 1)
            if count > 1:
                logger.warning('msg="CA bundle keeps being overwritten, is there another writer?" name="%s"', target)

    def _set_missing(self, target: Target, reason: str) -> None:
        if self._missing.get(target) != reason:
            logger.info('msg="CA bundle is not in place" configuration="%s" reason="%s"', target, reason)
        self._missing[target] = reason
        metrics.CA_BUNDLE_IN_PLACE.labels(target.name).set(0)

    def _set_in_place(self, target: Target) -> None:
        if self._missing.pop(target, None) is not None and not self._missing:
            self._in_place_since = asyncio.get_running_loop().time()
        self._changed.set()
        metrics.CA_BUNDLE_IN_PLACE.labels(target.name).set(1)


def _key_of(kind: str) -> Callable[[WebhookConfiguration], Iterable[Target]]:
    return lambda found: (Target(kind, found.metadata.name),)
