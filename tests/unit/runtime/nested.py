"""JSON nested deeper than a parser goes."""

from __future__ import annotations

import sys

TOO_DEEP = 30_000 if sys.version_info < (3, 14) else 1_000_000
"""Levels. Python 3.11 stops after 1,000 and 3.13 after 10,000; from 3.14 on what counts is the size of the stack."""
DEEP = b"[" * TOO_DEEP + b"]" * TOO_DEEP
