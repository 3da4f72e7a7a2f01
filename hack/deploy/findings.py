"""What a look at a cluster brings up before anything is applied."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from enum import StrEnum


class Check(StrEnum):
    """What was looked at. Users name these in ACCEPT."""

    VERSION = "version"
    """The cluster's Kubernetes release."""
    KIND = "kind"
    """Kinds of others that the cluster lacks."""
    STORED = "stored-versions"
    """Versions under which objects of our kinds are stored."""
    SCHEMA = "schema"
    """Schemas that would accept less than those in the cluster."""
    OWNER = "owner"
    """Fields and objects that somebody else manages."""
    LEAVING = "leaving"
    """Objects of ours that are being deleted."""
    RIGHTS = "rights"
    """What the user may not write."""
    RIVAL = "rival"
    """Schedulers that would place the same pods."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that stands in the way, or that should be known."""

    check: Check
    message: str
    """What was found, on which object, and what the reader can do."""
    is_blocking: bool = True


def blocking(findings: Iterable[Finding], accepted: Collection[str]) -> list[Finding]:
    """Those for which nothing may be applied."""
    return [finding for finding in findings if finding.is_blocking and finding.check not in accepted]


def line(finding: Finding, accepted: Collection[str]) -> str:
    """A finding as it is printed."""
    stands = "error" if finding.is_blocking and finding.check not in accepted else "warning"
    return f"{stands}: {finding.check}: {finding.message}"
