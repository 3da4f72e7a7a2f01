"""Where jobs, their sub-jobs and tasks were told to go: memory of the search among hypernodes that outlives sessions."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from scheduler.dump.seam import Part, Reading, Writing, put_nothing
from scheduler.state.subjob import grouping_of


class SubPlace(msgspec.Struct, frozen=True):
    """The hypernode that holds a sub-job's placed tasks, and the one that evictions cleared for it."""

    allocated: str
    nominated: str


class PlaceRecord(msgspec.Struct, frozen=True):
    """What a job remembers, its sub-jobs by id."""

    job: str
    allocated: str
    sub_jobs: dict[str, SubPlace]


class NamedNode(msgspec.Struct, frozen=True):
    """A node that a task is to try first, or empty, where that differs from what its pod's status says."""

    uid: str
    node: str


def _take_places(writing: Writing) -> list[PlaceRecord]:
    records = []
    for job in writing.cluster.jobs.values():
        if job.grouping is None:
            continue
        # Of the present tasks, as the next session will see it: sub-jobs without any are forgotten then.
        grouping = grouping_of(job)
        held = {
            uid: SubPlace(each.allocated, each.nominated)
            for uid, each in grouping.sub_jobs.items()
            if each.allocated or each.nominated
        }
        if held or grouping.allocated:
            records.append(PlaceRecord(job.id, grouping.allocated, held))
    return records


def _finish_places(reading: Reading, records: Iterable[PlaceRecord]) -> None:
    for record in records:
        grouping = grouping_of(reading.cluster.jobs[record.job])
        grouping.allocated = record.allocated
        for uid, place in record.sub_jobs.items():
            sub_job = grouping.sub_jobs[uid]
            sub_job.allocated, sub_job.nominated = place.allocated, place.nominated


def _take_named(writing: Writing) -> list[NamedNode]:
    return [
        NamedNode(task.uid, task.nominated)
        for task in writing.cluster.tasks.values()
        if task.nominated != (task.pod.status.nominated_node_name if task.pod is not None else "")
    ]


def _finish_named(reading: Reading, records: Iterable[NamedNode]) -> None:
    for record in records:
        reading.cluster.tasks[record.uid].nominated = record.node


PLACES: tuple[Part, ...] = (
    Part("places", PlaceRecord, _take_places, put_nothing, _finish_places),
    Part("named", NamedNode, _take_named, put_nothing, _finish_named),
)
