from __future__ import annotations

import asyncio
import base64
import io
import json
import sys
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
import pytest

from runtime.credential_plugins import ExecCredentials, OidcCredentials
from runtime.errors import ConfigError
from tests.pki import Authority
from tests.scripted_server import ScriptedServer, answer

V1 = "client.authentication.k8s.io/v1"


class Clock:
    now = 1_800_000_000.0  # 2027-01-15T08:00:00Z

    def __call__(self) -> float:
        return self.now


def plugin(folder: Path, body: str) -> dict[str, Any]:
    """An exec section whose command runs this Python text."""
    script = folder / "plugin.py"
    script.write_text(f"import json, os, sys\n{body}")
    return {"apiVersion": V1, "command": sys.executable, "args": [str(script)]}


def printing(status: Any, *, version: str = V1) -> str:
    return f"print({json.dumps(json.dumps({'apiVersion': version, 'kind': 'ExecCredential', 'status': status}))})"


def credentials(folder: Path, spec: Mapping[str, Any], clock: Clock | None = None) -> ExecCredentials:
    return ExecCredentials(
        spec,
        {"server": "https://x"},
        folder=folder,
        origin="f: user me: exec",
        clock=clock or Clock(),
        ticks=clock or Clock(),
    )


def test_a_plugins_token_is_used_until_it_expires(tmp_path: Path) -> None:
    clock = Clock()
    spec = plugin(tmp_path, printing({"token": "t", "expirationTimestamp": "2027-01-15T08:10:00Z"}))
    held = credentials(tmp_path, spec, clock)
    assert held.is_due()
    assert held.refresh()
    assert held.header() == "Bearer t"
    clock.now += 589
    assert not held.is_due()
    clock.now += 1
    assert held.is_due()


def test_a_token_without_end_is_kept(tmp_path: Path) -> None:
    clock = Clock()
    held = credentials(tmp_path, plugin(tmp_path, printing({"token": "t"})), clock)
    held.refresh()
    clock.now += 1e9
    assert not held.is_due()


def test_a_plugins_certificate_is_offered(tmp_path: Path) -> None:
    pair = Authority().issue("me")
    status = {"clientCertificateData": pair.certificate.decode(), "clientKeyData": pair.key.decode()}
    held = credentials(tmp_path, plugin(tmp_path, printing(status)))
    assert held.refresh()
    assert held.header() == ""
    offered = held.key_pair()
    assert offered is not None
    assert (offered.certificate.read(), offered.key.read()) == (pair.certificate, pair.key)


def test_a_plugin_gets_its_environment_and_runs_beside_the_kubeconfig(tmp_path: Path) -> None:
    body = (
        "info = json.loads(os.environ['KUBERNETES_EXEC_INFO'])\n"
        "token = '|'.join([os.environ['EXTRA'], os.getcwd(), info['kind'], info['spec']['cluster']['server']])\n"
        f"print(json.dumps({{'apiVersion': '{V1}', 'kind': 'ExecCredential', 'status': {{'token': token}}}}))"
    )
    spec = plugin(tmp_path, body) | {"env": [{"name": "EXTRA", "value": "1"}], "provideClusterInfo": True}
    held = credentials(tmp_path, spec)
    held.refresh()
    assert held.header() == f"Bearer 1|{tmp_path}|ExecCredential|https://x"


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("sys.exit('no session, run login')", "no session, run login"),
        ("print('nonsense')", "failed to decode"),
        (printing({"token": "t"}, version="client.authentication.k8s.io/v1beta1"), "v1beta1 does not match"),
        (printing({}), "neither token nor clientCertificateData"),
        (printing({"clientCertificateData": "x"}), "neither token nor clientCertificateData"),
        (printing({"token": "t", "expirationTimestamp": "soon"}), "expirationTimestamp 'soon' is no time"),
        (printing({"token": "t", "expirationTimestamp": 5}), r"status: Expected `str`, got `int` - at `\$.expiration"),
        (printing({"token": 5}), r"status: Expected `str`, got `int` - at `\$.token`"),
        (printing({"clientCertificateData": 5, "clientKeyData": 6}), r"status: Expected `str`.*clientCertificateData"),
        (printing({"token": "a\nb"}), "the plugin's token holds a line end"),
        (printing({"token": "\u2603"}), "the plugin's token holds characters beyond"),
        (printing(5), "status: Expected `object`, got `int`"),
        (printing([]), "status: Expected `object`, got `array`"),
        (printing(None), "status: Expected `object`, got `null`"),
        ("print(5)", "the plugin can't be used, or what it printed: "),
        ("sys.stdout.buffer.write(b'\\xff')", "the plugin can't be used, or what it printed: "),
    ],
)
def test_a_failing_plugin_is_named_with_its_words(tmp_path: Path, body: str, message: str) -> None:
    with pytest.raises(ConfigError, match=f"^f: user me: exec: .*{message}"):
        credentials(tmp_path, plugin(tmp_path, body)).refresh()


@pytest.mark.parametrize(
    ("hint", "message"), [("get it at example.org", "get it at example.org"), ("", "is it installed")]
)
def test_a_missing_plugin_tells_how_to_get_it(tmp_path: Path, hint: str, message: str) -> None:
    spec = {"apiVersion": V1, "command": "no-such-plugin", "installHint": hint}
    with pytest.raises(ConfigError, match=f"executable no-such-plugin not found: {message}"):
        credentials(tmp_path, spec).refresh()


class Waiting:
    """A plugin that answers once it is told to, and counts its runs."""

    def __init__(self, folder: Path) -> None:
        self._go, self._runs = folder / "go", folder / "runs"
        body = (
            f"import pathlib, time\nopen({str(self._runs)!r}, 'a').write('x')\n"
            f"while not pathlib.Path({str(self._go)!r}).exists(): time.sleep(0.01)\n"
        )
        self.spec = plugin(folder, body + printing({"token": "late"}))

    def answer(self) -> None:
        self._go.touch()

    @property
    def runs(self) -> int:
        return len(self._runs.read_text())


class Terminal(io.StringIO):
    """A terminal in the place of the standard input."""

    def isatty(self) -> bool:
        return True


def closed() -> io.StringIO:
    stream = io.StringIO()
    stream.close()
    return stream


@pytest.mark.parametrize("stdin", [None, io.StringIO(), closed()], ids=["none", "no terminal", "closed"])
def test_a_plugin_that_needs_a_terminal_is_not_run_without(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stdin: io.StringIO | None
) -> None:
    spec = plugin(tmp_path, "open('ran', 'w')\n" + printing({"token": "t"})) | {"interactiveMode": "Always"}
    monkeypatch.setattr(sys, "stdin", stdin)
    words = "exec plugin cannot support interactive mode: standard input is not a terminal"
    with pytest.raises(ConfigError, match=f"^f: user me: exec: {words}$"):
        credentials(tmp_path, spec).refresh()
    assert not (tmp_path / "ran").exists()
    monkeypatch.setattr(sys, "stdin", Terminal())
    assert credentials(tmp_path, spec).refresh()


@pytest.mark.parametrize("mode", ["Never", "IfAvailable"])
def test_a_plugin_that_can_do_without_a_terminal_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mode: str
) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO())
    spec = plugin(tmp_path, printing({"token": "t"})) | {"interactiveMode": mode}
    assert credentials(tmp_path, spec).refresh()


def test_a_plugin_that_does_not_answer_is_given_up_and_named(tmp_path: Path) -> None:
    clock, waiting = Clock(), Waiting(tmp_path)
    held = ExecCredentials(waiting.spec, {}, folder=tmp_path, origin="f: user me: exec", ticks=clock, limit=0.01)
    try:
        with pytest.raises(ConfigError, match=f"^f: user me: exec: {sys.executable} gave no answer within 0.01 s"):
            held.refresh()
        with pytest.raises(ConfigError, match="gave no answer"):
            held.refresh()
    finally:
        waiting.answer()
    clock.now += 10
    held._limit = 60
    assert held.refresh()
    assert held.header() == "Bearer late"
    assert waiting.runs == 1
    clock.now += 10
    assert not held.refresh("Bearer late")
    assert waiting.runs == 2


def test_requests_do_not_hang_on_a_plugin_that_does(tmp_path: Path) -> None:
    waiting = Waiting(tmp_path)
    held = ExecCredentials(waiting.spec, {}, folder=tmp_path, origin="exec", clock=Clock(), limit=0.05)
    failures: list[ConfigError] = []

    def request() -> None:
        with pytest.raises(ConfigError) as caught:
            held.refresh()
        failures.append(caught.value)

    threads = [threading.Thread(target=request) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    waiting.answer()
    assert len(failures) == 8


def web_token(expiry: float) -> str:
    def part(value: Any) -> str:
        return base64.urlsafe_b64encode(msgspec.json.encode(value)).decode().rstrip("=")

    return f"{part({'alg': 'none'})}.{part({'exp': expiry, 'sub': 'me'})}.c2ln"


class Store:
    """Takes the renewed tokens in the place of the kubeconfig."""

    def __init__(self) -> None:
        self.stored: list[Mapping[str, str]] = []

    def __call__(self, tokens: Mapping[str, str]) -> None:
        self.stored.append(tokens)


def oidc(config: Mapping[str, str], store: Store) -> OidcCredentials:
    full = {
        "client-id": "id",
        "client-secret": "s",
        "refresh-token": "r1",
        "idp-issuer-url": "http://127.0.0.1:1",
        **config,
    }
    return OidcCredentials(full, folder=Path(), origin="f: user me: auth-provider", persist=store)


FAR = 4_000_000_000.0


def test_a_valid_id_token_is_used_as_it_is() -> None:
    store = Store()
    held = oidc({"id-token": web_token(FAR)}, store)
    assert held.refresh()
    assert held.header() == f"Bearer {web_token(FAR)}"
    assert not held.is_due()
    assert store.stored == []


@pytest.mark.parametrize("token", ["opaque", "a.b", "a+b.c.d"])
def test_an_id_token_that_is_none_is_refused(token: str) -> None:
    with pytest.raises(ConfigError, match=r"^f: user me: auth-provider: "):
        oidc({"id-token": token}, Store()).refresh()


async def test_an_expired_id_token_is_renewed_and_stored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OAUTHLIB_INSECURE_TRANSPORT", "1")
    fresh = web_token(FAR)
    tokens = {"access_token": "a", "token_type": "bearer", "id_token": fresh, "refresh_token": "r2"}
    server = ScriptedServer()
    async with server:
        server.script(
            answer(200, {"token_endpoint": f"{server.url}/token"}), answer(200, tokens, Content_Type="application/json")
        )
        store = Store()
        held = oidc({"id-token": web_token(1_000_000_000), "idp-issuer-url": server.url}, store)
        assert await asyncio.to_thread(held.refresh)
    assert held.header() == f"Bearer {fresh}"
    assert store.stored == [{"id-token": fresh, "refresh-token": "r2"}]
    assert [request.target for request in server.received] == ["/.well-known/openid-configuration", "/token"]
    assert b"refresh_token=r1" in server.received[1].body


async def test_a_token_that_cannot_be_renewed_is_not_used() -> None:
    async with ScriptedServer(answer(503)) as server:
        held = oidc({"id-token": web_token(1_000_000_000), "idp-issuer-url": server.url}, Store())
        with pytest.raises(ConfigError, match="auth-provider: "):
            await asyncio.to_thread(held.refresh)
