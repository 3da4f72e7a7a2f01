"""CA bundles, races and rotations with a real API server that verifies every call."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from generated.core.v1 import CONFIG_MAPS, ConfigMap
from runtime.admission import ALLOWED, Validator
from runtime.admission_server import AdmissionServer
from runtime.backoff import Backoff
from runtime.cabundle import MUTATING, VALIDATING, BundleKeeper, Target
from runtime.certkeeper import CertificateFiles, Rollover, keep_from_files, keep_from_secret
from runtime.certs import ServingPair, check_pair, create_pair, is_same_bundle, utc_now
from runtime.certstore import CertificateStore
from runtime.client import Client
from runtime.errors import ApiError
from runtime.kubeconfig import load
from runtime.patches import MergePatch
from runtime.rotation import CA, CERT, KEY, NEXT_CERT, SECRETS, SINCE, RotationTimes
from runtime.servingtls import ServingTls
from runtime.transport import Transport
from tests.integration.hooks import Hooks, background, eventually, outcome

NAMES = ("localhost",)
DAY = timedelta(days=1)
SECRET = "admission-secret"
QUICK = RotationTimes(settle=timedelta(seconds=1), overlap=timedelta(seconds=2))
ONE, TWO = create_pair(NAMES, utc_now()), create_pair(NAMES, utc_now())


@pytest.fixture
async def client(kubeconfig: Path) -> AsyncIterator[Client]:
    async with Transport(load(str(kubeconfig))) as transport:
        yield Client(transport)


@pytest.fixture
async def hooks(client: Client, namespace: str) -> AsyncIterator[Hooks]:
    made = Hooks(client, namespace)
    yield made
    await made.delete()


class Clock:
    """The wall clock, which a test may set ahead."""

    def __init__(self) -> None:
        self.ahead = timedelta()

    def __call__(self) -> datetime:
        return utc_now() + self.ahead


def store(client: Client, namespace: str, clock: Clock | None = None) -> CertificateStore:
    return CertificateStore(client, SECRET, namespace, NAMES, times=QUICK, clock=clock or Clock())


def never(bundle: bytes) -> timedelta:
    return timedelta()


async def sync_all(stores: Sequence[CertificateStore]) -> set[ServingPair]:
    return set(await asyncio.gather(*(one.sync(never) for one in stores)))


async def test_replicas_that_race_for_the_secret_end_with_one_pair(client: Client, namespace: str) -> None:
    stores = [store(client, namespace) for _ in range(6)]

    [pair] = await sync_all(stores)

    check_pair(pair, NAMES, utc_now(), 3640 * DAY)
    secret = await client.get(SECRETS, SECRET, namespace)
    assert secret.data == {CERT: pair.cert, KEY: pair.key, CA: pair.ca}
    assert secret.type == "Opaque"
    assert await sync_all(stores) == {pair}
    assert await client.get(SECRETS, SECRET, namespace) == secret, "a valid pair was written again"


async def test_replicas_that_race_to_mend_a_spoilt_secret_end_with_one_pair(client: Client, namespace: str) -> None:
    body = {"metadata": {"name": SECRET}, "data": {"password": b"x", KEY: b"rubbish"}}
    await client.create(SECRETS, body, namespace)

    [pair] = await sync_all([store(client, namespace) for _ in range(6)])

    check_pair(pair, NAMES, utc_now())
    secret = await client.get(SECRETS, SECRET, namespace)
    assert secret.data == {"password": b"x", CERT: pair.cert, KEY: pair.key, CA: pair.ca}


async def test_replicas_that_race_to_stage_a_pair_end_with_one(client: Client, namespace: str) -> None:
    clock = Clock()
    stores = [store(client, namespace, clock) for _ in range(4)]
    [first] = await sync_all(stores)
    clock.ahead = 3630 * DAY

    [staged] = await sync_all(stores)

    assert (staged.cert, staged.key) == (first.cert, first.key)
    secret = await client.get(SECRETS, SECRET, namespace)
    assert NEXT_CERT in secret.data
    assert await sync_all(stores) == {staged}
    assert await client.get(SECRETS, SECRET, namespace) == secret


async def test_a_deleted_secret_comes_back_as_it_was(client: Client, namespace: str) -> None:
    kept = store(client, namespace)
    pair = await kept.sync(never)
    await client.delete(SECRETS, SECRET, namespace)

    assert await kept.sync(never) == pair
    assert (await client.get(SECRETS, SECRET, namespace)).data[CERT] == pair.cert


async def test_the_bundle_is_put_in_place_and_kept_there(client: Client, hooks: Hooks) -> None:
    first = await hooks.create(VALIDATING.kind, port=1, path="/v")
    late = Target(MUTATING.kind, f"{hooks.namespace}-late")
    keeper = BundleKeeper(client, [first, late], overlap=1.0)
    async with background(keeper.run()):
        keeper.set_bundle(ONE.ca)
        await eventually(lambda: hooks.bundle(first), lambda bundle: bundle == ONE.ca)
        assert keeper.missing == (f"{late}: does not exist yet",)
        assert not keeper.is_in_place

        await hooks.create(late.kind, port=1, path="/m", name=late.name)
        assert await keeper.wait_in_place(30)
        assert await hooks.bundle(late) == ONE.ca

        await hooks.overwrite(first, TWO.ca)
        await eventually(lambda: hooks.bundle(first), lambda bundle: is_same_bundle(bundle, ONE.ca + TWO.ca))
        await eventually(lambda: hooks.bundle(first), lambda bundle: bundle == ONE.ca)

        await client.delete(MUTATING, late.name)
        await eventually(keeper_misses(keeper), bool)
        await client.create(MUTATING, {"metadata": {"name": late.name}, "webhooks": []})
        assert await keeper.wait_in_place(30)

        version = (await client.get(VALIDATING, first.name)).metadata.resource_version
        keeper.set_bundle(ONE.ca + b"\n")
        assert await keeper.wait_in_place(30)
        assert (await client.get(VALIDATING, first.name)).metadata.resource_version == version, "an idle write"


def keeper_misses(keeper: BundleKeeper) -> Any:
    async def missing() -> tuple[str, ...]:
        return keeper.missing

    return missing


async def test_keepers_with_different_bundles_live_side_by_side(client: Client, hooks: Hooks) -> None:
    target = await hooks.create(VALIDATING.kind, port=1, path="/v")
    old, new = (BundleKeeper(client, [target]) for _ in range(2))
    async with background(old.run(), new.run()):
        old.set_bundle(ONE.ca)
        new.set_bundle(TWO.ca)
        assert await old.wait_in_place(30)
        assert await new.wait_in_place(30)
        await eventually(lambda: hooks.bundle(target), lambda bundle: is_same_bundle(bundle, ONE.ca + TWO.ca))


class Load:
    """Users who write all the time, each write judged by the webhook."""

    def __init__(self, client: Client, namespace: str) -> None:
        self._client = client
        self._namespace = namespace
        self.done = 0
        self.failures: list[str] = []

    async def run(self) -> None:
        async with asyncio.TaskGroup() as users:
            for _ in range(4):
                users.create_task(self._user())

    async def _user(self) -> None:
        while True:
            try:
                body = {"metadata": {"name": "x"}}
                await self._client.create(CONFIG_MAPS, body, self._namespace, dry_run=True)
            except ApiError as error:
                self.failures.append(str(error))
                await asyncio.sleep(0.1)
            self.done += 1

    async def goes_on(self, writes: int = 20) -> None:
        """Wait for some more writes."""
        goal = self.done + writes
        await eventually(self._count, lambda done: done >= goal)

    async def _count(self) -> int:
        return self.done


class Server:
    """A server whose handler allows and counts, and what keeps its certificate."""

    def __init__(self) -> None:
        self.tls = ServingTls()
        self.judged = 0
        handler: Validator[ConfigMap] = Validator(
            path="/v",
            resources=(CONFIG_MAPS,),
            operations=("CREATE",),
            model=ConfigMap,
            validate=lambda request, obj, old: self._judge(),
        )
        self.server = AdmissionServer([handler], self.tls, host="127.0.0.1", port=0)

    def meet_each_request_anew(self) -> None:
        """Tell clients to reconnect after each answer, so that every request verifies the certificate of the moment."""
        self.server._server.is_draining = True

    def _judge(self) -> Any:
        self.judged += 1
        return ALLOWED

    async def served(self) -> bytes:
        """The certificate that a new connection is shown, PEM."""
        return await asyncio.to_thread(certificate_at, self.server.port)


def certificate_at(port: int) -> bytes:
    return ssl.get_server_certificate(("127.0.0.1", port), timeout=10).encode()


async def in_force(client: Client, server: Server, namespace: str) -> None:
    """Wait until the API server asks the webhook, and gets answers."""

    async def attempt() -> Any:
        before = server.judged
        found = await outcome(client.create(CONFIG_MAPS, {"metadata": {"name": "x"}}, namespace, dry_run=True))
        return isinstance(found, ConfigMap) and server.judged > before

    await eventually(attempt, bool)


async def test_a_rotation_in_the_secret_loses_no_request(client: Client, hooks: Hooks) -> None:
    server, load_ = Server(), Load(client, hooks.namespace)
    await server.server.start()
    server.meet_each_request_anew()
    target = await hooks.create(VALIDATING.kind, port=server.server.port, path="/v")
    keeper = BundleKeeper(client, [target], overlap=3.0)
    rollover = Rollover(server.tls, keeper, patience=20.0, settle=1.0)
    quick = {"interval": 0.2, "backoff": Backoff(base=0.1, cap=1.0)}
    kept = store(client, hooks.namespace)
    async with background(keeper.run(), keep_from_secret(rollover, keeper, kept, **quick)):  # type: ignore[arg-type]  # by name
        assert await keeper.wait_in_place(30)
        await in_force(client, server, hooks.namespace)
        async with background(load_.run()):
            await load_.goes_on()
            first = await server.served()
            kept._dns_names = (*NAMES, "another.name")  # what makes a pair due is tested elsewhere

            await eventually(server.served, lambda cert: cert != first)
            await load_.goes_on()
            await eventually(
                lambda: client.get(SECRETS, SECRET, hooks.namespace), lambda secret: SINCE not in secret.data
            )
            secret = await client.get(SECRETS, SECRET, hooks.namespace)
            await eventually(lambda: hooks.bundle(target), lambda bundle: bundle == secret.data[CA])
            await load_.goes_on()
    server.server.abort()
    assert load_.failures == []
    assert server.judged >= load_.done
    assert await client.get(SECRETS, SECRET, hooks.namespace) == secret


async def test_swapped_files_lose_no_request(client: Client, hooks: Hooks, tmp_path: Path) -> None:
    server, load_ = Server(), Load(client, hooks.namespace)
    await server.server.start()
    server.meet_each_request_anew()
    target = await hooks.create(VALIDATING.kind, port=server.server.port, path="/v")
    keeper = BundleKeeper(client, [target], overlap=2.0)
    rollover = Rollover(server.tls, keeper, patience=20.0, settle=1.0)
    mount(tmp_path, ONE)
    files = CertificateFiles(tmp_path / CERT, tmp_path / KEY, tmp_path / CA)
    async with background(keeper.run(), keep_from_files(rollover, files)):
        assert await keeper.wait_in_place(30)
        await in_force(client, server, hooks.namespace)

        async def swap(pair: ServingPair) -> None:
            await load_.goes_on()
            mount(tmp_path, pair)
            await eventually(server.served, lambda cert: cert == pair.cert)
            await eventually(lambda: hooks.bundle(target), lambda bundle: bundle == pair.ca)
            await load_.goes_on()

        async with background(load_.run()):
            await swap(TWO)
            await swap(ONE)
    server.server.abort()
    assert load_.failures == []


def mount(directory: Path, pair: ServingPair) -> None:
    """Write a pair as a mounted Secret is written: beside the old one, to which a symlink pointed."""
    generation = directory / f"..{len(list(directory.iterdir()))}"
    generation.mkdir()
    for name, text in ((CERT, pair.cert), (KEY, pair.key), (CA, pair.ca)):
        (generation / name).write_bytes(text)
        if not (directory / name).is_symlink():
            (directory / name).symlink_to(Path("..data") / name)
    (directory / "..data_tmp").symlink_to(generation.name)
    (directory / "..data_tmp").rename(directory / "..data")


async def test_a_draining_server_answers_what_it_was_asked(client: Client, hooks: Hooks) -> None:
    server, load_ = Server(), Load(client, hooks.namespace)
    server.tls.install(ONE.cert, ONE.key)
    await server.server.start()
    target = await hooks.create(VALIDATING.kind, port=server.server.port, path="/v", bundle=ONE.ca)
    await in_force(client, server, hooks.namespace)
    async with background(load_.run()):
        await load_.goes_on()
        await client.patch(VALIDATING, target.name, None, MergePatch({"webhooks": []}))
        await load_.goes_on(100)
        await server.server.drain(30)
        await load_.goes_on()
    assert load_.failures == []
