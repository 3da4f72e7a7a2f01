"""
The listeners of a process, as its flags ask for them: health on one address, metrics and profiles on another.

`/healthz` is up before anything else begins, and everything here runs beside the main loop.
"""

from __future__ import annotations

import asyncio
import gzip
import logging
import ssl
from collections.abc import Callable
from contextlib import aclosing
from pathlib import Path
from typing import TYPE_CHECKING

from runtime import loglevel
from runtime.errors import ConfigError
from runtime.exposition import expose
from runtime.filewatch import follow
from runtime.health import Health
from runtime.loglevel import LogLevel
from runtime.metrics import REGISTRY
from runtime.options import ServingOptions, TlsFiles
from runtime.profiling import Profiling
from runtime.serving import BindError, Call, Reply, Router, ServingThread

if TYPE_CHECKING:
    from runtime.servingtls import ServingTls

log = logging.getLogger(__name__)

Loop = Callable[[], asyncio.AbstractEventLoop | None]


class Endpoints:
    """What a process serves to operators, from `start` to `stop`."""

    def __init__(
        self,
        options: ServingOptions,
        health: Health,
        *,
        loop: Loop = lambda: None,
        needs_metrics: bool = False,
        has_level_socket: bool = False,
    ) -> None:
        """
        `needs_metrics`: a metrics address that can't be listened on is fatal, else only logged.

        `loop` gives the main loop, for profiles; `has_level_socket` opens the log level socket.
        """
        self._options = options
        self._needs_metrics = needs_metrics
        self._has_level_socket = has_level_socket
        self._level: LogLevel | None = None
        self._serving = ServingThread()
        self.ports: dict[str, int] = {}
        """Of the listeners that stand: `healthz`, `metrics`."""
        self.health_routes = Router()
        health.route(self.health_routes)
        self.routes = self.health_routes if self._is_shared else Router()
        """Beside the metrics; components add theirs."""
        if options.enable_metrics:
            self.routes.add("/metrics", _metrics)
        if options.enable_pprof:
            Profiling(loop).route(self.routes)

    @property
    def _is_shared(self) -> bool:
        """Whether health and metrics are served on one address."""
        options = self._options
        return options.enable_healthz and options.enable_metrics and options.healthz_address == options.listen_address

    def start(self) -> None:
        """Listen. Raises BindError or ConfigError for what is fatal."""
        options = self._options
        self._serving.start()
        if (options.enable_metrics or options.enable_pprof) and not self._is_shared:
            self._listen_metrics()
        if options.enable_healthz:
            tls = self._tls(options.tls) if options.tls.is_complete else None
            self.ports["healthz"] = self._serving.listen(options.healthz_address, self.health_routes, tls)
        if self._has_level_socket:
            self._level = loglevel.serve(self._serving)

    def stop(self) -> None:
        """Close all listeners. Idempotent."""
        if self._level is not None:
            self._level.close()
        self._serving.stop()

    def _listen_metrics(self) -> None:
        try:
            self.ports["metrics"] = self._serving.listen(self._options.listen_address, self.routes)
        except BindError as error:
            if self._needs_metrics:
                raise
            log.error("no metrics and profiles: %s", error)  # noqa: TRY400  # the text says it all

    def _tls(self, files: TlsFiles) -> ssl.SSLContext:
        """A context that follows its files: each new connection gets the certificate of the moment."""
        from runtime.certs import CertificateError  # noqa: PLC0415  # only TLS needs cryptography, which takes long
        from runtime.servingtls import ServingTls  # noqa: PLC0415

        tls = ServingTls()
        try:
            tls.install(_read("cert", files.certificate), _read("key", files.key), _read("CA", files.ca))
        except CertificateError as error:
            raise ConfigError(f"Failed to serve health over TLS: {error}") from error
        context = tls.context()

        def choose(connection: ssl.SSLObject, name: str, previous: ssl.SSLContext) -> None:
            del name, previous
            connection.context = tls.context()

        context.sni_callback = choose
        self._serving.spawn(_follow(tls, files))
        return context


async def _follow(tls: ServingTls, files: TlsFiles) -> None:
    """Serve what the files come to hold. A pair that doesn't fit leaves the old one in place."""
    from runtime.certs import CertificateError  # noqa: PLC0415  # as above

    certificate, key, ca = Path(files.certificate), Path(files.key), Path(files.ca)
    async with aclosing(follow((certificate, key, ca))) as changes:
        async for contents in changes:
            try:
                tls.install(contents[certificate] or b"", contents[key] or b"", contents[ca])
            except CertificateError as error:
                log.warning("keeping the old certificate of the health listener certificate=%s: %s", certificate, error)


def _metrics(call: Call) -> Reply:
    body, content_type = expose(REGISTRY, call.headers.get("accept", ""))
    headers = {"Vary": "Accept, Accept-Encoding"}
    if "gzip" in call.headers.get("accept-encoding", ""):
        body = gzip.compress(body, compresslevel=1)
        headers["Content-Encoding"] = "gzip"
    return Reply(body, content_type=content_type, headers=headers)


def _read(what: str, path: str) -> bytes:
    try:
        return Path(path).read_bytes()
    except OSError as error:
        raise ConfigError(f"Failed to parse {what} file: open {path}: {error.strerror}") from error
