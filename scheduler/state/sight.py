"""
How many pods stand on each node, counted by what other pods' terms see of them.

Kept in step pod by pod, so that affinity and spread never walk over pods: a tally is made when its term is met first,
and from then on follows every placement, eviction and change from the API server. The counts are whole numbers, so
taking one back by subtraction is exact.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from scheduler.state.profile import Carried, Counted, Kind, Profile, Tally
from scheduler.state.status import OFF_NODE, Status
from scheduler.state.terms import Affinities, HostPort, affinities
from scheduler.state.workloads import Owner, Workloads, owner_of

if TYPE_CHECKING:
    from scheduler.contract.journal import Journal
    from scheduler.state.node import Node
    from scheduler.state.task import Shape, Task

K = TypeVar("K")
V = TypeVar("V")

_MAX_KEPT = 8192
"""
With more profiles and tallies than this, those that nothing needs just now are forgotten between sessions; and with more
notes on shapes than this, those of shapes that no pod has.
"""


class Sight:
    """
    The tallies in use, and the profiles of pods.

    Nothing is counted before the first pod appears that looks at others: until then `is_active` is False and
    everything here costs nothing. `moves` changes with every count.
    """

    def __init__(self, tasks: Mapping[str, Task], workloads: Workloads) -> None:
        self.is_active = False
        self.moves = 0
        self.namespaces: dict[str, Mapping[str, str]] = {}
        """Labels of namespaces, for terms that select namespaces."""
        self._tasks = tasks
        self._workloads = workloads
        self._is_stale = False
        self._limit = _MAX_KEPT
        self._notes = 0
        self._notes_limit = _MAX_KEPT
        self._version = 0
        self._visible: set[str] = set()
        self._keys: tuple[str, ...] = ()
        self._profiles: dict[tuple[str, tuple[str | None, ...], Owner | None], Profile] = {}
        self._counted: dict[Counted, Tally] = {}
        self._carried: dict[Carried | HostPort, Tally] = {}

    @property
    def extent(self) -> tuple[int, int]:
        """Differs when pods may be seen that were not seen before, or by others."""
        return self._version, len(self._carried)

    # What there is to see.

    def learn(self, shape: Shape) -> None:
        """Take note of what pods of a shape look at. Not during a session."""
        if not shape.looks:
            return
        if self.is_active and shape.label_keys <= self._visible:
            return
        self._visible |= shape.label_keys
        self.is_active = self._is_stale = True

    def set_namespace(self, name: str, labels: Mapping[str, str] | None) -> bool:
        """Take in the labels of a namespace, None when it is gone; whether that is news. Not during a session."""
        if self.namespaces.get(name) == labels:
            return False
        if labels is None:
            del self.namespaces[name]
        else:
            self.namespaces[name] = dict(labels)
        self._is_stale = True
        return True

    def regroup(self) -> None:
        """Services or workloads changed. Not during a session."""
        self._visible |= self._workloads.keys
        self.is_active = self._is_stale = True

    def settle(self) -> None:
        """
        Count anew where what can be seen has changed, or where very much is kept. Call before a session.

        Whatever is still needed comes back.
        """
        crowded = len(self._profiles) + len(self._counted) + len(self._carried) > self._limit
        if self.is_active and (crowded or self._is_stale):
            self._restart()
            self._limit = max(_MAX_KEPT, 2 * (len(self._profiles) + len(self._carried)))
        if self._notes > self._notes_limit:
            self._forget_shapes()
            self._notes_limit = max(_MAX_KEPT, 2 * self._notes)

    def renumbered(self) -> None:
        """Nodes got other columns."""
        for tally in (*self._counted.values(), *self._carried.values()):
            tally.renumbered()

    def _restart(self) -> None:
        self._is_stale = False
        self._keys = tuple(sorted(self._visible))
        self._version += 1
        self.moves += 1
        self._notes = 0
        self._profiles.clear()
        self._counted.clear()
        self._carried.clear()
        for task in self._tasks.values():
            if task.node is not None and task.in_kube and task.status not in OFF_NODE:
                self._count(task, task.node, 1, live=task.status is not Status.RELEASING)

    def _forget_shapes(self) -> None:
        """
        Forget what was noted of shapes that no pod has any longer.

        Templates come and go for years under the same labels, so that their profile stays.
        """
        shapes = {task.shape for task in self._tasks.values()}
        self._notes = sum(_forget_shapes_but(shapes, profile) for profile in self._profiles.values())

    # Profiles.

    def profile(self, task: Task) -> Profile:
        """What others see of a pod."""
        profile = task.profile
        if profile is None or profile.version != self._version:
            profile = task.profile = self._profile(task)
        return profile

    def _profile(self, task: Task) -> Profile:
        labels = task.pod.metadata.labels if task.pod is not None else {}
        owner = owner_of(task.pod)
        name = (task.namespace, tuple(map(labels.get, self._keys)), owner)
        profile = self._profiles.get(name)
        if profile is None:
            cut = {key: labels[key] for key in self._keys if key in labels}
            profile = self._profiles[name] = Profile(task.namespace, cut, self._version)
            profile.default_selector = self._workloads.selector_of(task.namespace, cut, owner)
            profile.matched = [tally for key, tally in self._counted.items() if self.means(key, profile)]
            profile.facing = [tally for key, tally in self._carried.items() if self._bears_on(key, profile)]
        return profile

    def affinities(self, task: Task) -> Affinities:
        """The inter-pod terms of a pod."""
        profile = self.profile(task)
        found = profile.affinities.get(task.shape)
        if found is None:
            found = self.note(profile.affinities, task.shape, affinities(task.shape.spec, task.namespace))
        return found

    def note(self, notes: dict[K, V], key: K, value: V) -> V:
        """Remember something of a shape in a dictionary of a profile, as long as a pod has that shape."""
        self._notes += key not in notes
        notes[key] = value
        return value

    def means(self, counted: Counted, profile: Profile) -> bool:
        """Whether pods of a profile are among those counted."""
        namespace_labels = self.namespaces.get(profile.namespace, {})
        return all(term.matches(profile.namespace, profile.labels, namespace_labels) for term in counted.terms)

    def _bears_on(self, key: Carried | HostPort, profile: Profile) -> bool:
        if isinstance(key, HostPort):
            return False
        namespace_labels = self.namespaces.get(profile.namespace, {})
        return key.placed.term.matches(profile.namespace, profile.labels, namespace_labels)

    # Tallies.

    def tally(self, counted: Counted) -> Tally:
        """The pods that match, a number a node; counted up when it is asked for first."""
        tally = self._counted.get(counted)
        if tally is None:
            tally = self._counted[counted] = Tally(counted, live=counted.live)
            for profile in self._profiles.values():
                if self.means(counted, profile):
                    profile.matched.append(tally)
                    for task in profile.standing.values():
                        if task.node is not None and not (tally.live and task.status is Status.RELEASING):
                            tally.add(task.node, 1)
        return tally

    def ports(self, wanted: HostPort) -> list[Tally]:
        """The tallies of host ports that can't stand beside this one."""
        return [tally for key, tally in self._carried.items() if isinstance(key, HostPort) and key.conflicts(wanted)]

    def carried(self, task: Task) -> tuple[Tally, ...]:
        """The tallies of the terms and ports that a pod carries."""
        if not task.shape.looks:
            return ()
        profile = self.profile(task)
        tallies = profile.carried.get(task.shape)
        if tallies is None:
            found = self.affinities(task)
            keys: list[Carried | HostPort] = [
                Carried(kind, placed)
                for kind, terms in (
                    (Kind.REQUIRED, found.required),
                    (Kind.FORBIDDEN, found.forbidden),
                    (Kind.PREFERRED, found.preferred),
                )
                for placed in terms
            ]
            tallies = tuple(self._carry(key) for key in (*keys, *task.shape.ports))
            self.note(profile.carried, task.shape, tallies)
        return tallies

    def _carry(self, key: Carried | HostPort) -> Tally:
        tally = self._carried.get(key)
        if tally is None:
            tally = self._carried[key] = Tally(key)
            for profile in self._profiles.values():
                if self._bears_on(key, profile):
                    profile.facing.append(tally)
        return tally

    # Changes.

    def shift(
        self, tasks: Sequence[Task], nodes: Sequence[Node], number: int, *, live: bool, journal: Journal | None = None
    ) -> None:
        """
        Pods come to nodes (`number` 1) or leave them (-1). `live` is False for those that are being deleted.

        With a journal the change is taken back with it.
        """
        if not self.is_active or self._is_stale:
            return
        for task, node in zip(tasks, nodes, strict=True):
            self._count(task, node, number, live=live)
        self.moves += 1
        if journal is not None:
            journal.push(_shift_back, self, tuple(tasks), tuple(nodes), -number, live)

    def _count(self, task: Task, node: Node, number: int, *, live: bool) -> None:
        carried = self.carried(task)
        profile = self.profile(task)
        if number > 0:
            profile.standing[task.uid] = task
        else:
            profile.standing.pop(task.uid, None)
        for tally in carried:
            tally.add(node, number)
        for tally in profile.matched:
            if live or not tally.live:
                tally.add(node, number)


def _forget_shapes_but(shapes: Collection[Shape], profile: Profile) -> int:
    """Forget what a profile notes of other shapes; how much is left."""
    masks: dict[Any, Any] = profile.masks
    by_shape: tuple[dict[Shape, Any], ...] = (profile.affinities, profile.carried, profile.constraints)
    for notes in by_shape:
        for shape in [shape for shape in notes if shape not in shapes]:
            del notes[shape]
    for key in [key for key in masks if key[0] not in shapes]:
        del masks[key]
    return sum(map(len, (*by_shape, masks)))


def _shift_back(sight: Sight, tasks: Sequence[Task], nodes: Sequence[Node], number: int, live: bool) -> None:  # noqa: FBT001  # journal records are positional
    sight.shift(tasks, nodes, number, live=live)
