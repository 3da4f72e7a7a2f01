"""
What an interrupted control plane left behind, found and ended.

Two ways lead to a leftover process: the identities in `processes.json`, and on Linux the marker in each process's
environment, which still leads there when the file is damaged or gone.
"""

from __future__ import annotations

from collections.abc import Callable

from cluster.errors import StateError
from cluster.processes import end, marked_with
from cluster.state import Layout, Processes, read


def sweep(layout: Layout, report: Callable[[str], None]) -> None:
    """End every process of this directory. StateError when one does not go."""
    victims = dict.fromkeys(marked_with(layout.root), "process")
    try:
        recorded = read(layout.processes_file, Processes)
    except StateError as error:
        report(f"cleaning up: {error}")
        recorded = None
    if recorded is not None:
        victims |= {record.process: record.name for record in recorded.all() if record.process.is_alive}
    if not victims:
        return
    names = ", ".join(f"{name} (pid {process.pid})" for process, name in victims.items())
    report(f"ending what an interrupted run left: {names}")
    stubborn = end(victims)
    if stubborn:
        pids = ", ".join(str(process.pid) for process in stubborn)
        raise StateError(f"cannot end process {pids} of {layout.root}; end it by hand and try again")
