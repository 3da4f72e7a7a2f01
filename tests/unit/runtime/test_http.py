from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from runtime.http import HttpClient, PeerError
from runtime.tls import Pem, Tls
from tests.pki import Authority
from tests.scripted_server import (
    Answer,
    ScriptedServer,
    answer,
    chunk,
    chunked_head,
    drop,
    hang,
    reset,
    stream,
    then_close,
)


async def test_a_peer_is_asked_and_answers() -> None:
    async with ScriptedServer(answer(200, {"ports": [1]}, X_Thing="y")) as server, HttpClient() as peers:
        found = await peers.get(f"{server.url}/x?y=1", headers={"X-Auth": "z"})
        assert (found.status, found.is_success, found.headers["x-thing"]) == (200, True, "y")
        assert found.check().json(dict[str, list[int]]) == {"ports": [1]}
    (received,) = server.received
    assert (received.method, received.target, received.headers["x-auth"]) == ("GET", "/x?y=1", "z")


async def test_json_is_posted_with_its_media_type() -> None:
    async with ScriptedServer() as server, HttpClient(headers={"Accept": "application/json"}) as peers:
        await peers.post_json(f"{server.url}/filter", {"nodes": ["a"]}, basic=("me", "pw"))
    (received,) = server.received
    assert (received.method, received.json()) == ("POST", {"nodes": ["a"]})
    assert received.headers["content-type"] == received.headers["accept"] == "application/json"
    assert received.headers["authorization"] == "Basic bWU6cHc="


@pytest.mark.parametrize("code", [302, 404, 500])
async def test_other_codes_are_handed_on_until_they_are_checked(code: int) -> None:
    async with ScriptedServer(answer(code, b"no such fabric")) as server, HttpClient() as peers:
        found = await peers.get(server.url)
    assert found.status == code
    with pytest.raises(PeerError, match=f"^{server.url}: the server answered {code}: no such fabric$"):
        found.check()


@pytest.mark.parametrize("body", [b"<html>", b'{"ports":"many"}', b"\xff"])
async def test_an_answer_that_does_not_fit_is_named(body: bytes) -> None:
    async with ScriptedServer(answer(200, body)) as server, HttpClient() as peers:
        found = await peers.get(server.url)
    with pytest.raises(PeerError, match=f"^{server.url}: unexpected answer: "):
        found.json(dict[str, list[int]])


@pytest.mark.parametrize(
    "script",
    [answer(200, b"x" * 1001), chunked_head() + chunk(b"x" * 1001) + b"0\r\n\r\n", stream(b"x" * 1001, end=False)],
    ids=["length", "chunked", "endless"],
)
async def test_an_answer_beyond_the_bound_is_not_read(script: Answer) -> None:
    async with ScriptedServer(script) as server, HttpClient(max_body=1000) as peers:
        with pytest.raises(PeerError, match="larger than 1000 bytes"):
            await peers.get(server.url)


async def test_an_answer_at_the_bound_is_read() -> None:
    async with ScriptedServer(answer(200, b"x" * 1000)) as server, HttpClient(max_body=1000) as peers:
        assert len((await peers.get(server.url)).body) == 1000


@pytest.mark.virtual_time
@pytest.mark.parametrize("script", [hang, stream(b"x", end=False)], ids=["nothing", "half"])
async def test_a_slow_peer_is_given_up(script: Answer) -> None:
    loop = asyncio.get_running_loop()
    async with ScriptedServer(script) as server, HttpClient(timeout=10) as peers:
        for seconds, options in ((10, {}), (3, {"seconds": 3})):
            begin = loop.time()
            with pytest.raises(PeerError, match=f"^{server.url}: no answer within {seconds} s$"):
                await peers.get(server.url, **options)
            assert loop.time() - begin == pytest.approx(seconds, abs=1)


@pytest.mark.parametrize(
    "script", [drop, reset, then_close(b"garbage\r\n\r\n"), then_close(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n")]
)
async def test_a_broken_peer_is_named_and_posts_are_not_repeated(script: Answer) -> None:
    async with ScriptedServer(script) as server, HttpClient() as peers:
        with pytest.raises(PeerError, match=f"^{server.url}: "):
            await peers.post_json(server.url, {})
    assert len(server.received) == 1


async def test_redirects_are_followed_only_as_far_as_allowed() -> None:
    hop = answer(302, b"", Location="/next")
    async with ScriptedServer(hop, hop, answer(200, b"there")) as server, HttpClient() as peers:
        assert (await peers.get(server.url)).status == 302
        server.script(hop, hop, answer(200, b"there"))
        assert (await peers.get(server.url, redirects=3)).body == b"there"
        server.script(hop)
        with pytest.raises(PeerError, match="more than 2 redirects"):
            await peers.get(server.url, redirects=2)


@pytest.mark.parametrize("url", ["ftp://x/", "nonsense", "http://", "/path"])
async def test_what_is_no_http_url_is_refused(url: str) -> None:
    async with HttpClient() as peers:
        with pytest.raises(PeerError, match=f"^{url}: no http or https URL$"):
            await peers.get(url)


async def test_a_refused_connection_is_named() -> None:
    async with HttpClient() as peers:
        with pytest.raises(PeerError, match=r"^http://127\.0\.0\.1:1/: Cannot connect"):
            await peers.get("http://127.0.0.1:1/")


async def test_tls_is_verified_by_the_given_authority_unless_switched_off(tmp_path: Path) -> None:
    authority = Authority()
    context = authority.server_context(tmp_path, authority.issue("server", "127.0.0.1"))
    async with ScriptedServer(tls=context) as server:
        for tls, good in ((Tls(ca=Pem("ca", data=authority.pem)), True), (Tls(insecure=True), True), (None, False)):
            async with HttpClient(tls=tls) as peers:
                if good:
                    assert (await peers.get(server.url)).is_success
                else:
                    with pytest.raises(PeerError, match="certificate verify failed"):
                        await peers.get(server.url)
