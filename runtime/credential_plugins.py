"""
Credentials by exec plugin and by OIDC, through the `kubernetes` package.

Importing that package takes half a second and 50 MB, so it happens at the first fetch and only for the users
whose kubeconfig asks for it.
"""

from __future__ import annotations

import base64
import sys
import threading
import time
from collections.abc import Callable, Mapping
from datetime import datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any, TextIO

import msgspec

from runtime.credentials import RenewedCredentials, header_problem
from runtime.decoding import without_nulls
from runtime.errors import ConfigError
from runtime.tls import KeyPair, Pem

_LIMIT = 60.0
"""Seconds in which a plugin has to answer; every request waits for it."""


class _Status(msgspec.Struct, rename="camel"):
    """What a plugin prints, as far as it matters here."""

    token: str = ""
    client_certificate_data: str = ""
    client_key_data: str = ""
    expiration_timestamp: str = ""


class ExecCredentials(RenewedCredentials):
    """A token or client certificate printed by a command (client.authentication.k8s.io)."""

    def __init__(
        self,
        spec: Mapping[str, Any],
        cluster: Mapping[str, Any],
        *,
        folder: Path,
        origin: str,
        clock: Callable[[], float] = time.time,
        ticks: Callable[[], float] = time.monotonic,
        limit: float = _LIMIT,
    ) -> None:
        """
        `spec` is the user's exec section, `cluster` what the plugin may be told of the cluster.

        `limit` is how many seconds a fetch waits for the plugin's answer.
        """
        super().__init__(clock, ticks)
        self._spec = spec
        self._cluster = cluster
        self._folder = folder
        self._origin = origin
        self._limit = limit
        self._running: _Run | None = None

    def _fetch(self) -> None:
        status = self._status()
        token, certificate, key = status.token, status.client_certificate_data, status.client_key_data
        if not token and not (certificate and key):
            raise ConfigError(
                f"{self._origin}: the plugin gave neither token nor clientCertificateData and clientKeyData"
            )
        if problem := header_problem(token):
            raise ConfigError(f"{self._origin}: the plugin's token {problem}")
        expiry = status.expiration_timestamp
        self._expires(self._timestamp(expiry) if expiry else float("inf"))
        self._header = f"Bearer {token}" if token else ""
        self._pair = self._key_pair(certificate, key) if certificate and key else None

    def _status(self) -> _Status:
        """The plugin's answer. One that came too late for the last fetch is waited for again, not asked for twice."""
        self._check_terminal()
        running = self._running = self._running or _Run(self._run)
        running.join(self._limit)
        if running.is_alive():
            raise ConfigError(
                f"{self._origin}: {self._spec['command']} gave no answer within {self._limit:g} s; "
                "does it wait for somebody to log in?"
            )
        self._running = None
        status = running.result()
        try:
            return msgspec.convert(without_nulls(status), _Status)
        except (msgspec.ValidationError, RecursionError) as error:
            raise ConfigError(f"{self._origin}: the plugin's status: {error}") from error

    def _check_terminal(self) -> None:
        """Refuse, before it runs, a plugin that asks its questions on a terminal where there is none."""
        stdin = sys.stdin  # None in a process that was started without one
        if self._spec.get("interactiveMode") == "Always" and not (stdin is not None and _is_terminal(stdin)):
            raise ConfigError(
                f"{self._origin}: exec plugin cannot support interactive mode: standard input is not a terminal"
            )

    def _run(self) -> object:
        from kubernetes.config import ConfigException, exec_provider, kube_config  # noqa: PLC0415  # slow to import

        new_provider: Any = exec_provider.ExecProvider
        new_node: Any = kube_config.ConfigNode
        try:
            plugin = new_provider(new_node("exec", self._spec), str(self._folder), new_node("cluster", self._cluster))
            status: object = plugin.run()
        except FileNotFoundError as error:
            hint = self._spec.get("installHint") or "is it installed and on PATH?"
            raise ConfigError(f"{self._origin}: executable {self._spec['command']} not found: {hint}") from error
        except (ConfigException, OSError) as error:
            raise ConfigError(f"{self._origin}: {error}") from error
        except (ValueError, TypeError, AttributeError, LookupError, RecursionError) as error:
            raise ConfigError(f"{self._origin}: the plugin can't be used, or what it printed: {error}") from error
        return status

    def _timestamp(self, text: str) -> float:
        try:
            return datetime.fromisoformat(text).timestamp()
        except (ValueError, OverflowError) as error:
            raise ConfigError(f"{self._origin}: the plugin's expirationTimestamp {text!r} is no time") from error

    def _key_pair(self, certificate: str, key: str) -> KeyPair:
        # "replace": JSON may hold half a surrogate pair; such a PEM is refused when it is used
        return KeyPair(*(Pem(self._origin, data=text.encode(errors="replace")) for text in (certificate, key)))


def _is_terminal(stream: TextIO) -> bool:
    try:
        return stream.isatty()
    except ValueError:  # it was closed
        return False


class _Run(threading.Thread):
    """
    A run of a plugin, in a thread that ends with the process: the library waits for the plugin without limit.

    Those who wait for the run may give up and come back later.
    """

    def __init__(self, call: Callable[[], object]) -> None:
        super().__init__(name="exec-plugin", daemon=True)
        self._call = call
        self._answer: object = None
        self._error: BaseException | None = None
        self.start()

    def run(self) -> None:
        try:
            self._answer = self._call()
        except BaseException as error:  # noqa: BLE001  # handed on to those who wait
            self._error = error

    def result(self) -> object:
        """What the call gave, or raised."""
        if self._error is not None:
            raise self._error
        return self._answer


class OidcCredentials(RenewedCredentials):
    """An OpenID Connect id-token, renewed by its refresh-token; both are written back to the kubeconfig."""

    def __init__(
        self,
        config: Mapping[str, Any],
        *,
        folder: Path,
        origin: str,
        persist: Callable[[Mapping[str, str]], None],
        clock: Callable[[], float] = time.time,
        ticks: Callable[[], float] = time.monotonic,
    ) -> None:
        """`config` is the auth-provider's config section; `persist` is given the renewed tokens."""
        super().__init__(clock, ticks)
        self._config = dict(config)
        self._folder = folder
        self._origin = origin
        self._persist = persist

    def _fetch(self) -> None:
        before = self._config.get("id-token", "")
        header = self._load()
        token = header.removeprefix("Bearer ")
        expiry = self._expiry(token)
        if expiry <= self._clock():
            raise ConfigError(f"{self._origin}: the id-token has expired and could not be renewed; log in again")
        self._header = header
        self._expires(expiry)
        if token != before:
            self._persist({"id-token": token, "refresh-token": self._config.get("refresh-token", "")})

    def _load(self) -> str:
        """The header, from the id-token or a renewed one, which the library puts into `_config`."""
        from kubernetes.config import kube_config  # noqa: PLC0415  # slow to import

        new_loader: Any = kube_config.KubeConfigLoader
        document = {
            "current-context": "oidc",
            "contexts": [{"name": "oidc", "context": {"cluster": "oidc", "user": "oidc"}}],
            "clusters": [{"name": "oidc", "cluster": {"server": "http://localhost"}}],
            "users": [{"name": "oidc", "user": {"auth-provider": {"name": "oidc", "config": self._config}}}],
        }
        try:
            loader = new_loader(config_dict=document, config_base_path=str(self._folder))
            loader.load_and_set(SimpleNamespace(api_key={}))
        except Exception as error:  # the library lets the errors of four packages through
            raise ConfigError(f"{self._origin}: {str(error) or type(error).__name__}") from error
        header: str = getattr(loader, "token", "")
        return header

    def _expiry(self, token: str) -> float:
        """Seconds since 1970 at which the token ends; never, if it doesn't say."""
        try:
            payload = token.split(".")[1]
            claims = _claims.decode(base64.urlsafe_b64decode(payload + "=" * (-len(payload) % 4)))
        except (IndexError, ValueError, msgspec.MsgspecError) as error:
            raise ConfigError(f"{self._origin}: the id-token is no JSON web token") from error
        return claims.exp


class _Claims(msgspec.Struct):
    """The part of a JSON web token's payload that matters here."""

    exp: float = float("inf")


_claims = msgspec.json.Decoder(_Claims)
