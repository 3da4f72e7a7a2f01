from __future__ import annotations

import msgspec
import pytest
from msgspec import UNSET

from generated.apply.batch import v1alpha1 as batch
from generated.apply.core import v1 as core
from generated.apply.meta import v1 as meta
from generated.apply.scheduling import v1beta1 as scheduling
from generated.batch.v1alpha1 import JOBS, Job
from runtime.bodies import encode_object
from runtime.decoding import decoder_of
from runtime.model import Builder
from runtime.patches import MergePatch
from tests.unit.generated.schemas import components, model, properties


def builder(component: str) -> type[Builder]:
    module, _, name = component.rpartition(".")
    imported = __import__(f"generated.apply.{module}", fromlist=[name])
    found: type[Builder] = getattr(imported, name)
    return found


@pytest.mark.parametrize(
    ("built", "text"),
    [
        (batch.Job(), b"{}"),
        (batch.JobSpec(min_available=0, tasks=[], plugins={}), b'{"minAvailable":0,"plugins":{},"tasks":[]}'),
        (batch.JobSpec(queue=None), b'{"queue":null}'),
        (batch.JobSpec(plugins={"svc": ()}), b'{"plugins":{"svc":[]}}'),
        (scheduling.QueueStatus(state="Open", allocated={"cpu": "1"}), b'{"allocated":{"cpu":"1"},"state":"Open"}'),
        (core.PodStatus(pod_ips=[core.PodIP(ip="1.2.3.4")], host_ip=""), b'{"hostIP":"","podIPs":[{"ip":"1.2.3.4"}]}'),
        (meta.ObjectMeta(name="a", labels={"x": "y"}), b'{"labels":{"x":"y"},"name":"a"}'),
    ],
)
def test_a_builder_sends_what_is_set_and_nothing_else(built: Builder, text: bytes) -> None:
    assert msgspec.json.encode(built) == text


def test_every_model_has_a_builder_with_the_same_names() -> None:
    for component in components():
        made, wanted = builder(component), model(component)
        assert made.__struct_fields__ == wanted.__struct_fields__, component
        assert made.__struct_encode_fields__ == wanted.__struct_encode_fields__, component
        empty = made()
        assert all(getattr(empty, name) is UNSET for name in made.__struct_fields__), component
        assert len(made.__struct_fields__) == len(properties(component)), component


def test_what_is_built_is_read_by_the_model() -> None:
    built = batch.Job(
        metadata=meta.ObjectMeta(name="j"),
        spec=batch.JobSpec(
            tasks=[batch.TaskSpec(name="t", template=core.PodTemplateSpec(spec=core.PodSpec(containers=[])))]
        ),
    )
    text, head = encode_object(JOBS, built)
    job = decoder_of(Job).decode(text)
    assert (head.metadata.name, job.api_version, job.kind) == ("j", "batch.volcano.sh/v1alpha1", "Job")
    assert job.spec.tasks[0].name == "t"


def test_a_builder_is_the_body_of_a_merge_patch() -> None:
    patch = MergePatch(batch.Job(spec=batch.JobSpec(priority_class_name=None, max_retry=0)))
    assert patch.encode() == b'{"spec":{"maxRetry":0,"priorityClassName":null}}'


def test_a_builder_takes_keywords_only_and_may_be_changed() -> None:
    with pytest.raises(TypeError):
        meta.ObjectMeta({"a": "b"})  # type: ignore[call-arg]
    built = meta.ObjectMeta()
    built.name = "a"
    assert msgspec.json.encode(built) == b'{"name":"a"}'
