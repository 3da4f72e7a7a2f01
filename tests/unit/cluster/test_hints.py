from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from cluster.hints import typed

INSIDE = Path.cwd() / ".venv/bin/python"


@pytest.mark.parametrize(
    ("python", "place", "expected"),
    [
        (INSIDE, {}, ".venv/bin/python -m cluster up"),
        ("/usr/bin/python3", {"name": "other"}, "/usr/bin/python3 -m cluster up --name other"),
        ("/my programs/python", {"directory": Path("/a b")}, "'/my programs/python' -m cluster up --dir '/a b'"),
        (INSIDE, {"name": "other", "directory": Path("/x")}, ".venv/bin/python -m cluster up --dir /x"),
    ],
)
def test_a_hint_can_be_typed_as_it_stands(
    python: Path | str, place: dict[str, Any], expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "executable", str(python))
    assert typed("up", **place) == expected
