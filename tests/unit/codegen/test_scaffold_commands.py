from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from codegen.__main__ import main
from codegen.output import Difference
from codegen.problems import Problem, SourceError
from codegen.scaffold import commands
from tests.unit.codegen.projects import ROOT
from tests.unit.codegen.scaffolding import REGISTRIES, house

PATH = "scheduler/plugins/quiet_nodes.py"
WEBHOOK = ("create", "webhook", "--kind", "NodeShard", "--validating")
PLUGIN = ("create", "plugin", "--name", "quiet-nodes")


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project whose generation is left out and whose second stage answers at once."""
    monkeypatch.setattr(commands, "generate", lambda _: Difference(("generated/a.py",), (), ()))
    second_stage(monkeypatch, "print('updated: config/rbac/a.yaml'); print('no webhook configuration for ...')")
    return house(tmp_path)


def second_stage(monkeypatch: pytest.MonkeyPatch, code: str) -> None:
    monkeypatch.setattr(commands, "SECOND_STAGE", ("-c", code))


def run(root: Path, *arguments: str) -> int:
    return main(["--root", str(root), *arguments])


def test_a_part_is_reported_file_by_file(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(root, *PLUGIN) == 0
    assert capsys.readouterr().out.splitlines() == [
        f"created: {PATH}",
        "created: tests/unit/scheduler/plugins/test_quiet_nodes.py",
        "edited: scheduler/plugins/__init__.py",
        "updated: config/rbac/a.yaml",
        f"next: write the plugin in {PATH}, then: pytest tests/unit/scheduler/plugins/test_quiet_nodes.py",
    ]


def test_only_a_part_that_changes_the_sources_is_generated(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(root, *WEBHOOK) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[2:6] == [
        "edited: api/project.yaml",
        "edited: webhooks/__init__.py",
        "updated: generated/a.py",
        "updated: config/rbac/a.yaml",
    ]


def test_a_second_run_is_content(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(root, *PLUGIN) == 0
    capsys.readouterr()
    assert run(root, *PLUGIN) == 0
    said = "the plugin quiet-nodes exists already: scheduler/plugins/quiet_nodes.py, scheduler/plugins/__init__.py"
    assert capsys.readouterr().out == f"{said}; nothing was written\n"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("api", "--group", "g", "--version", "v1", "--kind", "x"), "--kind: 'x' is no kind"),
        (("api", "--group", "G", "--version", "v1", "--kind", "X"), "--group: 'G' is no API group"),
        (("webhook", "--kind", "Queue"), "--defaulting, --validating: say at least one of them"),
        (("controller", "--name", "n", "--watches", " , "), "--watches: names no kind"),
        (("plugin", "--name", "a_b"), "--name: 'a_b' is no name"),
    ],
)
def test_a_mistake_is_one_line(
    root: Path, capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], message: str
) -> None:
    assert run(root, "create", *arguments) == 2
    captured = capsys.readouterr()
    assert captured.err.startswith(message)
    assert captured.err.endswith("; nothing was written\n")
    assert captured.err.count("\n") == 1
    assert not captured.out


@pytest.mark.parametrize(
    ("settings", "place"),
    [("[tool.ruff\n", "line 1, column 11"), ("[tool.ruff]\nlint.select = ['XYZ']\n", "rule selector `XYZ`")],
)
def test_settings_that_the_formatter_cannot_read_are_one_line(
    root: Path, capsys: pytest.CaptureFixture[str], settings: str, place: str
) -> None:
    (root / "pyproject.toml").write_text(settings)
    assert run(root, *PLUGIN) == 2
    said = capsys.readouterr().err
    assert said.startswith("ruff: ")
    assert said.endswith("; nothing was written\n")
    assert said.count("\n") == 1
    assert "pyproject.toml" in said
    assert place in said
    assert not (root / PATH).exists()


@pytest.mark.parametrize(
    ("arguments", "created"),
    [
        (
            ("api", "--group", "g", "--version", "v1", "--kind", "X", "--no-controller", "--plural", "xen"),
            "api/g/v1.yaml",
        ),
        (("webhook", "--kind", "Queue", "--validating", "--version", "v1beta1"), "webhooks/queues.py"),
        (("controller", "--name", "n", "--watches", "Queue, Pod"), "controllers/n.py"),
    ],
)
def test_each_part_has_its_command(
    root: Path, capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], created: str
) -> None:
    assert run(root, "create", *arguments) == 0
    assert f"created: {created}\n" in capsys.readouterr().out
    assert (root / created).exists()


def test_sources_that_the_generator_refuses_are_taken_back(
    root: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_: Any) -> Difference:
        raise SourceError([Problem("api/x.yaml", "here", "is wrong")])

    monkeypatch.setattr(commands, "generate", refuse)
    assert run(root, *WEBHOOK) == 2
    assert "api/x.yaml: here: is wrong" in capsys.readouterr().err
    assert not (root / "webhooks/nodeshards.py").exists()
    assert not (root / "tests").exists()
    path = "webhooks/__init__.py"
    assert (root / path).read_text() == REGISTRIES[path]
    assert (root / "api/project.yaml").read_text() == (ROOT / "api/project.yaml").read_text()


def test_a_second_stage_that_fails_is_told(
    root: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    second_stage(monkeypatch, "import sys; sys.exit('scheduler/x.py:3: NameError')")
    assert run(root, *PLUGIN) == 1
    captured = capsys.readouterr()
    assert captured.err.startswith("scheduler/x.py:3: NameError\nthe new part stands, but roles")
    assert "created: scheduler/plugins/quiet_nodes.py" in captured.out


def test_without_ruff_the_user_hears_of_it(
    root: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(commands, "has_formatter", lambda: False)
    assert run(root, *PLUGIN) == 0
    assert capsys.readouterr().out.endswith("ruff is not installed here: run `make format`\n")


def test_the_second_stage_is_the_command_of_the_makefile() -> None:
    done = subprocess.run(
        [sys.executable, *commands.SECOND_STAGE, "--help"], capture_output=True, text=True, check=True
    )
    assert "usage: python -m hack.manifests" in done.stdout
