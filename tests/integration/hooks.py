"""Webhook configurations and certificates for the tests of admission against a real API server."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any, TypeVar

from runtime.cabundle import MUTATING, VALIDATING, Target
from runtime.client import Client
from runtime.errors import ApiError
from runtime.patches import JsonPatch, add

T = TypeVar("T")

PATIENCE = 90.0
DEFAULTS: dict[str, Any] = {"failurePolicy": "Fail", "sideEffects": "None", "admissionReviewVersions": ["v1"]}
CONFIG_MAPS = {"apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"]}


@dataclass
class Hooks:
    """Configurations that send the objects of one namespace to a server on this machine."""

    client: Client
    namespace: str
    made: list[Target] = field(default_factory=list)

    async def create(
        self,
        kind: str,
        *,
        port: int,
        path: str,
        name: str = "",
        bundle: bytes = b"",
        rule: dict[str, Any] = CONFIG_MAPS,
        operations: tuple[str, ...] = ("CREATE", "UPDATE"),
        **settings: Any,
    ) -> Target:
        """Make a configuration with one webhook, named like the target."""
        target = Target(kind, name or f"{self.namespace}{path.replace('/', '-')}")
        client_config: dict[str, Any] = {"url": f"https://localhost:{port}{path}"}
        webhook = {
            "name": f"{target.name}.example.org",
            "clientConfig": client_config,
            "rules": [{**rule, "operations": list(operations)}],
            "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": self.namespace}},
            "timeoutSeconds": 10,
            **DEFAULTS,
            **settings,
        }
        if bundle:
            client_config["caBundle"] = bundle
        await self.client.create(resource_of(target), {"metadata": {"name": target.name}, "webhooks": [webhook]})
        self.made.append(target)
        return target

    async def bundle(self, target: Target) -> bytes:
        """The CA bundle that stands in the target."""
        found = await self.client.get(resource_of(target), target.name)
        bundle: bytes = found.webhooks[0].client_config.ca_bundle
        return bundle

    async def overwrite(self, target: Target, bundle: bytes) -> None:
        """Put another bundle in place, as a careless installer does."""
        operation = add("/webhooks/0/clientConfig/caBundle", bundle)
        await self.client.patch(resource_of(target), target.name, None, JsonPatch([operation]))

    async def delete(self) -> None:
        for target in self.made:
            await self.client.delete(resource_of(target), target.name)


def resource_of(target: Target) -> Any:
    return MUTATING if target.kind == MUTATING.kind else VALIDATING


@asynccontextmanager
async def background(*coroutines: Coroutine[Any, Any, None]) -> Any:
    """Run these meanwhile. One that ends by itself must not have failed."""
    tasks = [asyncio.ensure_future(coroutine) for coroutine in coroutines]
    try:
        yield
    finally:
        for task in tasks:
            task.cancel()
        for task in tasks:
            with suppress(asyncio.CancelledError):
                await task


async def eventually(attempt: Callable[[], Awaitable[T]], sign: Callable[[T], object], seconds: float = PATIENCE) -> T:
    """Repeat until the outcome shows the sign; the outcome. Fails when it doesn't in time."""
    async with asyncio.timeout(seconds):
        while True:
            outcome = await attempt()
            if sign(outcome):
                return outcome
            await asyncio.sleep(0.05)


async def outcome(attempt: Awaitable[T]) -> T | ApiError:
    """The result, or the server's refusal as a value."""
    try:
        return await attempt
    except ApiError as error:
        return error
