"""The API client of one command, out of its flags and the kubeconfig."""

from __future__ import annotations

import logging
import sys
from collections.abc import Mapping

import cli.lean  # noqa: F401  # before msgspec
from cli.errors import CommandError
from cli.flags import Flags
from runtime import kubeconfig
from runtime.client_sync import SyncClient
from runtime.transport_sync import SyncTransport

USER_AGENT = "vcctl"
_PATIENCE = 65.0  # seconds for one try of a request
_DETAIL_LEVEL = 6
_WITHOUT_CONTEXTS = ("defaults", "service account")


def connect(flags: Flags, environ: Mapping[str, str]) -> SyncClient:
    """A client for the server that the flags and the kubeconfig name. Raises ConfigError; nothing is sent yet."""
    _log(flags)
    config = kubeconfig.load(
        flags.text("kubeconfig"), flags.text("master"), overrides=_overrides(flags), environ=environ
    )
    context = flags.text("context")
    if context and config.source in _WITHOUT_CONTEXTS:
        raise CommandError(f'--context: context "{context}" does not exist: no kubeconfig was found')
    timeout = flags.seconds("request-timeout")
    if timeout < 0:
        raise CommandError(f"--request-timeout: {timeout:g}s is negative, give 0 for none or a duration such as 30s")
    return SyncClient(SyncTransport(config, timeout=timeout or _PATIENCE, user_agent=USER_AGENT))


def _overrides(flags: Flags) -> kubeconfig.Overrides:
    return kubeconfig.Overrides(
        context=flags.text("context"),
        cluster=flags.text("cluster"),
        user=flags.text("user"),
        token=flags.text("token"),
        impersonate=flags.text("as"),
        impersonate_groups=flags.texts("as-group"),
        insecure=flags.is_on("insecure-skip-tls-verify"),
    )


class _Notices(logging.Handler):
    """Warnings of the API server, as kubectl shows them."""

    def emit(self, record: logging.LogRecord) -> None:
        text = record.args[2] if isinstance(record.args, tuple) and len(record.args) > 2 else record.getMessage()
        sys.stderr.write(f"Warning: {text}\n")


def _log(flags: Flags) -> None:
    """Server warnings as plain lines; other log lines only for those who raise the verbosity."""
    server = logging.getLogger("runtime.serverwarnings")
    if not server.handlers:
        server.addHandler(_Notices())
        server.propagate = False
    top = logging.getLogger()
    if flags.number("v") > 0 and not top.handlers:
        level = logging.DEBUG if flags.number("v") >= _DETAIL_LEVEL else logging.INFO
        logging.basicConfig(stream=sys.stderr, level=level, format="%(levelname)s %(name)s %(message)s")
    elif not top.handlers:
        top.addHandler(logging.NullHandler())
