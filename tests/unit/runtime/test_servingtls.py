from __future__ import annotations

import ssl

import pytest
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import BestAvailableEncryption, Encoding, PrivateFormat

from runtime.certs import CertificateError, ServingPair, expiry
from runtime.metrics import REGISTRY
from runtime.servingtls import CIPHERS, ServingTls
from runtime.tls import KeyPair, Pem
from tests.unit.runtime.tls_clients import client_identity, pair_number, trusting

ONE, TWO = pair_number(0), pair_number(1)


def served_serial(tls: ServingTls, client: ssl.SSLContext | None = None) -> int:
    """Shake hands in memory; the serial number of the certificate that was served."""
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    server = tls.context().wrap_bio(to_server, to_client, server_side=True)
    peer = (client or trusting(ONE, TWO)).wrap_bio(to_client, to_server, server_hostname="localhost")
    pending = [peer, server]
    while pending:
        side = pending.pop(0)
        try:
            side.do_handshake()
        except ssl.SSLWantReadError:
            pending.append(side)
    certificate = peer.getpeercert()
    assert certificate is not None
    return int(str(certificate["serialNumber"]), 16)


def test_there_is_no_context_before_the_first_certificate() -> None:
    tls = ServingTls()

    assert not tls.is_ready
    with pytest.raises(CertificateError, match="no serving certificate yet"):
        tls.context()


def test_a_pair_is_served_until_the_next() -> None:
    tls = ServingTls()
    assert tls.install(ONE.cert, ONE.key)
    first = served_serial(tls)
    assert tls.is_ready
    assert not tls.install(ONE.cert, ONE.key), "the same pair again is no change"

    assert tls.install(TWO.cert, TWO.key)
    assert served_serial(tls) != first


def test_the_expiry_is_published() -> None:
    tls = ServingTls()
    tls.install(ONE.cert, ONE.key)

    assert tls.expiry == expiry(ONE.cert)
    name = "volcano_admission_certificate_expiry_timestamp_seconds"
    assert REGISTRY.get_sample_value(name, {"use": "serving"}) == expiry(ONE.cert).timestamp()


ENCRYPTED = rsa.generate_private_key(public_exponent=65537, key_size=2048).private_bytes(
    Encoding.PEM, PrivateFormat.PKCS8, BestAvailableEncryption(b"secret")
)


@pytest.mark.parametrize(
    ("cert", "key", "client_ca", "reason"),
    [
        pytest.param(TWO.cert, ONE.key, None, "belongs to another certificate", id="a pair half exchanged"),
        pytest.param(TWO.cert[:300], TWO.key, None, "not a PEM certificate", id="a certificate half written"),
        pytest.param(TWO.cert, TWO.key[:300], None, "not an unencrypted PEM private key", id="a key half written"),
        pytest.param(b"", b"", None, "not a PEM certificate", id="empty files"),
        pytest.param(TWO.cert, ENCRYPTED, None, "not an unencrypted PEM private key", id="an encrypted key"),
        pytest.param(TWO.cert, TWO.key, b"rubbish", "can't be used", id="a client CA that is none"),
    ],
)
def test_a_pair_that_can_not_be_used_leaves_the_old_one(
    cert: bytes, key: bytes, client_ca: bytes | None, reason: str
) -> None:
    tls = ServingTls()
    tls.install(ONE.cert, ONE.key)
    before, context = served_serial(tls), tls.context()

    with pytest.raises(CertificateError, match=reason):
        tls.install(cert, key, client_ca)

    assert tls.context() is context
    assert served_serial(tls) == before


def test_the_suites_are_those_of_the_specification() -> None:
    tls = ServingTls()
    tls.install(ONE.cert, ONE.key)

    context = tls.context()
    older = [suite["name"] for suite in context.get_ciphers() if suite["protocol"] != "TLSv1.3"]
    assert sorted(older) == sorted(CIPHERS.split(":"))
    assert context.minimum_version == ssl.TLSVersion.TLSv1_2


def presenting(identity: ServingPair) -> ssl.SSLContext:
    """A client with a certificate of its own."""
    context = trusting(ONE, TWO)
    KeyPair(Pem("test", data=identity.cert), Pem("test", data=identity.key)).load_into(context)
    return context


@pytest.mark.parametrize("is_required", [False, True])
def test_a_client_certificate_is_verified_by_the_client_ca(*, is_required: bool) -> None:
    tls = ServingTls(client_ca=client_identity(0).ca, require_client_cert=is_required)
    tls.install(ONE.cert, ONE.key)

    assert served_serial(tls, presenting(client_identity(0)))
    with pytest.raises(ssl.SSLError, match="certificate verify failed"):
        served_serial(tls, presenting(client_identity(1)))


def test_a_client_without_a_certificate_passes_unless_one_is_required() -> None:
    tls = ServingTls(client_ca=client_identity(0).ca)
    tls.install(ONE.cert, ONE.key)
    assert served_serial(tls)

    strict = ServingTls(client_ca=client_identity(0).ca, require_client_cert=True)
    strict.install(ONE.cert, ONE.key)
    with pytest.raises(ssl.SSLError, match="did not return a certificate"):
        served_serial(strict)


def test_another_client_ca_takes_the_place_of_the_old() -> None:
    tls = ServingTls(client_ca=client_identity(0).ca)
    tls.install(ONE.cert, ONE.key)

    assert tls.install(ONE.cert, ONE.key, client_identity(1).ca)

    assert served_serial(tls, presenting(client_identity(1)))
    with pytest.raises(ssl.SSLError):
        served_serial(tls, presenting(client_identity(0)))


def test_without_a_client_ca_nobody_is_asked() -> None:
    tls = ServingTls()
    tls.install(ONE.cert, ONE.key)

    assert served_serial(tls, presenting(client_identity(1)))


def test_client_certificates_can_not_be_required_without_a_ca() -> None:
    with pytest.raises(CertificateError, match="no client CA is given"):
        ServingTls(require_client_cert=True)
