"""What the certificates say, and that TLS with them works."""

from __future__ import annotations

import base64
import datetime as dt
import ipaddress
import socket
import ssl
import threading
from pathlib import Path

import pytest
import yaml
from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import load_pem_private_key
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from cluster.pki import ADMIN, CONTROLLER_MANAGER, KWOK, SERVICE_ADDRESS, Authority, Files, Identity, Pair, create

NOW = dt.datetime(2026, 3, 1, 12, tzinfo=dt.UTC)


@pytest.fixture(scope="module")
def authority() -> Authority:
    return Authority(NOW)


def names(certificate: x509.Certificate, kind: x509.ObjectIdentifier) -> list[str]:
    return [str(attribute.value) for attribute in certificate.subject.get_attributes_for_oid(kind)]


def usages(certificate: x509.Certificate) -> list[x509.ObjectIdentifier]:
    return list(certificate.extensions.get_extension_for_class(x509.ExtendedKeyUsage).value)


def test_the_authority_signs_and_nothing_else_does(authority: Authority) -> None:
    for certificate, is_authority in [
        (authority.pair.certificate, True),
        (authority.serving().certificate, False),
        (authority.client(ADMIN).certificate, False),
    ]:
        constraints = certificate.extensions.get_extension_for_class(x509.BasicConstraints)
        usage = certificate.extensions.get_extension_for_class(x509.KeyUsage).value
        assert constraints.critical
        assert constraints.value.ca is is_authority
        assert usage.key_cert_sign is is_authority
        assert usage.digital_signature
        certificate.verify_directly_issued_by(authority.pair.certificate)


def test_the_servers_certificate_holds_its_names(authority: Authority) -> None:
    certificate = authority.serving().certificate
    alternatives = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert {"localhost", "kubernetes.default.svc"} <= set(alternatives.get_values_for_type(x509.DNSName))
    addresses = set(alternatives.get_values_for_type(x509.IPAddress))
    assert {ipaddress.ip_address("127.0.0.1"), ipaddress.ip_address(SERVICE_ADDRESS)} <= addresses
    assert usages(certificate) == [ExtendedKeyUsageOID.SERVER_AUTH]


@pytest.mark.parametrize(
    ("identity", "user", "groups"),
    [
        (ADMIN, "admin", ["system:masters"]),
        (CONTROLLER_MANAGER, "system:kube-controller-manager", []),
        (KWOK, "kwok", ["system:masters"]),
        (Identity("someone", ("a", "b")), "someone", ["a", "b"]),
    ],
)
def test_a_client_certificate_names_user_and_groups(
    authority: Authority, identity: Identity, user: str, groups: list[str]
) -> None:
    certificate = authority.client(identity).certificate
    assert names(certificate, NameOID.COMMON_NAME) == [user]
    assert names(certificate, NameOID.ORGANIZATION_NAME) == groups
    assert usages(certificate) == [ExtendedKeyUsageOID.CLIENT_AUTH]


def test_certificates_are_valid_for_a_year_from_a_little_earlier(authority: Authority) -> None:
    certificate = authority.client(ADMIN).certificate
    assert NOW - dt.timedelta(minutes=10) < certificate.not_valid_before_utc < NOW
    assert NOW + dt.timedelta(days=364) < certificate.not_valid_after_utc < NOW + dt.timedelta(days=366)


def test_two_authorities_do_not_vouch_for_each_other(authority: Authority) -> None:
    foreign = Authority(NOW).client(ADMIN).certificate
    with pytest.raises(InvalidSignature):
        foreign.verify_directly_issued_by(authority.pair.certificate)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Files, Path]:
    root = tmp_path_factory.mktemp("pki")
    files, kubeconfig = Files(root), root / "kubeconfig"
    create(files, kubeconfig, "https://127.0.0.1:6443", "try", dt.datetime.now(dt.UTC))
    return files, kubeconfig


def test_every_file_is_private_and_readable(made: tuple[Files, Path]) -> None:
    files, kubeconfig = made
    for path in (*files.root.iterdir(), kubeconfig):
        assert path.stat().st_mode & 0o777 == 0o600, path
    for path in (files.ca_key, files.serving_key, files.service_account_key):
        assert isinstance(load_pem_private_key(path.read_bytes(), None), ec.EllipticCurvePrivateKey), path
    for path in (files.ca, files.serving, files.client):
        x509.load_pem_x509_certificate(path.read_bytes())


@pytest.mark.parametrize(
    ("which", "user"),
    [
        ("kubeconfig", "admin"),
        ("controller-manager.kubeconfig", "system:kube-controller-manager"),
        ("kwok.kubeconfig", "kwok"),
    ],
)
def test_a_kubeconfig_holds_all_it_needs(made: tuple[Files, Path], which: str, user: str) -> None:
    files, _ = made
    config = yaml.safe_load((files.root / which).read_text())
    assert config["current-context"] == "stromboli-try"
    (cluster,), (person,), (context,) = config["clusters"], config["users"], config["contexts"]
    assert context["context"] == {"cluster": cluster["name"], "user": person["name"]}
    assert cluster["cluster"]["server"] == "https://127.0.0.1:6443"
    assert base64.b64decode(cluster["cluster"]["certificate-authority-data"]) == files.ca.read_bytes()
    certificate = x509.load_pem_x509_certificate(base64.b64decode(person["user"]["client-certificate-data"]))
    key = load_pem_private_key(base64.b64decode(person["user"]["client-key-data"]), None)
    assert names(certificate, NameOID.COMMON_NAME) == [user]
    assert key.public_key() == certificate.public_key()


def test_both_sides_of_a_tls_connection_accept_each_other(made: tuple[Files, Path]) -> None:
    files, _ = made
    server = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=str(files.ca))
    server.verify_mode = ssl.CERT_REQUIRED
    server.load_cert_chain(str(files.serving), str(files.serving_key))
    client = ssl.create_default_context(cafile=str(files.ca))
    client.load_cert_chain(str(files.client))
    near, far = socket.socketpair()
    seen: list[object] = []

    def serve() -> None:
        with server.wrap_socket(far, server_side=True) as connection:
            seen.append(connection.getpeercert())

    thread = threading.Thread(target=serve)
    thread.start()
    with client.wrap_socket(near, server_hostname="127.0.0.1") as connection:
        assert connection.version() == "TLSv1.3"
        thread.join(10)
    (peer,) = seen
    assert (("commonName", "admin"),) in peer["subject"]  # type: ignore[index]


def test_a_pair_is_pem(authority: Authority) -> None:
    pair: Pair = authority.client(ADMIN)
    assert pair.certificate_pem.startswith(b"-----BEGIN CERTIFICATE-----\n")
    assert pair.key_pem.startswith(b"-----BEGIN EC PRIVATE KEY-----\n")
