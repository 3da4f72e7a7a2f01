"""
Looks at one CronJob: settles what its jobs did, starts the run that is due, and says when to look again.

The status has this one writer. It is written when it changed, last of all, and also when a later step failed: what an
earlier step found stays true.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from datetime import UTC, datetime, tzinfo
from typing import Final

import msgspec

from api.cron import CronError
from api.names import CronJobReason as Reason
from controllers.cronjob import timetable as timetables
from controllers.cronjob.launch import Launcher
from controllers.cronjob.reader import Reader
from controllers.cronjob.round import Round
from controllers.cronjob.runs import run_name
from controllers.cronjob.timetable import Missed, NeverDueError, Timetable
from controllers.cronjob.upkeep import Upkeep
from generated.batch.v1alpha1 import CRON_JOBS, CronJob
from generated.clients.clientset import Clientset
from generated.meta.v1 import ObjectMeta
from runtime.controller import DONE, Result, again_after
from runtime.errors import Conflict, NotFound
from runtime.events import EventRecorder
from runtime.objects import Key

_log = logging.getLogger(__name__)

WRITE_TRIES: Final = 5
TOO_MANY: Final = "too many missed start times. Set or decrease .spec.startingDeadlineSeconds or check clock skew"
OWN_ZONE: Final = (
    'CRON_TZ or TZ in the schedule "{}" is not officially supported. '
    "If set, the TimeZone field will be ignored during execution."
)


class CronJobReconciler:
    """`reconcile` looks at one CronJob. `clock` gives unix seconds, `local` is the zone where none is asked for."""

    def __init__(
        self,
        clients: Clientset,
        reader: Reader,
        events: EventRecorder,
        clock: Callable[[], float],
        local: tzinfo | None = None,
    ) -> None:
        self._client = clients.batch_v1alpha1.cron_jobs
        self._reader = reader
        self._events = events
        self._clock = clock
        self._local = local or timetables.local_zone()
        self._upkeep = Upkeep(clients, reader, events)
        self._launcher = Launcher(clients, reader, self._upkeep, events)
        self._told: dict[str, tuple[int, set[str]]] = {}
        """By UID: for which generation of the spec users were told of which faults."""

    def forget(self, cron_job: CronJob) -> None:
        """A CronJob is gone."""
        uid = cron_job.metadata.uid
        self._told.pop(uid, None)
        self._upkeep.forget(uid)

    async def reconcile(self, key: Key) -> Result:
        """Raises ReplaceError, ApiError, ConnectionFailed."""
        cron_job = self._reader.cron_job(key)
        if cron_job is None or cron_job.metadata.deletion_timestamp is not None:
            return DONE
        look = Round.of(cron_job, self._reader.jobs_of(cron_job))
        try:
            result = await self._look(look)
        finally:
            await self._write(look)
        return result

    def first_look(self, cron_job: CronJob) -> float:
        """Seconds until a CronJob with a changed schedule is looked at: at once where the look has a fault to tell."""
        try:
            table = timetables.timetable(cron_job.spec, timetables.zone_of(cron_job.spec), self._local)
        except CronError:
            return 0.0
        return timetables.pause(cron_job, table, self._now()) or 0.0

    def _now(self) -> datetime:
        return datetime.fromtimestamp(self._clock(), UTC)

    async def _look(self, look: Round) -> Result:
        await self._upkeep.settle_finished(look)
        await self._upkeep.settle_references(look)
        try:
            return await self._run(look)
        finally:
            await self._upkeep.report_orphans(look)

    async def _run(self, look: Round) -> Result:
        cron_job = look.cron_job
        if cron_job.spec.suspend:
            return DONE
        try:
            zone = timetables.zone_of(cron_job.spec)
        except CronError as error:
            text = f'Invalid time zone "{cron_job.spec.time_zone}": {error}'
            self._tell_once(cron_job, Reason.INVALID_TIME_ZONE, text)
            return DONE
        if timetables.has_own_zone(cron_job.spec):
            self._tell_once(cron_job, Reason.UNSUPPORTED_SCHEDULE, OWN_ZONE.format(cron_job.spec.schedule))
        try:
            table = timetables.timetable(cron_job.spec, zone, self._local)
        except CronError:
            text = f"unparseable schedule for cronjob: {cron_job.spec.schedule}"
            self._tell_once(cron_job, Reason.UNPARSEABLE_SCHEDULE, text)
            return DONE
        now = self._now()
        try:
            recent = timetables.due_time(cron_job, table, now)
        except NeverDueError as error:
            self._tell_once(cron_job, Reason.INVALID_SCHEDULE, f"Error getting schedule time: {error}")
            return DONE
        if recent.missed is Missed.MANY:
            self._events.warning(CRON_JOBS, cron_job, Reason.TOO_MANY_MISSED_TIMES, TOO_MANY)
        if recent.due is not None:
            name = run_name(cron_job, table, recent.due)
            if not look.was_started_at(recent.due, name):
                await self._launcher.launch(look, name, recent.due, zone)
        return self._next_look(look, table, now)

    def _next_look(self, look: Round, table: Timetable, now: datetime) -> Result:
        drafted = msgspec.structs.replace(look.cron_job, status=look.status)
        seconds = timetables.pause(drafted, table, now)
        return DONE if seconds is None else again_after(seconds)

    def _tell_once(self, cron_job: CronJob, reason: str, text: str) -> None:
        """Tell of a fault that lasts until somebody changes the spec."""
        meta = cron_job.metadata
        generation, reasons = self._told.get(meta.uid, (meta.generation, set()))
        if generation != meta.generation:
            reasons = set()
        if reason not in reasons:
            self._events.warning(CRON_JOBS, cron_job, reason, text)
        self._told[meta.uid] = (meta.generation, reasons | {reason})

    async def _write(self, look: Round) -> None:
        status, cron_job = look.status, look.cron_job
        if status == cron_job.status:
            return
        meta, version = cron_job.metadata, cron_job.metadata.resource_version
        for left in reversed(range(WRITE_TRIES)):
            head = ObjectMeta(name=meta.name, namespace=meta.namespace, uid=meta.uid, resource_version=version)
            try:
                answer = await self._client.update_status(CronJob(metadata=head, status=status))
            except NotFound:
                return
            except Conflict:
                if not left:
                    raise
                stored = await self._client.get(meta.name, meta.namespace)
                if stored.metadata.uid != meta.uid:
                    return  # another one of that name
                version = stored.metadata.resource_version
                continue
            if version == meta.resource_version:  # else the spec may be a newer one, and the cache tells of both
                self._note(cron_job, answer)
            return

    def _note(self, cron_job: CronJob, answer: CronJob) -> None:
        """Keep what was written; the spec as the cache gave it, since the answer lacks the template's text."""
        metadata = msgspec.structs.replace(cron_job.metadata, resource_version=answer.metadata.resource_version)
        self._reader.fresh.note(msgspec.structs.replace(cron_job, metadata=metadata, status=answer.status))
