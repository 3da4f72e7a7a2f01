"""
What outlives a session: plugins that say so, and what is known of the nodes for each kind of task.

Everything here is made anew when the configuration is loaded. Most of it changes no decision and only saves computing
the same again; what does (nominations, gates, shards, where the search for nodes goes on, the round of turns after a
cycle that was cut short) is in dumps.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING, TypeVar

from scheduler.budget import Round
from scheduler.contract.arguments import Arguments
from scheduler.contract.guarding import Throws, guarded_filter, guarded_score
from scheduler.contract.loose import Loose
from scheduler.contract.points import Point
from scheduler.evicting.nominations import Nominations
from scheduler.fairness.refused import Refused
from scheduler.gates import Gates
from scheduler.placing.dormant import Dormancy
from scheduler.placing.sampling import Sampling
from scheduler.placing.signature import Signatures
from scheduler.shards import Mode, Shards
from scheduler.state.reservation import settle

if TYPE_CHECKING:
    from scheduler.contract.effects import Filter, Score
    from scheduler.plugin import Plugin
    from scheduler.session import Session
    from scheduler.settings.conf import Configuration, PluginOption
    from scheduler.state.cluster import Cluster

T = TypeVar("T", "Filter", "Score")

MAX_TEMPLATES = 2048
"""With more kinds of tasks than this everything known is dropped, so that what came and went takes no memory."""
PENDING_PHASES = ("", "Pending")


class Memory:
    """Belongs to one cluster and one loaded configuration."""

    def __init__(self, cluster: Cluster, configuration: Configuration, builders: dict[str, type[Plugin]]) -> None:
        self.cluster = cluster
        self.configuration = configuration
        self.failures: Counter[tuple[str, str]] = Counter()
        """Throws of plugin functions, by plugin and point."""
        self.throws = Throws(self.on_failure)
        """Throws of array functions in the running session."""
        self.open_jobs: set[str] = set()
        """Jobs with pending tasks or a phase that still waits."""
        self.unsettled: set[str] = set()
        """Jobs whose reservation and elastic part may have changed since they were last settled."""
        self.dormancy = Dormancy()
        """Jobs that wait in vain and are passed over."""
        self.refused = Refused()
        """Jobs that were not let into their queues and are not asked about."""
        self.nominations = Nominations(cluster)
        """Room that evictions made, kept for whom it was made."""
        self.sampling: Sampling | None = None
        """How the search for nodes is cut short; None where all nodes are looked at."""
        self.gates = Gates(cluster)
        """Scheduling gates on their way out."""
        self.shards: Shards | None = None
        """Which nodes are this scheduler's; None where all are."""
        self.round = Round()
        """Who is owed a turn since the time of a cycle was over."""
        self._builders = builders
        self._kept: dict[tuple[int, str], Plugin] = {}
        self._signatures: Signatures | None = None
        self.reconsider(cluster.jobs)

    def begin(self) -> None:
        """A session begins: functions that failed in the last one are asked again, and what they answered is void."""
        if self.throws.any:
            self._signatures = None
        self.throws.begin()

    def reconsider(self, jobs: Iterable[str]) -> None:
        """Find out anew whether these jobs wait for something, and have their reservations settled."""
        for job_id in jobs:
            job = self.cluster.jobs.get(job_id)
            self.unsettled.add(job_id)
            if job is not None and (job.pending or job.phase in PENDING_PHASES):
                self.open_jobs.add(job_id)
            else:
                self.open_jobs.discard(job_id)

    def settle(self) -> None:
        """Bring the accounts of jobs that changed, and the numbering of resources that queues name, up to date."""
        cluster = self.cluster
        for job_id in sorted(self.unsettled):
            job = cluster.jobs.get(job_id)
            if job is not None:
                settle(cluster, job)
        self.unsettled.clear()
        self.gates.settle()
        if self.shards is not None:
            self.shards.settle()
        for queue in cluster.queues.values():
            cluster.learn(dict.fromkeys(queue.limits.names, 0.0))

    def on_failure(self, plugin: str, point: str) -> None:
        """Count a throw of a plugin's function."""
        self.failures[plugin, point] += 1

    def plugins(self) -> list[Plugin]:
        """The plugins for a new session, in the order of tiers; unknown ones are passed over."""
        plugins: dict[str, Plugin] = {}
        for place, option in enumerate(self.configuration.plugins):
            builder = self._builders.get(option.name)
            if builder is not None:
                plugins[option.name] = self._plugin(place, option, builder)
        return list(plugins.values())

    @property
    def is_restless(self) -> bool:
        """
        Whether the next cycle may decide something else though nothing changed.

        A plugin that doesn't say `lets_jobs_sleep` may answer by the time, be it for jobs that wait, be it of running
        pods, which `shuffle` asks about.
        """
        has_subject = bool(self.open_jobs) or ("shuffle" in self.configuration.actions and bool(self.cluster.jobs))
        return has_subject and any(
            option.name in self._builders and not vars(self._builders[option.name]).get("lets_jobs_sleep", False)
            for option in self.configuration.plugins
        )

    def _plugin(self, place: int, option: PluginOption, builder: type[Plugin]) -> Plugin:
        kept = self._kept.get((place, option.name))
        if kept is None:
            kept = builder(Arguments(option.arguments))
            if builder.outlives_session:
                self._kept[place, option.name] = kept
        return kept

    def signatures(self, session: Session) -> tuple[Signatures, Loose | None]:
        """The declared functions of a session with what is known for them, and those that declare nothing."""
        filters = [guarded_filter(f, self.throws) for f in _in_order(session, session.filters, "enablePredicate")]
        scores = [guarded_score(s, self.throws) for s in _in_order(session, session.scores, "enableNodeOrder")]
        if self.shards is not None and self.shards.mode is Mode.HARD:
            filters.insert(0, self.shards.filter)
        declared_filters = tuple(function for function in filters if "task" not in function.reads)
        declared_scores = tuple(score for score in scores if "task" not in score.reads)
        known = self._signatures
        same = known is not None and known.filters == declared_filters and known.scores == declared_scores
        if known is None or not same or len(known) > MAX_TEMPLATES:
            known = self._signatures = Signatures(self.cluster, declared_filters, declared_scores)
        loose_filters = [function for function in filters if "task" in function.reads]
        loose_scores = [score for score in scores if "task" in score.reads]
        pickers = session.points.all(Point.BEST_NODE)
        if loose_filters or loose_scores or pickers:
            return known, Loose(self.cluster, loose_filters, loose_scores, pickers)
        return known, None


def _in_order(session: Session, registered: dict[str, list[T]], switch: str) -> list[T]:
    """The functions of plugins whose switch is on, in the order of tiers; a plugin listed twice counts once."""
    names = dict.fromkeys(option.name for option in session.configuration.plugins if option.is_on(switch))
    return [function for name in names for function in registered.get(name, ())]
