"""Objects of job plugins: made, followed, renewed, removed; never those of somebody else."""

from __future__ import annotations

import msgspec
import pytest

from api.owners import owner_reference
from controllers.job.plugins import plugins_of
from controllers.job.plugins.svc import host_data
from controllers.job.upkeep import NotOwnedError, PluginUpkeep
from generated.batch.v1alpha1 import JOBS, Job
from generated.core.v1 import CONFIG_MAPS, SECRETS, SERVICES, ConfigMap, Secret, Service
from generated.fakes.fakes import Fakes
from generated.meta.v1 import ObjectMeta, OwnerReference
from generated.networking.v1 import NETWORK_POLICIES
from runtime.errors import AlreadyExists, NotFound
from tests.unit.controllers.fakes import readable, status
from tests.unit.controllers.job.samples import a_job, a_task, replaced

EXISTS = AlreadyExists(status(409, "AlreadyExists"))


def job_with(*names: str, replicas: int = 2) -> Job:
    return replaced(a_job(a_task(replicas=replicas)), plugins=dict.fromkeys(names, ()))


def meta(name: str, owner: Job | None = None, uid: str = "") -> ObjectMeta:
    references: tuple[OwnerReference, ...] = (owner_reference(JOBS, owner),) if owner else ()
    if uid:
        references = (msgspec.structs.replace(references[0], uid=uid),)
    return ObjectMeta(name=name, namespace="ns", uid=f"uid-{name}", owner_references=references)


class World:
    def __init__(self) -> None:
        self.fakes = Fakes()
        self.upkeep = PluginUpkeep(self.fakes.clients)

    async def establish(self, job: Job) -> list[str]:
        return await self._writes(self.upkeep.establish, job)

    async def follow(self, job: Job) -> list[str]:
        return await self._writes(self.upkeep.follow, job)

    async def restore(self, job: Job) -> list[str]:
        return await self._writes(self.upkeep.restore, job)

    async def remove(self, job: Job) -> list[str]:
        return await self._writes(self.upkeep.remove, job)

    async def _writes(self, act: object, job: Job) -> list[str]:
        before = len(self.fakes.writes)
        await act(job, plugins_of(job))  # type: ignore[operator]  # one of the three above
        return [f"{write.verb} {write.resource.partition('.')[0]} {write.name}" for write in self.fakes.writes[before:]]


async def test_objects_are_made_owned_and_not_again() -> None:
    world, job = World(), job_with("svc", "ssh")
    assert await world.establish(job) == [
        "create configmaps j-svc",
        "create services j",
        "create networkpolicies j",
        "create secrets j-ssh",
    ]
    assert all(write.body["metadata"]["ownerReferences"][0]["uid"] == "u" for write in world.fakes.writes)
    assert await world.establish(job) == []
    assert await world.follow(job) == []


async def test_hosts_follow_a_job_that_was_scaled_and_keys_do_not() -> None:
    world, job = World(), job_with("svc", "ssh")
    await world.establish(job)
    scaled = job_with("svc", "ssh", replicas=3)
    readable(world.fakes, CONFIG_MAPS.plural, ConfigMap(metadata=meta("j-svc", job), data=host_data(job)))
    assert await world.follow(scaled) == ["patch configmaps j-svc"]
    assert world.fakes.writes[-1].body == {"metadata": {"uid": "uid-j-svc"}, "data": host_data(scaled)}
    assert await world.follow(scaled) == []


async def test_what_somebody_has_deleted_is_made_again() -> None:
    world, job = World(), job_with("svc")
    await world.establish(job)
    gone = NotFound(status(404, "NotFound"))
    readable(world.fakes, CONFIG_MAPS.plural, gone)
    assert await world.follow(job_with("svc", replicas=3)) == ["create configmaps j-svc"]
    for plural in (SERVICES.plural, NETWORK_POLICIES.plural):
        readable(world.fakes, plural, gone)
    assert await world.restore(job) == ["create configmaps j-svc", "create services j", "create networkpolicies j"]


async def test_hosts_of_a_task_that_is_gone_go_too() -> None:
    world, job = World(), job_with("svc")
    world.fakes.log.fail(EXISTS, "create", CONFIG_MAPS)
    old = ConfigMap(metadata=meta("j-svc", job), data={**host_data(job), "gone.host": "x"})
    readable(world.fakes, CONFIG_MAPS.plural, old)
    await world.follow(job)
    assert world.fakes.writes[-1].body["data"] == {"gone.host": None, **host_data(job)}


async def test_after_a_restart_what_is_right_is_left_alone() -> None:
    world, job = World(), job_with("svc", "ssh")
    for resource in (CONFIG_MAPS, SERVICES, SECRETS):
        world.fakes.log.fail(EXISTS, "create", resource)
    config = next(wanted for plugin in plugins_of(job) for wanted in plugin.objects(job) if wanted.resource is SECRETS)
    readable(world.fakes, CONFIG_MAPS.plural, ConfigMap(metadata=meta("j-svc", job), data=host_data(job)))
    readable(world.fakes, SERVICES.plural, Service(metadata=meta("j", job)))
    readable(world.fakes, SECRETS.plural, Secret(metadata=meta("j-ssh", job), data={"id_rsa": "k", **config.tells}))
    writes = await world.establish(job)
    assert [write for write in writes if not write.startswith("create")] == []


async def test_keys_are_renewed_with_another_configuration() -> None:
    world, job = World(), job_with("ssh")
    world.fakes.log.fail(EXISTS, "create", SECRETS)
    old = Secret(metadata=meta("j-ssh", job), data={"id_rsa": "old", "config": "old"})
    readable(world.fakes, SECRETS.plural, old)
    assert await world.establish(job) == ["create secrets j-ssh", "patch secrets j-ssh"]
    data = world.fakes.writes[-1].body["data"]
    assert set(data) == {"id_rsa", "id_rsa.pub", "authorized_keys", "config"}
    assert data["id_rsa"] != "old"


@pytest.mark.parametrize("uid", ["", "an-earlier-job"], ids=["nobody's", "an earlier job's"])
async def test_what_is_somebody_elses_is_neither_written_nor_deleted(uid: str) -> None:
    world, job = World(), job_with("svc")
    world.fakes.log.fail(EXISTS, "create", CONFIG_MAPS, times=None)
    foreign = ConfigMap(metadata=meta("j-svc", job if uid else None, uid), data={"mine": "x"})
    readable(world.fakes, CONFIG_MAPS.plural, foreign)
    readable(world.fakes, "services", Service(metadata=meta("j")))
    readable(world.fakes, "networkpolicies", Service(metadata=meta("j")))
    with pytest.raises(NotOwnedError, match="ConfigMap j-svc exists and is not owned by job ns/j"):
        await world.establish(job)
    assert await world.remove(job) == []


async def test_what_the_job_owns_is_removed_by_its_uid() -> None:
    world, job = World(), job_with("svc")
    await world.establish(job)
    for plural in ("configmaps", "services", "networkpolicies"):
        readable(world.fakes, plural, ConfigMap(metadata=meta("x", job)))
    assert await world.remove(job) == ["delete configmaps j-svc", "delete services j", "delete networkpolicies j"]
    assert all(write.body["preconditions"] == {"uid": "uid-x"} for write in world.fakes.log.find("delete"))
    assert len(await world.establish(job)) == 3
