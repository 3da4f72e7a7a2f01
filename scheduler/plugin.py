"""
What a scheduler plugin is: a class with a name and two hooks.

    class Reluctant(Plugin):
        name = "reluctant"

        def on_session_open(self, session):
            session.add_predicate(self.name, self.refuse)

        def refuse(self, task, node):
            return "node(s) are reserved" if "reserved" in node.labels else None

docs/plugins/writing.md shows how to declare effects, and what that gains.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

if TYPE_CHECKING:
    from scheduler.contract.arguments import Arguments, Declared
    from scheduler.session import Session


class Plugin:
    """
    Base of plugins. A new object is made for each session, unless the class says `outlives_session`.

    A plugin that outlives sessions must keep nothing in itself but what its arguments say.
    """

    name: ClassVar[str]
    outlives_session: ClassVar[bool] = False
    lets_jobs_sleep: ClassVar[bool] = False
    """
    Whether jobs that no node can take may be passed over until something changes for them: what the plugin says of a
    job (valid, ready, its order) depends on that job alone, whether a queue may take a pod on the queue and the pod's
    request, and whether a job may enter its queue on the queue and the job's minimum and priority; and nobody who enters
    or is placed makes it easier for another; and none of that on the time. Each class says so for itself, it isn't
    inherited; one that doesn't has all jobs visited and asked about in each cycle, and cycles go on at the schedule
    period as long as jobs wait, whether anything changes or not.
    """
    declares: ClassVar[Declared | None] = None
    """
    The arguments that the plugin knows, with their types. Others are warned of when the configuration is loaded, and so
    are values of another type, whose default then counts. None: the plugin doesn't say, and nothing is checked.
    """

    def __init__(self, arguments: Arguments) -> None:
        self.arguments = arguments

    def on_session_open(self, session: Session) -> None:
        """Register functions with the session."""
        raise NotImplementedError(f"plugin {self.name} registers nothing: on_session_open is missing")

    def on_session_close(self, session: Session) -> None:
        """Look at the outcome; nothing by default."""
