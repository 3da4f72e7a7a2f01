from __future__ import annotations

import json
from types import SimpleNamespace
from typing import TYPE_CHECKING

import pytest

from runtime import version

if TYPE_CHECKING:
    from pathlib import Path

COMMIT = "4f5e6d7c8b9a0f1e2d3c4b5a69788796a5b4c3d2"


def test_the_block_has_six_lines_with_the_labels_that_scripts_grep() -> None:
    labels = [line.split(": ", 1)[0] for line in version.current().lines()]
    assert labels == ["API Version", "Version", "Git SHA", "Built At", "Go Version", "Go OS/Arch"]


def test_unknown_values_say_not_provided() -> None:
    lines = version.Version().lines()
    assert lines[:4] == (
        "API Version: v1alpha1",
        "Version: Not provided.",
        "Git SHA: Not provided.",
        "Built At: Not provided.",
    )


def test_the_block_names_interpreter_and_platform() -> None:
    lines = str(version.Version()).splitlines()
    assert lines[4] == f"Go Version: {version.python_version()}"
    system, _, arch = lines[5].removeprefix("Go OS/Arch: ").partition("/")
    assert system in {"linux", "darwin"}
    assert arch == version.architecture()


@pytest.mark.parametrize(
    ("machine", "name"), [("x86_64", "amd64"), ("aarch64", "arm64"), ("arm64", "arm64"), ("riscv64", "riscv64")]
)
def test_architectures_are_named_as_images_name_them(monkeypatch: pytest.MonkeyPatch, machine: str, name: str) -> None:
    monkeypatch.setattr("os.uname", lambda: SimpleNamespace(machine=machine))
    assert version.architecture() == name


def test_the_build_file_wins_over_the_installers_record(tmp_path: Path) -> None:
    build = tmp_path / "build.json"
    build.write_text(json.dumps({"version": "1.15.3", "gitSHA": "abc", "builtAt": "2026-08-01T00:00:00Z"}))
    record = json.dumps({"vcs_info": {"commit_id": COMMIT}})
    assert version.read(build, record) == version.Version("1.15.3", "abc", "2026-08-01T00:00:00Z")


def test_an_installation_from_a_checkout_knows_its_commit(tmp_path: Path) -> None:
    found = version.read(tmp_path / "none.json", json.dumps({"vcs_info": {"commit_id": COMMIT}}))
    assert found.git_sha == COMMIT
    assert found.built_at == ""


@pytest.mark.parametrize("text", ["", "{", "[]", '{"vcs_info": 3}', '{"vcs_info": {}}'])
def test_a_broken_record_counts_as_absent(tmp_path: Path, text: str) -> None:
    build = tmp_path / "build.json"
    build.write_text(text)
    assert version.read(build, text).git_sha == ""


def test_without_an_installation_the_version_is_unknown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(version, "DISTRIBUTION", "no-such-distribution")
    monkeypatch.setattr(version, "_record", version._record.__wrapped__)
    assert version.read(tmp_path / "none.json", version._direct_url()).version == ""


def test_the_running_build_is_read_once() -> None:
    assert version.current() is version.current()
