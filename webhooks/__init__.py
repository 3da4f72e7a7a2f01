"""
The admission handlers: one module a kind, each a subclass of an interface in `generated.webhooks`.

`python -m codegen create webhook` makes a new one and adds its line here.
"""

from __future__ import annotations

from webhooks.blueprint import WebhookClass
from webhooks.cronjobs import CronJobRules
from webhooks.hypernodes import HyperNodeRules
from webhooks.jobflows import JobFlowRules
from webhooks.jobs.defaults import JobDefaults
from webhooks.jobs.validation import JobRules
from webhooks.podgroups.defaults import PodGroupDefaults
from webhooks.podgroups.validation import PodGroupRules
from webhooks.pods.defaults import PodDefaults
from webhooks.pods.validation import PodRules
from webhooks.queues.defaults import QueueDefaults
from webhooks.queues.validation import QueueObjectRules

WEBHOOKS: tuple[WebhookClass, ...] = (
    JobDefaults,
    JobRules,
    CronJobRules,
    PodDefaults,
    PodRules,
    PodGroupDefaults,
    PodGroupRules,
    QueueDefaults,
    QueueObjectRules,
    JobFlowRules,
    HyperNodeRules,
)
