"""
Who we are towards the API server: the Authorization header, and how to get a fresh one.

`header` is read before each request and costs nothing; `refresh` may read files or run a plugin, blocks, and
is called from a worker thread by the asynchronous shell.
"""

from __future__ import annotations

import base64
import logging
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from pathlib import Path

from runtime.errors import ConfigError
from runtime.tls import KeyPair

logger = logging.getLogger(__name__)

_LEEWAY = 10.0
"""Seconds before its end at which a credential counts as expired."""
_RETRY_AFTER = 1.0
"""Seconds between two fetches at least."""
_FILE_PERIOD = 60.0
"""Seconds between two looks at a token file."""


def header_problem(text: str) -> str:
    """Why a text can't stand in an HTTP header, empty when it can."""
    if any(character < " " or "\x7f" <= character < "\xa0" for character in text):
        return "holds a line end or another control character"
    return "" if all(character <= "\xff" for character in text) else "holds characters beyond Latin-1"


class Credentials:
    """No credentials beyond a client certificate; the base of the others."""

    def header(self) -> str:
        """Value of the Authorization header, empty for none."""
        return ""

    def key_pair(self) -> KeyPair | None:
        """A client certificate that came with the credentials."""
        return None

    def is_due(self) -> bool:
        """Whether to refresh before the next request."""
        return False

    def refresh(self, rejected: str | None = None) -> bool:
        """
        Get fresh credentials; `rejected` is the header that the server answered with 401.

        Thread-safe, blocking. True when `header` or the certificate is now another than the rejected one.
        Raises ConfigError when there are none at all.
        """
        del rejected
        return False


class FixedCredentials(Credentials):
    """A header that never changes."""

    def __init__(self, header: str) -> None:
        self._header = header

    @classmethod
    def bearer(cls, token: str) -> FixedCredentials:
        return cls(f"Bearer {token}")

    @classmethod
    def basic(cls, username: str, password: str) -> FixedCredentials:
        return cls("Basic " + base64.b64encode(f"{username}:{password}".encode()).decode())

    def header(self) -> str:
        return self._header


class RenewedCredentials(Credentials, ABC):
    """
    Credentials that `_fetch` gets anew when they are due or were rejected.

    Somebody may set the clock at any time. So intervals are measured in ticks, and the clock is only compared with
    the end that others gave a credential, which counts by either: whichever of the two gets there first.
    """

    def __init__(self, clock: Callable[[], float] = time.time, ticks: Callable[[], float] = time.monotonic) -> None:
        """`clock` gives seconds since 1970, `ticks` seconds since whenever, which nobody can set."""
        self._clock = clock
        self._ticks = ticks
        self._lock = threading.Lock()
        self._header = ""
        self._pair: KeyPair | None = None
        self._due = float("-inf")
        """In ticks."""
        self._stale = float("inf")
        """By the clock."""
        self._fetched = float("-inf")
        """In ticks."""
        self._failure = ""
        """Why there are no credentials at all, as long as there are none."""

    def header(self) -> str:
        return self._header

    def key_pair(self) -> KeyPair | None:
        return self._pair

    def is_due(self) -> bool:
        return bool(self._failure) or self._ticks() >= self._due or self._clock() >= self._stale

    def refresh(self, rejected: str | None = None) -> bool:
        with self._lock:
            if self._failure and self._ticks() < self._due:
                raise ConfigError(self._failure)  # those who waited for the fetch fail with it, not one by one later
            before = (self._header, self._pair)
            if rejected is None:
                if not self.is_due():
                    return False
            elif rejected != self._header:
                return True  # another request got fresh ones meanwhile
            elif self._ticks() - self._fetched < _RETRY_AFTER:
                return False
            self._fetched = self._ticks()
            self._fetch_or_keep()
            return (self._header, self._pair) != before

    def _fetch_or_keep(self) -> None:
        try:
            self._fetch()
        except ConfigError as error:
            self._fetched = self._ticks()  # a plugin may have taken its time to fail
            self._due_in(_LEEWAY)
            if not self._header and self._pair is None:
                self._failure = str(error)
                raise
            logger.warning('msg="keeping the old credentials" error="%s"', error)
        else:
            self._failure = ""

    @abstractmethod
    def _fetch(self) -> None:
        """Set `_header` or `_pair`, and say when to fetch again. Raises ConfigError."""

    def _due_in(self, seconds: float) -> None:
        """Fetch again after so many seconds, whatever the clock says meanwhile."""
        self._due, self._stale = self._ticks() + seconds, float("inf")

    def _expires(self, expiry: float) -> None:
        """Fetch again shortly before `expiry`, yet not with every request when that is close or past."""
        left = expiry - _LEEWAY - self._clock()
        self._due_in(max(left, _RETRY_AFTER))
        if left > _RETRY_AFTER:
            self._stale = expiry - _LEEWAY


class TokenFile(RenewedCredentials):
    """A bearer token in a file that others replace (service accounts), looked at every minute."""

    def __init__(self, path: Path, origin: str, ticks: Callable[[], float] = time.monotonic) -> None:
        super().__init__(ticks=ticks)
        self._path = path
        self._origin = origin

    def _fetch(self) -> None:
        try:
            token = self._path.read_text(encoding="utf-8").strip()
        except (OSError, ValueError) as error:
            raise ConfigError(f"{self._origin}: unable to read {self._path}: {error}") from error
        if not token:
            raise ConfigError(f"{self._origin}: {self._path} holds no token")
        if problem := header_problem(token):
            raise ConfigError(f"{self._origin}: {self._path}: the token {problem}")
        self._header = f"Bearer {token}"
        self._due_in(_FILE_PERIOD)
