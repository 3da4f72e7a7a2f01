from __future__ import annotations

import ctypes
import platform
import subprocess
import sys

import pytest

from runtime.allocator import keep_read_buffers

FAULTS = """
import resource
from runtime.allocator import keep_read_buffers
if {tuned}:
    assert keep_read_buffers()
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for _ in range(2000):
    buffer = bytearray(256 * 1024)
    del buffer[4096:]
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""


def faults(*, tuned: bool) -> int:
    """Page faults of two thousand read buffers, in a process of their own."""
    command = [sys.executable, "-c", FAULTS.format(tuned=tuned)]
    return int(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="the thresholds are glibc's")
def test_read_buffers_come_from_the_heap() -> None:
    assert faults(tuned=True) < faults(tuned=False) / 10


@pytest.mark.parametrize("platform_name", ["darwin", "win32"])
def test_other_systems_are_left_alone(monkeypatch: pytest.MonkeyPatch, platform_name: str) -> None:
    monkeypatch.setattr(sys, "platform", platform_name)
    assert not keep_read_buffers()


def test_a_c_library_without_thresholds_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setattr(ctypes, "CDLL", lambda _: object())
    assert not keep_read_buffers()
