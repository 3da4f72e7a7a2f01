from __future__ import annotations

from pathlib import Path

import pytest

from codegen.scaffold import tidy
from codegen.scaffold.changes import Changes
from codegen.scaffold.errors import ScaffoldError


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "old.txt").write_text("old")
    (tmp_path / "old.txt").chmod(0o600)
    (tmp_path / "package").mkdir()
    return tmp_path


def tree(root: Path) -> dict[str, str]:
    return {path.relative_to(root).as_posix(): path.read_text() if path.is_file() else "" for path in root.rglob("*")}


def test_new_and_edited_files_are_written_together(root: Path) -> None:
    changes = Changes(root)
    changes.create("a/b/new.txt", "new", "--name")
    changes.edit("old.txt", changes.read("old.txt", "--name") + "er")
    assert tree(root) == {"old.txt": "old", "package": ""}, "nothing is written before"
    with changes.written():
        assert tree(root)["a/b/new.txt"] == "new"
    assert tree(root) == {"a": "", "a/b": "", "a/b/new.txt": "new", "old.txt": "older", "package": ""}
    assert (root / "old.txt").stat().st_mode & 0o777 == 0o600
    assert changes.paths() == ["a/b/new.txt", "old.txt"]
    assert [folder for folder in ("a", "a/b", "a/b/new.txt", "old") if changes.touches(folder)] == ["a", "a/b"]


@pytest.mark.parametrize("error", [RuntimeError("the generator complains"), KeyboardInterrupt()])
def test_a_failure_behind_the_write_takes_it_back(root: Path, error: BaseException) -> None:
    before = tree(root)
    changes = Changes(root)
    changes.create("a/b/new.txt", "new", "--name")
    changes.create("a/two.txt", "new", "--name")
    changes.edit("old.txt", "other")
    with pytest.raises(type(error)), changes.written():
        raise error
    assert tree(root) == before


def test_a_failure_in_the_write_takes_it_back(root: Path) -> None:
    before = tree(root)
    changes = Changes(root)
    changes.edit("old.txt", "other")
    changes.create("old.txt/impossible.txt", "new", "--name")
    with pytest.raises(OSError, match=r"old\.txt"), changes.written():
        pytest.fail("the body must not run")
    assert tree(root) == before


@pytest.mark.parametrize("path", ["old.txt", "package.py", "package"])
def test_nothing_is_overwritten(root: Path, path: str) -> None:
    with pytest.raises(ScaffoldError, match=r"--name: .* is there already"):
        Changes(root).create(path, "new", "--name")


def test_a_path_is_created_once(root: Path) -> None:
    changes = Changes(root)
    changes.create("new.txt", "one", "--name")
    assert changes.exists("new.txt")
    with pytest.raises(ScaffoldError, match="is there already"):
        changes.create("new.txt", "two", "--name")


def test_edits_add_up(root: Path) -> None:
    changes = Changes(root)
    changes.edit("old.txt", "one")
    assert changes.read("old.txt", "--name") == "one"


def test_a_missing_file_is_a_mistake_in_the_argument(root: Path) -> None:
    with pytest.raises(ScaffoldError, match=r"--root: none\.txt can't be read: No such file"):
        Changes(root).read("none.txt", "--root")


def test_python_is_written_in_form(root: Path) -> None:
    changes = Changes(root)
    changes.create("new.py", "import sys\nimport os\nx = ( sys,os )\n", "--name")
    changes.create("new.yaml", "a:   1\n", "--name")
    with changes.written():
        pass
    assert (root / "new.py").read_text() == "import os\nimport sys\n\nx = (sys, os)\n"
    assert (root / "new.yaml").read_text() == "a:   1\n"


def test_broken_python_is_not_written(root: Path) -> None:
    changes = Changes(root)
    changes.create("new.py", "def (", "--name")
    with pytest.raises(RuntimeError, match=r"ruff can't read the code made for new\.py"), changes.written():
        pytest.fail("the body must not run")
    assert not (root / "new.py").exists()


def test_without_ruff_the_text_stays(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tidy, "has_formatter", lambda: False)
    assert tidy.tidied(root, "new.py", "x = ( 1 )\n") == "x = ( 1 )\n"
