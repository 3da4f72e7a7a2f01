"""Commands that messages tell the reader to type, so that they work as they stand."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path


def typed(command: str, *, name: str = "default", directory: Path | None = None) -> str:
    """
    `python -m cluster COMMAND` for one control plane, with the interpreter that runs this: it can be typed where no
    virtual environment is active.
    """
    python, here = Path(sys.executable), Path.cwd()
    shown = python.relative_to(here) if python.is_relative_to(here) else python
    return f"{shlex.quote(str(shown))} -m cluster {command}{_place(name, directory)}"


def _place(name: str, directory: Path | None) -> str:
    """The flags that lead to the same control plane again."""
    if directory is not None:
        return f" --dir {shlex.quote(str(directory))}"
    return "" if name == "default" else f" --name {name}"
