"""The command line of `vc-hypernode-controller-manager` (controllers.md 1.7)."""

from __future__ import annotations

from argparse import Namespace
from typing import Final

from api import names
from runtime import options
from runtime.flags import FlagParser

PROGRAM: Final = names.Lease.HYPERNODE_CONTROLLER


def parser() -> FlagParser:
    """All flags of the process."""
    flags = FlagParser(PROGRAM, "Runs the HyperNode controller in a process of its own.")
    options.add_client_flags(flags)
    options.add_serving_flags(flags, listen_address=":8081")
    options.add_election_flags(flags, names.Lease.HYPERNODE_CONTROLLER)
    options.add_log_flags(flags)
    return flags


def problems(flags: Namespace) -> list[str]:
    """What contradicts itself."""
    return [
        *options.client_options(flags).problems(),
        *options.serving_options(flags).problems(),
        *options.election_options(flags).problems(),
    ]
