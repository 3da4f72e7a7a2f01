"""The console scripts. `python -m cli` is vcctl."""

from __future__ import annotations

import contextlib
import gc
import os
import sys

TYPE_CHECKING = False  # see cli.commands
if TYPE_CHECKING:
    from typing import NoReturn

INTERRUPTED = 130


def vcctl() -> NoReturn:
    _end("vcctl")


def vsub() -> NoReturn:
    _end("vsub")


def vjobs() -> NoReturn:
    _end("vjobs")


def vqueues() -> NoReturn:
    _end("vqueues")


def vcancel() -> NoReturn:
    _end("vcancel")


def vsuspend() -> NoReturn:
    _end("vsuspend")


def vresume() -> NoReturn:
    _end("vresume")


def _end(name: str) -> NoReturn:
    """Run the command and leave at once: nothing is left to tidy up, and the interpreter's own tidying takes time."""
    gc.disable()  # a command ends before there is garbage worth a search
    try:
        from cli.program import main  # noqa: PLC0415  # Ctrl-C may come this early
        from cli.tree import root_of  # noqa: PLC0415  # as above

        code = main(root_of(name))
    except KeyboardInterrupt:
        code = INTERRUPTED
    with contextlib.suppress(OSError):  # nobody reads it any more
        sys.stderr.flush()
    os._exit(code)


if __name__ == "__main__":
    vcctl()
