from __future__ import annotations

import errno
import socket
import ssl

import pytest

from runtime import requests
from runtime.dialing import connection_failed, explain_connect, explain_exchange, explain_refusal
from tests.things import THINGS

SERVER = "https://10.0.0.1:6443"


def certificate_error(code: int, words: str = "odd") -> ssl.SSLCertVerificationError:
    error = ssl.SSLCertVerificationError(1, "certificate verify failed")
    error.verify_code = code
    error.verify_message = words
    return error


def tls_error(reason: str) -> ssl.SSLError:
    error = ssl.SSLError(1, "text")
    error.reason = reason
    return error


@pytest.mark.parametrize(
    ("server", "error", "expected", "permanent"),
    [
        (SERVER, ConnectionRefusedError(errno.ECONNREFUSED, "x"), "dial tcp 10.0.0.1:6443: connect: connection refused", False),
        ("http://127.0.0.1", ConnectionRefusedError(errno.ECONNREFUSED, "x"), "dial tcp 127.0.0.1:80: connect: connection refused", False),
        (
            "https://api.example.org",
            ConnectionRefusedError(errno.ECONNREFUSED, "Connect call failed ('192.0.2.7', 443)"),
            "dial tcp 192.0.2.7:443: connect: connection refused",
            False,
        ),
        (
            "https://api.example.org",
            ConnectionRefusedError(errno.ECONNREFUSED, "Connect call failed ('::1', 443, 0, 0)"),
            "dial tcp [::1]:443: connect: connection refused",
            False,
        ),
        ("https://[fd00::1]:8443/x", OSError(errno.EHOSTUNREACH, "x"), "dial tcp [fd00::1]:8443: connect: no route to host", False),
        (SERVER, OSError(errno.ENETUNREACH, "x"), "dial tcp 10.0.0.1:6443: connect: network is unreachable", False),
        (SERVER, TimeoutError(), "dial tcp 10.0.0.1:6443: i/o timeout", False),
        ("https://nohost.invalid", socket.gaierror(-2, "x"), "dial tcp: lookup nohost.invalid: no such host", False),
        (SERVER, certificate_error(18), "tls: failed to verify certificate: x509: certificate signed by unknown authority", True),
        (SERVER, certificate_error(20), "tls: failed to verify certificate: x509: certificate signed by unknown authority", True),
        (SERVER, certificate_error(62), "tls: failed to verify certificate: x509: certificate is not valid for 10.0.0.1", True),
        (
            SERVER,
            certificate_error(62, "Hostname mismatch, certificate is not valid for 'api.example'."),
            "tls: failed to verify certificate: x509: certificate is not valid for api.example",
            True,
        ),
        (SERVER, certificate_error(77), "tls: failed to verify certificate: x509: odd", True),
        (SERVER, tls_error("WRONG_VERSION_NUMBER"), "http: server gave HTTP response to HTTPS client", True),
        (SERVER, tls_error("TLSV1_ALERT_INTERNAL_ERROR"), "tls: tlsv1 alert internal error", False),
        (SERVER, ssl.SSLEOFError(8, "EOF occurred in violation of protocol"), "EOF", False),
        (SERVER, OSError("proxy said no"), "dial tcp 10.0.0.1:6443: proxy said no", False),
    ],
)  # fmt: skip
def test_a_failed_connect_is_told_in_known_words(server: str, error: Exception, expected: str, permanent: bool) -> None:
    assert explain_connect(error, server) == (expected, permanent)


@pytest.mark.parametrize(("code", "words"), [(9, "not yet valid"), (10, "past its last day")])
def test_a_certificate_out_of_its_time_says_so(code: int, words: str) -> None:
    problem, permanent = explain_connect(certificate_error(code), SERVER)
    assert problem.startswith("tls: failed to verify certificate: x509: certificate has expired or is not yet valid: ")
    assert words in problem
    assert permanent


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (ConnectionResetError(errno.ECONNRESET, "x"), "read: connection reset by peer"),
        (BrokenPipeError(errno.EPIPE, "x"), "read: broken pipe"),
        (TimeoutError(), "context deadline exceeded (the server did not answer in time)"),
        (EOFError(), "EOF"),
        (ssl.SSLEOFError(8, "EOF occurred in violation of protocol"), "EOF"),
        (tls_error("TLSV13_ALERT_CERTIFICATE_REQUIRED"), "remote error: tls: tlsv13 alert certificate required"),
        (ValueError("malformed"), "malformed"),
    ],
)
def test_a_broken_exchange_is_told_in_known_words(error: Exception, expected: str) -> None:
    assert explain_exchange(error) == expected


def test_the_error_quotes_method_and_whole_url() -> None:
    request = requests.list_page(THINGS, "default", limit=0)
    error = connection_failed(
        request, "http://127.0.0.1:1", "dial tcp 127.0.0.1:1: connect: connection refused", sent=False
    )
    assert str(error) == (
        'Get "http://127.0.0.1:1/apis/example.org/v1/namespaces/default/things": '
        "dial tcp 127.0.0.1:1: connect: connection refused"
    )
    assert (error.sent, error.permanent) == (False, False)


@pytest.mark.parametrize("error", [TimeoutError(), ConnectionRefusedError(errno.ECONNREFUSED, "x")])
def test_no_name_is_looked_up_for_a_message_unless_that_may_block(
    error: OSError, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked_up = []

    def slow(host: str, port: int, **_: object) -> list[object]:
        looked_up.append(host)
        return [(0, 0, 0, "", ("192.0.2.9", port))]

    monkeypatch.setattr(socket, "getaddrinfo", slow)
    assert explain_connect(error, "https://slow.example.org")[0].startswith("dial tcp slow.example.org:443: ")
    assert looked_up == []
    problem, _ = explain_connect(error, "https://slow.example.org", may_look_up=True)
    assert problem.startswith("dial tcp 192.0.2.9:443: ")


@pytest.mark.parametrize("problem", [OSError("x"), UnicodeError("label too long")])
def test_a_name_that_cannot_be_looked_up_stands_for_itself(problem: Exception, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise problem

    monkeypatch.setattr(socket, "getaddrinfo", fail)
    assert explain_connect(TimeoutError(), "http://x", may_look_up=True) == ("dial tcp x:80: i/o timeout", False)


def test_a_password_in_the_servers_address_is_not_shown() -> None:
    error = connection_failed(requests.list_page(THINGS, limit=0), "http://me:sekret@x:1", "EOF", sent=True)
    assert str(error) == 'Get "http://***@x:1/apis/example.org/v1/things": EOF'


@pytest.mark.parametrize(
    ("authorization", "problem", "sent"),
    [
        ("Bearer sec\nret", "credentials can't be sent: control character in the token or password", False),
        ("Bearer sec\x7fret", "credentials can't be sent: control character in the token or password", False),
        ("Bearer s\u0142c", "credentials can't be sent: character outside ASCII in the token or password", False),
        ("Bearer good", "can't be sent: odd header", True),
        ("", "can't be sent: odd header", True),
    ],
)
def test_a_request_that_the_library_refuses_says_whether_the_credentials_are_at_fault(
    authorization: str, problem: str, sent: bool
) -> None:
    error = explain_refusal(requests.get(THINGS, "a", "n"), SERVER, authorization, ValueError("odd header"))
    assert str(error).endswith(f'/a": {problem}')
    assert (error.sent, error.permanent) == (sent, not sent)
