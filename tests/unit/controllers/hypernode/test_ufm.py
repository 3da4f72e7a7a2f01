"""Asking a fabric manager, played by a scripted server."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

import pytest

from controllers.hypernode.fabric import Port
from controllers.hypernode.settings import Source
from controllers.hypernode.ufm import UfmError, ports
from generated.core.v1 import Secret
from generated.fakes.fakes import Fakes
from generated.meta.v1 import ObjectMeta
from runtime.errors import Forbidden, NotFound
from runtime.objects import Key
from tests.pki import Authority
from tests.scripted_server import ScriptedServer, answer
from tests.unit.controllers.fakes import status

PLACE = Key("ns", "s")
LINK = {"description": "Computer IB Port", "peer_node_name": "l", "system_name": "n", "speed": 4}


def secret(password: str = "pw", user: str = "me") -> Secret:
    data = {
        "username": base64.b64encode(user.encode()).decode(),
        "password": base64.b64encode(password.encode()).decode(),
    }
    return Secret(metadata=ObjectMeta(name="s", namespace="ns"), data=data)


class Vault:
    """Clients whose Secret reads are answered one after the other; the last answer stays."""

    def __init__(self, *answers: Secret | Exception) -> None:
        self.answers = list(answers)
        self.asked: list[tuple[str, str]] = []
        self.clients = Fakes().clients
        self.clients.core_v1.secrets.get = self._get  # type: ignore[method-assign,assignment]  # a live read

    async def _get(self, name: str, namespace: str) -> Secret:
        self.asked.append((name, namespace))
        found = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(found, Exception):
            raise found
        return found


def source(endpoint: str = "http://nowhere.invalid", secret: Key | None = PLACE, **config: Any) -> Source:
    return Source("ufm", secret=secret, config={"endpoint": endpoint, **config})


async def test_ports_are_asked_for_with_the_secrets_words() -> None:
    async with ScriptedServer(answer(200, [LINK, {}])) as server:
        found = await ports(Vault(secret()).clients, source(f"{server.url}/"), "home")
    assert found == [Port("Computer IB Port", "l", "n"), Port()]
    (received,) = server.received
    assert (received.method, received.target) == ("GET", "/ufmRest/resources/ports")
    assert received.headers["authorization"] == "Basic " + base64.b64encode(b"me:pw").decode()


async def test_without_scheme_it_is_https_and_certificates_are_checked_unless_told_otherwise(tmp_path: Path) -> None:
    authority = Authority()
    context = authority.server_context(tmp_path, authority.issue("ufm", "127.0.0.1"))
    async with ScriptedServer(answer(200, []), tls=context) as server:
        endpoint = server.url.removeprefix("https://")
        with pytest.raises(UfmError, match=f"^https://{endpoint}"):
            await ports(Vault(secret()).clients, source(endpoint), "home")
        assert await ports(Vault(secret()).clients, source(endpoint, insecureSkipVerify=True), "home") == []


@pytest.mark.parametrize("code", [401, 403])
async def test_refused_words_are_read_again_and_tried_once_if_they_changed(code: int) -> None:
    async with ScriptedServer(answer(code), answer(200, [LINK])) as server:
        vault = Vault(secret("old"), secret("new"))
        assert len(await ports(vault.clients, source(server.url), "home")) == 1
    words = [base64.b64decode(each.headers["authorization"][6:]).decode() for each in server.received]
    assert words == ["me:old", "me:new"]
    async with ScriptedServer(answer(code), answer(200, [LINK])) as server:
        with pytest.raises(UfmError, match=f"the server answered {code}"):
            await ports(Vault(secret("same")).clients, source(server.url), "home")
    assert len(server.received) == 1


@pytest.mark.parametrize(
    ("reply", "message"),
    [
        (answer(500, b"boom"), "the server answered 500: boom"),
        (answer(204), "the server answered 204, 200 was expected"),
        (answer(302, b"", Location="http://elsewhere.invalid/"), "the server answered 302"),
        (answer(200, b"<html>"), "unexpected answer"),
        (answer(200, b"null"), "unexpected answer"),
        (answer(200, {"ports": []}), "unexpected answer"),
    ],
)
async def test_other_answers_are_errors(reply: bytes, message: str) -> None:
    async with ScriptedServer(reply) as server:
        with pytest.raises(UfmError, match=message):
            await ports(Vault(secret()).clients, source(server.url), "home")


@pytest.mark.parametrize(
    ("found", "message"),
    [
        (source(""), "source ufm has no endpoint: set config.endpoint"),
        (Source("ufm", secret=Key("ns", "s")), "source ufm has no endpoint"),
        (source(secret=None), r"source ufm has no credentials: set credentials.secretRef.name"),
        (source(insecureSkipVerify="maybe"), "failed to parse config of source ufm"),
    ],
)
async def test_settings_that_lack_something_are_errors(found: Source, message: str) -> None:
    with pytest.raises(UfmError, match=message):
        await ports(Vault(secret()).clients, found, "home")


@pytest.mark.parametrize(
    ("found", "message"),
    [
        (NotFound(status(404, "NotFound")), "secret ns/s of source ufm is not found"),
        (secret(""), "secret ns/s of source ufm has no password"),
        (secret(user=""), "secret ns/s of source ufm has no username"),
        (Secret(data={"username": "/w==", "password": "eA=="}), "username is no text"),
    ],
)
async def test_secrets_that_lack_something_are_errors(found: Secret | Exception, message: str) -> None:
    with pytest.raises(UfmError, match=message):
        await ports(Vault(found).clients, source(), "home")


async def test_a_secret_without_namespace_is_where_the_configuration_is() -> None:
    vault = Vault(Forbidden(status(403, "Forbidden")))
    with pytest.raises(Forbidden):
        await ports(vault.clients, source(secret=Key("", "s")), "home")
    assert vault.asked == [("s", "home")]
