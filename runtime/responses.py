"""
Answers of the API server, read without a socket: success, or the typed error that the answer stands for.

A failure without a Status in its body (a proxy's page, `404 page not found`, an overload) gets one made up
from the code, in the words that users know from kubectl.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from runtime.errors import ApiError, from_status
from runtime.requests import Request
from runtime.wire import Status, StatusCause, StatusDetails

_MAX_QUOTED = 300
_MOST_DIGITS = 9  # of seconds to wait; Python refuses to read thousands of them
_status = msgspec.json.Decoder(Status)

# compat: clients match these texts
_MEANINGS: dict[int, tuple[str, str]] = {
    400: ("BadRequest", "the server rejected our request for an unknown reason"),
    401: ("Unauthorized", "the server has asked for the client to provide credentials"),
    403: ("Forbidden", "the server does not allow access to the requested resource"),
    404: ("NotFound", "the server could not find the requested resource"),
    405: ("MethodNotAllowed", "the server does not allow this method on the requested resource"),
    409: ("Conflict", "the server reported a conflict"),
    410: ("Expired", "the requested version of the resource is no longer available"),
    413: ("RequestEntityTooLarge", "the request is larger than the server accepts"),
    415: ("UnsupportedMediaType", "the server does not accept this kind of body"),
    422: ("Invalid", "the server rejected our request due to an error in our request"),
    429: ("TooManyRequests", "the server has received too many requests and has asked us to try again later"),
    503: ("ServiceUnavailable", "the server is currently unable to handle the request"),
    504: (
        "Timeout",
        "the server was unable to return a response in the time allotted, but may still be processing the request",
    ),
}


class Response(msgspec.Struct, frozen=True, kw_only=True):
    """An answer, whatever its code. Header names are looked up as written here: `Retry-After`, `Warning`."""

    status: int
    headers: Mapping[str, str] = {}
    body: bytes = b""
    repeated: bool = False
    """An earlier try broke off unanswered: what the server refuses now may be our own doing."""

    @property
    def is_success(self) -> bool:
        return 200 <= self.status < 300

    @property
    def retry_after(self) -> int | None:
        """Seconds to wait before the next try, None when the server named none."""
        text = self.headers.get("Retry-After", "")
        if text.isdecimal() and len(text) <= _MOST_DIGITS:
            return int(text)
        status = self._decoded_status()
        return (status.retry_after or None) if status else None

    @property
    def refuses_disruption(self) -> bool:
        """Whether this 429 is a disruption budget's answer to an eviction, no matter of load."""
        status = self._decoded_status() if self.status == 429 else None
        causes = status.details.causes if status and status.details else ()
        return any(cause.reason == "DisruptionBudget" for cause in causes)

    def _decoded_status(self) -> Status | None:
        """The failure Status in the body, if it is one."""
        try:
            status = _status.decode(self.body)
        except (msgspec.MsgspecError, RecursionError):  # RecursionError: nested deeper than the parser can follow
            return None
        return status if status.status == "Failure" or status.reason else None

    def failure(self, request: Request) -> ApiError:
        """The error that a failed answer stands for."""
        status = self._decoded_status() or self._made_up_status(request)
        details = status.details or StatusDetails()
        details = msgspec.structs.replace(details, retry_after_seconds=self.retry_after or 0)
        return from_status(msgspec.structs.replace(status, code=self.status, details=details))

    def _made_up_status(self, request: Request) -> Status:
        text = self.body[: _MAX_QUOTED * 4].decode("utf-8", "replace").strip()[:_MAX_QUOTED]
        about = f"{request.method.lower()} {request.subject or request.path}"
        reason, meaning = _MEANINGS.get(self.status, ("", ""))
        if not meaning and self.status >= 500:
            quoted = msgspec.json.encode(text or "unknown").decode()
            reason, meaning = (
                "InternalError",
                f"an error on the server ({quoted}) has prevented the request from succeeding",
            )
        elif not meaning:
            meaning = f"the server answered with the unexpected code {self.status}"
        causes = (StatusCause(reason="UnexpectedServerResponse", message=text),) if text else ()
        return Status(
            status="Failure", reason=reason, message=f"{meaning} ({about})", details=StatusDetails(causes=causes)
        )


def check(response: Response, request: Request) -> Response:
    """The answer itself if it is a success; raises the `runtime.errors.ApiError` that fits otherwise."""
    if not 200 <= response.status < 300:
        raise response.failure(request)
    return response


def check_delete(response: Response, request: Request) -> None:
    """Raise for a failed delete, unless an earlier, unanswered try of ours is why the object is gone."""
    if not (response.repeated and response.status == 404):
        check(response, request)
