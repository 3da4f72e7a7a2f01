"""The kinds of tasks of which it is kept what nodes say, for jobs that sleep: not more of them than memory allows."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from scheduler.placing.fills import Fill
from scheduler.placing.scene import Scene
from scheduler.placing.verdicts import Verdicts

if TYPE_CHECKING:
    from collections.abc import Callable, Container

    from scheduler.placing.template import Template

_MIN_FOLLOWED, _FOLLOWED_CELLS = 64, 2_560_000
"""How many templates are followed: at least, and in numbers a node times templates (8 bytes each)."""
_OF_A_FILL = 3
"""Numbers that a fill keeps of each node."""

F = TypeVar("F", bound=Verdicts)


class Followed:
    """What nodes say of a template, as they are (`verdicts`) and once they are full of its tasks (`fills`)."""

    def __init__(self) -> None:
        self._verdicts: dict[Template, Verdicts] = {}
        self._fills: dict[Template, Fill] = {}
        self.scene: Scene | None = None
        """What plans would find, while the room of all nodes is followed for some template."""

    def verdicts(self, template: Template) -> Verdicts:
        """Of a template that is followed."""
        return self._verdicts[template]

    def fill(self, template: Template) -> Fill:
        """Of a template that is followed so."""
        return self._fills[template]

    def follow(self, template: Template) -> Verdicts | None:
        """The verdicts of all nodes as of now, if none of them would take a task and that can be followed."""
        if template not in self._verdicts:
            template.refresh()
            if (template.passes & template.fits_future).any():
                return None
        found = self._follow(self._verdicts, template, Verdicts)
        return None if found is None or found.any_free else found

    def follow_fill(self, template: Template) -> Fill | None:
        """The room of all nodes as of now, if it can be followed."""
        found = self._follow(self._fills, template, Fill)
        if found is not None and self.scene is None:
            self.scene = Scene(template.cluster)
        return found

    def _follow(self, known: dict[Template, F], template: Template, kind: Callable[[Template], F]) -> F | None:
        found = known.get(template)
        if found is None:
            nodes = max(1, len(template.cluster.nodes))
            most = max(_MIN_FOLLOWED, _FOLLOWED_CELLS // nodes)
            made = kind(template)
            if len(self._verdicts) + _OF_A_FILL * len(self._fills) >= most or not made.can_follow(template):
                return None
            found = known[template] = made
        found.refresh()
        return None if found.are_lost else found

    def refresh(self) -> None:
        """Bring all up to date."""
        for verdicts in (*self._verdicts.values(), *self._fills.values()):
            verdicts.refresh()
        self.look()

    def look(self) -> None:
        """Bring the scene up to date."""
        if self.scene is not None:
            self.scene.refresh()

    def keep(self, used: Container[tuple[Template, bool]]) -> None:
        """Forget the others; of each template, whether its fill is meant."""
        for template in [template for template in self._verdicts if (template, False) not in used]:
            del self._verdicts[template]
        for template in [template for template in self._fills if (template, True) not in used]:
            del self._fills[template]
        if not self._fills:
            self.scene = None
