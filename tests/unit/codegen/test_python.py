"""All generated Python at once: of a small project against golden texts, of ours against the files in the tree."""

from __future__ import annotations

import hashlib
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

from codegen.output import first_line
from codegen.python import outputs
from codegen.source import load
from tests.unit.codegen import golden_texts as golden
from tests.unit.codegen.projects import ROOT, real

STATIC = ("generated/clients/verbs", "generated/listers/base", "generated/webhooks/base")
"""The same for every project; tests of our own project cover them."""


@cache
def small() -> dict[str, str]:
    texts = outputs(load(golden.GOLDEN / "python"))
    return {path: text for path, text in texts.items() if not path.startswith(STATIC)}


@cache
def ours() -> dict[str, str]:
    return outputs(real())


@pytest.mark.parametrize("path", sorted(small()))
def test_the_small_project_gives_the_golden_text(path: str) -> None:
    golden.check(f"python/{path}", small()[path])


def test_no_golden_text_is_left_over() -> None:
    assert golden.checked_under("python") == set(small())


def test_the_same_source_gives_the_same_bytes_in_another_process() -> None:
    """There, strings hash differently, and so the order of sets is another."""
    script = (
        "import hashlib; from pathlib import Path; from codegen.python import outputs; from codegen.source import load\n"
        "print(hashlib.sha256(repr(sorted(outputs(load(Path())).items())).encode()).hexdigest())"
    )
    command = [sys.executable, "-c", script]
    again = subprocess.run(
        command, check=True, capture_output=True, text=True, cwd=ROOT, env={"PYTHONHASHSEED": "1", "PYTHONPATH": "."}
    )
    assert again.stdout.strip() == hashlib.sha256(repr(sorted(ours().items())).encode()).hexdigest()


def test_the_tree_is_up_to_date() -> None:
    for path, text in ours().items():
        assert (ROOT / path).read_text(encoding="utf-8") == text, f"{path} is stale: run `make generate`"


def test_every_file_names_source_and_command_and_compiles() -> None:
    for path, text in ours().items():
        head = text.split("\n", 1)[0]
        assert head.startswith(first_line(".py", "api").split(" from ")[0]), path
        compile(text, path, "exec")


def test_every_folder_is_a_package() -> None:
    folders = {str(Path(path).parent) for path in ours()}
    assert {f"{folder}/__init__.py" for folder in folders} <= set(ours())
    assert "generated/__init__.py" in ours()


def test_source_files_named_in_first_lines_exist() -> None:
    for path, text in ours().items():
        sources = text.split("\n", 1)[0].split(" from ", 1)[1].removesuffix(". Do not edit.")
        for source in sources.split(" and "):
            assert (ROOT / source).exists(), f"{path}: {source}"
