"""
Asks NVIDIA's fabric manager (UFM) for the ports of the network.

Credentials are read for every look, and once more when they are refused: they may have been changed meanwhile.
"""

from __future__ import annotations

import base64
import binascii
from typing import Final

import msgspec

from api import names
from controllers.hypernode.fabric import Port
from controllers.hypernode.settings import UFM, Source
from generated.clients.clientset import Clientset
from runtime.controller import ReconcileError
from runtime.errors import NotFound
from runtime.http import HttpAnswer, HttpClient, PeerError
from runtime.tls import Tls

PORTS_PATH: Final = "/ufmRest/resources/ports"
TIMEOUT: Final = 30.0
LARGEST_ANSWER: Final = 100 * 1024 * 1024
_REFUSED: Final = (401, 403)


class UfmError(ReconcileError):
    """The fabric manager can't be asked, or gives no usable answer. Says why."""


class _Config(msgspec.Struct, rename="camel"):
    endpoint: str = ""
    insecure_skip_verify: bool = False


async def ports(clients: Clientset, source: Source, namespace: str) -> list[Port]:
    """
    All ports that the fabric manager of a source knows.

    `namespace` is where its Secret is when it doesn't say. Raises UfmError, ApiError, ConnectionFailed.
    """
    config = _config(source)
    credentials = await _credentials(clients, source, namespace)
    tls = Tls(insecure=True) if config.insecure_skip_verify else None
    url = _url(config.endpoint)
    async with HttpClient(tls=tls, timeout=TIMEOUT, max_body=LARGEST_ANSWER) as client:
        try:
            answer = await client.get(url, basic=credentials)
            if answer.status in _REFUSED:
                fresh = await _credentials(clients, source, namespace)
                if fresh != credentials:
                    answer = await client.get(url, basic=fresh)
            return _read(answer)
        except PeerError as error:
            raise UfmError(str(error)) from error


def _config(source: Source) -> _Config:
    try:
        config = msgspec.convert(source.config, _Config)
    except msgspec.ValidationError as error:
        raise UfmError(f"failed to parse config of source {UFM}: {error}") from error
    if not config.endpoint.strip():
        raise UfmError(f"source {UFM} has no endpoint: set config.endpoint")
    return config


def _url(endpoint: str) -> str:
    base = endpoint.strip().rstrip("/")
    return f"{base if '://' in base else f'https://{base}'}{PORTS_PATH}"


def _read(answer: HttpAnswer) -> list[Port]:
    """Raises PeerError."""
    if answer.status != 200:
        answer.check()
        raise PeerError(f"{answer.url}: the server answered {answer.status}, 200 was expected")
    return answer.json(list[Port])


async def _credentials(clients: Clientset, source: Source, namespace: str) -> tuple[str, str]:
    """User and password. Raises UfmError, ApiError, ConnectionFailed."""
    if source.secret is None:
        raise UfmError(f"source {UFM} has no credentials: set credentials.secretRef.name")
    name, place = source.secret.name, source.secret.namespace or namespace
    try:
        secret = await clients.core_v1.secrets.get(name, place)
    except NotFound as error:
        raise UfmError(f"secret {place}/{name} of source {UFM} is not found") from error
    found = []
    for key in (names.Secret.UFM_USERNAME, names.Secret.UFM_PASSWORD):
        try:
            value = base64.b64decode(secret.data.get(key, "")).decode()
        except (binascii.Error, UnicodeDecodeError) as error:
            raise UfmError(f"secret {place}/{name} of source {UFM}: {key} is no text: {error}") from error
        if not value:
            raise UfmError(f"secret {place}/{name} of source {UFM} has no {key}")
        found.append(value)
    return found[0], found[1]
