"""Release files: from a server on loopback, checked, unpacked, and never in the way."""

from __future__ import annotations

import functools
import hashlib
import http.server
import io
import re
import socket
import tarfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from cluster import archives
from cluster.archives import ARCHIVES, Archive, download, is_known_to_dns, this_platform
from cluster.cache import cached_binary

CONTENT = b"#!/bin/sh\necho " + b"x" * 3_000_000


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv(archives.SWITCH, raising=False)
    target = cached_binary("etcd", "v1")
    target.parent.mkdir(parents=True)
    return target


@pytest.fixture
def site(tmp_path: Path) -> Iterator[tuple[str, Path]]:
    """A web site: its URL, and the folder it serves."""
    folder = tmp_path / "site"
    folder.mkdir()

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            """Keep quiet."""

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=str(folder)))
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield f"http://127.0.0.1:{server.server_address[1]}", folder
    server.shutdown()
    server.server_close()
    thread.join()


def pin(monkeypatch: pytest.MonkeyPatch, archive: Archive) -> None:
    monkeypatch.setitem(ARCHIVES, ("etcd", "v1", this_platform()), archive)


def packed(member: str) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as tar:
        info = tarfile.TarInfo(member)
        info.size = len(CONTENT)
        tar.addfile(info, io.BytesIO(CONTENT))
    return buffer.getvalue()


@pytest.mark.parametrize("member", ["", "etcd-v1/etcd"])
def test_a_binary_comes_plain_or_out_of_an_archive(
    site: tuple[str, Path], cache: Path, monkeypatch: pytest.MonkeyPatch, member: str
) -> None:
    url, folder = site
    data = packed(member) if member else CONTENT
    (folder / "file").write_bytes(data)
    pin(monkeypatch, Archive(f"{url}/file", hashlib.sha256(data).hexdigest(), member))
    lines: list[str] = []
    assert download("etcd", "v1", lines.append) == cache
    assert cache.read_bytes() == CONTENT
    assert cache.stat().st_mode & 0o111
    assert lines == ["downloading etcd v1"]


@pytest.mark.parametrize(
    ("archive", "reason"),
    [
        (Archive("{url}/file", "0" * 64), rf"its SHA-256 is {hashlib.sha256(CONTENT).hexdigest()}, pinned is 0{{64}}"),
        (Archive("{url}/missing", "0" * 64), "HTTP Error 404|Not Found|File not found"),
        (Archive("{url}/file", hashlib.sha256(CONTENT).hexdigest(), "etcd"), "."),  # no tar archive at all
    ],
)
def test_what_is_not_as_pinned_is_left_and_told(
    site: tuple[str, Path], cache: Path, monkeypatch: pytest.MonkeyPatch, archive: Archive, reason: str
) -> None:
    url, folder = site
    (folder / "file").write_bytes(CONTENT)
    pin(monkeypatch, Archive(archive.url.format(url=url), archive.sha256, archive.member))
    lines: list[str] = []
    assert download("etcd", "v1", lines.append) is None
    assert re.search(rf"no download of etcd v1: .*{reason}", lines[-1])
    assert list(cache.parent.iterdir()) == []


def test_an_archive_without_its_member_is_left(
    site: tuple[str, Path], cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    url, folder = site
    data = packed("other")
    (folder / "file").write_bytes(data)
    pin(monkeypatch, Archive(f"{url}/file", hashlib.sha256(data).hexdigest(), "etcd"))
    lines: list[str] = []
    assert download("etcd", "v1", lines.append) is None
    assert "etcd" in lines[-1]
    assert list(cache.parent.iterdir()) == []


def test_a_host_that_refuses_leads_on(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        pin(monkeypatch, Archive(f"http://127.0.0.1:{closed.getsockname()[1]}/file", "0" * 64))
        lines: list[str] = []
        assert download("etcd", "v1", lines.append) is None
    assert "refused" in lines[-1]


def test_a_host_that_never_answers_leads_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archives, "_CONNECT_SECONDS", 0.2)
    with socket.socket() as mute:
        mute.bind(("127.0.0.1", 0))
        mute.listen()
        pin(monkeypatch, Archive(f"http://127.0.0.1:{mute.getsockname()[1]}/file", "0" * 64))
        lines: list[str] = []
        assert download("etcd", "v1", lines.append) is None
    assert "timed out" in lines[-1]


def test_an_unknown_host_costs_one_line_and_no_time(monkeypatch: pytest.MonkeyPatch) -> None:
    pin(monkeypatch, Archive("https://downloads.invalid/file", "0" * 64))
    is_known_to_dns.cache_clear()
    lines: list[str] = []
    assert download("etcd", "v1", lines.append) is None
    assert lines == ["no download of etcd v1: downloads.invalid is not reachable (STROMBOLI_DOWNLOAD=never skips this)"]


def test_a_resolver_that_hangs_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    released = threading.Event()
    monkeypatch.setattr(archives, "_CONNECT_SECONDS", 0.05)
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: released.wait(30))
    is_known_to_dns.cache_clear()
    begin = time.monotonic()
    assert not is_known_to_dns("slow.example")
    assert time.monotonic() - begin < 10
    released.set()
    for thread in threading.enumerate():
        if thread.name == "resolver":
            thread.join(10)
    is_known_to_dns.cache_clear()


def test_the_switch_skips_downloads(site: tuple[str, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    url, folder = site
    (folder / "file").write_bytes(CONTENT)
    pin(monkeypatch, Archive(f"{url}/file", hashlib.sha256(CONTENT).hexdigest()))
    monkeypatch.setenv(archives.SWITCH, "never")
    lines: list[str] = []
    assert download("etcd", "v1", lines.append) is None
    assert lines == []


def test_without_a_pinned_checksum_nothing_is_downloaded() -> None:
    lines: list[str] = []
    assert download("etcd", "v0.0.1", lines.append) is None
    assert lines == []


@pytest.mark.parametrize("key", list(ARCHIVES), ids=" ".join)
def test_every_pin_is_complete(key: tuple[str, str, str]) -> None:
    name, version, platform = key
    archive = ARCHIVES[key]
    assert re.fullmatch(r"[0-9a-f]{64}", archive.sha256)
    assert archive.url.startswith("https://")
    assert version in archive.url
    assert set(platform.split("-")) <= set(re.split(r"[-/.]", archive.url))
    assert archive.member == "" or archive.member.endswith(f"/{name}")


@pytest.mark.parametrize(
    ("system", "machine", "expected"),
    [("Linux", "x86_64", "linux-amd64"), ("Linux", "aarch64", "linux-arm64"), ("Darwin", "arm64", "darwin-arm64")],
)
def test_platforms_have_the_names_of_releases(
    monkeypatch: pytest.MonkeyPatch, system: str, machine: str, expected: str
) -> None:
    monkeypatch.setattr("platform.system", lambda: system)
    monkeypatch.setattr("platform.machine", lambda: machine)
    assert this_platform() == expected
