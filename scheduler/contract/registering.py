"""How functions of plugins get into a session: guarded, so that one that throws gives the harmless answer instead."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from scheduler.contract.points import Guarded, Point
from scheduler.fairness.ordering import Order, by_key
from scheduler.state.dimensions import Floats

if TYPE_CHECKING:
    from scheduler.contract.handlers import Handlers
    from scheduler.contract.points import Points
    from scheduler.memory import Memory

Compare = Callable[[Any, Any], int]
Key = Callable[[Any], Any]
Steady = Callable[[Any], bool]
Ahead = Callable[[Any, Floats], Sequence[Any] | None]


def _is_ours(function: Callable[..., Any]) -> bool:
    return getattr(function, "__module__", "").startswith("scheduler.")


class _Key:
    """A key of somebody's plugin. Keys that can't be compared are equal, so that the next order decides."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value

    def __lt__(self, other: _Key) -> bool:
        try:
            return bool(self.value < other.value)
        except TypeError:
            return False

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Key) and not (self < other or other < self)

    __hash__ = None  # type: ignore[assignment]  # nobody puts it into a set


def _comparable(key: Key) -> Key:
    return lambda item: _Key(key(item))


def _comparable_ahead(ahead: Ahead) -> Ahead:
    def keys(item: Any, held: Floats) -> Sequence[Any] | None:
        told = ahead(item, held)
        return None if told is None else list(map(_Key, told))

    return keys


class Registering:
    """What the parts of the contract share. `plugin` is always the registering plugin's name."""

    points: Points
    handlers: Handlers
    memory: Memory

    def _guard(
        self,
        function: Callable[..., Any],
        answer: Any,
        plugin: str,
        point: str,
        kinds: tuple[type, ...] | None = None,
    ) -> Guarded:
        return Guarded(function, answer, plugin, point, self.memory.on_failure, kinds=kinds)

    def _add(
        self,
        point: Point,
        plugin: str,
        function: Callable[..., Any],
        answer: Any,
        kinds: tuple[type, ...] | None = None,
    ) -> None:
        self.points.register(point, plugin, self._guard(function, answer, plugin, point.label, kinds))

    def _add_order(
        self,
        point: Point,
        plugin: str,
        compare: Compare | None,
        key: Key | None,
        steady: Steady | None = None,
        *,
        ahead: Ahead | None = None,
        is_entangled: bool = False,
    ) -> None:
        guarded: Ahead | None = self._guard(ahead, None, plugin, f"{point.label}_ahead") if ahead is not None else None
        if key is not None and not _is_ours(key):
            key = _comparable(self._guard(key, None, plugin, point.label))
            guarded = _comparable_ahead(guarded) if guarded is not None else None
        if compare is None:
            if key is None:
                raise ValueError(f"plugin {plugin}: an order needs compare or key")
            order: Order[Any] = by_key(key, steady, guarded)
        else:
            order = Order(self._guard(compare, 0, plugin, point.label), key, steady, guarded, is_entangled)
        self.points.register(point, plugin, order)
