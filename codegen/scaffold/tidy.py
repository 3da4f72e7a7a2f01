"""New Python in the project's own form: names are of any length, so only the formatter knows where lines break."""

from __future__ import annotations

import subprocess
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path


@cache
def has_formatter() -> bool:
    """Whether ruff is installed. Without it the code is correct but perhaps not in form."""
    return find_spec("ruff") is not None


def tidied(root: Path, path: str, text: str) -> str:
    """The text as `make format` would leave it; other files than Python are left alone."""
    if not path.endswith(".py") or not has_formatter():
        return text
    for command in (("check", "--select", "I", "--fix-only", "--quiet"), ("format", "--quiet")):
        text = _run(root, path, command, text)
    return text


def _run(root: Path, path: str, command: tuple[str, ...], text: str) -> str:
    line = [_ruff(), *command, "--stdin-filename", path, "-"]
    done = subprocess.run(line, cwd=root, input=text.encode(), capture_output=True, check=False)
    if done.returncode:
        raise RuntimeError(f"ruff can't read the code made for {path}: {done.stderr.decode().strip()}")
    return done.stdout.decode()


@cache
def _ruff() -> str:
    return str(import_module("ruff").find_ruff_bin())
