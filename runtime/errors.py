"""
Errors of the API server as types.

Each carries the server's Status, so that a caller decides by class and prints the server's own words.
"""

# ruff: noqa: N818  # named for what happened, as the server names its reasons

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from runtime.wire import Status


class ApiError(Exception):
    """The server answered with a failure. `status` is its Status object, synthesised when the body was none."""

    def __init__(self, status: Status) -> None:
        super().__init__(status.message or status.reason or f"HTTP {status.code}")
        self.status = status

    @property
    def code(self) -> int:
        """HTTP status code."""
        return self.status.code

    @property
    def reason(self) -> str:
        """Machine-readable reason, such as `AlreadyExists`."""
        return self.status.reason


class BadRequest(ApiError):
    """400: the server could not read the request."""


class Unauthorized(ApiError):
    """401: no or stale credentials."""


class Forbidden(ApiError):
    """403: refused by RBAC, a quota or an admission plugin."""


class NotFound(ApiError):
    """404: no such object, or no such kind."""


class InvalidName(NotFound):
    """
    No object and no namespace can have that name, so the server wasn't asked.

    It decodes what is escaped in a path: with a slash as its name, one object's address would be that of all of them.
    """


class Conflict(ApiError):
    """409: a newer resourceVersion, another field manager, or a precondition that no longer holds."""


class AlreadyExists(Conflict):
    """409 with reason AlreadyExists."""


class Gone(ApiError):
    """410: the resourceVersion or continue token is too old; list again."""


class Invalid(ApiError):
    """422: the object fails validation."""


class TooManyRequests(ApiError):
    """429: slow down; `status.retry_after` tells how many seconds, 0 when the server did not say."""


class ServerError(ApiError):
    """5xx."""


class ConnectionFailed(Exception):
    """
    No answer came: refused, reset, timed out or a TLS failure.

    `sent` tells whether a write may have taken effect; False means that nothing reached the server.
    `permanent` means that another try won't help, such as with an untrusted certificate.
    """

    def __init__(self, message: str, *, sent: bool = True, permanent: bool = False) -> None:
        super().__init__(message)
        self.sent = sent
        self.permanent = permanent


class ConfigError(Exception):
    """The configuration of the client can't be used. Names the file, the context and the field."""


class DecodeError(Exception):
    """An answer or object could not be read. Names the object, and in `field` the path of what doesn't fit."""

    def __init__(self, message: str, *, field: str = "") -> None:
        super().__init__(message)
        self.field = field


_BY_CODE: dict[int, type[ApiError]] = {
    400: BadRequest,
    401: Unauthorized,
    403: Forbidden,
    404: NotFound,
    409: Conflict,
    410: Gone,
    422: Invalid,
    429: TooManyRequests,
}


def from_status(status: Status) -> ApiError:
    """The error class that fits a failure Status."""
    if status.code == 409 and status.reason == "AlreadyExists":
        return AlreadyExists(status)
    known = _BY_CODE.get(status.code)
    if known is not None:
        return known(status)
    return ServerError(status) if status.code >= 500 else ApiError(status)
