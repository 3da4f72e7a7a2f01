"""
The fields of an explanation. They are an interface: names stay, new ones may come (docs/explain.md).

Every field is always there; a text, list or map without content is empty, a number that nobody knows is null. Amounts
are quantities as Kubernetes writes them.
"""

from __future__ import annotations

import msgspec

Amounts = dict[str, str]


class _Field(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    """Base of all parts."""


class KeptFor(_Field, frozen=True, kw_only=True):
    """A job for which something is kept."""

    name: str
    amount: str


class Taken(_Field, frozen=True, kw_only=True):
    """What is taken of a resource: `used` by pods, `kept` for `kept_jobs` jobs let in that have not started."""

    resource: str
    used: str
    kept: str
    jobs: list[KeptFor] = []
    """Those for which most is kept; the first five only."""
    kept_jobs: int = 0


class Cause(_Field, frozen=True, kw_only=True):
    """Something that keeps the job from starting. `kind` is one of `CauseKind`."""

    kind: str
    text: str
    plugin: str = ""
    """The plugin that says so, where one does."""
    taken: list[Taken] = []
    """Of a refused admission: what the `taken` of its text consists of."""


class CauseKind:
    """The kinds of causes, in the order in which a job meets them."""

    NO_POD_GROUP = "NoPodGroup"
    NO_QUEUE = "NoQueue"
    NO_PRIORITY_CLASS = "NoPriorityClass"
    OTHER_SCHEDULER = "OtherScheduler"
    QUEUE_CLOSED = "QueueClosed"
    NOT_ADMITTED = "NotAdmitted"
    DEPENDENCY = "DependencyNotReady"
    NOT_ENOUGH_PODS = "NotEnoughPods"
    GATED = "Gated"
    TOPOLOGY = "Topology"
    QUEUE_OVERUSED = "QueueOverused"
    QUOTA = "Quota"
    NO_PLACE = "NoPlace"
    RELEASING = "Releasing"
    NO_ACTION = "NoAction"


class RoleCount(_Field, frozen=True, kw_only=True):
    """A role of the gang: so many of its pods are needed, so many have their place."""

    name: str
    needed: int
    ready: int


class Gang(_Field, frozen=True, kw_only=True):
    """The counts of a gang. `ready` pods have their place, `missing` more are needed for a start."""

    min_member: int
    pods: int
    ready: int
    missing: int
    statuses: dict[str, int]
    roles: list[RoleCount]


class QueueStanding(_Field, frozen=True, kw_only=True):
    """A queue and what it holds. The amounts are those of the plugin that divides the cluster, if one does."""

    name: str
    exists: bool = True
    state: str = ""
    is_open: bool = True
    parent: str = ""
    weight: int = 1
    priority: int = 0
    plugin: str = ""
    share: float | None = None
    is_overused: bool = False
    waiting_jobs: int = 0
    allocated: Amounts = {}
    request: Amounts = {}
    inqueue: Amounts = {}
    deserved: Amounts = {}
    capability: Amounts = {}
    """What its spec limits it to; a resource that isn't named has no limit."""
    real_capability: Amounts = {}
    """What it may hold at most, given what others are guaranteed."""
    guarantee: Amounts = {}


class Shortage(_Field, frozen=True, kw_only=True):
    """A resource of which a pod or gang needs more than is free."""

    resource: str
    needs: str
    free: str
    missing: str


class NearestNode(_Field, frozen=True, kw_only=True):
    """The node that comes nearest to taking a pod, and what stands in the way there."""

    node: str
    text: str
    lacks: list[Shortage] = []
    refusals: list[str] = []
    is_too_small: bool = False
    """No node would take the pod even when empty; this one comes nearest to it."""


class FilterCount(_Field, frozen=True, kw_only=True):
    """What one filter says: it refuses so many nodes, and so many that everything else would accept."""

    name: str
    plugin: str
    refused: int
    alone: int
    reasons: dict[str, int]
    milliseconds: float


class InsufficientCount(_Field, frozen=True, kw_only=True):
    """On so many nodes too little of a resource is free; on so many that alone is in the way."""

    resource: str
    nodes: int
    alone: int


class NodeCounts(_Field, frozen=True, kw_only=True):
    """Of `total` nodes `roomy` have enough free, `passing` are refused by no filter, `fitting` are both."""

    total: int
    roomy: int
    passing: int
    fitting: int
    insufficient: list[InsufficientCount] = []
    filters: list[FilterCount] = []


class Waiting(_Field, frozen=True, kw_only=True):
    """
    Pods of one kind that wait: same role, same request, same wishes.

    `placeable` of the `pods` would get a node now, siblings placed first. `message` is what the scheduler tells the
    first of the others; `nodes` are the numbers for it, or for one more pod when all are placeable.
    """

    role: str
    pods: int
    gated: int
    placeable: int
    example: str
    requests: Amounts
    message: str = ""
    nodes: NodeCounts | None = None
    nearest: NearestNode | None = None


class Competitor(_Field, frozen=True, kw_only=True):
    """A job or queue that comes first, and why."""

    name: str
    why: str


class Competition(_Field, frozen=True, kw_only=True):
    """Who comes before the job: queues before its queue, then jobs within it. The lists hold the first ones only."""

    position: int = 0
    """Place among the waiting jobs of the queue, from 1; 0 when the job doesn't wait there."""
    waiting: int = 0
    jobs_before: int = 0
    queues_before: int = 0
    jobs: list[Competitor] = []
    queues: list[Competitor] = []


class Promise(_Field, frozen=True, kw_only=True):
    """Room that evictions made for a pod. `victims` are still leaving."""

    pod: str
    node: str
    action: str
    victims: list[str]


class DomainRoom(_Field, frozen=True, kw_only=True):
    """A hypernode that the job may use, and what it lacks for the pods that are missing."""

    name: str
    tier: int
    nodes: int
    lacks: list[Shortage]


class TopologyStanding(_Field, frozen=True, kw_only=True):
    """Where in the network the job may go."""

    mode: str = ""
    highest_tier: int | None = None
    allocated: str = ""
    nominated: str = ""
    domains: int = 0
    """Hypernodes of an allowed tier; the list holds the best ones only."""
    best: list[DomainRoom] = []
    errors: dict[str, str] = {}
    """By hypernode: what is wrong with it."""


class Took(_Field, frozen=True, kw_only=True):
    """How long something took. `plugin` is empty for actions."""

    name: str
    plugin: str
    milliseconds: float


class Awake(_Field, frozen=True, kw_only=True):
    """A plugin that keeps jobs from sleeping: each cycle visits every job that waits."""

    plugin: str
    why: str


class Times(_Field, frozen=True, kw_only=True):
    """The last cycle, and the filters and scores that were asked for this answer."""

    cycle_milliseconds: float = 0.0
    slowest: str = ""
    actions: list[Took] = []
    plugins: list[Took] = []
    asked: list[Took] = []
    undeclared: list[str] = []
    """Filters and scores that declare nothing of what they read, and so are asked for every pod anew."""
    awake: list[Awake] = []
    """The plugins because of which no job sleeps."""


class Explanation(_Field, frozen=True, kw_only=True):
    """Why one job waits."""

    namespace: str
    name: str
    summary: str
    phase: str
    is_waiting: bool
    can_start: bool
    """Whether nothing was found that keeps it from starting in the next cycle."""
    causes: list[Cause]
    needs: list[str]
    """What would make it start."""
    gang: Gang
    queue: QueueStanding
    ancestors: list[QueueStanding]
    waiting: list[Waiting]
    competition: Competition
    promises: list[Promise]
    topology: TopologyStanding | None
    priority: int
    share: float | None
    """The job's dominant share, where drf is in use."""
    condition: str
    """What the PodGroup's condition says, as last written."""
    times: Times
