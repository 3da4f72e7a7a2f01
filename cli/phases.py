"""The phases of each kind, as words: what `--phase` takes. A test compares them with the generated ones."""

from __future__ import annotations

from collections.abc import Sequence

from cli.errors import CommandError

JOB = (
    "Pending",
    "Aborting",
    "Aborted",
    "Running",
    "Restarting",
    "Completing",
    "Completed",
    "Terminating",
    "Terminated",
    "Failed",
)
JOB_FLOW = ("Pending", "Running", "Succeed", "Failed", "Terminating")
POD = ("Pending", "Running", "Succeeded", "Failed", "Unknown")
POD_GROUP = ("Inqueue", "Pending", "Running", "Unknown", "Completed")


def chosen(text: str, allowed: Sequence[str]) -> frozenset[str]:
    """The phases that `--phase` names, comma separated; none for all. Raises CommandError for one that doesn't exist."""
    wanted = [part.strip() for part in text.split(",") if part.strip()]
    for phase in wanted:
        if phase not in allowed:
            raise CommandError(f'--phase: invalid value "{phase}", must be one of: {", ".join(allowed)}')
    return frozenset(wanted)
