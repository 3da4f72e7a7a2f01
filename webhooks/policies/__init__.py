"""
The rules of the webhooks once more, as the API server's own admission policies: for clusters without a webhook manager.

Words, lists and numbers are those of the webhooks. What an expression can't say, it leaves out: lookups of queues
(their state, siblings, children), pod templates, circles longer than one step, and the reasons of bad patterns.
"""

from __future__ import annotations

from webhooks.policies import hypernodes, jobflows, jobs, mutations, podgroups, pods, queues
from webhooks.policies.policy import Mutation, Policy

POLICIES: tuple[Policy, ...] = (
    jobs.POLICY,
    queues.POLICY,
    podgroups.POLICY,
    pods.POLICY,
    hypernodes.POLICY,
    jobflows.POLICY,
)
MUTATIONS: tuple[Mutation, ...] = (mutations.JOBS, mutations.QUEUES, mutations.POD_GROUPS)
