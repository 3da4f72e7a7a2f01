from __future__ import annotations

import subprocess
import sys

import pytest

from generated import registry
from generated.batch import v1 as kubernetes_batch
from generated.batch import v1alpha1 as batch
from generated.core import v1 as core
from generated.scheduling import v1beta1 as scheduling
from runtime.model import Model
from runtime.resource import Resource
from tests.unit.codegen.projects import ROOT
from tests.unit.generated.schemas import project


@pytest.mark.parametrize(
    ("name", "resource"),
    [
        ("jobs", batch.JOBS),
        ("job", batch.JOBS),
        ("vcjob", batch.JOBS),
        ("VJ", batch.JOBS),
        ("jobs.batch.volcano.sh", batch.JOBS),
        ("jobs.v1alpha1.batch.volcano.sh", batch.JOBS),
        ("jobs.batch", kubernetes_batch.JOBS),
        ("jobs.v1.batch", kubernetes_batch.JOBS),
        ("q", scheduling.QUEUES),
        ("podgroup-v1beta1", scheduling.POD_GROUPS),
        ("pod", core.PODS),
    ],
)
def test_a_kind_is_found_by_what_kubectl_calls_it(name: str, resource: Resource[Model]) -> None:
    assert registry.by_name(name) is resource


@pytest.mark.parametrize("name", ["", "nothing", "jobs.example.com", "jobs.v2.batch"])
def test_an_unknown_name_is_a_key_error_that_lists_the_known(name: str) -> None:
    with pytest.raises(KeyError, match=r"known: .*jobs.*queues"):
        registry.by_name(name)


@pytest.mark.parametrize(
    ("api_version", "kind", "resource"),
    [
        ("batch.volcano.sh/v1alpha1", "Job", batch.JOBS),
        ("batch/v1", "Job", kubernetes_batch.JOBS),
        ("v1", "Pod", core.PODS),
    ],
)
def test_a_kind_is_found_by_an_objects_type(api_version: str, kind: str, resource: Resource[Model]) -> None:
    assert registry.by_kind(api_version, kind) is resource


@pytest.mark.parametrize(("api_version", "kind"), [("batch/v1", "CronJob"), ("v2", "Pod"), ("", "Job"), ("v1", "pod")])
def test_an_unknown_type_is_a_key_error(api_version: str, kind: str) -> None:
    with pytest.raises(KeyError, match=kind):
        registry.by_kind(api_version, kind)


def test_a_kind_is_found_by_its_model() -> None:
    assert registry.resource_of(batch.Job) is batch.JOBS
    assert registry.resource_of(core.Pod()) is core.PODS
    with pytest.raises(KeyError, match=r"generated.batch.v1alpha1.JobSpec is no kind"):
        registry.resource_of(batch.JobSpec())


def test_every_kind_is_registered() -> None:
    kinds = [(kind.group, kind.version, kind.kind) for kind in (*project().kinds, *project().external)]
    found = [(resource.group, resource.version, resource.kind) for resource in registry.resources()]
    assert sorted(found) == sorted(kinds)


def test_a_lookup_imports_the_types_of_one_module() -> None:
    script = (
        "import sys; from generated import registry\n"
        "assert 'generated.core.v1' not in sys.modules\n"
        "registry.by_name('priorityclasses')\n"
        "assert 'generated.core.v1' not in sys.modules and 'generated.scheduling.v1' in sys.modules"
    )
    subprocess.run([sys.executable, "-c", script], check=True, cwd=ROOT)
