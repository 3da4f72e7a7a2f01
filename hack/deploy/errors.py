"""What goes wrong while deploying."""

from __future__ import annotations


class DeployError(Exception):
    """It can't be done. Says what was tried, why it failed, and what the reader can do."""
