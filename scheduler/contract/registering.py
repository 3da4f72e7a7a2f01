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


class Registering:
    """What the parts of the contract share. `plugin` is always the registering plugin's name."""

    points: Points
    handlers: Handlers
    memory: Memory

    def _guard(self, function: Callable[..., Any], answer: Any, plugin: str, point: str) -> Guarded:
        return Guarded(function, answer, plugin, point, self.memory.on_failure)

    def _add(self, point: Point, plugin: str, function: Callable[..., Any], answer: Any) -> None:
        self.points.register(point, plugin, self._guard(function, answer, plugin, point.label))

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
        guarded = self._guard(ahead, None, plugin, f"{point.label}_ahead") if ahead is not None else None
        if compare is None:
            if key is None:
                raise ValueError(f"plugin {plugin}: an order needs compare or key")
            order: Order[Any] = by_key(key, steady, guarded)
        else:
            order = Order(self._guard(compare, 0, plugin, point.label), key, steady, guarded, is_entangled)
        self.points.register(point, plugin, order)
