"""Lines for whoever looks on. Work goes on when nobody does any more, as in `... | head`."""

from __future__ import annotations

import os
import sys


def say(line: str) -> None:
    """Print a line at once; nothing where the reader has gone away."""
    try:
        sys.stdout.write(f"{line}\n")
        sys.stdout.flush()
    except BrokenPipeError:
        # What is still buffered would be tried again, and fail, when the interpreter ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
