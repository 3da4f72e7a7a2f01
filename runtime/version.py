"""
Which build this is: the six-line block of `--version` and of `vcctl version`, and the build info metric.

An image build writes `build.json` beside this module; an installation from a checkout knows its commit
from the installer's record. What nobody told is printed as `Not provided.`, as scripts expect.
"""

from __future__ import annotations

import json
import platform
import sys
from dataclasses import dataclass
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any

DISTRIBUTION = "stromboli"
API_VERSION = "v1alpha1"
NOT_PROVIDED = "Not provided."
BUILD_FILE = Path(__file__).with_name("build.json")

_ARCHITECTURES = {"x86_64": "amd64", "AMD64": "amd64", "aarch64": "arm64", "i686": "386", "armv7l": "arm"}


@dataclass(frozen=True, slots=True)
class Version:
    """The facts of a build; empty means unknown."""

    version: str = ""
    git_sha: str = ""
    built_at: str = ""

    def lines(self) -> tuple[str, ...]:
        """The version block. The labels are those that scripts grep; ours stands where Go's version stood."""
        return (
            f"API Version: {API_VERSION}",
            f"Version: {self.version or NOT_PROVIDED}",
            f"Git SHA: {self.git_sha or NOT_PROVIDED}",
            f"Built At: {self.built_at or NOT_PROVIDED}",
            f"Go Version: {python_version()}",
            f"Go OS/Arch: {sys.platform}/{architecture()}",
        )

    def __str__(self) -> str:
        return "\n".join(self.lines())


def python_version() -> str:
    """The interpreter, such as `python3.12.4`."""
    return f"python{platform.python_version()}"


def architecture() -> str:
    """The machine's architecture as container images name it, such as `amd64`."""
    machine = platform.machine()
    return _ARCHITECTURES.get(machine, machine)


@cache
def current() -> Version:
    """The running build. Read once a process."""
    return read(BUILD_FILE, _direct_url())


def read(build_file: Path, direct_url: str) -> Version:
    """Join the build file with the installer's `direct_url.json` text; the file wins, a broken one counts as absent."""
    build = _json_object(build_file.read_text("utf-8")) if build_file.is_file() else {}
    vcs = _json_object(direct_url).get("vcs_info", {})
    commit = vcs.get("commit_id", "") if isinstance(vcs, dict) else ""
    return Version(
        version=str(build.get("version", "") or _installed_version()),
        git_sha=str(build.get("gitSHA", "") or commit),
        built_at=str(build.get("builtAt", "")),
    )


def _json_object(text: str) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}


def _installed_version() -> str:
    try:
        return metadata.version(DISTRIBUTION)
    except metadata.PackageNotFoundError:
        return ""


def _direct_url() -> str:
    try:
        return metadata.distribution(DISTRIBUTION).read_text("direct_url.json") or ""
    except metadata.PackageNotFoundError:
        return ""
