"""
The certificates of one control plane.

A certificate authority that exists only for this directory signs the API server's serving certificate and one client
certificate for each identity. Everything is ECDSA P-256, which takes milliseconds to make.
"""

from __future__ import annotations

import base64
import datetime as dt
import ipaddress
from pathlib import Path
from typing import Any, Final

import msgspec
import yaml
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from cluster.state import write

SERVICE_ADDRESS: Final = "10.0.0.1"
"""First address of the service range: what `kubernetes.default.svc` resolves to."""

_VALID = dt.timedelta(days=365)
_CLOCK_SKEW = dt.timedelta(minutes=5)
_SERVER_NAMES = (
    "localhost",
    "kubernetes",
    "kubernetes.default",
    "kubernetes.default.svc",
    "kubernetes.default.svc.cluster.local",
)


class Identity(msgspec.Struct, frozen=True):
    """Who a client certificate says its holder is: user name and groups."""

    user: str
    groups: tuple[str, ...] = ()


ADMIN: Final = Identity("admin", ("system:masters",))
CONTROLLER_MANAGER: Final = Identity("system:kube-controller-manager")
KWOK: Final = Identity("kwok", ("system:masters",))


class Pair(msgspec.Struct, frozen=True):
    """A certificate with its private key."""

    certificate: x509.Certificate
    key: ec.EllipticCurvePrivateKey

    @property
    def certificate_pem(self) -> bytes:
        return self.certificate.public_bytes(serialization.Encoding.PEM)

    @property
    def key_pem(self) -> bytes:
        return _key_pem(self.key)


class Authority:
    """The certificate authority. `now` is handed in, in UTC, so that tests can look at a known span."""

    def __init__(self, now: dt.datetime) -> None:
        self._now = now
        key = ec.generate_private_key(ec.SECP256R1())
        name = _name("stromboli-cluster-ca")
        builder = self._builder(name, key.public_key(), name)
        builder = builder.add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        builder = builder.add_extension(_key_usage(signs_certificates=True), critical=True)
        self.pair = Pair(builder.sign(key, hashes.SHA256()), key)

    def serving(self) -> Pair:
        """The API server's certificate: loopback, localhost and the in-cluster names."""
        addresses = [x509.IPAddress(ipaddress.ip_address(text)) for text in ("127.0.0.1", "::1", SERVICE_ADDRESS)]
        names = x509.SubjectAlternativeName([*map(x509.DNSName, _SERVER_NAMES), *addresses])
        return self._leaf(_name("kube-apiserver"), ExtendedKeyUsageOID.SERVER_AUTH, names)

    def client(self, identity: Identity) -> Pair:
        """A client certificate as which its holder authenticates."""
        return self._leaf(_name(identity.user, identity.groups), ExtendedKeyUsageOID.CLIENT_AUTH)

    def _leaf(
        self, subject: x509.Name, usage: x509.ObjectIdentifier, names: x509.SubjectAlternativeName | None = None
    ) -> Pair:
        key = ec.generate_private_key(ec.SECP256R1())
        builder = self._builder(subject, key.public_key(), self.pair.certificate.subject)
        builder = builder.add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        builder = builder.add_extension(_key_usage(signs_certificates=False), critical=True)
        builder = builder.add_extension(x509.ExtendedKeyUsage([usage]), critical=False)
        issuer = x509.AuthorityKeyIdentifier.from_issuer_public_key(self.pair.key.public_key())
        builder = builder.add_extension(issuer, critical=False)
        if names is not None:
            builder = builder.add_extension(names, critical=False)
        return Pair(builder.sign(self.pair.key, hashes.SHA256()), key)

    def _builder(
        self, subject: x509.Name, public_key: ec.EllipticCurvePublicKey, issuer: x509.Name
    ) -> x509.CertificateBuilder:
        return (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(issuer)
            .public_key(public_key)
            .serial_number(x509.random_serial_number())
            .not_valid_before(self._now - _CLOCK_SKEW)
            .not_valid_after(self._now + _VALID)
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(public_key), critical=False)
        )


class Files(msgspec.Struct, frozen=True):
    """Where the PEM files and kubeconfigs lie that the servers read."""

    root: Path

    @property
    def ca(self) -> Path:
        return self.root / "ca.crt"

    @property
    def ca_key(self) -> Path:
        return self.root / "ca.key"

    @property
    def serving(self) -> Path:
        return self.root / "apiserver.crt"

    @property
    def serving_key(self) -> Path:
        return self.root / "apiserver.key"

    @property
    def service_account_key(self) -> Path:
        return self.root / "service-account.key"

    @property
    def controller_manager_kubeconfig(self) -> Path:
        return self.root / "controller-manager.kubeconfig"

    @property
    def kwok_kubeconfig(self) -> Path:
        return self.root / "kwok.kubeconfig"

    @property
    def client(self) -> Path:
        """The administrator's certificate and key in one file, for clients that read no kubeconfig."""
        return self.root / "admin.pem"


def create(files: Files, kubeconfig: Path, server: str, name: str, now: dt.datetime) -> None:
    """Make every key, certificate and kubeconfig of a control plane whose API server answers at the URL `server`."""
    authority = Authority(now)
    serving, admin = authority.serving(), authority.client(ADMIN)
    write(files.ca, authority.pair.certificate_pem)
    write(files.ca_key, authority.pair.key_pem)
    write(files.serving, serving.certificate_pem)
    write(files.serving_key, serving.key_pem)
    write(files.service_account_key, _key_pem(ec.generate_private_key(ec.SECP256R1())))
    write(files.client, admin.certificate_pem + admin.key_pem)
    ca = authority.pair.certificate_pem
    write(kubeconfig, render_kubeconfig(server, ca, admin, name))
    manager = authority.client(CONTROLLER_MANAGER)
    write(files.controller_manager_kubeconfig, render_kubeconfig(server, ca, manager, name))
    write(files.kwok_kubeconfig, render_kubeconfig(server, ca, authority.client(KWOK), name))


def render_kubeconfig(server: str, ca_pem: bytes, client: Pair, name: str) -> str:
    """A self-contained kubeconfig: it can be copied anywhere on this machine."""
    context = f"stromboli-{name}"
    config: dict[str, Any] = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": context, "cluster": {"server": server, "certificate-authority-data": _base64(ca_pem)}}],
        "users": [
            {
                "name": context,
                "user": {
                    "client-certificate-data": _base64(client.certificate_pem),
                    "client-key-data": _base64(client.key_pem),
                },
            }
        ],
        "contexts": [{"name": context, "context": {"cluster": context, "user": context}}],
        "current-context": context,
    }
    return yaml.safe_dump(config, sort_keys=False)


def _name(common: str, organizations: tuple[str, ...] = ()) -> x509.Name:
    groups = [x509.NameAttribute(NameOID.ORGANIZATION_NAME, group) for group in organizations]
    return x509.Name([*groups, x509.NameAttribute(NameOID.COMMON_NAME, common)])


def _key_usage(*, signs_certificates: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=True,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=signs_certificates,
        crl_sign=signs_certificates,
        encipher_only=False,
        decipher_only=False,
    )


def _key_pem(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.TraditionalOpenSSL, serialization.NoEncryption()
    )


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode()
