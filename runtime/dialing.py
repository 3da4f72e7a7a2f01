"""
Why no answer came, in the words that users of kubectl and vcctl know.

Scripts and people look for `connection refused`, `no such host`, `certificate signed by unknown authority`,
so both shells turn their library's errors into these texts here (compat: exit texts of the command line).
"""

from __future__ import annotations

import errno
import os
import re
import socket
import ssl
from urllib.parse import urlsplit

from runtime.errors import ConnectionFailed
from runtime.requests import Request
from runtime.urls import shown

# OpenSSL's X509_V_ERR_* codes
_UNTRUSTED = frozenset({18, 19, 20, 21})
_TIME = {9: "the certificate is not yet valid", 10: "the certificate is past its last day"}
_WRONG_NAME = frozenset({62, 63, 64})

_CHECKED_FOR = re.compile(r"is not valid for '([^']+)'")  # OpenSSL's words, after the name that was asked for
_TRIED = re.compile(r"\('([^']+)', (\d+)")  # asyncio names the address that it tried in its message only


def connection_failed(
    request: Request, server: str, problem: str, *, sent: bool, permanent: bool = False
) -> ConnectionFailed:
    """The error of one request: `Get "https://host/path": problem`."""
    url = f"{shown(server)}{request.target}"
    return ConnectionFailed(f'{request.method.capitalize()} "{url}": {problem}', sent=sent, permanent=permanent)


def explain_connect(error: BaseException, server: str, *, may_look_up: bool = False) -> tuple[str, bool]:
    """
    Why no connection came about, and whether that is permanent.

    With `may_look_up` a name is resolved again for the address that users expect to see. That blocks for as long
    as the resolver likes, so an event loop must do without: it tells the name where the error has no address.
    """
    host, port = _endpoint(server)
    if isinstance(error, ssl.SSLError):
        return _explain_tls(error, host)
    if isinstance(error, socket.gaierror):
        return f"dial tcp: lookup {host}: no such host", False
    if isinstance(error, TimeoutError):
        return f"dial tcp {_tried(error, host, port, may_look_up=may_look_up)}: i/o timeout", False
    if isinstance(error, OSError) and error.errno is not None:
        tried = _tried(error, host, port, may_look_up=may_look_up)
        return f"dial tcp {tried}: connect: {_words(error.errno)}", False
    return f"dial tcp {_address(host, port)}: {error}", False


def explain_exchange(error: BaseException) -> str:
    """Why an exchange broke off after the connection stood."""
    if isinstance(error, TimeoutError):
        return "context deadline exceeded (the server did not answer in time)"
    if isinstance(error, ssl.SSLEOFError):
        return "EOF"
    if isinstance(error, ssl.SSLError):
        return f"remote error: tls: {_tls_words(error)}"
    if isinstance(error, OSError) and error.errno is not None:
        return f"read: {_words(error.errno)}"
    return str(error) or "EOF"


def explain_refusal(request: Request, server: str, authorization: str, error: ValueError) -> ConnectionFailed:
    """
    The error of a request that the library itself refused to send.

    The credentials are looked at first, and only that they are at fault is told: the library's text may quote them.
    """
    if authorization.isprintable() and authorization.isascii():
        return connection_failed(request, server, f"can't be sent: {error}", sent=True)
    fault = "character outside ASCII" if authorization.isprintable() else "control character"
    problem = f"credentials can't be sent: {fault} in the token or password"
    return connection_failed(request, server, problem, sent=False, permanent=True)


def _explain_tls(error: ssl.SSLError, host: str) -> tuple[str, bool]:
    if isinstance(error, ssl.SSLCertVerificationError):
        code = error.verify_code
        if code in _UNTRUSTED:
            problem = "x509: certificate signed by unknown authority"
        elif code in _TIME:
            problem = f"x509: certificate has expired or is not yet valid: {_TIME[code]}"
        elif code in _WRONG_NAME:
            asked = _CHECKED_FOR.search(error.verify_message)
            problem = f"x509: certificate is not valid for {asked[1] if asked else host}"
        else:
            problem = f"x509: {error.verify_message}"
        return f"tls: failed to verify certificate: {problem}", True
    if isinstance(error, ssl.SSLEOFError):
        return "EOF", False
    if error.reason in ("WRONG_VERSION_NUMBER", "HTTP_REQUEST", "RECORD_LAYER_FAILURE"):
        return "http: server gave HTTP response to HTTPS client", True
    return f"tls: {_tls_words(error)}", False


def _tls_words(error: ssl.SSLError) -> str:
    """OpenSSL's reason in plain words, such as `tlsv13 alert certificate required`."""
    return (error.reason or str(error)).lower().replace("_", " ")


def _endpoint(server: str) -> tuple[str, int]:
    parts = urlsplit(server)
    return parts.hostname or "", parts.port or (443 if parts.scheme == "https" else 80)


def _tried(error: OSError, host: str, port: int, *, may_look_up: bool) -> str:
    """The address that was tried: from the error where it says so, else looked up again, else the name."""
    found = _TRIED.search(str(error))
    if found:
        return _address(found[1], int(found[2]))
    if not may_look_up:
        return _address(host, port)
    try:
        return _address(str(socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][4][0]), port)
    except (OSError, ValueError):  # ValueError: a name that IDNA refuses
        return _address(host, port)


def _address(host: str, port: int) -> str:
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def _words(code: int) -> str:
    """The system's words for an errno, such as `connection refused`."""
    name = errno.errorcode.get(code, "")
    return "connection reset by peer" if name == "ECONNRESET" else os.strerror(code).lower()
