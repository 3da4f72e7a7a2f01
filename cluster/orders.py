"""What is said over the supervisor's socket: one order, one answer, a line of JSON each."""

from __future__ import annotations

from typing import Literal

import msgspec


class Order(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """
    `start` and `stop` name a component; the first `start` of a component brings its command line, `stop` its grace in
    seconds (0 kills at once). `disown` lets go of the owner. `end` takes everything down for a reason.
    """

    do: Literal["start", "stop", "disown", "end", "status"]
    name: str = ""
    argv: tuple[str, ...] = ()
    environment: dict[str, str] = {}
    grace: float = 0.0
    reason: str = ""


class Answer(msgspec.Struct, frozen=True, omit_defaults=True):
    """Empty when the order was carried out."""

    error: str = ""
