"""
TLS towards the API server, with certificates that may be replaced while we run.

A context is cheap to keep and costly to build, so it is built once and again only when a file behind it
changed; new connections then use the new certificate, and idle ones made with the old are not picked up again.
"""

from __future__ import annotations

import logging
import os
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec

from runtime.errors import ConfigError

logger = logging.getLogger(__name__)

_CHECK_EVERY = 10.0


class Pem(msgspec.Struct, frozen=True):
    """PEM text, in memory or in a file that is read anew when it changes. `origin` names it in errors."""

    origin: str
    path: Path | None = None
    data: bytes = b""

    def read(self) -> bytes:
        """The text. Raises ConfigError when the file can't be read."""
        if self.path is None:
            return self.data
        try:
            return self.path.read_bytes()
        except (OSError, ValueError) as error:
            raise self._unreadable(error) from error

    def stamp(self) -> object:
        """Changes whenever the file does. Raises ConfigError when it is gone."""
        if self.path is None:
            return self.data
        try:
            stat = self.path.stat()
        except (OSError, ValueError) as error:
            raise self._unreadable(error) from error
        return stat.st_mtime_ns, stat.st_size, stat.st_ino

    def _unreadable(self, error: OSError | ValueError) -> ConfigError:
        problem = (isinstance(error, OSError) and error.strerror) or error
        return ConfigError(f"{self.origin}: unable to read {self.path}: {problem}")


class KeyPair(msgspec.Struct, frozen=True):
    """A client certificate with its key."""

    certificate: Pem
    key: Pem

    def load_into(self, context: ssl.SSLContext) -> None:
        """Present this certificate on connections of the context. Raises ConfigError when the two don't fit."""
        origin = self.certificate.origin
        with _as_file(self.certificate.read()) as certificate, _as_file(self.key.read()) as key:
            try:
                context.load_cert_chain(certificate, key, password=_no_password)
            except (ssl.SSLError, ValueError) as error:
                raise ConfigError(f"{origin}: the client certificate and key can't be used: {error}") from error


class Tls:
    """How to verify the server and which certificate to show it; follows the files. Threads may share it."""

    def __init__(
        self,
        *,
        ca: Pem | None = None,
        insecure: bool = False,
        key_pair: Callable[[], KeyPair | None] = lambda: None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`ca` None trusts the system's authorities. `key_pair` is asked again at each check (exec plugins)."""
        self._ca = ca
        self._insecure = insecure
        self._key_pair = key_pair
        self._clock = clock
        self._lock = threading.Lock()
        self._context: ssl.SSLContext | None = None
        self._stamp: object = None
        self._checked = 0.0
        self._multiplexed: tuple[ssl.SSLContext, ssl.SSLContext] | None = None
        """The context that it goes with, and the one that offers HTTP/2."""

    @property
    def key_pair(self) -> KeyPair | None:
        """The certificate that is shown to the server, if there is one."""
        return self._key_pair()

    def context(self) -> ssl.SSLContext:
        """
        The context for new connections.

        Files are looked at every 10 seconds; unreadable new ones leave the old in force.
        Raises ConfigError only when there has been no good one yet.
        """
        if self._context is None:
            with self._lock:
                self._rebuild()
        elif self._clock() - self._checked >= _CHECK_EVERY:
            self.check()
        assert self._context is not None
        return self._context

    def multiplexed(self) -> ssl.SSLContext:
        """
        A context for new connections like `context`, but one that prefers HTTP/2.

        Raises ConfigError, too, while a certificate is being replaced.
        """
        context = self.context()
        with self._lock:
            if self._multiplexed is None or self._multiplexed[0] is not context:
                self._multiplexed = context, self._build(self._key_pair(), ["h2", "http/1.1"])
            return self._multiplexed[1]

    def check(self) -> bool:
        """Look at the files now; True when the context was renewed."""
        before = self._context
        try:
            with self._lock:
                self._rebuild()
        except ConfigError as error:
            if before is None:
                raise
            logger.warning('msg="keeping the old TLS configuration" error="%s"', error)
        return self._context is not before

    def _rebuild(self) -> None:
        self._checked = self._clock()
        pair = self._key_pair()
        stamp = (
            self._ca and self._ca.stamp(),
            pair and (pair.certificate.stamp(), pair.key.stamp()),
        )
        if self._context is not None and stamp == self._stamp:
            return
        self._context = self._build(pair, ["http/1.1"])
        self._stamp = stamp

    def _build(self, pair: KeyPair | None, protocols: list[str]) -> ssl.SSLContext:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.set_alpn_protocols(protocols)
        if self._insecure:
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
        elif self._ca is None:
            context.load_default_certs()
        else:
            _trust(context, self._ca)
        if pair is not None:
            pair.load_into(context)
        return context


def _trust(context: ssl.SSLContext, ca: Pem) -> None:
    try:
        context.load_verify_locations(cadata=ca.read().decode("ascii", "ignore"))
    except (ssl.SSLError, ValueError) as error:
        raise ConfigError(f"{ca.origin}: no usable certificate authority: {error}") from error


def _no_password() -> str:
    raise ValueError("the key is encrypted with a password")


@contextmanager
def _as_file(data: bytes) -> Iterator[str]:
    """A file name for OpenSSL, which reads keys from files only; in memory where the system can do so."""
    if hasattr(os, "memfd_create"):
        descriptor = os.memfd_create("pem", os.MFD_CLOEXEC)
        name = f"/proc/self/fd/{descriptor}"
    else:
        import tempfile  # noqa: PLC0415  # slow to import, and the command line starts with this module

        descriptor, name = tempfile.mkstemp(suffix=".pem")
    try:
        os.write(descriptor, data)
        yield name
    finally:
        os.close(descriptor)
        if not name.startswith("/proc/"):
            Path(name).unlink()
