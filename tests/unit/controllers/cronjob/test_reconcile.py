"""One look at a CronJob: what it starts, deletes, tells and writes."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from generated.batch.v1alpha1 import CRON_JOBS, JOBS, CronJob, Job
from generated.meta.v1 import ObjectMeta, OwnerReference
from runtime.controller import DONE, again_after
from runtime.errors import AlreadyExists, Conflict, Forbidden, Invalid, NotFound, ServerError
from runtime.wire import Status, StatusCause, StatusDetails
from tests.unit.controllers.cronjob.samples import World, at, cron_job, job, refs, run
from tests.unit.controllers.fakes import readable, status


def approx(seconds: float) -> Any:
    expected: Any = pytest.approx(seconds)
    return again_after(expected)


async def test_nothing_is_due_before_the_first_time() -> None:
    world = World(cron_job(), "10:03")
    assert await world.look() == approx(120.1)
    assert world.fakes.writes == []


async def test_a_run_is_created_noted_and_told() -> None:
    world = World(cron_job(), "10:05")
    assert await world.look() == approx(300.1)
    create, update = world.fakes.writes
    assert (create.verb, create.name, create.namespace) == ("create", run("10:05"), "ns")
    meta = create.body["metadata"]
    assert meta["labels"] == {"l": "1"}
    assert meta["annotations"] == {"a": "2", "volcano.sh/cronjob-scheduled-timestamp": at("10:05")}
    (owner,) = meta["ownerReferences"]
    assert (owner["kind"], owner["uid"], owner["controller"]) == ("CronJob", "uid-c", True)
    assert create.body["spec"] == {"minAvailable": 1, "fromTheFuture": True}
    assert (str(update), update.body["metadata"]["resourceVersion"]) == (
        "update cronjobs.batch.volcano.sh/status ns/c",
        "5",
    )
    assert world.status["lastScheduleTime"] == at("10:05")
    assert world.status["active"] == [
        {
            "apiVersion": "batch.volcano.sh/v1alpha1",
            "kind": "Job",
            "namespace": "ns",
            "name": "new",
            "uid": "uid-new",
            "resourceVersion": "7",
        }
    ]
    words = f"Created job {run('10:05')} for CronJob ns/c"
    assert world.events.seen == [("Normal", "c", "SuccessfulCreate", words)]


async def test_the_stamp_is_in_the_zone_asked_for() -> None:
    world = World(cron_job(zone="Asia/Tokyo"), "10:05")
    await world.look()
    stamp = world.fakes.writes[0].body["metadata"]["annotations"]["volcano.sh/cronjob-scheduled-timestamp"]
    assert stamp == "2026-05-01T19:05:00+09:00"


async def test_runs_below_a_minute_have_the_second_in_their_name() -> None:
    world = World(cron_job("@every 10s", last="10:00"), "10:00:10")
    await world.look()
    assert world.created == [run("10:00") + "10"]


@pytest.mark.parametrize(
    ("found", "now", "created", "told"),
    [
        (cron_job(), "10:07", [run("10:05")], ["SuccessfulCreate"]),
        (cron_job(deadline=60), "10:07", [], []),
        (cron_job(), "18:20", [run("18:20")], ["SuccessfulCreate"]),
        (cron_job(), "20:00", [run("20:00")], ["TooManyMissedTimes", "SuccessfulCreate"]),
        (cron_job(last="10:05"), "10:07", [], []),
        (cron_job(active=refs(job(run("10:05")))), "10:07", [], []),
        (cron_job(suspend=True), "10:07", [], []),
        (cron_job("59 23 31 2 *"), "10:07", [], ["InvalidSchedule"]),
        (cron_job("nonsense"), "10:07", [], ["UnParseableCronJobSchedule"]),
        (cron_job("TZ=UTC"), "10:07", [], ["UnsupportedSchedule", "UnParseableCronJobSchedule"]),
        (cron_job(zone="Nope/Nope"), "10:07", [], ["InvalidTimeZone"]),
        (cron_job("CRON_TZ=UTC */5 * * * *"), "10:07", [run("10:05")], ["UnsupportedSchedule", "SuccessfulCreate"]),
    ],
)
async def test_what_is_created_and_told(found: CronJob, now: str, created: list[str], told: list[str]) -> None:
    jobs = [job(ref.name) for ref in found.status.active]
    world = World(found, now, *jobs)
    await world.look()
    assert (world.created, world.told) == (created, told)


@pytest.mark.parametrize("found", [cron_job("nonsense"), cron_job(zone="Nope/Nope"), cron_job("59 23 31 2 *")])
async def test_a_fault_of_the_spec_is_told_once_a_generation_and_not_retried(found: CronJob) -> None:
    world = World(found, "10:07")
    assert [await world.look(), await world.look()] == [DONE, DONE]
    assert len(world.told) == 1
    edited = msgspec.structs.replace(found, metadata=msgspec.structs.replace(found.metadata, generation=2))
    world.reader.cron_jobs.put(edited)  # type: ignore[attr-defined]  # a filled lister is a store
    await world.look()
    assert len(world.told) == 2


async def test_messages_of_faults_name_what_is_wrong() -> None:
    world = World(cron_job("nonsense"), "10:07")
    await world.look()
    assert world.events.seen[0][3] == "unparseable schedule for cronjob: nonsense"
    world = World(cron_job(zone="Nope/Nope"), "10:07")
    await world.look()
    assert world.events.seen[0][3].startswith('Invalid time zone "Nope/Nope": unknown time zone')


async def test_only_the_beginning_of_a_schedule_names_a_zone() -> None:
    world = World(cron_job("*/5 * * * TZ"), "10:07")
    await world.look()
    assert world.told == ["UnParseableCronJobSchedule"]


async def test_a_suspended_one_still_settles_its_jobs() -> None:
    done = job("old", "Completed", "09:30")
    world = World(cron_job(suspend=True, active=refs(done)), "10:07", done)
    assert await world.look() == DONE
    assert world.status == {"lastSuccessfulTime": at("09:30")}
    assert world.events.seen == [("Normal", "c", "SawCompletedJob", "Saw completed job: old in active, remove")]


async def test_the_last_success_never_goes_back() -> None:
    found = cron_job(last="10:05")
    held = msgspec.structs.replace(found.status, last_successful_time=at("09:45"))
    jobs = [job("a", "Completed", "09:30"), job("b", "Failed", "09:50"), job("d", "Completed")]
    world = World(msgspec.structs.replace(found, status=held), "10:06", *jobs)
    await world.look()
    assert world.fakes.writes == []


@pytest.mark.parametrize(
    ("limits", "deleted"),
    [
        ({}, []),
        ({"keep": 1}, ["s1", "s2"]),
        ({"keep": 0}, ["s1", "s2", "s3"]),
        ({"keep_failed": 1}, ["f1", "t1"]),
        ({"keep_failed": 0, "keep": 5}, ["f1", "t1", "f2"]),
    ],
)
async def test_the_oldest_of_too_many_finished_jobs_go(limits: dict[str, Any], deleted: list[str]) -> None:
    jobs = [
        job("s3", "Completed", "09:30", creation_timestamp=None),
        job("s2", "Completed", "09:30", creation_timestamp=at("08:00")),
        job("s1", "Completed", "09:30", creation_timestamp=at("08:00")),
        job("t1", "Terminated", creation_timestamp=at("07:00")),
        job("f1", "Failed", creation_timestamp=at("06:00")),
        job("f2", "Failed", creation_timestamp=at("08:00")),
        job("f0", "Failed", creation_timestamp=at("05:00"), deletion_timestamp=at("09:00")),
        job("busy", "Running", creation_timestamp=at("01:00")),
        job("foreign", "Completed", owner_references=()),
    ]
    jobs[1] = job("s2", "Completed", "09:30", creation_timestamp=at("08:30"))
    world = World(cron_job(last="10:05", active=refs(jobs[7]), **limits), "10:06", *jobs)
    await world.look()
    assert world.deleted == deleted
    assert world.told == ["SuccessfulDelete"] * len(deleted)
    await world.look()
    assert world.deleted == deleted  # the cache still has them


async def test_a_success_is_noted_in_the_look_that_deletes_its_job() -> None:
    done = job("old", "Completed", "09:30")
    world = World(cron_job(keep=0, last="10:05", active=refs(done)), "10:06", done)
    await world.look()
    assert (world.deleted, world.status["lastSuccessfulTime"]) == (["old"], at("09:30"))


async def test_deletes_pin_the_job_and_one_that_vanished_is_no_failure() -> None:
    jobs = [job("a", "Failed"), job("b", "Failed")]
    world = World(cron_job(keep_failed=0, last="10:05"), "10:06", *jobs)
    world.fakes.log.fail(NotFound(status(404, "NotFound")), "delete", JOBS)
    world.fakes.log.fail(ServerError(status(500, "InternalError")), "delete", JOBS)
    await world.look()
    assert world.fakes.writes[0].body["preconditions"] == {"uid": "uid-a"}
    assert world.events.seen == [("Warning", "c", "FailedDelete", 'Error deleting job "b": refused: InternalError')]
    await world.look()
    assert world.deleted == ["a", "b", "b"]


async def test_references_to_jobs_that_are_gone_are_all_dropped() -> None:
    gone, changed = job("gone"), job("changed")
    found = cron_job(last="10:05", active=refs(gone, changed))
    world = World(found, "10:06")
    answers: dict[str, Any] = {
        "changed": msgspec.structs.replace(changed, metadata=ObjectMeta(name="changed", uid="x"))
    }

    async def live(name: str, _namespace: str) -> Job:
        if name not in answers:
            raise NotFound(status(404, "NotFound"))
        answer: Job = answers[name]
        return answer

    world.fakes.clients.batch_v1alpha1.jobs.get = live  # type: ignore[method-assign,assignment]  # a live read
    await world.look()
    assert world.active == []
    assert [message for *_, message in world.events.seen] == [
        'Active job "gone" no longer exists (UID: uid-gone)',
        'Active job reference "changed" points to a different UID (expected: uid-changed, actual: x)',
    ]


async def test_a_job_that_the_cache_does_not_have_yet_stays_active() -> None:
    young = job(run("10:05"))
    world = World(cron_job(last="10:05", active=refs(young)), "10:06")
    readable(world.fakes, JOBS.plural, young)
    await world.look()
    assert (world.fakes.writes, world.told) == ([], [])


async def test_an_active_job_that_is_not_controlled_stays_active() -> None:
    loose = job("loose", owner_references=())
    world = World(cron_job(last="10:05", active=refs(loose)), "10:06", loose)
    await world.look()
    assert (world.fakes.writes, world.told) == ([], [])


async def test_a_running_job_that_the_status_does_not_know_is_told_once_and_not_adopted() -> None:
    world = World(cron_job(last="10:05"), "10:06", job("lost"))
    readable(world.fakes, CRON_JOBS.plural, cron_job(last="10:05"))
    await world.look()
    await world.look()
    words = "Detected orphaned job forgotten or not managed by controller: lost (UID: uid-lost)"
    assert world.events.seen == [("Warning", "c", "OrphanedJob", words)]
    assert world.fakes.writes == []


async def test_no_orphan_is_told_that_the_stored_status_knows() -> None:
    mine = job("mine")
    world = World(cron_job(last="10:05"), "10:06", mine)
    readable(world.fakes, CRON_JOBS.plural, cron_job(last="10:05", active=refs(mine)))
    await world.look()
    assert world.told == []


@pytest.mark.parametrize(
    ("phase", "messages"),
    [
        ("Running", ["Skipping job creation because another job is already running"]),
        (
            "Aborted",
            [
                "Skipping job creation because another job is already running",
                "Job old is aborted and still counts as active: resume it or delete it",
            ],
        ),
    ],
)
async def test_forbid_skips_a_run_and_keeps_the_last_time(phase: str, messages: list[str]) -> None:
    old = job("old", phase)
    world = World(cron_job(policy="Forbid", active=refs(old)), "10:06", old)
    assert await world.look() == approx(240.1)
    assert world.fakes.writes == []
    assert world.events.seen == [("Warning", "c", "ForbidConcurrent", message) for message in messages]


async def test_forbid_starts_a_run_when_the_last_one_finished_in_this_look() -> None:
    old = job("old", "Failed")
    world = World(cron_job(policy="Forbid", active=refs(old)), "10:06", old)
    await world.look()
    assert (world.created, world.active) == ([run("10:05")], ["new"])


async def test_replace_deletes_what_runs_first() -> None:
    old = job("old")
    world = World(cron_job(policy="Replace", active=refs(old)), "10:06", old)
    readable(world.fakes, JOBS.plural, old)
    await world.look()
    assert [write.verb for write in world.fakes.writes] == ["delete", "create", "update"]
    assert world.active == ["new"]
    assert world.told == ["ReplaceConcurrent", "SuccessfulDelete", "SuccessfulCreate"]
    meta = msgspec.structs.replace(cron_job().metadata, resource_version="6")
    stored = msgspec.structs.replace(cron_job(policy="Replace", last="10:05"), metadata=meta)
    world.reader.cron_jobs.put(stored)  # type: ignore[attr-defined]  # a filled lister is a store
    await world.look()  # the cache still has the old job
    assert len(world.told) == 3


async def test_nothing_is_said_of_replacing_when_nothing_runs() -> None:
    world = World(cron_job(policy="Replace"), "10:06")
    await world.look()
    assert world.told == ["SuccessfulCreate"]


async def test_a_job_that_can_not_be_replaced_stops_the_run() -> None:
    old = job("old")
    world = World(cron_job(policy="Replace", active=refs(old)), "10:06", old)
    readable(world.fakes, JOBS.plural, old)
    world.fakes.log.fail(ServerError(status(500, "InternalError")), "delete")
    with pytest.raises(Exception, match="could not replace job ns/old"):
        await world.look()
    assert world.created == []


async def test_a_job_that_can_not_be_read_stops_the_run() -> None:
    old = job("old")
    world = World(cron_job(policy="Replace", active=refs(old)), "10:06", old)

    async def refuse(*_: object) -> Job:
        raise Forbidden(status(403, "Forbidden"))

    world.fakes.clients.batch_v1alpha1.jobs.get = refuse  # type: ignore[method-assign,assignment]  # a live read
    with pytest.raises(Forbidden):
        await world.look()
    assert world.events.seen[-1] == ("Warning", "c", "FailedGet", "Get job: refused: Forbidden")


TERMINATING = Status(
    status="Failure",
    code=403,
    reason="Forbidden",
    message="no",
    details=StatusDetails(causes=(StatusCause(reason="NamespaceTerminating"),)),
)


@pytest.mark.parametrize(
    ("error", "reason", "message"),
    [
        (Forbidden(TERMINATING), "NamespaceTerminating", "Namespace ns is terminating, skipping job creation"),
        (Forbidden(status(403, "Forbidden")), "FailedCreate", "Failed to create job: refused: Forbidden"),
        (Invalid(status(422, "Invalid")), "FailedCreate", "Failed to create job: refused: Invalid"),
    ],
)
async def test_a_refused_job_is_told_and_what_was_found_before_is_kept(
    error: Exception, reason: str, message: str
) -> None:
    done = job("old", "Completed", "09:30")
    world = World(cron_job(active=refs(done)), "10:06", done)
    world.fakes.log._plans.clear()
    world.fakes.log.fail(error, "create", JOBS)
    with pytest.raises(type(error)):
        await world.look()
    assert world.events.seen[-1] == ("Warning", "c", reason, message)
    assert world.status == {"lastSuccessfulTime": at("09:30")}


OTHER = OwnerReference(api_version="v1", kind="X", name="x", uid="u", controller=True)


@pytest.mark.parametrize(
    ("stored", "active", "messages"),
    [
        (job(run("10:05")), [run("10:05")], []),
        (job(run("10:05"), "Completed"), None, []),
        (job(run("10:05"), deletion_timestamp=at("10:01")), None, []),
        (job(run("10:05"), owner_references=()), None, ["none"]),
        (job(run("10:05"), owner_references=(OTHER,)), None, ["x"]),
    ],
    ids=["ours", "ours and finished", "ours and going", "nobody's", "another's"],
)
async def test_a_job_that_has_the_name_already(stored: Job, active: list[str] | None, messages: list[str]) -> None:
    world = World(cron_job(), "10:06")
    world.fakes.log._plans.clear()
    world.fakes.log.fail(AlreadyExists(status(409, "AlreadyExists")), "create", JOBS)
    readable(world.fakes, JOBS.plural, stored)
    assert await world.look() == approx(240.1)
    assert (world.active if active else world.fakes.log.find("update")) == (active or [])
    words = "Job {} exists but is not owned by this CronJob (current owner: {})"
    expected = [("Warning", "c", "ForeignJob", words.format(run("10:05"), owner)) for owner in messages]
    assert world.events.seen == expected


async def test_a_run_that_was_created_but_not_noted_is_taken_from_the_cache_without_a_word() -> None:
    world = World(cron_job(), "10:06", job(run("10:05")))
    await world.look()
    assert [write.verb for write in world.fakes.writes] == ["update"]
    assert (world.active, world.status["lastScheduleTime"], world.told) == ([run("10:05")], at("10:05"), [])


async def test_a_look_on_an_old_cache_repeats_nothing() -> None:
    world = World(cron_job(), "10:05")
    answer = cron_job(last="10:05", active=refs(job("new")))
    meta = msgspec.structs.replace(answer.metadata, resource_version="8")
    world.fakes.log.answer(msgspec.structs.replace(answer, metadata=meta), "update", CRON_JOBS)
    await world.look()
    readable(world.fakes, JOBS.plural, job("new"))
    await world.look()
    assert [write.verb for write in world.fakes.writes] == ["create", "update"]


async def test_a_conflict_of_the_status_is_settled_at_once() -> None:
    world = World(cron_job(), "10:05")
    newer = cron_job()
    meta = msgspec.structs.replace(newer.metadata, resource_version="9")
    world.fakes.log.fail(Conflict(status(409, "Conflict")), "update", CRON_JOBS)
    readable(world.fakes, CRON_JOBS.plural, msgspec.structs.replace(newer, metadata=meta))
    await world.look()
    first, second = world.fakes.log.find("update", CRON_JOBS)
    assert [first.body["metadata"]["resourceVersion"], second.body["metadata"]["resourceVersion"]] == ["5", "9"]
    assert first.body["status"] == second.body["status"]
    assert len(world.reader.fresh) == 0  # what was written stands on a spec that is not known here


async def test_a_status_for_another_one_of_that_name_is_not_written() -> None:
    world = World(cron_job(), "10:05")
    other = msgspec.structs.replace(cron_job(), metadata=ObjectMeta(name="c", namespace="ns", uid="other"))
    world.fakes.log.fail(Conflict(status(409, "Conflict")), "update", CRON_JOBS)
    readable(world.fakes, CRON_JOBS.plural, other)
    await world.look()
    assert len(world.fakes.log.find("update", CRON_JOBS)) == 1


async def test_conflicts_without_end_are_the_queues() -> None:
    world = World(cron_job(), "10:05")
    world.fakes.log.fail(Conflict(status(409, "Conflict")), "update", CRON_JOBS, times=None)
    readable(world.fakes, CRON_JOBS.plural, cron_job())
    with pytest.raises(Conflict):
        await world.look()


@pytest.mark.parametrize("error", [NotFound(status(404, "NotFound"))])
async def test_one_that_goes_meanwhile_is_no_error(error: Exception) -> None:
    world = World(cron_job(), "10:05")
    world.fakes.log.fail(error, "update", CRON_JOBS)
    assert await world.look() == approx(300.1)


async def test_one_that_is_gone_or_going_needs_nothing() -> None:
    going = cron_job()
    going = msgspec.structs.replace(
        going, metadata=msgspec.structs.replace(going.metadata, deletion_timestamp=at("10:00"))
    )
    for found in (None, going):
        world = World(found, "10:05")
        assert await world.look() == DONE
        assert world.fakes.writes == []


async def test_jobs_of_others_are_found_by_uid_and_not_by_name() -> None:
    former = cron_job()
    former = msgspec.structs.replace(former, metadata=msgspec.structs.replace(former.metadata, uid="former"))
    world = World(cron_job(last="10:05", keep=0), "10:06", job("old", "Completed", "09:30", owner=former))
    await world.look()
    assert world.fakes.writes == []


async def test_what_is_remembered_of_one_goes_with_it() -> None:
    world = World(cron_job("nonsense", keep=0), "10:06", job("old", "Completed", "09:30"), job("lost"))
    readable(world.fakes, CRON_JOBS.plural, cron_job())
    await world.look()
    reconciler = world.reconciler
    held = (reconciler._told, reconciler._upkeep._deleted, reconciler._upkeep._orphans)
    assert all(held)
    reconciler.forget(cron_job())
    assert not any(held)


async def test_settled_is_quiet() -> None:
    busy = job(run("10:05"))
    world = World(cron_job(last="10:05", active=refs(busy)), "10:06", busy, job("done", "Failed"))
    for _ in range(3):
        assert await world.look() == approx(240.1)
    assert (world.fakes.writes, world.events.seen) == ([], [])
