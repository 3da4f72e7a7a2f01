"""The user section of a kubeconfig, turned into credentials, a client certificate and impersonation headers."""

from __future__ import annotations

import base64
import logging
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any
from urllib.parse import quote

import msgspec

from runtime.credential_plugins import ExecCredentials, OidcCredentials
from runtime.credentials import Credentials, FixedCredentials, TokenFile, header_problem
from runtime.decoding import without_nulls
from runtime.errors import ConfigError
from runtime.kubeconfig_files import Cluster, Entry, User, write_auth_provider
from runtime.tls import KeyPair, Pem

logger = logging.getLogger(__name__)


_INTERACTIVE_MODES = ("Never", "IfAvailable", "Always")
_MODE_BY_DEFAULT = frozenset({f"client.authentication.k8s.io/{version}" for version in ("v1alpha1", "v1beta1")})
"""Versions of exec sections in which no interactiveMode means IfAvailable; newer ones refuse it, as kubectl does."""


class _Variable(msgspec.Struct, frozen=True):
    """An environment variable of a plugin."""

    name: str
    value: str = ""


class _Exec(msgspec.Struct, frozen=True, rename="camel"):
    """The shape of an exec section; other fields are passed over."""

    command: str = ""
    api_version: str = ""
    args: list[str] = []
    env: list[_Variable] = []
    install_hint: str = ""
    provide_cluster_info: bool = False
    interactive_mode: str = ""


def credentials_of(user: Entry[User] | None, cluster: Entry[Cluster]) -> Credentials:
    """The user's way to authenticate. Raises ConfigError for one that can't work."""
    if user is None:
        return Credentials()
    with user.checked():
        return _credentials(user, cluster)


def _credentials(user: Entry[User], cluster: Entry[Cluster]) -> Credentials:
    said = user.value
    if said.token_file:
        return _token_file(user)
    if said.token:
        if problem := header_problem(said.token):
            raise user.error(f"token: {problem}")
        return FixedCredentials.bearer(said.token)
    if said.exec:
        return _exec(user, cluster)
    if said.auth_provider.name:
        return _oidc(user)
    return FixedCredentials.basic(said.username, said.password) if said.username else Credentials()


def key_pair_of(user: Entry[User] | None) -> KeyPair | None:
    """The user's client certificate and key. Raises ConfigError when only one of them is given."""
    if user is None:
        return None
    with user.checked():
        return _key_pair(user)


def _key_pair(user: Entry[User]) -> KeyPair | None:
    said = user.value
    certificate = pem_of(user, "client-certificate", said.client_certificate, said.client_certificate_data)
    key = pem_of(user, "client-key", said.client_key, said.client_key_data)
    if certificate is None and key is None:
        return None
    if certificate is None or key is None:
        raise user.error("client-certificate and client-key go together, one is missing")
    return KeyPair(certificate, key)


def pem_of(entry: Entry[Any], field: str, path: str, data: str) -> Pem | None:
    """A certificate or key, as data or as file; data wins. Raises ConfigError for data that is no base64."""
    if data:
        try:
            return Pem(str(entry.error(f"{field}-data")), data=base64.b64decode("".join(data.split()), validate=True))
        except ValueError as error:
            raise entry.error(f"{field}-data: no valid base64: {error}") from error
    return Pem(str(entry.error(field)), path=entry.path(path)) if path else None


def impersonation(user: Entry[User] | None, name: str, groups: tuple[str, ...]) -> tuple[tuple[str, str], ...]:
    """The headers that act as somebody else; a name given by flag replaces all that the user section says."""
    if name:
        _check_headers({"--as": [name], "--as-group": groups}, ConfigError)
        return ("Impersonate-User", name), *(("Impersonate-Group", group) for group in groups)
    if user is None or not user.value.impersonate:
        return ()
    said = user.value
    extra = {f"as-user-extra.{key}": values for key, values in said.impersonate_extra.items()}
    single = {"as": [said.impersonate], "as-uid": [said.impersonate_uid]}
    _check_headers({**single, "as-groups": said.impersonate_groups, **extra}, user.error)
    with user.checked():
        return tuple(_impersonation(said))


def _check_headers(fields: Mapping[str, Iterable[str]], error: Callable[[str], ConfigError]) -> None:
    for field, values in fields.items():
        for problem in filter(None, map(header_problem, values)):
            raise error(f"{field}: {problem}")


def _impersonation(said: User) -> Iterator[tuple[str, str]]:
    yield "Impersonate-User", said.impersonate
    if said.impersonate_uid:
        yield "Impersonate-Uid", said.impersonate_uid
    for group in said.impersonate_groups:
        yield "Impersonate-Group", group
    for key, values in said.impersonate_extra.items():
        for value in values:
            yield f"Impersonate-Extra-{quote(key, safe='')}", value


def _token_file(user: Entry[User]) -> Credentials:
    token = TokenFile(user.path(user.value.token_file), str(user.error("tokenFile")))
    token.refresh()
    return token


def _exec(user: Entry[User], cluster: Entry[Cluster]) -> Credentials:
    try:
        said = msgspec.convert(without_nulls(user.value.exec), _Exec)
    except msgspec.ValidationError as error:
        problem, _, path = str(error).partition(" - at `$")
        raise user.error(f"exec{path.removesuffix('`')}: {problem}") from error
    for field, value in (("command", said.command), ("apiVersion", said.api_version)):
        if not value:
            raise user.error(f"exec: {field} is not set")
    _check_mode(user, said)
    for variable in said.env:
        if not variable.name or "=" in variable.name:
            raise user.error(f"exec.env: {variable.name!r} is no name of a variable")
    return ExecCredentials(
        user.value.exec, _cluster_info(cluster), folder=user.file.parent, origin=str(user.error("exec"))
    )


def _check_mode(user: Entry[User], said: _Exec) -> None:
    known = ", ".join(_INTERACTIVE_MODES)
    if said.interactive_mode and said.interactive_mode not in _INTERACTIVE_MODES:
        raise user.error(f"exec: invalid interactiveMode {said.interactive_mode!r}, there are: {known}")
    if not said.interactive_mode and said.api_version not in _MODE_BY_DEFAULT:
        raise user.error(f"exec: interactiveMode is not set, {said.api_version} asks for one of: {known}")


def _cluster_info(cluster: Entry[Cluster]) -> dict[str, Any]:
    """What a plugin with `provideClusterInfo` is told."""
    said = cluster.value
    ca = pem_of(cluster, "certificate-authority", said.certificate_authority, said.certificate_authority_data)
    info: dict[str, Any] = {
        "server": said.server,
        "certificate-authority-data": base64.b64encode(ca.read()).decode() if ca else "",
        "insecure-skip-tls-verify": said.insecure_skip_tls_verify,
        "tls-server-name": said.tls_server_name,
        "proxy-url": said.proxy_url,
        "extensions": said.extensions,
    }
    return {name: value for name, value in info.items() if value}


def _oidc(user: Entry[User]) -> Credentials:
    provider = user.value.auth_provider
    if provider.name != "oidc":
        raise user.error(f'auth-provider "{provider.name}" is no longer supported, use an exec plugin')
    for field in ("id-token", "idp-issuer-url"):
        if not provider.config.get(field):
            raise user.error(f"auth-provider: {field} is not set")
    for field, value in provider.config.items():
        if not isinstance(value, str):
            raise user.error(f"auth-provider: {field}: expected a text, got {type(value).__name__}")

    def persist(tokens: Mapping[str, str]) -> None:
        try:
            write_auth_provider(user, tokens)
        except (OSError, ConfigError) as error:
            logger.warning('msg="the renewed tokens could not be stored" file=%s error="%s"', user.file, error)

    return OidcCredentials(
        provider.config, folder=user.file.parent, origin=str(user.error("auth-provider")), persist=persist
    )
