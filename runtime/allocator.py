"""
Letting the C library keep the large buffers that reading from TLS asks for again and again.

asyncio reads each TLS record into a fresh buffer of 256 KB and cuts that to the record's few KB. glibc serves such sizes
by mmap and gives them back at once, so each watch event costs three system calls and fresh zeroed pages: a third of the
time that its decryption takes in all. With a higher threshold the buffers come from the heap.
"""

from __future__ import annotations

import ctypes
import sys

_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = -1, -3
_LARGEST_FROM_HEAP = 4 << 20
"""Bytes; the C library allows up to 32 MB."""
_KEPT_FREE = 16 << 20
"""Bytes of free heap that aren't given back to the system."""


def keep_read_buffers() -> bool:
    """Raise the thresholds of this process. False where the C library has none to raise; nothing changes then."""
    if not sys.platform.startswith("linux"):
        return False
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError):
        return False  # a C library that never uses mmap for such sizes, or none to be found
    return bool(mallopt(_M_MMAP_THRESHOLD, _LARGEST_FROM_HEAP)) and bool(mallopt(_M_TRIM_THRESHOLD, _KEPT_FREE))
