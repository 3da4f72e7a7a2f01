"""New Python in the project's own form: names are of any length, so only the formatter knows where lines break."""

from __future__ import annotations

import os
import re
import subprocess
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

from codegen.scaffold.errors import ScaffoldError

_SETTINGS, _CAUSE = "ruff failed", "Cause: "
"""How ruff begins when it can't start, most often over its settings in pyproject.toml, and each cause of that."""
_PICTURE = re.compile(r"\d* *\|")
"""A line of the picture of the place."""


@cache
def has_formatter() -> bool:
    """Whether ruff is installed. Without it the code is correct but perhaps not in form."""
    return find_spec("ruff") is not None


def tidied(root: Path, path: str, text: str) -> str:
    """
    The text as `make format` would leave it; other files than Python are left alone.

    Raises ScaffoldError when ruff's settings can't be read.
    """
    if not path.endswith(".py") or not has_formatter():
        return text
    for command in (("check", "--select", "I", "--fix-only", "--quiet"), ("format", "--quiet")):
        text = _run(root, path, command, text)
    return text


def _run(root: Path, path: str, command: tuple[str, ...], text: str) -> str:
    line = [_ruff(), *command, "--stdin-filename", path, "-"]
    plain = {**os.environ, "NO_COLOR": "1"}
    done = subprocess.run(line, cwd=root, env=plain, input=text.encode(), capture_output=True, check=False)
    if done.returncode:
        said = done.stderr.decode().strip()
        if said.startswith(_SETTINGS):
            raise ScaffoldError("ruff", _causes(said))
        raise RuntimeError(f"ruff can't read the code made for {path}: {said}")
    return done.stdout.decode()


def _causes(said: str) -> str:
    """What ruff says of its settings as one line, without the picture of the place."""
    lines = [line.strip() for line in said.splitlines()[1:]]
    told = [line for line in lines if line.startswith(_CAUSE) or not _PICTURE.match(line)]
    return ": ".join(line.removeprefix(_CAUSE) for line in told if line)


@cache
def _ruff() -> str:
    return str(import_module("ruff").find_ruff_bin())
