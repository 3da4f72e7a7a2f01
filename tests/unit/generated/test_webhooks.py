from __future__ import annotations

import inspect
from importlib import import_module
from typing import Any

import pytest

from generated.batch.v1alpha1 import JOBS, Job, JobSpec
from generated.meta.v1 import ObjectMeta
from generated.scheduling.v1beta1 import Queue
from generated.webhooks.base import Defaulting, Validating, Webhook, present
from generated.webhooks.batch_v1alpha1 import JobDefaulter, JobValidator
from generated.webhooks.scheduling_v1beta1 import QueueValidator
from runtime.admission import (
    ALLOWED,
    Allowed,
    Changed,
    Denial,
    Mutation,
    Mutator,
    Validation,
    Validator,
    WrongOperation,
)
from runtime.admission_review import MalformedReview
from runtime.wire import AdmissionRequest
from tests.unit.generated.schemas import project

JOB = Job(metadata=ObjectMeta(name="j", namespace="n"))
OLD = Job(metadata=ObjectMeta(name="j", namespace="n", uid="old"))


class Defaults(JobDefaulter):
    async def default_create(self, request: AdmissionRequest, obj: Job) -> Mutation[Job]:  # one rule
        return Changed(Job(metadata=obj.metadata, spec=JobSpec(queue="default")))


class Rules(JobValidator):
    WRONG_OPERATION = WrongOperation.ALLOW

    def validate_create(self, request: AdmissionRequest, obj: Job) -> Validation:
        return Denial(f"create {request.name} {obj.metadata.uid}")

    def validate_update(self, request: AdmissionRequest, obj: Job, old: Job) -> Validation:
        return Denial(f"update {request.name} {obj.metadata.uid} {old.metadata.uid}")


class QueueRules(QueueValidator):
    def validate_create(self, request: AdmissionRequest, obj: Queue) -> Validation:  # anything goes
        return ALLOWED

    def validate_update(self, request: AdmissionRequest, obj: Queue, old: Queue) -> Validation:  # anything goes
        return ALLOWED

    def validate_delete(self, request: AdmissionRequest, old: Queue) -> Validation:
        return Denial(f"{request.operation} {old.metadata.name}")


def request(operation: str) -> AdmissionRequest:
    return AdmissionRequest(operation=operation, name="j", namespace="n")


def test_a_validator_is_registered_as_the_project_says() -> None:
    handler = Rules().handler()
    assert isinstance(handler, Validator)
    assert (handler.path, handler.operations) == ("/jobs/validate", ("CREATE", "UPDATE"))
    assert (handler.resources, handler.model, handler.wrong_operation) == ((JOBS,), Job, WrongOperation.ALLOW)
    assert (Rules.NAME, Rules.SERVED_BY_DEFAULT) == ("validatejob.volcano.sh", True)


async def test_a_defaulter_is_registered_and_may_be_async() -> None:
    handler = Defaults().handler()
    assert isinstance(handler, Mutator)
    assert (handler.path, handler.operations, handler.wrong_operation) == (
        "/jobs/mutate",
        ("CREATE",),
        WrongOperation.EXPECT,
    )
    answer: Any = handler.mutate(request("CREATE"), JOB, None)
    assert await answer == Changed(Job(metadata=JOB.metadata, spec=JobSpec(queue="default")))


@pytest.mark.parametrize(
    ("operation", "old", "message"),
    [("CREATE", None, "create j "), ("UPDATE", OLD, "update j  old")],
)
def test_each_operation_has_its_method(operation: str, old: Job | None, message: str) -> None:
    assert Rules().handler().validate(request(operation), JOB, old) == Denial(message)


def test_a_deletion_is_judged_by_the_object_that_goes() -> None:
    old = Queue(metadata=ObjectMeta(name="q"))
    assert QueueRules().handler().validate(request("DELETE"), Queue(), old) == Denial("DELETE q")


def test_a_review_without_the_old_object_is_an_error() -> None:
    with pytest.raises(MalformedReview, match="UPDATE of n/j: the review carries no old object"):
        Rules().handler().validate(request("UPDATE"), JOB, None)
    assert present(request("UPDATE"), OLD) is OLD


def test_a_missing_method_is_seen_when_the_handler_is_made() -> None:
    class Half(JobValidator):
        def validate_create(self, request: AdmissionRequest, obj: Job) -> Validation:  # anything goes
            return Allowed()

    with pytest.raises(TypeError, match="validate_update"):
        Half()  # type: ignore[abstract]


def test_every_webhook_of_the_project_has_an_interface() -> None:
    for kind in (*project().kinds, *project().external):
        for action, webhook in kind.webhooks:
            module = import_module(f"generated.webhooks.{kind.module.replace('.', '_')}")
            suffix, base = ("Defaulter", Defaulting) if action == "mutate" else ("Validator", Validating)
            interface: type[Webhook[Any]] = getattr(module, kind.kind + suffix)
            assert issubclass(interface, base)
            assert (
                webhook.path,
                webhook.name,
                webhook.operations,
                webhook.default,
            ) == (interface.PATH, interface.NAME, interface.OPERATIONS, interface.SERVED_BY_DEFAULT)
            verb = "default" if action == "mutate" else "validate"
            wanted = {f"{verb}_{operation.lower()}" for operation in webhook.operations}
            assert {name for name in dir(interface) if name.startswith(f"{verb}_")} == wanted
            assert inspect.isabstract(interface)
