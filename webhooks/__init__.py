"""
The admission handlers: one module a kind, each a subclass of an interface in `generated.webhooks`.

`python -m codegen create webhook` makes a new one and adds its line here.
"""

from __future__ import annotations

from webhooks.blueprint import WebhookClass

WEBHOOKS: tuple[WebhookClass, ...] = ()
