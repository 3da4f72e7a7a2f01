"""
Certificates of an admission server: a CA of its own, the serving pair that it signs, and what makes a pair fit.

Everything is PEM in and PEM out, and time is handed in; where pairs are stored is `runtime.certstore`, how they
are served `runtime.tls`. The key of the CA is thrown away at once: a rotation makes a new CA.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta

import msgspec
from cryptography import x509
from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.asymmetric.types import PrivateKeyTypes
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
    load_pem_private_key,
)
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

LIFETIME = timedelta(days=3650)
RENEW_BEFORE = timedelta(days=30)
"""A pair with less than this left is due for rotation."""
BACKDATE = timedelta(hours=1)
"""How far the start of validity lies in the past, for clocks that are behind ours."""
_KEY_BITS = 2048
_MAX_CHAIN = 10


class CertificateError(Exception):
    """A certificate or key can't be read or doesn't fit. Says which and why."""


class ServingPair(msgspec.Struct, frozen=True):
    """A serving certificate with its key, and the CA bundle by which clients check it. All PEM."""

    cert: bytes
    """The certificate, followed by intermediates if any."""
    key: bytes
    ca: bytes


def service_dns_names(service: str, namespace: str) -> tuple[str, ...]:
    """The names under which an API server may call a Service, shortest first."""
    return (service, f"{service}.{namespace}", f"{service}.{namespace}.svc")


def create_pair(dns_names: Sequence[str], now: datetime, lifetime: timedelta = LIFETIME) -> ServingPair:
    """
    A new CA and a serving pair signed by it, both with the last DNS name as common name.

    Takes a fraction of a second for the two RSA keys: call it in a thread.
    """
    ca_key = rsa.generate_private_key(public_exponent=65537, key_size=_KEY_BITS)
    key = rsa.generate_private_key(public_exponent=65537, key_size=_KEY_BITS)
    ca = _create_ca(dns_names[-1], ca_key, now, lifetime)
    names = x509.SubjectAlternativeName([x509.DNSName(name) for name in dns_names])
    leaf = (
        _builder(dns_names[-1], ca.subject, key.public_key(), now, lifetime)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(_key_usage("digital_signature", "content_commitment", "key_encipherment"), critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .add_extension(names, critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(ca_key.public_key()), critical=False)
        .sign(ca_key, SHA256())
    )
    private = key.private_bytes(Encoding.PEM, PrivateFormat.TraditionalOpenSSL, NoEncryption())
    return ServingPair(to_pem(leaf), private, to_pem(ca))


def _create_ca(common_name: str, key: rsa.RSAPrivateKey, now: datetime, lifetime: timedelta) -> x509.Certificate:
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, _short(common_name))])
    return (
        _builder(common_name, name, key.public_key(), now, lifetime)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .add_extension(_key_usage("digital_signature", "key_cert_sign", "crl_sign"), critical=True)
        .sign(key, SHA256())
    )


def _builder(
    common_name: str, issuer: x509.Name, key: rsa.RSAPublicKey, now: datetime, lifetime: timedelta
) -> x509.CertificateBuilder:
    """What CA and serving certificate share. The key identifier tells two CAs of the same name apart."""
    return (
        x509.CertificateBuilder()
        .subject_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, _short(common_name))]))
        .issuer_name(issuer)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - BACKDATE)
        .not_valid_after(now + lifetime)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key), critical=False)
    )


def _short(common_name: str) -> str:
    """X.509 allows 64 characters; clients read the alternative names, so the end may go."""
    return common_name[:64]


_KEY_USES = (
    "digital_signature",
    "content_commitment",
    "key_encipherment",
    "data_encipherment",
    "key_agreement",
    "key_cert_sign",
    "crl_sign",
    "encipher_only",
    "decipher_only",
)


def _key_usage(*uses: str) -> x509.KeyUsage:
    return x509.KeyUsage(**{use: use in uses for use in _KEY_USES})


def parse_certificates(pem: bytes) -> tuple[x509.Certificate, ...]:
    """All certificates of a PEM text, at least one. Raises CertificateError."""
    try:
        return tuple(x509.load_pem_x509_certificates(pem))
    except ValueError as error:
        raise CertificateError(f"not a PEM certificate: {error}") from error


def parse_key(pem: bytes) -> PrivateKeyTypes:
    """The private key of a PEM text, unencrypted. Raises CertificateError."""
    try:
        return load_pem_private_key(pem, password=None)
    except (ValueError, TypeError, UnsupportedAlgorithm) as error:
        raise CertificateError(f"not an unencrypted PEM private key: {error}") from error


def check_match(cert: bytes, key: bytes) -> x509.Certificate:
    """The first certificate of `cert`, whose key must be `key`. Raises CertificateError when it isn't."""
    leaf = parse_certificates(cert)[0]
    if _public_bytes(leaf) != _public_bytes(parse_key(key)):
        raise CertificateError("the private key belongs to another certificate")
    return leaf


def _public_bytes(holder: x509.Certificate | PrivateKeyTypes) -> bytes:
    return holder.public_key().public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)


def check_pair(pair: ServingPair, dns_names: Iterable[str], now: datetime, remaining: timedelta = timedelta()) -> None:
    """
    Raise CertificateError unless clients that trust `pair.ca` accept the pair, now and for `remaining` longer.

    Checked: the key, the chain to a CA of the bundle, the DNS names, the purpose, and the validity of each link.
    """
    leaf = check_match(pair.cert, pair.key)
    missing = sorted(set(dns_names) - set(_dns_names(leaf)))
    if missing:
        raise CertificateError(f"the serving certificate isn't valid for {', '.join(missing)}")
    if not _is_for_servers(leaf):
        raise CertificateError("the serving certificate isn't meant for servers")
    for link in _chain(pair):
        _check_validity(link, now, remaining)


def issuing_ca(pair: ServingPair) -> bytes:
    """The CA of the bundle that vouches for the serving certificate. Raises CertificateError when none does."""
    return to_pem(_chain(pair)[-1])


def _dns_names(certificate: x509.Certificate) -> list[str]:
    try:
        names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except x509.ExtensionNotFound:
        return []
    return names.get_values_for_type(x509.DNSName)


def _is_for_servers(certificate: x509.Certificate) -> bool:
    try:
        purposes = certificate.extensions.get_extension_for_class(x509.ExtendedKeyUsage).value
    except x509.ExtensionNotFound:
        return True  # for any purpose
    return bool({ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.ANY_EXTENDED_KEY_USAGE} & set(purposes))


def _chain(pair: ServingPair) -> list[x509.Certificate]:
    """From the serving certificate to the CA of the bundle that vouches for it."""
    leaf, *intermediates = parse_certificates(pair.cert)
    roots = parse_certificates(pair.ca)
    chain = [leaf]
    while len(chain) < _MAX_CHAIN:
        root = next((ca for ca in roots if _is_issued_by(chain[-1], ca)), None)
        if root is not None:
            return [*chain, root]
        link = next((ca for ca in intermediates if ca not in chain and _is_issued_by(chain[-1], ca)), None)
        if link is None:
            break
        chain.append(link)
    raise CertificateError("the serving certificate isn't signed by a CA of the bundle")


def _is_issued_by(certificate: x509.Certificate, issuer: x509.Certificate) -> bool:
    try:
        certificate.verify_directly_issued_by(issuer)
    except (ValueError, TypeError, InvalidSignature, UnsupportedAlgorithm):
        return False
    return True


def _check_validity(certificate: x509.Certificate, now: datetime, remaining: timedelta) -> None:
    name = certificate.subject.rfc4514_string()
    if certificate.not_valid_before_utc > now:
        raise CertificateError(
            f"the certificate {name} is valid from {certificate.not_valid_before_utc:%Y-%m-%d %H:%M}"
        )
    if certificate.not_valid_after_utc <= now + remaining:
        raise CertificateError(f"the certificate {name} expires on {certificate.not_valid_after_utc:%Y-%m-%d %H:%M}")


def expiry(pem: bytes) -> datetime:
    """When the first certificate of a PEM text to expire does so. Raises CertificateError."""
    return min(certificate.not_valid_after_utc for certificate in parse_certificates(pem))


def join_bundles(*bundles: bytes) -> bytes:
    """The certificates of all bundles, each once, in order. What can't be read counts as empty."""
    found = {fingerprint(certificate): certificate for bundle in bundles for certificate in split_bundle(bundle)}
    return b"".join(to_pem(certificate) for certificate in found.values())


def split_bundle(bundle: bytes) -> tuple[x509.Certificate, ...]:
    """The certificates of a bundle, none when it can't be read."""
    try:
        return parse_certificates(bundle)
    except CertificateError:
        return ()


def is_same_bundle(left: bytes, right: bytes) -> bool:
    """Whether two bundles hold the same certificates, in whatever order and layout."""
    return set(map(fingerprint, split_bundle(left))) == set(map(fingerprint, split_bundle(right)))


def fingerprint(certificate: x509.Certificate) -> bytes:
    """What tells a certificate from all others."""
    return certificate.fingerprint(SHA256())


def to_pem(certificate: x509.Certificate) -> bytes:
    """The certificate as PEM."""
    return certificate.public_bytes(Encoding.PEM)


def utc_now() -> datetime:
    """The wall clock, to the second as certificates tell it."""
    return datetime.now(UTC).replace(microsecond=0)
