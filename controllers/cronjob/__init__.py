"""The CronJob controller: jobs at the times of a schedule, and a history of them (controllers.md 9)."""

from __future__ import annotations

from typing import Any, Final

from controllers.blueprint import Blueprint, Context
from controllers.cronjob.reader import JOB_INDEXERS, Reader
from controllers.cronjob.reconcile import CronJobReconciler
from controllers.cronjob.texts import DECODER as CRON_JOB_DECODER
from controllers.cronjob.watches import OnCronJob, OnJob
from controllers.freshest import Freshest
from controllers.stored import DECODER
from generated.batch.v1alpha1 import CRON_JOBS, JOBS, CronJob, Job
from runtime.controller import Controller
from runtime.informer import Informer
from runtime.lister import Lister
from runtime.objects import Key
from runtime.rbac import READ, Rule

NAME: Final = "cronjob-controller"
CRON_GATE: Final = "CronVolcanoJobSupport"
JOB_GATE: Final = "VolcanoJobSupport"

RULES: Final = (
    Rule(CRON_JOBS.group, (CRON_JOBS.plural,), READ),
    Rule(CRON_JOBS.group, (f"{CRON_JOBS.plural}/status", f"{CRON_JOBS.plural}/finalizers"), ("update",)),
    Rule(JOBS.group, (JOBS.plural,), (*READ, "create", "delete")),
)
"""`cronjobs/finalizers`: jobs block the deletion of their CronJob, which some clusters let only its writer say."""


def build(context: Context) -> Controller[Key]:
    """The controller on the process's informers."""
    informers, gates = context.informers, context.options.gates
    needed: list[Informer[Any]] = []
    cron_jobs: Lister[CronJob] = Lister()
    jobs: Lister[Job] = Lister(JOB_INDEXERS)
    crons = informers.of(CRON_JOBS, decoder=CRON_JOB_DECODER) if gates.enabled(CRON_GATE) else None
    if crons is not None:
        cron_jobs = crons.lister
        needed.append(crons)
    runs = informers.of(JOBS, indexers=JOB_INDEXERS, decoder=DECODER) if gates.enabled(JOB_GATE) else None
    if runs is not None:
        jobs = runs.lister
        needed.append(runs)
    reader = Reader(cron_jobs, jobs, Freshest())
    reconciler = CronJobReconciler(context.clients, reader, context.events, context.clock)
    controller: Controller[Key] = Controller(
        NAME, reconciler.reconcile, watches=(), reads=needed, workers=context.options.workers["cronjob"]
    )
    if crons is not None:
        crons.add_handler(OnCronJob(controller.queue, reconciler, reader.fresh))
    if runs is not None:
        runs.add_handler(OnJob(controller.queue))
    return controller


BLUEPRINT: Final = Blueprint(NAME, build, RULES)
