"""
How Python's garbage collector treats a process that runs for months.

What the imports made, 100,000 objects, stays for ever and need not be looked at again and again; and a burst of
requests makes thousands of objects that go by themselves, which is no reason to look for cycles among them.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

_THRESHOLDS = (10_000, 10, 10)
"""Python's own first one, 700, is reached several times within one turn of a busy event loop."""


@contextmanager
def long_lived() -> Iterator[None]:
    """Leave what is there now alone, and collect less often."""
    before = gc.get_threshold()
    gc.freeze()
    gc.set_threshold(*_THRESHOLDS)
    try:
        yield
    finally:
        gc.set_threshold(*before)
        gc.unfreeze()
