from __future__ import annotations

from pathlib import Path

import pytest

from codegen.__main__ import MISTAKES, main
from tests.unit.codegen.projects import write


@pytest.mark.parametrize("arguments", [(), ("--check",)])
def test_a_directory_in_the_place_of_a_file_is_told_in_one_line(
    tmp_path: Path, arguments: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "config/crd/bases/test.example.com_widgets.yaml").mkdir(parents=True)
    assert main(["--root", str(write(tmp_path)), "generate", *arguments]) == MISTAKES
    [line] = capsys.readouterr().err.splitlines()
    assert line.endswith("config/crd/bases/test.example.com_widgets.yaml can't be read or written: Is a directory")


def test_a_full_disk_is_told_in_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(*_: object) -> Path:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("codegen.output._staged", fail)
    assert main(["--root", str(write(tmp_path)), "generate"]) == MISTAKES
    assert capsys.readouterr().err == "a file can't be read or written: No space left on device\n"
