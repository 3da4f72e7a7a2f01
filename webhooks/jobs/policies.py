"""Lifecycle policies: which reactions to what happens to pods may stand together (webhooks.md 4.4)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from api.jobs import USER_ACTIONS, USER_EVENTS
from generated.batch.v1alpha1 import LifecyclePolicy
from generated.bus.v1alpha1 import Event
from runtime import duration
from webhooks.causes import shown

CHOICES: Final = f" valid events are [{' '.join(USER_EVENTS)}], valid actions are [{' '.join(USER_ACTIONS)}];"
"""What would be right, told after every mistake."""


def problems(policies: Sequence[LifecyclePolicy], field: str) -> str:
    """What is wrong, as one text that ends with what would be right; empty when nothing is."""
    events: dict[str, None] = {}
    found: list[str] = []
    exit_codes: set[int] = set()
    for policy in policies:
        mistake = next(_mistakes(policy, field, events, exit_codes), "")
        if mistake:
            found.append(mistake)
            break
    if Event.ANY in events and len(events) > 1:
        found.append("if there's * here, no other policy should be here")
    return _listed(found) + CHOICES if found else ""


def _mistakes(policy: LifecyclePolicy, field: str, events: dict[str, None], exit_codes: set[int]) -> Iterator[str]:
    """Of one policy, beside the events and exit codes of those before it, to which it adds its own."""
    own = dict.fromkeys((*policy.events, *((policy.event,) if policy.event else ())))
    if own and policy.exit_code is not None:
        yield "must not specify event and exitCode simultaneously"
        return
    if not own and policy.exit_code is None:
        yield "either event and exitCode should be specified"
        return
    for event in own:
        if event not in USER_EVENTS:
            yield f"{field}: Invalid value: {shown(event)}: invalid policy event"
        if policy.action not in USER_ACTIONS:
            yield _bad_action(policy, field)
        if event in events:
            yield f"duplicate event {event}  across different policy"
        events[event] = None
    if policy.exit_code is not None:
        yield from _code_mistakes(policy, policy.exit_code, field, exit_codes)
    if unreadable := duration_problem(policy.timeout, f"{field}.timeout"):
        yield unreadable


def duration_problem(text: str, field: str) -> str:
    """What is wrong with a Go duration, which may be absent; empty for nothing. The reference refuses it when decoding."""
    try:
        duration.parse_nanoseconds(text or "0")
    except duration.DurationError as error:
        return f"{field}: Invalid value: {shown(text)}: {error}"
    return ""


def _code_mistakes(policy: LifecyclePolicy, code: int, field: str, exit_codes: set[int]) -> Iterator[str]:
    if code == 0:
        yield "0 is not a valid error code"
    if code in exit_codes:
        yield f"duplicate exitCode {code}"
    exit_codes.add(code)
    if policy.action and policy.action not in USER_ACTIONS:
        yield _bad_action(policy, field)


def _bad_action(policy: LifecyclePolicy, field: str) -> str:
    return f"{field}: Invalid value: {shown(policy.action)}: invalid policy action"


def _listed(mistakes: Sequence[str]) -> str:
    head = "1 error occurred:" if len(mistakes) == 1 else f"{len(mistakes)} errors occurred:"
    items = "".join(f"\n\t* {mistake}" for mistake in mistakes)
    return f"{head}{items}\n\n"
