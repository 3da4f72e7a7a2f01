"""
Credentials by exec plugin and by OIDC, through the `kubernetes` package.

Importing that package takes half a second and 50 MB, so it happens at the first fetch and only for the users
whose kubeconfig asks for it.
"""

from __future__ import annotations

import base64
import time
from collections.abc import Callable, Mapping
from datetime import datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec

from runtime.credentials import RenewedCredentials
from runtime.errors import ConfigError
from runtime.tls import KeyPair, Pem


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
    ) -> None:
        """`spec` is the user's exec section, `cluster` what the plugin may be told of the cluster."""
        super().__init__(clock)
        self._spec = spec
        self._cluster = cluster
        self._folder = folder
        self._origin = origin

    def _fetch(self) -> None:
        status = self._run()
        token = status.get("token", "")
        certificate, key = status.get("clientCertificateData", ""), status.get("clientKeyData", "")
        if not token and not (certificate and key):
            raise ConfigError(
                f"{self._origin}: the plugin gave neither token nor clientCertificateData and clientKeyData"
            )
        expiry = status.get("expirationTimestamp")
        self._expires(self._timestamp(expiry) if expiry else float("inf"))
        self._header = f"Bearer {token}" if token else ""
        self._pair = self._key_pair(certificate, key) if certificate and key else None

    def _run(self) -> Mapping[str, Any]:
        from kubernetes.config import ConfigException, exec_provider, kube_config  # noqa: PLC0415  # slow to import

        new_provider: Any = exec_provider.ExecProvider
        new_node: Any = kube_config.ConfigNode
        try:
            plugin = new_provider(new_node("exec", self._spec), str(self._folder), new_node("cluster", self._cluster))
            status: Mapping[str, Any] = plugin.run()
        except FileNotFoundError as error:
            hint = self._spec.get("installHint") or "is it installed and on PATH?"
            raise ConfigError(f"{self._origin}: executable {self._spec['command']} not found: {hint}") from error
        except (ConfigException, OSError) as error:
            raise ConfigError(f"{self._origin}: {error}") from error
        return status

    def _timestamp(self, text: str) -> float:
        try:
            return datetime.fromisoformat(text).timestamp()
        except (TypeError, ValueError) as error:
            raise ConfigError(f"{self._origin}: the plugin's expirationTimestamp {text!r} is no time") from error

    def _key_pair(self, certificate: str, key: str) -> KeyPair:
        return KeyPair(Pem(self._origin, data=certificate.encode()), Pem(self._origin, data=key.encode()))


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
    ) -> None:
        """`config` is the auth-provider's config section; `persist` is given the renewed tokens."""
        super().__init__(clock)
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
