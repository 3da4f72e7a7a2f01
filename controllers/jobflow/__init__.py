"""The JobFlow controller: jobs in the order of their dependencies (controllers.md 7)."""

from __future__ import annotations

from typing import Final

from controllers.blueprint import Blueprint, Context
from controllers.freshest import Freshest
from controllers.job.reader import POD_INDEXERS
from controllers.jobflow.probes import Prober
from controllers.jobflow.reader import FLOW_INDEXERS, JOB_INDEXERS, Reader
from controllers.jobflow.reconcile import JobFlowReconciler
from controllers.jobflow.texts import FLOW_DECODER, TEMPLATE_DECODER
from controllers.jobflow.watches import OnFlow, OnJob, OnTemplate
from controllers.stored import DECODER, POD_DECODER
from generated.batch.v1alpha1 import JOBS
from generated.core.v1 import PODS
from generated.flow.v1alpha1 import JOB_FLOWS, JOB_TEMPLATES
from runtime.controller import Controller
from runtime.objects import Key
from runtime.rbac import READ, Rule

NAME: Final = "jobflow-controller"

RULES: Final = (
    Rule(JOB_FLOWS.group, ("jobflows",), (*READ, "patch")),
    Rule(JOB_FLOWS.group, ("jobflows/status", "jobflows/finalizers"), ("update",)),
    Rule(JOB_FLOWS.group, ("jobtemplates",), READ),
    Rule(JOBS.group, ("jobs",), (*READ, "create", "delete")),
    Rule("", ("pods",), READ),
)


def build(context: Context) -> Controller[Key]:
    """The controller on the process's informers."""
    informers = context.informers
    flows = informers.of(JOB_FLOWS, indexers=FLOW_INDEXERS, decoder=FLOW_DECODER)
    templates = informers.of(JOB_TEMPLATES, decoder=TEMPLATE_DECODER)
    jobs = informers.of(JOBS, indexers=JOB_INDEXERS, decoder=DECODER)
    pods = informers.of(PODS, indexers=POD_INDEXERS, decoder=POD_DECODER)
    reader = Reader(flows.lister, templates.lister, jobs.lister, pods.lister, Freshest())
    reconciler = JobFlowReconciler(context.clients, reader, Prober(reader.pods_of), context.events, context.clock)
    controller: Controller[Key] = Controller(
        NAME,
        reconciler.reconcile,
        watches=(),
        reads=[flows, templates, jobs, pods],
        workers=context.options.workers[""],
        max_retries=context.options.max_requeue,
        on_give_up=reconciler.give_up,
    )
    flows.add_handler(OnFlow(controller.queue, reconciler.forget))
    jobs.add_handler(OnJob(controller.queue, reader, reconciler.collected.note))
    templates.add_handler(OnTemplate(controller.queue, reader))
    return controller


BLUEPRINT: Final = Blueprint(NAME, build, RULES)
