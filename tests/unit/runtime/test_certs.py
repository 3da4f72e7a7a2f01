from __future__ import annotations

import ssl
from datetime import UTC, datetime, timedelta

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from runtime.certs import (
    CertificateError,
    ServingPair,
    check_match,
    check_pair,
    create_pair,
    expiry,
    fingerprint,
    is_same_bundle,
    issuing_ca,
    join_bundles,
    parse_certificates,
    parse_key,
    service_dns_names,
    split_bundle,
    to_pem,
)
from runtime.tls import KeyPair, Pem
from tests.unit.runtime.tls_clients import client_identity

NOW = datetime(2026, 8, 1, 12, tzinfo=UTC)
NAMES = service_dns_names("volcano-admission-service", "volcano-system")
ONE = create_pair(NAMES, NOW)
TWO = create_pair(NAMES, NOW, timedelta(days=20))


def test_a_service_is_called_by_three_names() -> None:
    assert service_dns_names("svc", "ns") == ("svc", "svc.ns", "svc.ns.svc")


def test_a_new_pair_is_what_the_installer_would_make() -> None:
    [ca], [leaf] = parse_certificates(ONE.ca), parse_certificates(ONE.cert)
    common_name = "CN=volcano-admission-service.volcano-system.svc"

    for certificate in (ca, leaf):
        assert certificate.subject.rfc4514_string() == common_name
        assert certificate.issuer.rfc4514_string() == common_name
        assert certificate.not_valid_after_utc == NOW + timedelta(days=3650)
        assert certificate.not_valid_before_utc == NOW - timedelta(hours=1), "clocks may be behind ours"
        key = certificate.public_key()
        assert isinstance(key, rsa.RSAPublicKey)
        assert key.key_size == 2048
    names = leaf.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert tuple(names.get_values_for_type(x509.DNSName)) == NAMES
    purposes = leaf.extensions.get_extension_for_class(x509.ExtendedKeyUsage).value
    assert list(purposes) == [ExtendedKeyUsageOID.SERVER_AUTH]
    assert ca.extensions.get_extension_for_class(x509.BasicConstraints).value.ca
    assert not leaf.extensions.get_extension_for_class(x509.BasicConstraints).value.ca
    usage = leaf.extensions.get_extension_for_class(x509.KeyUsage).value
    assert (usage.content_commitment, usage.digital_signature, usage.key_encipherment) == (True, True, True)
    assert not usage.key_cert_sign


def test_two_pairs_share_nothing() -> None:
    assert ONE.key != TWO.key
    assert fingerprint(parse_certificates(ONE.ca)[0]) != fingerprint(parse_certificates(TWO.ca)[0])


def test_a_long_name_is_cut_in_the_subject_only() -> None:
    name = f"{'s' * 60}.{'n' * 60}.svc"
    pair = create_pair([name], NOW)

    check_pair(pair, [name], NOW)
    assert parse_certificates(pair.cert)[0].subject.rfc4514_string() == f"CN={name[:64]}"


@pytest.mark.parametrize("bundle", [ONE.ca + TWO.ca, TWO.ca + ONE.ca])
def test_openssl_finds_the_right_one_of_two_cas_with_the_same_name(bundle: bytes) -> None:
    fresh = create_pair(NAMES, datetime.now(UTC))
    context = ssl.create_default_context(cadata=(bundle + fresh.ca).decode())
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    KeyPair(Pem("test", data=fresh.cert), Pem("test", data=fresh.key)).load_into(server)
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    sides = [
        context.wrap_bio(to_client, to_server, server_hostname=NAMES[-1]),
        server.wrap_bio(to_server, to_client, server_side=True),
    ]
    while sides:
        side = sides.pop(0)
        try:
            side.do_handshake()
        except ssl.SSLWantReadError:
            sides.append(side)


def sign(subject: str, issuer: x509.Name | None, key: ec.EllipticCurvePrivateKey, ca_key: ec.EllipticCurvePrivateKey,
         *extensions: x509.ExtensionType) -> x509.Certificate:  # fmt: skip
    """A certificate for the tests of chains."""
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, subject)])
    builder = x509.CertificateBuilder().subject_name(name).issuer_name(issuer or name).public_key(key.public_key())
    builder = builder.serial_number(x509.random_serial_number())
    builder = builder.not_valid_before(NOW - timedelta(days=1)).not_valid_after(NOW + timedelta(days=100))
    for extension in extensions:
        builder = builder.add_extension(extension, critical=False)
    return builder.sign(ca_key, SHA256())


def chained(*, with_intermediate: bool = True, names: tuple[str, ...] = NAMES, purpose: bool = True) -> ServingPair:
    """A pair as another issuer makes it: elliptic curves, an intermediate, perhaps no purpose."""
    root_key, middle_key, key = (ec.generate_private_key(ec.SECP256R1()) for _ in range(3))
    is_ca = x509.BasicConstraints(ca=True, path_length=None)
    root = sign("root", None, root_key, root_key, is_ca)
    middle = sign("middle", root.subject, middle_key, root_key, is_ca)
    extensions: list[x509.ExtensionType] = []
    if names:
        extensions.append(x509.SubjectAlternativeName([x509.DNSName(name) for name in names]))
    if purpose:
        extensions.append(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.ANY_EXTENDED_KEY_USAGE]))
    leaf = sign("leaf", middle.subject, key, middle_key, *extensions)
    text = to_pem(leaf) + (to_pem(middle) if with_intermediate else b"")
    return ServingPair(text, key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()), to_pem(root))


@pytest.mark.parametrize(
    "pair",
    [
        pytest.param(ONE, id="our own"),
        pytest.param(ServingPair(ONE.cert, ONE.key, TWO.ca + ONE.ca), id="in a bundle of two"),
        pytest.param(chained(), id="by an intermediate"),
        pytest.param(chained(purpose=False), id="for any purpose"),
        pytest.param(ServingPair(b"text\n" + ONE.cert + b"\nmore", ONE.key, ONE.ca), id="with text around it"),
    ],
)
def test_a_pair_that_clients_accept_fits(pair: ServingPair) -> None:
    check_pair(pair, NAMES, NOW, timedelta(days=30))


@pytest.mark.parametrize(
    ("pair", "now", "remaining", "reason"),
    [
        pytest.param(
            ServingPair(ONE.cert, TWO.key, ONE.ca), NOW, 0, "the private key belongs to another certificate", id="key"
        ),
        pytest.param(ServingPair(b"", ONE.key, ONE.ca), NOW, 0, "not a PEM certificate", id="no certificate"),
        pytest.param(ServingPair(ONE.cert, b"", ONE.ca), NOW, 0, "not an unencrypted PEM private key", id="no key"),
        pytest.param(ServingPair(ONE.cert, ONE.key, b""), NOW, 0, "not a PEM certificate", id="no CA"),
        pytest.param(
            ServingPair(ONE.cert, ONE.key, TWO.ca), NOW, 0, "isn't signed by a CA of the bundle", id="another CA of the name"
        ),
        pytest.param(
            chained(with_intermediate=False), NOW, 0, "isn't signed by a CA of the bundle", id="a link is missing"
        ),
        pytest.param(chained(names=()), NOW, 0, "isn't valid for volcano-admission-service, ", id="no names"),
        pytest.param(
            create_pair(NAMES[1:], NOW), NOW, 0, r"isn't valid for volcano-admission-service$", id="a name is missing"
        ),
        pytest.param(client_identity(0), datetime.now(UTC), 0, "isn't valid for", id="a client's certificate"),
        pytest.param(ONE, NOW - timedelta(hours=2), 0, "is valid from 2026-08-01 11:00", id="not yet"),
        pytest.param(ONE, NOW + timedelta(days=3650), 0, "expires on 2036-07-29 12:00", id="expired"),
        pytest.param(TWO, NOW, 20, "expires on 2026-08-21 12:00", id="too little left"),
    ],
)  # fmt: skip
def test_a_pair_that_clients_refuse_says_why(pair: ServingPair, now: datetime, remaining: int, reason: str) -> None:
    with pytest.raises(CertificateError, match=reason):
        check_pair(pair, NAMES, now, timedelta(days=remaining))


def test_a_certificate_for_clients_is_not_for_servers() -> None:
    key = ec.generate_private_key(ec.SECP256R1())
    names = x509.SubjectAlternativeName([x509.DNSName("a")])
    leaf = sign("a", None, key, key, names, x509.ExtendedKeyUsage([ExtendedKeyUsageOID.CLIENT_AUTH]))
    private = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())

    with pytest.raises(CertificateError, match="isn't meant for servers"):
        check_pair(ServingPair(to_pem(leaf), private, to_pem(leaf)), ["a"], NOW)


def test_an_expiring_ca_counts_as_much_as_its_certificate() -> None:
    with pytest.raises(CertificateError, match="expires on 2026-08-21"):
        check_pair(TWO, NAMES, NOW, timedelta(days=30))
    check_pair(TWO, NAMES, NOW, timedelta(days=19))


def test_the_issuing_ca_is_found_in_a_bundle() -> None:
    assert issuing_ca(ServingPair(ONE.cert, ONE.key, TWO.ca + ONE.ca)) == ONE.ca
    with pytest.raises(CertificateError):
        issuing_ca(ServingPair(ONE.cert, ONE.key, TWO.ca))


def test_bundles_are_joined_without_repetition() -> None:
    joined = join_bundles(ONE.ca, b"rubbish", TWO.ca + ONE.ca, b"")

    assert joined == ONE.ca + TWO.ca
    assert is_same_bundle(joined, TWO.ca + b"\n# comment\n" + ONE.ca)
    assert not is_same_bundle(joined, ONE.ca)
    assert not is_same_bundle(ONE.ca, b"rubbish")
    assert split_bundle(b"rubbish") == ()
    assert len(split_bundle(joined)) == 2


def test_the_expiry_of_a_bundle_is_that_of_its_first_to_go() -> None:
    assert expiry(ONE.ca + TWO.ca) == NOW + timedelta(days=20)
    with pytest.raises(CertificateError):
        expiry(b"")


@pytest.mark.parametrize("text", [b"", b"rubbish", ONE.cert, ONE.key[:200], b"\xff" * 100])
def test_what_is_no_key_says_so(text: bytes) -> None:
    with pytest.raises(CertificateError, match="not an unencrypted PEM private key"):
        parse_key(text)


def test_a_chain_is_matched_by_its_first_certificate() -> None:
    assert check_match(ONE.cert + TWO.ca, ONE.key) == parse_certificates(ONE.cert)[0]
    with pytest.raises(CertificateError):
        check_match(TWO.ca + ONE.cert, ONE.key)
