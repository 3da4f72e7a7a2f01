"""
Whose fault a failure is.

A limit of retries is there for objects that can't be brought to what they ask for. An API server that doesn't answer,
or another writer who was quicker, says nothing about the object: such failures must not use its tries up.
"""

from __future__ import annotations

from runtime.errors import AlreadyExists, Conflict, ConnectionFailed, ServerError, TooManyRequests
from runtime.lease import LeaseLost

OUTAGES = (ConnectionFailed, LeaseLost, ServerError, TooManyRequests)
"""What is raised while the API can't be used, for now."""


def is_outage(error: BaseException | None) -> bool:
    """
    Whether the API can't be used for now: no answer, 5xx, 429, or the lease that allows writes isn't held.

    An error that was raised `from` an outage is one, and so is a group of nothing else.
    """
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        if isinstance(error, OUTAGES):
            return True
        if isinstance(error, BaseExceptionGroup):
            return all(map(is_outage, error.exceptions))
        seen.add(id(error))
        error = error.__cause__
    return False


def is_conflict(error: BaseException) -> bool:
    """Whether another writer was quicker; the next try reads afresh. A name that is taken is no such case."""
    return isinstance(error, Conflict) and not isinstance(error, AlreadyExists)


def is_excused(error: BaseException) -> bool:
    """Whether a failure must not count against a limit of retries."""
    return is_conflict(error) or is_outage(error)
