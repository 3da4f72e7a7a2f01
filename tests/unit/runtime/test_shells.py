"""What both shells of the client do alike: what is sent, what is repeated, how failures are told."""

from __future__ import annotations

import asyncio
import logging
import socket
import ssl
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager, suppress
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from runtime import requests
from runtime.backoff import Backoff
from runtime.credentials import Credentials, FixedCredentials, RenewedCredentials
from runtime.errors import ApiError, ConfigError, ConnectionFailed, Forbidden, Unauthorized
from runtime.kubeconfig import ClientConfig
from runtime.patches import MergePatch
from runtime.requests import Request
from runtime.retry import RetryPolicy
from runtime.tls import KeyPair, Pem, Tls
from tests.pki import Authority
from tests.scripted_server import (
    Answer,
    Exchange,
    ScriptedServer,
    answer,
    chunk,
    chunked_head,
    drop,
    failure,
    hang,
    reset,
    stream,
    then_close,
)
from tests.shells import Shell, open_shell
from tests.things import THINGS

GET = requests.get(THINGS, "a", "n")
LIST = requests.list_page(THINGS, "n", limit=0)
CREATE = requests.create(THINGS, {"metadata": {"name": "a"}}, "n")
DELETE = requests.delete(THINGS, "a", "n")
PINNED_DELETE = requests.delete(THINGS, "a", "n", uid="u")
PATCH = requests.patch(THINGS, "a", "n", MergePatch({"spec": {}}))
WATCH = requests.watch(THINGS, "n")
PATH = "/apis/example.org/v1/namespaces/n/things"

POLICY = RetryPolicy(attempts=4, deadline=60.0, backoff=Backoff(base=0.001, jitter=0.0))
CA = Authority()

Open: TypeAlias = Callable[..., AbstractAsyncContextManager[Shell]]


@pytest.fixture(params=["async", "sync"])
def open_(request: pytest.FixtureRequest) -> Open:
    """Opens a shell on a server's URL or on a whole configuration."""

    def run(target: ScriptedServer | ClientConfig | str, retry: RetryPolicy = POLICY, **options: Any) -> Any:
        if isinstance(target, ScriptedServer):
            target = target.url
        config = target if isinstance(target, ClientConfig) else ClientConfig(server=target)
        return open_shell(request.param, config, retry, **options)

    return run


async def test_a_request_arrives_as_it_was_built(open_: Open) -> None:
    async with ScriptedServer() as server, open_(server, user_agent="vc-test/1") as shell:
        await shell.send(CREATE)
    (received,) = server.received
    assert (received.method, received.target) == ("POST", PATH)
    assert received.json() == {"apiVersion": "example.org/v1", "kind": "Thing", "metadata": {"name": "a"}}
    wanted = {
        "host": f"127.0.0.1:{server.port}",
        "content-type": "application/json",
        "accept": "application/json",
        "accept-encoding": "identity",
        "user-agent": "vc-test/1",
        "content-length": str(len(received.body)),
    }
    assert received.headers == wanted


async def test_a_read_has_no_body_and_its_query_is_encoded(open_: Open) -> None:
    async with ScriptedServer() as server, open_(server) as shell:
        await shell.send(requests.list_page(THINGS, "n", label_selector="a in (b,ü)"))
    (received,) = server.received
    assert received.target == f"{PATH}?labelSelector=a+in+%28b%2C%C3%BC%29&limit=500"
    assert received.body == b""
    assert "content-type" not in received.headers


async def test_the_servers_own_path_comes_first(open_: Open) -> None:
    async with ScriptedServer() as server, open_(f"{server.url}/clusters/c") as shell:
        await shell.send(LIST)
    assert server.received[0].target == f"/clusters/c{PATH}"


async def test_credentials_and_impersonation_are_sent(open_: Open) -> None:
    async with ScriptedServer() as server:
        config = ClientConfig(
            server=server.url,
            credentials=FixedCredentials.bearer("t"),
            headers=(("Impersonate-User", "me"), ("Impersonate-Group", "g"), ("Impersonate-Group", "h")),
        )
        async with open_(config) as shell:
            await shell.send(GET)
    headers = server.received[0].headers
    assert (headers["authorization"], headers["impersonate-user"]) == ("Bearer t", "me")
    assert headers["impersonate-group"] == "g, h"


@pytest.mark.parametrize("code", [200, 201, 302, 404, 409, 422, 500])
async def test_answers_are_handed_on_whatever_their_code(open_: Open, code: int) -> None:
    async with ScriptedServer(answer(code, b"text", retry_after="7")) as server, open_(server) as shell:
        response = await shell.send(CREATE)
    assert (response.status, response.body, response.retry_after) == (code, b"text", 7)
    assert len(server.received) == 1


async def test_a_redirect_is_not_followed(open_: Open) -> None:
    async with ScriptedServer(answer(307, b"", Location="/elsewhere")) as server, open_(server) as shell:
        assert (await shell.send(GET)).status == 307
    assert len(server.received) == 1


@pytest.mark.parametrize(
    "reply",
    [
        answer(200, b"x" * 5_000_000),
        chunked_head() + chunk(b"x" * 3_000_000) + chunk(b"x" * 2_000_000) + b"0\r\n\r\n",
        then_close(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n" + b"x" * 5_000_000),
        then_close(b"HTTP/1.1 200 OK\r\n\r\n" + b"x" * 5_000_000),
        then_close(b"HTTP/1.0 200 OK\r\n\r\n" + b"x" * 5_000_000),
    ],
    ids=["length", "chunked", "until closed", "until closed, untold", "HTTP/1.0"],
)
async def test_large_answers_come_whole_in_every_framing(open_: Open, reply: Answer) -> None:
    async with ScriptedServer(reply) as server, open_(server) as shell:
        assert (await shell.send(GET)).body == b"x" * 5_000_000
        assert (await shell.send(GET)).status == 200


async def test_connections_are_used_again(open_: Open) -> None:
    async with ScriptedServer() as server, open_(server) as shell:
        for request in (GET, CREATE, GET, DELETE):
            await shell.send(request)
    assert server.connections == 1


async def test_an_idle_connection_that_the_server_closed_is_not_used_for_a_write(open_: Open) -> None:
    async with ScriptedServer() as server, open_(server) as shell:
        await shell.send(GET)
        await server.end_connections()
        await asyncio.sleep(0.01)  # the client's turn to notice
        assert (await shell.send(CREATE)).status == 200
    assert server.connections == 2


@pytest.mark.parametrize("request_", [GET, CREATE, DELETE, PATCH], ids=lambda request: request.method)
async def test_an_overloaded_server_is_asked_again_for_anything(open_: Open, request_: Request) -> None:
    replies = answer(429, b"", Retry_After="0"), failure(429), answer(201)
    async with ScriptedServer(*replies) as server, open_(server) as shell:
        response = await shell.send(request_)
    assert (response.status, response.repeated) == (201, False)
    assert len(server.received) == 3


async def test_a_server_that_stays_overloaded_has_the_last_word(open_: Open) -> None:
    async with ScriptedServer(failure(429, "TooManyRequests", "no")) as server, open_(server) as shell:
        assert (await shell.send(CREATE)).status == 429
    assert len(server.received) == 4


async def test_a_disruption_budgets_refusal_is_not_asked_again(open_: Open) -> None:
    refusal = failure(429, "TooManyRequests", "no", causes=[{"reason": "DisruptionBudget"}])
    async with ScriptedServer(refusal) as server, open_(server) as shell:
        assert (await shell.send(requests.create_subresource(THINGS, "a", "n", "eviction", {}))).status == 429
    assert len(server.received) == 1


BREAKS = {
    "closed": drop,
    "reset": reset,
    "half a head": then_close(b"HTTP/1.1 200"),
    "half a header": then_close(b"HTTP/1.0 200 OK\r\nConnection: close\r\nDate: to"),
    "half of the headers": then_close(b"HTTP/1.1 200 OK\r\nConnection: close\r\n"),
    "half a body": then_close(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{"),
    "half a chunk": then_close(chunked_head() + b"100\r\nabc"),
    "503": failure(503),
}


@pytest.mark.parametrize("how", BREAKS)
@pytest.mark.parametrize("request_", [GET, PINNED_DELETE], ids=["read", "pinned delete"])
async def test_what_cannot_happen_twice_is_repeated_when_it_breaks(open_: Open, request_: Request, how: str) -> None:
    async with ScriptedServer(BREAKS[how], answer(404)) as server, open_(server) as shell:
        response = await shell.send(request_)
    assert (response.status, response.repeated) == (404, True)
    assert len(server.received) == 2


@pytest.mark.parametrize("how", [how for how in BREAKS if how != "503"])
@pytest.mark.parametrize("request_", [CREATE, DELETE, PATCH], ids=lambda request: request.method)
@pytest.mark.parametrize("reused", [False, True], ids=["new", "reused"])
async def test_other_writes_that_break_are_the_callers(open_: Open, request_: Request, how: str, reused: bool) -> None:
    async with ScriptedServer(answer(), BREAKS[how], answer()) as server, open_(server) as shell:
        if reused:
            await shell.send(GET)
        else:
            server.script(BREAKS[how], answer())
        with pytest.raises(ConnectionFailed) as caught:
            await shell.send(request_)
    assert caught.value.sent
    assert [received.method for received in server.received].count(request_.method) == 1


@pytest.mark.parametrize(
    ("how", "words"),
    [
        ("closed", "EOF"),
        ("reset", "read: connection reset by peer"),
        ("half a body", "unexpected EOF"),
    ],
)
async def test_a_broken_exchange_is_told_with_the_url(open_: Open, how: str, words: str) -> None:
    async with ScriptedServer(BREAKS[how]) as server, open_(server) as shell:
        with pytest.raises(ConnectionFailed) as caught:
            await shell.send(CREATE)
    assert str(caught.value) == f'Post "{server.url}{PATH}": {words}'


async def test_a_server_that_never_answers_is_given_up(open_: Open) -> None:
    async with ScriptedServer(hang) as server, open_(server, timeout=0.3) as shell:
        with pytest.raises(ConnectionFailed, match=r"^Post .*: context deadline exceeded") as caught:
            await shell.send(CREATE)
    assert caught.value.sent


async def test_an_answer_that_is_no_http_is_told(open_: Open) -> None:
    async with ScriptedServer(then_close(b"220 smtp ready\r\n\r\n")) as server, open_(server) as shell:
        with pytest.raises(ConnectionFailed, match=r"^Post .*: malformed HTTP response"):
            await shell.send(CREATE)


async def test_what_a_tls_server_says_to_plain_http_is_read(open_: Open) -> None:
    words = b"Client sent an HTTP request to an HTTPS server.\n"
    reply = then_close(b"HTTP/1.0 400 Bad Request\r\n\r\n" + words)
    async with ScriptedServer(reply) as server, open_(server) as shell:
        response = await shell.send(GET)
        with pytest.raises(ApiError, match="the server rejected our request for an unknown reason") as caught:
            await shell.lines(WATCH)
    assert (response.status, response.body) == (400, words)
    assert caught.value.status.details is not None
    assert caught.value.status.details.causes[0].message == words.decode().strip()


@pytest.mark.parametrize("header", [b"Content-Length: many", b"Transfer-Encoding: gzip, chunked"])
async def test_an_answer_whose_end_is_told_in_unknown_words_is_not_guessed_at(open_: Open, header: bytes) -> None:
    reply = then_close(b"HTTP/1.1 200 OK\r\n" + header + b"\r\n\r\n{}")
    async with ScriptedServer(reply) as server, open_(server) as shell:
        with pytest.raises(ConnectionFailed, match="malformed HTTP response"):
            await shell.send(CREATE)


async def test_headers_may_be_long_but_not_endless(open_: Open) -> None:
    replies = answer(200, b"", X_Long="x" * 60_000), answer(200, b"", X_Long="x" * 70_000)
    async with ScriptedServer(*replies) as server, open_(server) as shell:
        assert (await shell.send(CREATE)).status == 200
        with pytest.raises(ConnectionFailed, match="malformed HTTP response"):
            await shell.send(CREATE)


def unused_port() -> int:
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return int(sock.getsockname()[1])


async def test_a_refused_connection_is_told_as_the_command_line_tools_do(open_: Open) -> None:
    port = unused_port()
    async with open_(f"http://127.0.0.1:{port}", RetryPolicy(wait_for_server=False)) as shell:
        with pytest.raises(ConnectionFailed) as caught:
            await shell.send(LIST)
    assert str(caught.value) == (
        f'Get "http://127.0.0.1:{port}{PATH}": dial tcp 127.0.0.1:{port}: connect: connection refused'
    )
    assert not caught.value.sent


class Tokens(RenewedCredentials):
    """token-1, token-2 ..., without end; no pause between two fetches."""

    def __init__(self) -> None:
        super().__init__(self.now, self.now)
        self.fetches = 0
        self.problem = ""

    def now(self) -> float:
        return 100.0 * getattr(self, "fetches", 0)

    def _fetch(self) -> None:
        if self.problem:
            raise ConfigError(self.problem)
        self.fetches += 1
        self._header = f"Bearer token-{self.fetches}"
        self._due = float("inf")


@pytest.mark.parametrize("request_", [GET, CREATE], ids=lambda request: request.method)
async def test_stale_credentials_are_renewed_once_for_any_verb(open_: Open, request_: Request) -> None:
    async with ScriptedServer(failure(401), answer(201)) as server, open_(with_token(server, Tokens())) as shell:
        response = await shell.send(request_)
    assert (response.status, response.repeated) == (201, False)
    assert [received.headers["authorization"] for received in server.received] == ["Bearer token-1", "Bearer token-2"]


async def test_a_second_401_stands(open_: Open) -> None:
    async with ScriptedServer(failure(401)) as server, open_(with_token(server, Tokens())) as shell:
        assert (await shell.send(GET)).status == 401
    assert len(server.received) == 2


async def test_credentials_that_cannot_change_are_not_tried_again(open_: Open) -> None:
    fixed = FixedCredentials.bearer("t")
    async with ScriptedServer(failure(401)) as server, open_(with_token(server, fixed)) as shell:
        assert (await shell.send(GET)).status == 401
    assert len(server.received) == 1


async def test_a_failing_plugin_is_told_with_the_request(open_: Open) -> None:
    tokens = Tokens()
    tokens.problem = "exec: boom"
    async with ScriptedServer() as server, open_(with_token(server, tokens)) as shell:
        with pytest.raises(ConnectionFailed) as caught:
            await shell.send(LIST)
    assert str(caught.value) == f'Get "{server.url}{PATH}": getting credentials: exec: boom'
    assert (caught.value.sent, server.received) == (False, [])


async def test_the_guard_is_asked_before_each_try(open_: Open) -> None:
    asked: list[int] = []
    async with ScriptedServer(failure(429), failure(429), answer()) as server, open_(server) as shell:
        await shell.send(CREATE, guard=lambda: asked.append(len(server.received)))
    assert asked == [0, 1, 2]


async def test_a_guard_that_refuses_stops_the_write_before_it_is_sent(open_: Open) -> None:
    class LeaseLost(Exception):  # noqa: N818
        pass

    async with ScriptedServer(failure(429)) as server, open_(server) as shell:

        def guard() -> None:
            if server.received:
                raise LeaseLost

        with pytest.raises(LeaseLost):
            await shell.send(CREATE, guard=guard)
    assert len(server.received) == 1


async def test_warnings_of_the_server_are_logged_once(open_: Open, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING, "runtime")
    two = b'HTTP/1.1 200 OK\r\nWarning: 299 - "one"\r\nWarning: 299 - "two"\r\nContent-Length: 0\r\n\r\n'
    async with ScriptedServer(two) as server, open_(server) as shell:
        await shell.send(GET)
        await shell.send(GET)
    assert [record.getMessage().rpartition("warning=")[2] for record in caplog.records] == ['"one"', '"two"']


@asynccontextmanager
async def tls_server(
    folder: Path, *hosts: str, days: int = 2, ask_client: bool = False
) -> AsyncIterator[ScriptedServer]:
    context = CA.server_context(folder, CA.issue("server", *hosts, days=days), ask_client=ask_client)
    async with ScriptedServer(tls=context) as server:
        yield server


def with_token(server: ScriptedServer, credentials: Credentials) -> ClientConfig:
    return ClientConfig(server=server.url, credentials=credentials)


def trusting(server: ScriptedServer, **options: Any) -> ClientConfig:
    tls = options.pop("tls", None) or Tls(ca=Pem("ca", data=CA.pem))
    return ClientConfig(server=server.url, tls=tls, **options)


async def test_a_server_with_our_authoritys_certificate_is_trusted(open_: Open, tmp_path: Path) -> None:
    async with tls_server(tmp_path, "127.0.0.1") as server, open_(trusting(server)) as shell:
        assert (await shell.send(GET)).status == 200
        assert (await shell.send(CREATE)).status == 200
    assert server.connections == 1


async def test_the_certificate_may_be_for_another_name_that_is_configured(open_: Open, tmp_path: Path) -> None:
    name = "api.example.org"
    async with tls_server(tmp_path, name) as server, open_(trusting(server, server_name=name)) as shell:
        assert (await shell.send(GET)).status == 200


BAD_CERTIFICATES: dict[str, tuple[str, int, Tls | None, str]] = {
    "unknown authority": ("127.0.0.1", 2, Tls(), "certificate signed by unknown authority"),
    "namesake of ours": ("127.0.0.1", 2, Tls(ca=Pem("ca", data=Authority().pem)), "certificate signed by unknown authority|x509: "),
    "other address": ("10.0.0.1", 2, None, "certificate is not valid for 127.0.0.1"),
    "expired": ("127.0.0.1", -1, None, "certificate has expired or is not yet valid"),
}  # fmt: skip


@pytest.mark.parametrize("fault", BAD_CERTIFICATES)
async def test_a_certificate_that_does_not_hold_ends_the_matter(open_: Open, tmp_path: Path, fault: str) -> None:
    host, days, tls, words = BAD_CERTIFICATES[fault]
    async with tls_server(tmp_path, host, days=days) as server, open_(trusting(server, tls=tls)) as shell:
        with pytest.raises(ConnectionFailed, match=f"tls: failed to verify certificate: .*({words})") as caught:
            await shell.send(GET)
    assert (caught.value.sent, caught.value.permanent, server.received) == (False, True, [])


async def test_a_certificate_is_said_not_to_be_for_the_name_that_was_asked(open_: Open, tmp_path: Path) -> None:
    async with tls_server(tmp_path, "127.0.0.1") as server, open_(trusting(server, server_name="no.example")) as shell:
        with pytest.raises(ConnectionFailed, match=r"certificate is not valid for no\.example$"):
            await shell.send(GET)


async def test_verification_can_be_switched_off(open_: Open, tmp_path: Path) -> None:
    async with (
        tls_server(tmp_path, "other", days=-1) as server,
        open_(trusting(server, tls=Tls(insecure=True))) as shell,
    ):
        assert (await shell.send(GET)).status == 200


async def test_tls_towards_a_plain_server_is_told(open_: Open) -> None:
    async with ScriptedServer() as server:
        config = ClientConfig(server=server.url.replace("http:", "https:"), tls=Tls())
        server.script(then_close(b"HTTP/1.1 400 Bad Request\r\n\r\n"))
        async with open_(config, RetryPolicy(attempts=1)) as shell:
            with pytest.raises(ConnectionFailed) as caught:
                await shell.send(GET)
    assert not caught.value.sent


def user_pair(name: str) -> KeyPair:
    pair = CA.issue(name)
    return KeyPair(Pem("c", data=pair.certificate), Pem("k", data=pair.key))


async def presented(exchange: Exchange) -> None:
    """Answers with the common name of the client's certificate."""
    tls = exchange.writer.get_extra_info("ssl_object")
    assert isinstance(tls, ssl.SSLObject)
    certificate = tls.getpeercert()
    assert certificate is not None
    subject: Any = certificate["subject"]
    await exchange.send(answer(200, str(subject[0][0][1]).encode()))


async def test_a_renewed_client_certificate_is_shown_on_new_connections(open_: Open, tmp_path: Path) -> None:
    held = [user_pair("old")]
    tls = Tls(ca=Pem("ca", data=CA.pem), key_pair=lambda: held[0])
    async with tls_server(tmp_path, "127.0.0.1", ask_client=True) as server, open_(trusting(server, tls=tls)) as shell:
        server.script(presented)
        assert (await shell.send(GET)).body == b"old"
        held[0] = user_pair("new")
        server.script(failure(401), presented)
        assert (await shell.send(GET)).body == b"new"


async def test_a_server_that_demands_a_certificate_is_no_connection(open_: Open, tmp_path: Path) -> None:
    async with tls_server(tmp_path, "127.0.0.1", ask_client=True) as server, open_(trusting(server)) as shell:
        with pytest.raises(
            ConnectionFailed, match=r"tls: .*certificate required|connection reset by peer|broken pipe|EOF"
        ):
            await shell.send(CREATE)


async def test_lines_of_a_stream_come_whole(open_: Open) -> None:
    long = b"x" * 2_500_000
    pieces = [
        b"one\ntw",
        b"o\n",
        *(long[start : start + 100_000] for start in range(0, len(long), 100_000)),
        b"\nlast\n",
    ]
    async with ScriptedServer(stream(*pieces)) as server, open_(server) as shell:
        assert await shell.lines(WATCH) == [b"one", b"two", long, b"last"]
    assert server.received[0].target == f"{PATH}?watch=1&timeoutSeconds=300&allowWatchBookmarks=true"


async def test_a_stream_is_opened_with_fresh_credentials_after_a_401(open_: Open) -> None:
    script = failure(401), stream(b"one\n"), failure(401)
    async with ScriptedServer(*script) as server, open_(with_token(server, Tokens())) as shell:
        assert await shell.lines(WATCH) == [b"one"]
        with pytest.raises(Unauthorized):
            await shell.lines(WATCH)
    tokens = [received.headers["authorization"][-1] for received in server.received]
    assert tokens == ["1", "2", "2", "3"]


@pytest.mark.parametrize("code", [403, 302])
async def test_a_stream_that_is_refused_raises_the_servers_error(open_: Open, code: int) -> None:
    async with ScriptedServer(failure(code, "Forbidden", "no watching")) as server, open_(server) as shell:
        with pytest.raises(ApiError, match="no watching") as caught:
            await shell.lines(WATCH)
    assert isinstance(caught.value, Forbidden) == (code == 403)


@pytest.mark.parametrize(
    ("reply", "words"),
    [
        (then_close(chunked_head() + chunk(b"one\ntwo")), "unexpected EOF"),
        (then_close(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\none\ntw"), "unexpected EOF in the middle of a line"),
        (stream(b"one\ntw"), "unexpected EOF in the middle of a line"),
    ],
    ids=["chunks end early", "cut off", "half a line"],
)
async def test_a_stream_that_breaks_off_is_told(open_: Open, reply: Answer, words: str) -> None:
    async with ScriptedServer(reply) as server, open_(server) as shell:
        with pytest.raises(ConnectionFailed, match=words):
            await shell.lines(WATCH)


async def test_a_silent_stream_is_given_up(open_: Open) -> None:
    watch = requests.watch(THINGS, "n", timeout=3000, idle_timeout=0.3)
    async with ScriptedServer(stream(b"one\n", end=False)) as server, open_(server) as shell:
        with pytest.raises(ConnectionFailed, match=r"nothing came for 0\.3 s"):
            await shell.lines(watch)


class Tunnel:
    """An HTTP proxy that connects through to one server, whatever name it is asked for."""

    def __init__(self, port: int) -> None:
        self._port = port
        self.heads: list[str] = []

    @asynccontextmanager
    async def run(self) -> AsyncIterator[str]:
        server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        yield f"http://user:pa%20ss@127.0.0.1:{server.sockets[0].getsockname()[1]}"
        server.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        self.heads.append(head.decode())
        far_reader, far_writer = await asyncio.open_connection("127.0.0.1", self._port)
        if head.startswith(b"CONNECT"):
            writer.write(b"HTTP/1.1 200 OK\r\n\r\n")
        else:
            far_writer.write(head)
        await asyncio.gather(_pump(reader, far_writer), _pump(far_reader, writer))


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while data := await reader.read(65536):
            writer.write(data)
    except ConnectionError:
        pass  # one side went away
    writer.close()


async def test_tls_goes_through_a_proxys_tunnel(open_: Open, tmp_path: Path) -> None:
    async with tls_server(tmp_path, "api.example.org") as server:
        tunnel = Tunnel(server.port)
        async with tunnel.run() as proxy:
            config = ClientConfig(
                server="https://api.example.org:6443", tls=Tls(ca=Pem("ca", data=CA.pem)), proxy=proxy
            )
            async with open_(config) as shell:
                assert (await shell.send(GET)).status == 200
    (head,) = tunnel.heads
    assert head.startswith("CONNECT api.example.org:6443 HTTP/1.")
    assert "Proxy-Authorization: Basic dXNlcjpwYSBzcw==" in head
    assert "proxy-authorization" not in server.received[0].headers


async def test_plain_http_goes_through_a_proxy(open_: Open) -> None:
    async with ScriptedServer() as server:
        tunnel = Tunnel(server.port)
        async with tunnel.run() as proxy, open_(ClientConfig(server="http://api.example.org", proxy=proxy)) as shell:
            assert (await shell.send(GET)).status == 200
    assert server.received[0].target == f"http://api.example.org{PATH}/a"


async def test_a_proxy_that_is_not_there_is_told(open_: Open) -> None:
    proxy = f"http://127.0.0.1:{unused_port()}"
    config = ClientConfig(server="https://api.example.org", tls=Tls(), proxy=proxy)
    async with open_(config, RetryPolicy(wait_for_server=False)) as shell:
        with pytest.raises(ConnectionFailed, match=f"proxyconnect dial tcp {proxy[7:]}: connect: connection refused"):
            await shell.send(GET)


@contextmanager
def silent_server() -> Iterator[str]:
    """The URL of a server; in the end nothing may have come, be it that nobody connected."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        listener.setblocking(False)  # who connected is in the backlog by now
        with suppress(BlockingIOError):
            peer, _ = listener.accept()
            with peer:
                peer.settimeout(5)
                assert peer.recv(100) == b""


@pytest.mark.parametrize("token", ["sec\r\nret", "sec\x00\nret", "sec\nret\udcff"])
@pytest.mark.parametrize("is_stream", [False, True])
async def test_credentials_that_no_header_can_carry_are_told_and_not_shown(
    open_: Open, token: str, is_stream: bool
) -> None:
    with silent_server() as url:
        async with open_(ClientConfig(server=url, credentials=FixedCredentials.bearer(token))) as shell:
            with pytest.raises(ConnectionFailed, match="credentials can't be sent: control character") as caught:
                await (shell.lines(WATCH) if is_stream else shell.send(GET))
    assert (caught.value.sent, caught.value.permanent) == (False, True)
    assert "sec" not in str(caught.value)
    assert caught.value.__cause__ is None


@pytest.mark.parametrize("is_stream", [False, True])
async def test_another_header_that_cannot_be_sent_is_a_failure_too(open_: Open, is_stream: bool) -> None:
    with silent_server() as url:
        config = ClientConfig(server=url, headers=(("Impersonate-User", "me\r\nX: y"),))
        async with open_(config, RetryPolicy(attempts=1)) as shell:
            with pytest.raises(ConnectionFailed, match="can't be sent: "):
                await (shell.lines(WATCH) if is_stream else shell.send(GET))


async def test_a_host_that_is_no_name_is_a_failure(open_: Open) -> None:
    async with open_(f"http://{'a' * 70}.example") as shell:
        with pytest.raises(ConnectionFailed):
            await shell.send(GET)
