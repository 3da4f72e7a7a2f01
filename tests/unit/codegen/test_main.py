from __future__ import annotations

import errno
import io
import os
import re
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


def test_a_full_disk_is_told_in_one_line_with_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    class Full(io.StringIO):
        def write(self, _: str) -> int:
            raise OSError(errno.ENOSPC, "No space left on device")

    def opened(handle: int, *_: object, **__: object) -> Full:
        os.close(handle)
        return Full()

    monkeypatch.setattr("os.fdopen", opened)
    assert main(["--root", str(write(tmp_path)), "generate"]) == MISTAKES
    [line] = capsys.readouterr().err.splitlines()
    assert re.fullmatch(rf"{tmp_path}/[\w./]+\w can't be read or written: No space left on device", line)
    assert not [path for path in tmp_path.rglob("*") if path.is_file() and "api" not in path.parts]
