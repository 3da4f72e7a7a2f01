"""Certificates and clients for the tests of servers."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Self

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID

from runtime.certs import ServingPair, create_pair, to_pem
from runtime.servingtls import ServingTls

NAMES = ("localhost", "127.0.0.1")


@cache
def pair_number(number: int) -> ServingPair:
    """One of several pairs for localhost, each under a CA of its own; made once, since RSA keys take their time."""
    assert number >= 0
    return create_pair(("localhost",), datetime.now(UTC))


@cache
def client_identity(number: int) -> ServingPair:
    """A certificate for clients with its key, and the CA that vouches for it; one of several."""
    assert number >= 0
    return quick_pair((), datetime.now(UTC), timedelta(days=1))


def quick_pair(dns_names: Sequence[str], now: datetime, lifetime: timedelta) -> ServingPair:
    """A pair with its CA by elliptic curves, which cost less than the RSA keys of `create_pair`."""
    ca_key, key = (ec.generate_private_key(ec.SECP256R1()) for _ in range(2))
    name, issuer = (x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)]) for text in ("quick", "quick CA"))
    base = x509.CertificateBuilder().issuer_name(issuer)
    base = base.not_valid_before(now - timedelta(hours=1)).not_valid_after(now + lifetime)
    ca = base.subject_name(issuer).public_key(ca_key.public_key()).serial_number(x509.random_serial_number())
    ca = ca.add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
    leaf = base.subject_name(name).public_key(key.public_key()).serial_number(x509.random_serial_number())
    leaf = leaf.add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(ca_key.public_key()), critical=False)
    if dns_names:
        alternatives = x509.SubjectAlternativeName([x509.DNSName(name) for name in dns_names])
        leaf = leaf.add_extension(alternatives, critical=False)
    ca = ca.add_extension(x509.SubjectKeyIdentifier.from_public_key(ca_key.public_key()), critical=False)
    private = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    return ServingPair(to_pem(leaf.sign(ca_key, SHA256())), private, to_pem(ca.sign(ca_key, SHA256())))


def serving(pair: ServingPair | None = None) -> ServingTls:
    """A TLS side that serves the pair."""
    tls = ServingTls()
    chosen = pair or pair_number(0)
    tls.install(chosen.cert, chosen.key)
    return tls


def trusting(*pairs: ServingPair) -> ssl.SSLContext:
    """A client's context that trusts the CAs of the pairs."""
    return ssl.create_default_context(cadata="".join(pair.ca.decode() for pair in pairs or (pair_number(0),)))


async def eventually(condition: Callable[[], object], seconds: float = 20) -> None:
    """Wait until the condition holds; fail when it doesn't in time."""
    async with asyncio.timeout(seconds):
        while not condition():  # the condition has no event
            await asyncio.sleep(0.005)


@dataclass(frozen=True, slots=True)
class Answer:
    status: int
    headers: dict[str, str]
    body: bytes


class Client:
    """One TLS connection to a server on loopback."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer

    @classmethod
    async def connect(cls, port: int, context: ssl.SSLContext | None = None) -> Client:
        return cls(
            *await asyncio.open_connection("127.0.0.1", port, ssl=context or trusting(), server_hostname="localhost")
        )

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Close without waiting for the other side."""
        self.writer.transport.abort()
        await asyncio.gather(self.writer.wait_closed(), return_exceptions=True)

    @property
    def serial(self) -> int:
        """The serial number of the server's certificate, by which tests tell pairs apart."""
        certificate = self.writer.get_extra_info("peercert")
        return int(certificate["serialNumber"], 16)

    def send(self, body: bytes = b"", *headers: str, method: str = "POST", path: str = "/") -> None:
        """Write a request with a length."""
        head = [f"{method} {path} HTTP/1.1", "Host: localhost", f"Content-Length: {len(body)}", *headers]
        self.writer.write("".join(f"{line}\r\n" for line in head).encode() + b"\r\n" + body)

    async def receive(self) -> Answer:
        """Read one answer."""
        head = (await self.reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        line, *lines = head.rstrip().split("\r\n")
        headers = {name.lower(): value.strip() for name, _, value in (text.partition(":") for text in lines)}
        return Answer(int(line.split()[1]), headers, await self.reader.readexactly(int(headers["content-length"])))

    async def ask(self, body: bytes = b"", *headers: str, method: str = "POST", path: str = "/") -> Answer:
        """Send a request and read its answer."""
        self.send(body, *headers, method=method, path=path)
        return await self.receive()

    async def ended(self) -> bool:
        """Wait for the end of the stream; true when nothing came before it."""
        try:
            return await self.reader.read() == b""
        except (ConnectionError, ssl.SSLError):
            return True
