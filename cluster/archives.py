"""
Official release files with pinned checksums.

The quickest source where their hosts can be reached; a host that does not answer within seconds, a wrong checksum or a
version without a pinned checksum here leads on to the build.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import os
import platform
import socket
import tarfile
import tempfile
import threading
import urllib.error
import urllib.parse
import urllib.request
from pathlib import Path
from typing import IO, Final

import msgspec

from cluster.cache import Report, cached_binary, ticking, unfinished

SWITCH: Final = "STROMBOLI_DOWNLOAD"
"""Environment variable: `never` skips downloads."""

_CONNECT_SECONDS = 3.0
_CHUNK = 1 << 20


class Archive(msgspec.Struct, frozen=True):
    """A release file: the binary itself, or a tar archive with the binary as its `member`."""

    url: str
    sha256: str
    member: str = ""


_ETCD = "https://github.com/etcd-io/etcd/releases/download"
_KWOK = "https://github.com/kubernetes-sigs/kwok/releases/download"
_KUBERNETES = "https://dl.k8s.io"

ARCHIVES: Final = {
    ("etcd", "v3.6.4", "linux-amd64"): Archive(
        f"{_ETCD}/v3.6.4/etcd-v3.6.4-linux-amd64.tar.gz",
        "4d5f3101daa534e45ccaf3eec8d21c19b7222db377bcfd5e5a9144155238c105",
        "etcd-v3.6.4-linux-amd64/etcd",
    ),
    ("etcd", "v3.6.4", "linux-arm64"): Archive(
        f"{_ETCD}/v3.6.4/etcd-v3.6.4-linux-arm64.tar.gz",
        "323421fa279f4f3d7da4c7f2dfa17d9e49529cb2b4cdf40899a7416bccdde42d",
        "etcd-v3.6.4-linux-arm64/etcd",
    ),
    ("kube-apiserver", "v1.36.1", "linux-amd64"): Archive(
        f"{_KUBERNETES}/v1.36.1/bin/linux/amd64/kube-apiserver",
        "9b4dba0a5b945f1fe0ce18f47535c5ff0c46ae384f9222047bce39fe91b6023e",
    ),
    ("kwok", "v0.8.0", "linux-amd64"): Archive(
        f"{_KWOK}/v0.8.0/kwok-linux-amd64",
        "f5a4385a2ae1b9dd7f8acae18e002a75c0ebba124ae9d7259aa8dadb50711f46",
    ),
    ("kwok", "v0.8.0", "darwin-arm64"): Archive(
        f"{_KWOK}/v0.8.0/kwok-darwin-arm64",
        "69a064ec98d37844d9d742b5b28ff57825659a983ccc3e208daa6948b94d64ba",
    ),
}


def this_platform() -> str:
    """Operating system and architecture as releases name them, such as `linux-amd64`."""
    machine = {"x86_64": "amd64", "aarch64": "arm64"}.get(platform.machine(), platform.machine())
    return f"{platform.system().lower()}-{machine}"


def download(name: str, version: str, report: Report) -> Path | None:
    """The binary in the cache, or None when it cannot be had this way; the reason is reported."""
    archive = ARCHIVES.get((name, version, this_platform()))
    if archive is None or os.environ.get(SWITCH) == "never":
        return None
    host = urllib.parse.urlsplit(archive.url)
    if not is_known_to_dns(host.hostname or ""):
        report(f"no download of {name} {version}: {host.hostname} is not reachable ({SWITCH}=never skips this)")
        return None
    target = cached_binary(name, version)
    try:
        with ticking(report, f"downloading {name} {version}"), unfinished(target) as partial:
            _fetch(archive, partial)
    except (OSError, tarfile.TarError, KeyError, ChecksumError) as error:
        reason = error.reason if isinstance(error, urllib.error.URLError) else error
        if isinstance(error, urllib.error.HTTPError):
            error.close()  # it holds the refusal's body
        report(f"no download of {name} {version}: {reason}")
        return None
    return target


@functools.cache
def is_known_to_dns(host: str) -> bool:
    """
    Whether the name resolves within seconds. Asked once for each host: on a machine without a network the system's
    resolver may take its time, and it knows no time limit.
    """
    answered = threading.Event()

    def ask() -> None:
        with contextlib.suppress(OSError):
            socket.getaddrinfo(host, 443, type=socket.SOCK_STREAM)
            answered.set()
        asked.set()

    asked = threading.Event()
    threading.Thread(target=ask, name="resolver", daemon=True).start()
    asked.wait(_CONNECT_SECONDS)
    return answered.is_set()


class ChecksumError(Exception):
    """The file that was served is not the one that was pinned."""


def _fetch(archive: Archive, target: Path) -> None:
    with tempfile.TemporaryFile(dir=target.parent) as file:
        digest = hashlib.sha256()
        with _open(archive.url) as response:
            while chunk := response.read(_CHUNK):
                digest.update(chunk)
                file.write(chunk)
        if digest.hexdigest() != archive.sha256:
            raise ChecksumError(f"its SHA-256 is {digest.hexdigest()}, pinned is {archive.sha256}")
        file.seek(0)
        if not archive.member:
            _copy(file, target)
            return
        with tarfile.open(fileobj=file) as tar:
            member = tar.extractfile(archive.member)
            if member is None:
                raise KeyError(archive.member)
            _copy(member, target)


def _open(url: str) -> IO[bytes]:
    """Open a URL; the time limit holds for the connection and for each read, not for the whole file."""
    response: IO[bytes] = urllib.request.urlopen(url, timeout=_CONNECT_SECONDS)  # noqa: S310  # from the table above
    return response


def _copy(source: IO[bytes], target: Path) -> None:
    with target.open("wb") as file:
        while chunk := source.read(_CHUNK):
            file.write(chunk)
