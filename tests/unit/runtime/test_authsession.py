from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import aiohttp
import pytest

from runtime.authsession import CredentialsRefused, SessionFactory
from runtime.credentials import FixedCredentials, RenewedCredentials
from runtime.errors import ConfigError
from runtime.kubeconfig import ClientConfig
from runtime.tls import KeyPair, Pem, Tls
from tests.pki import Authority
from tests.scripted_server import ScriptedServer, answer, failure

HELLO = answer(200, {"hello": "world"})


class Tokens(RenewedCredentials):
    """Hands out one token after the other, the last for ever."""

    def __init__(self, *tokens: str, lifetime: float = 1000.0) -> None:
        self.now = 100.0
        self.fetches = 0
        self._tokens = list(tokens)
        self._lifetime = lifetime
        super().__init__(ticks=lambda: self.now)

    def _fetch(self) -> None:
        self.fetches += 1
        if not self._tokens:
            raise ConfigError("no token today")
        token = self._tokens.pop(0) if len(self._tokens) > 1 else self._tokens[0]
        self._header = f"Bearer {token}"
        self._due = self.now + self._lifetime


async def get(factory: SessionFactory, url: str) -> int:
    session = await factory.open()
    async with session, session.get(url) as response:
        await response.read()
        return response.status


async def test_a_session_sends_credentials_impersonation_and_the_agent() -> None:
    async with ScriptedServer(HELLO) as server:
        config = ClientConfig(server.url, credentials=Tokens("one"), headers=(("Impersonate-User", "ann"),))
        assert await get(SessionFactory(config, user_agent="op"), server.url) == 200
        headers = server.received[0].headers
        assert (headers["authorization"], headers["impersonate-user"], headers["user-agent"]) == (
            "Bearer one", "ann", "op",
        )  # fmt: skip


async def test_a_session_without_credentials_sends_none() -> None:
    async with ScriptedServer(HELLO) as server:
        assert await get(SessionFactory(ClientConfig(server.url)), server.url) == 200
        assert "authorization" not in server.received[0].headers


async def test_a_token_that_ends_is_renewed_within_the_session() -> None:
    async with ScriptedServer(HELLO) as server:
        tokens = Tokens("one", "two", lifetime=50)
        session = await SessionFactory(ClientConfig(server.url, credentials=tokens)).open()
        async with session:
            await (await session.get(server.url)).read()
            tokens.now += 60
            await (await session.get(server.url)).read()
        assert [received.headers["authorization"] for received in server.received] == ["Bearer one", "Bearer two"]


async def test_after_a_401_the_next_session_has_fresh_credentials() -> None:
    async with ScriptedServer(failure(401, "Unauthorized"), HELLO) as server:
        tokens = Tokens("one", "two")
        factory = SessionFactory(ClientConfig(server.url, credentials=tokens))
        assert await get(factory, server.url) == 401
        tokens.now += 5
        assert await get(factory, server.url) == 200
        assert server.received[1].headers["authorization"] == "Bearer two"


async def test_refused_credentials_without_others_are_told_once_and_then_tried_again() -> None:
    async with ScriptedServer(failure(401, "Unauthorized"), HELLO) as server:
        config = ClientConfig(server.url, credentials=FixedCredentials.bearer("one"), source="some file")
        factory = SessionFactory(config)
        assert await get(factory, server.url) == 401
        with pytest.raises(CredentialsRefused, match="answered 401 to the credentials from some file"):
            await factory.open()
        assert await get(factory, server.url) == 200


async def test_a_session_that_was_only_closed_asks_for_no_new_credentials() -> None:
    async with ScriptedServer(HELLO) as server:
        tokens = Tokens("one", "two")
        factory = SessionFactory(ClientConfig(server.url, credentials=tokens))
        assert [await get(factory, server.url), await get(factory, server.url)] == [200, 200]
        assert tokens.fetches == 1


async def test_no_credentials_at_all_are_an_error() -> None:
    with pytest.raises(ConfigError, match="no token today"):
        await SessionFactory(ClientConfig("http://127.0.0.1:1", credentials=Tokens())).open()


def secured(
    server: ScriptedServer, authority: Authority, tls: Tls | None = None, server_name: str = ""
) -> ClientConfig:
    tls = tls or Tls(ca=Pem("test", data=authority.pem))
    return ClientConfig(server.url, tls=tls, server_name=server_name)


async def test_a_client_certificate_is_shown_and_the_given_name_checked(tmp_path: Path) -> None:
    authority = Authority()
    context = authority.server_context(tmp_path, authority.issue("server", "api.test"), ask_client=True)
    user = authority.issue("user")
    pair = KeyPair(Pem("test", data=user.certificate), Pem("test", data=user.key))
    tls = Tls(ca=Pem("test", data=authority.pem), key_pair=lambda: pair)
    async with ScriptedServer(HELLO, tls=context) as server:
        assert await get(SessionFactory(secured(server, authority, tls, "api.test")), server.url) == 200


async def test_a_server_under_another_name_is_refused(tmp_path: Path) -> None:
    authority = Authority()
    context = authority.server_context(tmp_path, authority.issue("server", "127.0.0.1"))
    async with ScriptedServer(HELLO, tls=context) as server:
        factory = SessionFactory(secured(server, authority, server_name="api.test"))
        with pytest.raises(aiohttp.ClientConnectorCertificateError):
            await get(factory, server.url)


@pytest.mark.parametrize(
    ("replace", "closes"),
    [
        pytest.param(lambda path: path.write_bytes(Authority("another").pem), True, id="another-authority"),
        pytest.param(lambda path: path.write_bytes(b"no certificate"), False, id="garbage-keeps-the-old"),
        pytest.param(Path.unlink, False, id="a-missing-file-keeps-the-old"),
        pytest.param(lambda _: None, False, id="nothing-changed"),
    ],
)
async def test_a_session_closes_when_its_tls_files_changed(
    tmp_path: Path, replace: Callable[[Path], object], closes: bool
) -> None:
    authority = Authority()
    context = authority.server_context(tmp_path, authority.issue("server", "127.0.0.1"))
    ca = tmp_path / "ca.crt"
    ca.write_bytes(authority.pem)
    now = [0.0]
    tls = Tls(ca=Pem("test", path=ca), clock=lambda: now[0])
    async with ScriptedServer(HELLO, tls=context) as server:
        session = await SessionFactory(secured(server, authority, tls)).open()
        async with session:
            await (await session.get(server.url)).read()
            replace(ca)
            now[0] += 60
            if closes:
                with pytest.raises(RuntimeError, match="Session is closed"):
                    await session.get(server.url)
            else:
                await (await session.get(server.url)).read()
            assert session.closed is closes
