from __future__ import annotations

import asyncio
import itertools
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest

from runtime.admission import ALLOWED, Mutator, Validator
from runtime.cabundle import BundleKeeper, ClientConfig, Target, Webhook, WebhookConfiguration, target_of
from runtime.certs import CertificateError, expiry
from runtime.client import Client
from runtime.controller import DONE, Result, again_after
from runtime.errors import ApiError
from runtime.jsonpatch import apply
from runtime.lister import Lister
from runtime.metrics import REGISTRY
from runtime.patches import JsonPatch
from runtime.resource import Resource
from runtime.wire import ObjectMeta
from tests.unit.runtime.admissions import THINGS, Thing
from tests.unit.runtime.scripted import failure
from tests.unit.runtime.tls_clients import quick_pair

NOW = datetime(2026, 8, 1, 12, tzinfo=UTC)
ONE, TWO, THREE = (quick_pair(("svc",), NOW, timedelta(days=days)) for days in (30, 31, 32))
EXPIRED = quick_pair(("svc",), NOW - timedelta(days=2), timedelta(days=1))
TARGET = Target("MutatingWebhookConfiguration", "hooks")
OVERLAP = 600.0

pytestmark = pytest.mark.virtual_time


def configuration(*bundles: bytes, name: str = "hooks", version: int = 1) -> WebhookConfiguration:
    webhooks = tuple(
        Webhook(name=f"w{index}", client_config=ClientConfig(ca_bundle=bundle)) for index, bundle in enumerate(bundles)
    )
    return WebhookConfiguration(metadata=ObjectMeta(name=name, resource_version=str(version)), webhooks=webhooks)


class World:
    """The configurations on the server, changed by patches; and a keeper that sees them without delay."""

    def __init__(self, *found: WebhookConfiguration, targets: tuple[Target, ...] = (TARGET,)) -> None:
        self.found = {config.metadata.name: config for config in found}
        self.patches: list[Any] = []
        self.failures: list[ApiError] = []
        client: Any = self
        typed: Client = client
        self.keeper = BundleKeeper(typed, targets, overlap=OVERLAP, clock=lambda: NOW)
        for kind in self.keeper._informers:
            informer: Any = SimpleNamespace(lister=self)
            self.keeper._informers[kind] = informer

    def get(self, key: Any) -> WebhookConfiguration | None:
        return Lister.filled(self.found.values()).get(key)

    async def patch(
        self, resource: Resource[Any], name: str, namespace: None, patch: JsonPatch
    ) -> WebhookConfiguration:
        await asyncio.sleep(0)
        assert patch.is_pinned, "a write must fail when somebody else changed the configuration"
        operations = msgspec.json.decode(patch.encode())
        if self.failures:
            raise self.failures.pop(0)
        self.patches.append([operation["path"] for operation in operations[1:]])
        document = apply(msgspec.json.decode(msgspec.json.encode(self.found[name])), operations)
        self.put(msgspec.convert(document, WebhookConfiguration))
        return self.found[name]

    def put(self, config: WebhookConfiguration) -> None:
        """Store a configuration under a new version."""
        old = self.found.get(config.metadata.name)
        version = int(old.metadata.resource_version) + 1 if old else 1
        meta = msgspec.structs.replace(config.metadata, resource_version=str(version))
        self.found[config.metadata.name] = msgspec.structs.replace(config, metadata=meta)

    def bundles(self, name: str = "hooks") -> list[bytes]:
        return [webhook.client_config.ca_bundle for webhook in self.found[name].webhooks]

    async def turn(self, target: Target = TARGET) -> Result:
        """What the controller does with the target's key."""
        return await self.keeper._reconcile(target)


@pytest.mark.parametrize(
    ("handler", "expected"),
    [
        (
            Mutator(path="/jobs/mutate", resources=(THINGS,), operations=("CREATE",), model=Thing, mutate=lambda *_: ALLOWED),
            Target("MutatingWebhookConfiguration", "volcano-admission-service-jobs-mutate"),
        ),
        (
            Validator(path="/a/b/c", resources=(THINGS,), operations=("CREATE",), model=Thing, validate=lambda *_: ALLOWED),
            Target("ValidatingWebhookConfiguration", "volcano-admission-service-a-b-c"),
        ),
    ],
)  # fmt: skip
def test_a_handler_has_a_configuration_of_its_own(handler: Any, expected: Target) -> None:
    assert target_of(handler, "volcano-admission-service") == expected


@pytest.mark.parametrize("present", [b"", b"rubbish", EXPIRED.ca])
async def test_the_bundle_is_written_into_every_webhook(present: bytes) -> None:
    world = World(configuration(present, ONE.ca, present))
    world.keeper.set_bundle(ONE.ca)
    missing = ("MutatingWebhookConfiguration hooks: the CA bundle isn't written yet",)
    assert (world.keeper.is_in_place, world.keeper.missing) == (False, missing)

    assert await world.turn() == DONE

    assert world.bundles() == [ONE.ca] * 3
    assert world.patches == [["/webhooks/0/clientConfig/caBundle", "/webhooks/2/clientConfig/caBundle"]]
    assert world.keeper.is_in_place
    assert world.keeper.missing == ()


@pytest.mark.parametrize("present", [ONE.ca, b"# a comment\n" + ONE.ca + b"\n"])
async def test_what_is_in_place_is_not_written_again(present: bytes) -> None:
    world = World(configuration(present, present))
    world.keeper.set_bundle(ONE.ca)

    assert await world.turn() == DONE
    assert world.patches == []
    assert world.keeper.is_in_place


async def test_a_configuration_without_webhooks_is_in_place() -> None:
    world = World(configuration())
    world.keeper.set_bundle(ONE.ca)

    assert await world.turn() == DONE
    assert world.keeper.is_in_place


async def test_a_missing_configuration_is_waited_for() -> None:
    world = World()
    world.keeper.set_bundle(ONE.ca)

    assert await world.turn() == DONE
    assert world.keeper.missing == ("MutatingWebhookConfiguration hooks: does not exist yet",)

    world.put(configuration(b""))
    assert await world.turn() == DONE
    assert (world.keeper.is_in_place, world.keeper.problem()) == (True, "")

    world.found.clear()
    assert await world.turn() == DONE
    assert not world.keeper.is_in_place, "deleted again"
    assert world.keeper.problem() == "MutatingWebhookConfiguration hooks: does not exist yet"


async def test_nothing_is_written_before_there_is_a_bundle() -> None:
    world = World(configuration(TWO.ca))

    assert await world.turn() == DONE
    assert world.bundles() == [TWO.ca]
    assert not world.keeper.is_in_place


async def test_a_bundle_without_certificates_is_refused() -> None:
    world = World(configuration(b""))
    world.keeper.set_bundle(ONE.ca)
    with pytest.raises(CertificateError):
        world.keeper.set_bundle(b"rubbish")

    await world.turn()
    assert world.bundles() == [ONE.ca]


async def test_a_ca_of_another_replica_stays_for_the_overlap() -> None:
    world = World(configuration(TWO.ca))
    world.keeper.set_bundle(ONE.ca)

    assert await world.turn() == again_after(OVERLAP)
    assert world.bundles() == [ONE.ca + TWO.ca]
    assert world.keeper.is_in_place

    await asyncio.sleep(OVERLAP - 1)
    assert await world.turn() == again_after(1.0)
    assert world.bundles() == [ONE.ca + TWO.ca]

    await asyncio.sleep(1)
    assert await world.turn() == DONE
    assert world.bundles() == [ONE.ca]


async def test_a_ca_that_comes_back_gets_its_time_again() -> None:
    world = World(configuration(TWO.ca))
    world.keeper.set_bundle(ONE.ca)
    await world.turn()
    await asyncio.sleep(OVERLAP)
    await world.turn()
    await world.turn()
    assert world.bundles() == [ONE.ca]

    world.put(configuration(ONE.ca + TWO.ca))
    assert await world.turn() == again_after(OVERLAP)
    assert world.bundles() == [ONE.ca + TWO.ca]


async def test_each_foreign_ca_has_its_own_time() -> None:
    world = World(configuration(TWO.ca, b""))
    world.keeper.set_bundle(ONE.ca)
    await world.turn()
    await asyncio.sleep(100)
    world.put(configuration(ONE.ca + TWO.ca, ONE.ca + THREE.ca))

    assert await world.turn() == again_after(OVERLAP - 100)
    await asyncio.sleep(OVERLAP - 100)
    assert await world.turn() == again_after(100.0)
    assert world.bundles() == [ONE.ca, ONE.ca + THREE.ca]


async def test_replicas_that_disagree_end_with_both_cas() -> None:
    old, new = World(configuration(b"")), World()
    new.found = old.found
    old.keeper.set_bundle(ONE.ca)
    new.keeper.set_bundle(TWO.ca)
    for _ in range(3):
        await old.turn()
        await new.turn()

    assert old.bundles() == [TWO.ca + ONE.ca]
    assert old.keeper.is_in_place
    assert new.keeper.is_in_place
    assert (len(old.patches), len(new.patches)) == (1, 1)


async def test_an_overwritten_bundle_is_repaired_at_once_but_a_quarrel_slows_down(
    caplog: pytest.LogCaptureFixture,
) -> None:
    world = World(configuration(b""))
    world.keeper.set_bundle(ONE.ca)
    loop = asyncio.get_running_loop()
    writes: list[float] = []
    started = loop.time()
    while loop.time() - started < 100:
        world.put(configuration(b""))
        result = await world.turn()
        if world.bundles() == [ONE.ca]:
            writes.append(loop.time() - started)
        else:
            assert world.keeper.missing == (f"{TARGET}: somebody else overwrites the CA bundle",)
        await asyncio.sleep(result.again_after or 0.01)

    assert writes[1] - writes[0] < 0.1
    assert len(writes) < 12
    assert max(b - a for a, b in itertools.pairwise(writes)) <= 31
    assert "keeps being overwritten" in caplog.text


async def test_a_quarrel_is_forgotten_after_a_while() -> None:
    world = World(configuration(b""))
    world.keeper.set_bundle(ONE.ca)
    for _ in range(5):
        world.put(configuration(b""))
        assert await world.turn() == DONE
        await asyncio.sleep(61)


@pytest.mark.parametrize("error", [failure(409, "Conflict"), failure(500), failure(422, "Invalid"), failure(404)])
async def test_a_failed_write_is_repeated_by_the_controller(error: ApiError) -> None:
    world = World(configuration(b""))
    world.keeper.set_bundle(ONE.ca)
    world.failures.append(error)

    with pytest.raises(ApiError):
        await world.turn()
    assert world.keeper.missing == (f"{TARGET}: the CA bundle could not be written: {error}",)

    await world.turn()
    assert world.keeper.is_in_place


async def test_a_bundle_that_comes_during_a_write_is_not_taken_for_written() -> None:
    world = World(configuration(b""))
    world.keeper.set_bundle(ONE.ca)
    turn = asyncio.ensure_future(world.turn())
    await asyncio.sleep(0)
    world.keeper.set_bundle(TWO.ca)
    await turn

    assert world.bundles() == [ONE.ca]
    assert not world.keeper.is_in_place
    await world.turn()
    assert world.bundles() == [TWO.ca + ONE.ca]
    assert world.keeper.is_in_place


async def test_the_keeper_tells_for_how_long_a_bundle_is_in_place() -> None:
    world = World(configuration(b""))
    world.keeper.set_bundle(ONE.ca)
    assert world.keeper.in_place_for(ONE.ca) == timedelta()

    await world.turn()
    await asyncio.sleep(50)
    await world.turn()
    assert world.keeper.in_place_for(b"\n" + ONE.ca) == timedelta(seconds=50)
    assert world.keeper.in_place_for(TWO.ca) == timedelta()

    world.put(configuration(b""))
    world.failures.append(failure(500))
    with pytest.raises(ApiError):
        await world.turn()
    assert world.keeper.in_place_for(ONE.ca) == timedelta()
    await world.turn()
    await asyncio.sleep(5)
    assert world.keeper.in_place_for(ONE.ca) == timedelta(seconds=5)


async def test_waiting_ends_with_the_last_target_or_the_time() -> None:
    other = Target("ValidatingWebhookConfiguration", "more")
    world = World(configuration(b""), configuration(b"", name="more"), targets=(TARGET, other, TARGET))
    world.keeper.set_bundle(ONE.ca)
    assert not await world.keeper.wait_in_place(3)

    waiting = asyncio.ensure_future(world.keeper.wait_in_place(1000))
    await world.turn()
    await asyncio.sleep(1)
    assert not waiting.done()
    await world.turn(other)
    assert await waiting
    assert await world.keeper.wait_in_place(0)


async def test_a_keeper_that_must_not_manage_touches_nothing() -> None:
    client: Any = None
    keeper = BundleKeeper(client, [TARGET], manage=False)
    keeper.set_bundle(ONE.ca)
    running = asyncio.ensure_future(keeper.run())

    assert keeper.is_in_place
    assert await keeper.wait_in_place(0)
    await asyncio.sleep(1000)
    assert not running.done()
    running.cancel()


async def test_the_state_is_published() -> None:
    def value(name: str, **labels: str) -> float | None:
        return REGISTRY.get_sample_value(f"volcano_admission_{name}", labels)

    target = Target("MutatingWebhookConfiguration", "measured")
    world = World(configuration(b"", name="measured"), targets=(target,))
    world.keeper.set_bundle(TWO.ca + ONE.ca)
    assert value("ca_bundle_in_place", configuration="measured") == 0
    assert value("certificate_expiry_timestamp_seconds", use="ca") == expiry(ONE.ca).timestamp()
    world.failures.append(failure(500))
    with pytest.raises(ApiError):
        await world.turn(target)
    await world.turn(target)

    assert value("ca_bundle_in_place", configuration="measured") == 1
    assert value("ca_bundle_writes_total", configuration="measured", result="written") == 1
    assert value("ca_bundle_writes_total", configuration="measured", result="failed") == 1
