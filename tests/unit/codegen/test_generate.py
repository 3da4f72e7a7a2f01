from __future__ import annotations

import re
from pathlib import Path

import pytest

from codegen import crds, reference, samples
from codegen.__main__ import main
from codegen.generate import FOLDERS, GENERATORS, generate, outputs
from codegen.output import Outputs
from codegen.problems import Problem, SourceError
from codegen.project import Project
from tests.unit.codegen.projects import ROOT, WIDGET, with_spec, write

MANIFESTS = (crds.outputs, samples.outputs, reference.outputs)


@pytest.fixture
def manifests(monkeypatch: pytest.MonkeyPatch) -> None:
    """Small projects have no Kubernetes types to make code from: leave Python out."""
    monkeypatch.setattr("codegen.generate.outputs.__defaults__", (MANIFESTS,))


@pytest.fixture(scope="module")
def everything() -> Outputs:
    return outputs(ROOT)


def test_the_generated_files_of_this_repository_are_up_to_date(everything: Outputs) -> None:
    assert everything.difference().lines("stale", "missing", "left over") == []


def test_every_generator_is_run_and_its_files_name_the_command(everything: Outputs) -> None:
    for folder in FOLDERS:
        assert any(path.startswith(folder) for path in everything.paths)
    assert len(GENERATORS) > len(MANIFESTS)


def test_two_runs_give_the_same_bytes(tmp_path: Path) -> None:
    assert outputs(write(tmp_path), MANIFESTS)._texts == outputs(tmp_path, MANIFESTS)._texts


def test_mistakes_of_all_generators_are_told_together(tmp_path: Path) -> None:
    def failing(name: str) -> object:
        def generator(_: Project) -> dict[str, str]:
            raise SourceError([Problem("x.yaml", name, "wrong")])

        return generator

    with pytest.raises(SourceError) as caught:
        outputs(write(tmp_path), (failing("b"), failing("a")))  # type: ignore[arg-type]
    assert str(caught.value) == "x.yaml: a: wrong\nx.yaml: b: wrong"


@pytest.mark.usefixtures("manifests")
def test_a_mistake_leaves_the_old_files(tmp_path: Path) -> None:
    generate(write(tmp_path))
    crd = tmp_path / "config/crd/bases/test.example.com_widgets.yaml"
    before = crd.read_text()
    write(tmp_path, {"test/v1.yaml": with_spec("a: {type: text}")})
    with pytest.raises(SourceError):
        generate(tmp_path)
    assert crd.read_text() == before


@pytest.mark.usefixtures("manifests")
def test_the_command_writes_then_is_content(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    root = str(write(tmp_path))
    assert main(["--root", root, "generate", "--check"]) == 1
    told = capsys.readouterr()
    assert "missing: config/crd/bases/test.example.com_widgets.yaml" in told.out
    assert told.err == "generated files are out of date: run `python -m codegen generate`\n"
    assert main(["--root", root, "generate"]) == 0
    assert "created: config/samples/test_v1_widget.yaml" in capsys.readouterr().out
    assert main(["--root", root, "generate", "--check"]) == 0
    assert capsys.readouterr().out == ""


@pytest.mark.usefixtures("manifests")
def test_a_field_that_is_added_reaches_crd_sample_and_reference(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    root = str(write(tmp_path))
    main(["--root", root, "generate"])
    capsys.readouterr()
    write(tmp_path, {"test/v1.yaml": with_spec("weight: {description: How heavy., type: integer, default: 4}")})
    assert main(["--root", root, "generate"]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "updated: config/crd/bases/test.example.com_widgets.yaml",
        "updated: config/samples/test_v1_widget.yaml",
        "updated: docs/reference/test.example.com-v1.md",
    ]
    for path in ("config/crd/bases/test.example.com_widgets.yaml", "docs/reference/test.example.com-v1.md"):
        assert "How heavy." in (tmp_path / path).read_text()


@pytest.mark.usefixtures("manifests")
def test_the_files_of_a_kind_that_is_gone_are_removed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    root = str(write(tmp_path))
    main(["--root", root, "generate"])
    write(
        tmp_path,
        {
            "project.yaml": "domain: example.com\nkinds:\n- {group: test.example.com, version: v1, kind: Gadget, plural: gadgets}",
            "test/v1.yaml": WIDGET.replace("Widget", "Gadget"),
        },
    )
    capsys.readouterr()
    assert main(["--root", root, "generate"]) == 0
    told = capsys.readouterr().out
    assert "removed: config/crd/bases/test.example.com_widgets.yaml" in told
    assert not (tmp_path / "config/samples/test_v1_widget.yaml").exists()


@pytest.mark.usefixtures("manifests")
def test_mistakes_are_printed_one_a_line_and_counted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    root = str(write(tmp_path, {"test/v1.yaml": with_spec("a: {type: text}\nb: {}")}))
    assert main(["--root", root, "generate"]) == 2
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 3
    assert lines[-1] == "2 mistakes in the sources; nothing was written"
    assert not (tmp_path / "config").exists()
    write(tmp_path, {"test/v1.yaml": with_spec("a: {type: text}")})
    main(["--root", root, "generate"])
    assert capsys.readouterr().err.endswith("1 mistake in the sources; nothing was written\n")


def test_a_command_is_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        main([])
    assert re.search(r"required: COMMAND", capsys.readouterr().err)
