"""
Where the serving certificate comes from: files, a Secret in which we keep one of our own making, or the kubeconfig.

The files are what installations mount, the Secret needs no installer, and the kubeconfig's client certificate is what
a process without both falls back to (webhooks.md 1.3).
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path

from runtime.cabundle import BundleKeeper
from runtime.certkeeper import CertificateFiles, Rollover, adopt_files, keep_from_files, keep_from_secret
from runtime.certs import CertificateError, ServingPair, service_dns_names
from runtime.certstore import CertificateStore
from runtime.client import Client
from runtime.errors import ConfigError
from runtime.kubeconfig import ClientConfig
from runtime.servingtls import ServingTls
from webhooks.options import Service

Keep = Callable[[], Awaitable[None]]
"""Follows the certificate until cancelled."""


def serving_tls(service: Service) -> ServingTls:
    """The TLS side of the server, without a certificate yet. Raises ConfigError."""
    client_ca = Path(service.client_ca).read_bytes() if service.client_ca else b""
    try:
        return ServingTls(client_ca=client_ca, require_client_cert=service.requires_client_cert)
    except CertificateError as error:
        raise ConfigError(str(error)) from error


async def take_up(
    service: Service, tls: ServingTls, keeper: BundleKeeper, client: Client, config: ClientConfig
) -> Keep:
    """
    Serve the certificate that the options name, and give what follows it from then on.

    One from the Secret comes later, since the API server may have to be waited for. Raises ConfigError when there is
    none to be had, or it can't be used.
    """
    rollover = Rollover(tls, keeper)
    try:
        if service.secret:
            names = service_dns_names(service.name, service.namespace)
            store = CertificateStore(client, service.secret, service.namespace, names)
            return partial(keep_from_secret, rollover, keeper, store)
        if service.cert and service.key:
            files = _files(service)
            await adopt_files(rollover, files, {path: path.read_bytes() for path in files.paths})
            return partial(keep_from_files, rollover, files)
        await rollover.adopt(_client_pair(config, service))
    except (CertificateError, OSError) as error:
        raise ConfigError(str(error)) from error
    return _stand_still


def _files(service: Service) -> CertificateFiles:
    return CertificateFiles(
        Path(service.cert),
        Path(service.key),
        ca=Path(service.ca) if service.ca else None,
        client_ca=Path(service.client_ca) if service.client_ca else None,
    )


def _client_pair(config: ClientConfig, service: Service) -> ServingPair:
    pair = config.tls.key_pair if config.tls is not None else None
    if pair is None:
        raise ConfigError("tls: failed to find any tls config data: give --tls-cert-file and --tls-private-key-file")
    ca = Path(service.ca).read_bytes() if service.ca else b""
    return ServingPair(pair.certificate.read(), pair.key.read(), ca)


async def _stand_still() -> None:
    await asyncio.get_running_loop().create_future()
