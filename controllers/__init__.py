"""
The controllers: one module a kind, each with a reconciler and the watches that wake it.

A new one is a module with a `BLUEPRINT` and one line here.
"""

from __future__ import annotations

from controllers import (
    colocation,
    cronjob,
    garbagecollector,
    hypernode,
    job,
    jobflow,
    jobtemplate,
    podgroup,
    queue,
    sharding,
)
from controllers.blueprint import Blueprint

CONTROLLERS: tuple[Blueprint, ...] = (
    job.BLUEPRINT,
    podgroup.BLUEPRINT,
    queue.BLUEPRINT,
    garbagecollector.BLUEPRINT,
    jobflow.BLUEPRINT,
    jobtemplate.BLUEPRINT,
    cronjob.BLUEPRINT,
    hypernode.BLUEPRINT,
    sharding.BLUEPRINT,
    colocation.BLUEPRINT,
)
