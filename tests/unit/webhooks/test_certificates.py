from __future__ import annotations

import asyncio
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from runtime.cabundle import BundleKeeper
from runtime.certkeeper import keep_from_secret
from runtime.certs import service_dns_names
from runtime.errors import ConfigError
from runtime.kubeconfig import ClientConfig
from runtime.servingtls import ServingTls
from runtime.tls import KeyPair, Pem, Tls
from tests.unit.runtime.tls_clients import eventually, pair_number
from webhooks import certificates
from webhooks.certificates import serving_tls, take_up
from webhooks.options import Service

ONE, TWO = pair_number(0), pair_number(1)
NOTHING = ClientConfig("https://127.0.0.1:1")
CLIENT: Any = None  # only a Secret needs one


def files(folder: Path, **texts: bytes) -> Service:
    for name, text in texts.items():
        (folder / name).write_bytes(text)
    paths: dict[str, Any] = {name: str(folder / name) for name in texts}
    return Service(**paths)


def keeper() -> BundleKeeper:
    return BundleKeeper(CLIENT, [], manage=False)


async def test_files_are_served_and_followed(tmp_path: Path) -> None:
    where = files(tmp_path, cert=ONE.cert, key=ONE.key, ca=ONE.ca)
    tls = serving_tls(where)
    follow = await take_up(where, tls, keeper(), CLIENT, NOTHING)
    assert tls.is_ready
    following = asyncio.ensure_future(follow())
    before = tls.context()
    files(tmp_path, cert=TWO.cert, key=TWO.key, ca=TWO.ca)
    await eventually(lambda: tls.context() is not before)
    following.cancel()
    with suppress(asyncio.CancelledError):
        await following


@pytest.mark.parametrize("texts", [{"cert": ONE.cert, "key": TWO.key}, {"cert": b"rubbish", "key": ONE.key}])
async def test_files_that_can_not_be_used_end_the_start(tmp_path: Path, texts: dict[str, bytes]) -> None:
    where = files(tmp_path, **texts)
    with pytest.raises(ConfigError):
        await take_up(where, serving_tls(where), keeper(), CLIENT, NOTHING)


async def test_without_files_the_client_certificate_serves(tmp_path: Path) -> None:
    pair = KeyPair(Pem("certificate", data=ONE.cert), Pem("key", data=ONE.key))
    config = ClientConfig("https://127.0.0.1:1", tls=Tls(key_pair=lambda: pair))
    tls = ServingTls()
    follow = await take_up(files(tmp_path, ca=ONE.ca), tls, keeper(), CLIENT, config)
    assert tls.is_ready
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(asyncio.ensure_future(follow()), 0.01)


@pytest.mark.parametrize("config", [NOTHING, ClientConfig("https://127.0.0.1:1", tls=Tls())])
async def test_without_any_certificate_there_is_no_start(config: ClientConfig) -> None:
    with pytest.raises(ConfigError, match=r"^tls: failed to find any tls config data"):
        await take_up(Service(), ServingTls(), keeper(), CLIENT, config)


async def test_a_secret_is_kept_for_the_names_of_the_service(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[tuple[Any, ...]] = []
    monkeypatch.setattr(certificates, "CertificateStore", lambda *arguments: made.append(arguments))
    follow = await take_up(Service(secret="t", namespace="n", name="s"), ServingTls(), keeper(), CLIENT, NOTHING)
    assert made == [(CLIENT, "t", "n", service_dns_names("s", "n"))]
    assert getattr(follow, "func", None) is keep_from_secret


def test_a_client_ca_must_be_there_to_be_required(tmp_path: Path) -> None:
    where = files(tmp_path, client_ca=b"")
    with pytest.raises(ConfigError, match="no client CA"):
        serving_tls(Service(client_ca=where.client_ca, requires_client_cert=True))
    assert not serving_tls(Service()).is_ready
