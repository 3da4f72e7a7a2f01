from __future__ import annotations

import pytest

from generated.batch.v1alpha1 import Job, JobSpec
from generated.core.v1 import Pod
from generated.fakes.fakes import Fakes
from generated.meta.v1 import ObjectMeta
from runtime.errors import Conflict, from_status
from runtime.recorder import ReadFromRecorder
from runtime.wire import Status
from tests.unit.generated.schemas import project

META = ObjectMeta(name="a", namespace="n")


def test_each_object_is_in_the_lister_of_its_kind() -> None:
    job, pod = Job(metadata=META, spec=JobSpec(queue="q")), Pod(metadata=META)
    fakes = Fakes(job, pod)
    assert fakes.batch_v1alpha1.jobs.get("a", "n") is job
    assert fakes.batch_v1alpha1.jobs.by_queue("q") == [job]
    assert fakes.core_v1.pods.list() == [pod]
    assert fakes.core_v1.nodes.list() == []
    assert fakes.batch_v1alpha1 is fakes.batch_v1alpha1


def test_what_is_no_kind_has_no_lister() -> None:
    with pytest.raises(TypeError, match="JobSpec has no lister"):
        Fakes(JobSpec())


async def test_writes_are_noted_and_can_fail() -> None:
    fakes = Fakes()
    fakes.log.fail(from_status(Status(code=409, reason="Conflict")), "delete")
    with pytest.raises(Conflict):
        await fakes.clients.core_v1.pods.delete("a", "n")
    await fakes.clients.core_v1.pods.bind("a", "n", "node")
    assert [str(write) for write in fakes.writes] == ["delete pods n/a", "create pods/binding n/a"]


async def test_reads_go_to_listers_not_to_clients() -> None:
    with pytest.raises(ReadFromRecorder, match="lister"):
        await Fakes(Pod(metadata=META)).clients.core_v1.pods.get("a", "n")


async def test_the_guard_is_asked() -> None:
    class LeaseError(Exception):
        pass

    def guard() -> None:
        raise LeaseError

    with pytest.raises(LeaseError):
        await Fakes(guard=guard).clients.core_v1.pods.delete("a", "n")


def test_every_kind_has_a_lister() -> None:
    fakes = Fakes()
    for kind in (*project().kinds, *project().external):
        group = getattr(fakes, kind.module.replace(".", "_"))
        models = {lister.RESOURCE.kind for lister in vars(group).values()}
        assert kind.kind in models
