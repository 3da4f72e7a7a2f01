"""
Which build this is: the six-line block of `--version` and of `vcctl version`, and the build info metric.

An image build writes `build.json` beside this module; an installation from a checkout knows its commit
from the installer's record. What nobody told is printed as `Not provided.`, as scripts expect.
"""

from __future__ import annotations

import os
import sys
from functools import cache

TYPE_CHECKING = (
    False  # `vcctl version` has a few milliseconds: typing and importlib.metadata cost more than all the rest
)
if TYPE_CHECKING:
    from typing import Any

DISTRIBUTION = "stromboli"
API_VERSION = "v1alpha1"
NOT_PROVIDED = "Not provided."
BUILD_FILE = os.path.join(os.path.dirname(__file__), "build.json")  # noqa: PTH118, PTH120  # pathlib loads much, too

_ARCHITECTURES = {"x86_64": "amd64", "AMD64": "amd64", "aarch64": "arm64", "i686": "386", "armv7l": "arm"}


class Version:
    """The facts of a build; empty means unknown."""

    __slots__ = ("built_at", "git_sha", "version")

    def __init__(self, version: str = "", git_sha: str = "", built_at: str = "") -> None:
        self.version = version
        self.git_sha = git_sha
        self.built_at = built_at

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Version) and self.lines() == other.lines()

    def __hash__(self) -> int:
        return hash(self.lines())

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
    return f"python{sys.version.split()[0]}"


def architecture() -> str:
    """The machine's architecture as container images name it, such as `amd64`."""
    machine = os.uname().machine
    return _ARCHITECTURES.get(machine, machine)


@cache
def current() -> Version:
    """The running build. Read once a process."""
    return read(BUILD_FILE, _direct_url())


def read(build_file: str | os.PathLike[str], direct_url: str) -> Version:
    """Join the build file with the installer's `direct_url.json` text; the file wins, a broken one counts as absent."""
    build = _json_object(_text(build_file))
    # An editable installation's record names a folder alone: nothing there is worth a parser's import.
    vcs = _json_object(direct_url).get("vcs_info", {}) if "vcs_info" in direct_url else {}
    commit = vcs.get("commit_id", "") if isinstance(vcs, dict) else ""
    return Version(
        version=str(build.get("version", "") or _installed_version()),
        git_sha=str(build.get("gitSHA", "") or commit),
        built_at=str(build.get("builtAt", "")),
    )


def _json_object(text: str) -> dict[str, Any]:
    if not text:
        return {}
    import json  # noqa: PLC0415  # most builds have nothing to read

    try:
        value = json.loads(text)
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}


def _text(file: str | os.PathLike[str]) -> str:
    """Content of a file, empty when there is none."""
    try:
        with open(file, encoding="utf-8") as opened:  # noqa: PTH123  # pathlib loads much
            return opened.read()
    except OSError:
        return ""


@cache
def _record() -> str:
    """The installer's folder about this distribution, `<site>/stromboli-<version>.dist-info`; empty when not installed."""
    for place in sys.path:
        try:
            entries = os.listdir(place or ".")  # noqa: PTH208  # pathlib loads much
        except OSError:
            continue
        for entry in entries:
            if entry.startswith(f"{DISTRIBUTION}-") and entry.endswith(".dist-info"):
                return f"{place or '.'}/{entry}"
    return ""


def _installed_version() -> str:
    folder = _record().rpartition("/")[2]
    return folder.removeprefix(f"{DISTRIBUTION}-").removesuffix(".dist-info")


def _direct_url() -> str:
    return _text(f"{_record()}/direct_url.json") if _record() else ""
