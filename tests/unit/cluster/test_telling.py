from __future__ import annotations

import subprocess
import sys

MANY = 100_000
PROGRAM = f"""
import sys
from cluster.telling import say
for number in range({MANY}):
    say(f"line {{number}}")
sys.stderr.write("done")
"""


def test_work_goes_on_when_nobody_reads_any_more() -> None:
    with subprocess.Popen(
        [sys.executable, "-c", PROGRAM], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as working:
        assert working.stdout is not None
        assert working.stderr is not None
        assert working.stdout.readline() == "line 0\n"
        working.stdout.close()
        assert working.stderr.read() == "done"
    assert working.returncode == 0
