"""
Comparing with texts that were looked at once: `tests/golden/`.

`UPDATE_GOLDEN=1 pytest ...` writes what is generated now; the diff is then for a person to read.
"""

from __future__ import annotations

import os
from pathlib import Path

GOLDEN = Path(__file__).resolve().parents[2] / "golden"


def check(path: str, text: str) -> None:
    """Assert that `tests/golden/<path>.golden` holds the text."""
    file = GOLDEN / f"{path}.golden"
    if os.environ.get("UPDATE_GOLDEN"):
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    assert file.exists(), f"{file} is missing: run with UPDATE_GOLDEN=1 and read the result"
    assert text == file.read_text(encoding="utf-8")


def checked_under(folder: str) -> set[str]:
    """The paths below a folder that have a golden text."""
    root = GOLDEN / folder
    return {path.relative_to(root).as_posix().removesuffix(".golden") for path in root.rglob("*.golden")}
