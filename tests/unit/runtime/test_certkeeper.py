from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from runtime.cabundle import BundleKeeper
from runtime.certkeeper import CertificateFiles, Rollover, adopt_files, keep_from_files, keep_from_secret
from runtime.certs import CertificateError, ServingPair, join_bundles
from runtime.certstore import CertificateStore
from runtime.metrics import REGISTRY
from runtime.servingtls import ServingTls
from tests.unit.runtime.scripted import failure
from tests.unit.runtime.tls_clients import client_identity, eventually, quick_pair

NOW = datetime.now(UTC)
ONE, TWO, THREE = (quick_pair(("svc",), NOW, timedelta(days=30)) for _ in range(3))
PATIENCE, SETTLE = 60.0, 2.0


class Keeper:
    """Notes the bundles; in place after `delay` seconds, or never."""

    def __init__(self, delay: float | None = 0.0) -> None:
        self.bundles: list[bytes] = []
        self.delay = delay
        self.is_in_place = True
        self.missing = ("hooks: reason",)

    def as_keeper(self) -> BundleKeeper:
        keeper: Any = self
        result: BundleKeeper = keeper
        return result

    def set_bundle(self, bundle: bytes) -> None:
        if self.bundles[-1:] != [bundle]:
            self.bundles.append(bundle)
            self.is_in_place = False

    async def wait_in_place(self, seconds: float) -> bool:
        await asyncio.sleep(seconds if self.delay is None else min(self.delay, seconds))
        self.is_in_place = self.delay is not None and self.delay <= seconds
        return self.is_in_place

    def in_place_for(self, bundle: bytes) -> timedelta:
        return timedelta(seconds=len(self.bundles))


class Served:
    """A ServingTls that notes what is installed, and when."""

    def __init__(self) -> None:
        self.tls = ServingTls()
        self.installed: list[tuple[float, bytes]] = []
        real = self.tls.install

        def install(cert: bytes, key: bytes, client_ca: bytes | None = None) -> bool:
            if not real(cert, key, client_ca):
                return False
            self.installed.append((asyncio.get_running_loop().time(), cert))
            return True

        patched: Any = self.tls
        patched.install = install

    @property
    def certs(self) -> list[bytes]:
        return [cert for _, cert in self.installed]


def rollover(served: Served, keeper: Keeper) -> Rollover:
    return Rollover(served.tls, keeper.as_keeper(), patience=PATIENCE, settle=SETTLE)


@pytest.mark.virtual_time
async def test_the_first_pair_is_served_at_once() -> None:
    served, keeper = Served(), Keeper(delay=None)

    await rollover(served, keeper).adopt(ONE)

    assert served.installed == [(0.0, ONE.cert)]
    assert keeper.bundles == [ONE.ca]


@pytest.mark.virtual_time
async def test_a_new_pair_waits_until_its_ca_is_trusted() -> None:
    served, keeper = Served(), Keeper(delay=10.0)
    roll = rollover(served, keeper)
    await roll.adopt(ONE)

    await roll.adopt(TWO)

    assert served.installed == [(0.0, ONE.cert), (10.0 + SETTLE, TWO.cert)]
    assert keeper.bundles == [ONE.ca, join_bundles(TWO.ca, ONE.ca), TWO.ca]


@pytest.mark.virtual_time
async def test_the_wait_has_an_end(caplog: pytest.LogCaptureFixture) -> None:
    served, keeper = Served(), Keeper(delay=None)
    roll = rollover(served, keeper)
    await roll.adopt(ONE)

    await roll.adopt(TWO)

    assert served.installed[-1] == (PATIENCE + SETTLE, TWO.cert)
    assert "its CA is not everywhere" in caplog.text
    assert "hooks: reason" in caplog.text


@pytest.mark.virtual_time
async def test_a_new_bundle_for_the_same_pair_is_published_without_a_wait() -> None:
    served, keeper = Served(), Keeper(delay=None)
    roll = rollover(served, keeper)
    await roll.adopt(ONE)
    await roll.adopt(ServingPair(ONE.cert, ONE.key, ONE.ca + TWO.ca))

    assert asyncio.get_running_loop().time() == 0.0
    assert served.certs == [ONE.cert]
    assert keeper.bundles == [ONE.ca, ONE.ca + TWO.ca]


@pytest.mark.virtual_time
async def test_a_pair_whose_ca_is_in_place_already_does_not_wait() -> None:
    served, keeper = Served(), Keeper(delay=None)
    roll = rollover(served, keeper)
    both = join_bundles(TWO.ca, ONE.ca)
    await roll.adopt(ServingPair(ONE.cert, ONE.key, both))
    keeper.is_in_place = True

    await roll.adopt(ServingPair(TWO.cert, TWO.key, both))

    assert served.installed == [(0.0, ONE.cert), (0.0, TWO.cert)]


@pytest.mark.virtual_time
@pytest.mark.parametrize(
    "pair",
    [
        pytest.param(ServingPair(TWO.cert, ONE.key, TWO.ca), id="half exchanged"),
        pytest.param(ServingPair(TWO.cert, TWO.key, ONE.ca), id="the CA isn't there yet"),
        pytest.param(ServingPair(TWO.cert, TWO.key, b"rubbish"), id="no CA"),
    ],
)
async def test_a_pair_that_does_not_fit_changes_nothing(pair: ServingPair) -> None:
    served, keeper = Served(), Keeper()
    roll = rollover(served, keeper)
    await roll.adopt(ONE)

    with pytest.raises(CertificateError):
        await roll.adopt(pair)
    assert served.certs == [ONE.cert]
    assert keeper.bundles == [ONE.ca]

    await roll.adopt(TWO)
    assert served.certs == [ONE.cert, TWO.cert]


async def test_a_first_pair_with_a_bad_bundle_is_not_served() -> None:
    served, keeper = Served(), Keeper()

    with pytest.raises(CertificateError):
        await rollover(served, keeper).adopt(ServingPair(ONE.cert, ONE.key, b"rubbish"))
    assert served.certs == []
    assert keeper.bundles == []


async def test_a_bad_bundle_brings_no_new_client_ca_into_use() -> None:
    served, keeper = Served(), Keeper()
    roll = rollover(served, keeper)
    await roll.adopt(ONE)

    with pytest.raises(CertificateError):
        await roll.adopt(ServingPair(ONE.cert, ONE.key, b"rubbish"), client_identity(0).ca)
    assert served.certs == [ONE.cert]
    assert keeper.bundles == [ONE.ca]


@pytest.mark.virtual_time
async def test_without_a_bundle_only_the_certificate_is_exchanged() -> None:
    served, keeper = Served(), Keeper(delay=None)
    roll = rollover(served, keeper)
    await roll.adopt(ServingPair(ONE.cert, ONE.key, b""))
    await roll.adopt(ServingPair(TWO.cert, TWO.key, b""))

    assert served.installed == [(0.0, ONE.cert), (0.0, TWO.cert)]
    assert keeper.bundles == []


def write(directory: Path, pair: ServingPair) -> CertificateFiles:
    for name, text in (("tls.crt", pair.cert), ("tls.key", pair.key), ("ca.crt", pair.ca)):
        (directory / name).write_bytes(text)
    return CertificateFiles(directory / "tls.crt", directory / "tls.key", directory / "ca.crt")


async def test_files_are_taken_into_use_whole(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    served, keeper = Served(), Keeper()
    files = write(tmp_path, ONE)
    refused = REGISTRY.get_sample_value("volcano_admission_certificate_refusals_total") or 0.0
    roll = Rollover(served.tls, keeper.as_keeper(), patience=0.0, settle=0.0)
    following = asyncio.ensure_future(keep_from_files(roll, files))
    await eventually(lambda: served.certs == [ONE.cert])

    files.cert.write_bytes(TWO.cert)
    await eventually(lambda: "the private key belongs to another certificate" in caplog.text)
    assert served.certs == [ONE.cert]
    files.key.write_bytes(TWO.key)
    await eventually(lambda: "isn't signed by a CA of the bundle" in caplog.text)
    assert served.certs == [ONE.cert]
    assert REGISTRY.get_sample_value("volcano_admission_certificate_refusals_total") == refused + 2
    (tmp_path / "ca.crt").write_bytes(TWO.ca)
    await eventually(lambda: served.certs == [ONE.cert, TWO.cert])
    assert keeper.bundles == [ONE.ca, TWO.ca + ONE.ca, TWO.ca]

    files.key.unlink()
    await eventually(lambda: "unable to read" in caplog.text)
    write(tmp_path, THREE)
    await eventually(lambda: served.certs == [ONE.cert, TWO.cert, THREE.cert])
    following.cancel()
    await asyncio.gather(following, return_exceptions=True)


async def test_files_that_are_missing_at_the_start_are_an_error(tmp_path: Path) -> None:
    files = CertificateFiles(tmp_path / "a", tmp_path / "b", None, tmp_path / "c")
    contents = {tmp_path / "a": b"x", tmp_path / "b": None, tmp_path / "c": None}

    with pytest.raises(CertificateError, match=f"unable to read {tmp_path}/b, {tmp_path}/c"):
        await adopt_files(rollover(Served(), Keeper()), files, contents)


async def test_the_client_ca_is_followed_too(tmp_path: Path) -> None:
    served = Served()
    client_ca = tmp_path / "clients.crt"
    files = CertificateFiles(tmp_path / "a", tmp_path / "b", None, client_ca)
    contents = {files.cert: ONE.cert, files.key: ONE.key, client_ca: client_identity(0).ca}
    roll = rollover(served, Keeper())

    await adopt_files(roll, files, contents)
    await adopt_files(roll, files, contents)
    assert len(served.installed) == 1
    await adopt_files(roll, files, {**contents, client_ca: client_identity(1).ca})
    assert len(served.installed) == 2


class Store:
    """Gives these pairs, or throws these errors, one each time; then the last pair for ever."""

    def __init__(self, *answers: ServingPair | Exception) -> None:
        self._answers = list(answers)
        self.asked: list[tuple[float, timedelta]] = []

    def as_store(self) -> CertificateStore:
        store: Any = self
        result: CertificateStore = store
        return result

    async def sync(self, in_place_for: Any) -> ServingPair:
        self.asked.append((asyncio.get_running_loop().time(), in_place_for(b"")))
        answer = self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]
        if isinstance(answer, Exception):
            raise answer
        return answer


async def for_a_while(seconds: float, served: Served, keeper: Keeper, store: Store) -> None:
    running = keep_from_secret(rollover(served, keeper), keeper.as_keeper(), store.as_store(), interval=30)
    task = asyncio.ensure_future(running)
    await asyncio.wait([task], timeout=seconds)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    assert task.cancelled()


@pytest.mark.virtual_time
async def test_the_secret_is_followed() -> None:
    served, keeper = Served(), Keeper()
    both = ServingPair(ONE.cert, ONE.key, ONE.ca + TWO.ca)
    store = Store(ONE, both, ServingPair(TWO.cert, TWO.key, TWO.ca + ONE.ca), TWO)

    await for_a_while(200, served, keeper, store)

    assert served.certs == [ONE.cert, TWO.cert]
    assert keeper.bundles[0] == ONE.ca
    assert keeper.bundles[-1] == TWO.ca
    assert [pause for pause, _ in store.asked[:2]] == [0.0, 30.0]
    assert store.asked[1][1] == timedelta(seconds=1), "the keeper is asked for how long the bundle is in place"


@pytest.mark.virtual_time
async def test_failures_are_repeated_soon_and_then_more_seldom(caplog: pytest.LogCaptureFixture) -> None:
    served, keeper = Served(), Keeper()
    broken = ServingPair(b"rubbish", b"", b"")
    store = Store(failure(403, "Forbidden"), broken, CertificateError("foreign"), *[failure(500)] * 10, ONE)

    await for_a_while(1000, served, keeper, store)

    times = [when for when, _ in store.asked]
    assert times[1] - times[0] < 1.0
    assert 30 <= times[10] - times[9] <= 45
    assert served.certs == [ONE.cert]
    assert "certificate secret can not be used" in caplog.text
