"""Versions as users write them, and as the Go modules pin them."""

from __future__ import annotations

import re

import pytest

from cluster import versions
from cluster.building import TOOLS
from cluster.errors import UsageError
from cluster.versions import DEFAULT_KUBERNETES, KUBERNETES, resolve


@pytest.mark.parametrize("minor", list(KUBERNETES))
def test_a_minor_version_is_its_pinned_release(minor: str) -> None:
    for text in (minor, f"v{minor}", f"v{minor}.x", KUBERNETES[minor], KUBERNETES[minor].removeprefix("v")):
        assert resolve(text) == KUBERNETES[minor]


@pytest.mark.parametrize("text", ["1.33", "v2.0", "latest", "", "1", "v1.36.1.2", "1.36-rc", "v1.36 "])
def test_an_unknown_version_tells_the_known_ones(text: str) -> None:
    with pytest.raises(UsageError, match=re.escape(f"--k8s {text}: known are v1.34, v1.35, v1.36")):
        resolve(text)


def test_another_patch_release_tells_the_pinned_one() -> None:
    with pytest.raises(UsageError, match=rf"--k8s v1.36.99: of v1.36 it is {DEFAULT_KUBERNETES} that is pinned here"):
        resolve("v1.36.99")


def test_etcd_and_kwok_have_versions_of_their_own() -> None:
    assert versions.of("etcd", "v1.34.4") == versions.ETCD
    assert versions.of("kwok", "v1.34.4") == versions.KWOK
    assert versions.of("kube-apiserver", "v1.34.4") == "v1.34.4"


@pytest.mark.parametrize(
    ("folder", "module", "version"),
    [
        ("etcd", "go.etcd.io/etcd/server/v3", versions.ETCD),
        ("kwok", "sigs.k8s.io/kwok", versions.KWOK),
        *(
            ("kubernetes" if release == DEFAULT_KUBERNETES else f"kubernetes-{minor}", "k8s.io/kubernetes", release)
            for minor, release in KUBERNETES.items()
        ),
    ],
)
def test_the_go_modules_pin_the_same_versions(folder: str, module: str, version: str) -> None:
    text = (TOOLS / folder / "go.mod").read_text()
    assert re.search(rf"^require {re.escape(module)} {re.escape(version)}$", text, re.MULTILINE)
    assert (TOOLS / folder / "go.sum").stat().st_size > 0
