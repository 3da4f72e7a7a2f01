"""Which admission paths are served: the grammar of `--enabled-admission` (webhooks.md 1.2)."""

from __future__ import annotations

from collections.abc import Sequence

from webhooks.blueprint import WebhookClass


def by_default(known: Sequence[WebhookClass]) -> str:
    """The value of the flag when it isn't given: what the shipped configurations ask for."""
    return ",".join(webhook.PATH for webhook in known if webhook.SERVED_BY_DEFAULT)


def entries(text: str) -> list[str]:
    """The paths in a flag's value, each once, in order."""
    stripped = (entry.strip() for entry in text.split(","))
    return list(dict.fromkeys(entry for entry in stripped if entry))


def problems(text: str, known: Sequence[WebhookClass]) -> list[str]:
    """Entries that name no path of ours."""
    paths = {webhook.PATH for webhook in known}
    return [
        f"enabled admission {entry} not found on the admission registered map"
        for entry in entries(text)
        if entry not in paths
    ]


def select(text: str, known: Sequence[WebhookClass]) -> list[WebhookClass]:
    """The webhooks that a value without problems names, in its order."""
    by_path = {webhook.PATH: webhook for webhook in known}
    return [by_path[entry] for entry in entries(text)]
