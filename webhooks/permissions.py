"""What the webhook manager itself needs, beside what each of its handlers asks for."""

from __future__ import annotations

from collections.abc import Iterable

from api import names
from runtime.component import EVENT_RULES
from runtime.rbac import READ, Rule
from webhooks.blueprint import WebhookClass

_CONFIGURATIONS = "admissionregistration.k8s.io"

SECRET_RULES = (
    Rule("", ("secrets",), ("create",)),
    Rule("", ("secrets",), ("get", "patch"), (names.Secret.ADMISSION,)),
)
"""In our own namespace, for `--tls-secret-name`. A creation can't be limited to a name."""


def rules(webhooks: Iterable[WebhookClass]) -> list[Rule]:
    """
    In all namespaces: what the handlers need, events, and the CA in the configurations of these webhooks.

    A configuration is read together with all others, but only ours are written.
    """
    known = list(webhooks)
    ours = tuple(sorted(names.webhook_configuration(webhook.PATH) for webhook in known))
    both = ("mutatingwebhookconfigurations", "validatingwebhookconfigurations")
    bundle = [Rule(_CONFIGURATIONS, both, READ), Rule(_CONFIGURATIONS, both, ("patch",), ours)] if ours else []
    return [*EVENT_RULES, *bundle, *(rule for webhook in known for rule in webhook.RULES)]
