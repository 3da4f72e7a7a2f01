"""
`/healthz`, `/livez` and `/readyz`: named checks, and the answers that probes and people read.

`/healthz` says that the process runs, before it leads and before its caches are filled, as charts expect of it.
`/readyz` says that it can do its work. `/livez` fails only when the process should be started again.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable

from runtime.serving import Call, Reply, Router

log = logging.getLogger(__name__)

Check = Callable[[], str]
"""Returns what is wrong, or an empty string. Must return at once: it runs on the loop that serves `/healthz`."""


class Checks:
    """The named checks of one endpoint. May be added and dropped while it is served, from any thread."""

    def __init__(self, endpoint: str, *, failure_status: int) -> None:
        """`endpoint` as in `readyz`."""
        self.endpoint = endpoint
        self._failure_status = failure_status
        self._checks: dict[str, Check] = {"ping": lambda: ""}

    def add(self, name: str, check: Check) -> None:
        """Add a check. Raises ValueError when the name is taken."""
        if name in self._checks:
            raise ValueError(f"check {name} of /{self.endpoint} is registered twice")
        self._checks = {**self._checks, name: check}

    def drop(self, name: str) -> None:
        """Remove a check; one that isn't there is no error."""
        self._checks = {key: check for key, check in self._checks.items() if key != name}

    def problems(self, excluded: Iterable[str] = ()) -> dict[str, str]:
        """Every check's problem, empty where all is well."""
        skipped = frozenset(excluded)
        return {name: _run(name, check) for name, check in self._checks.items() if name not in skipped}

    @property
    def is_passing(self) -> bool:
        return not any(self.problems().values())

    def route(self, router: Router) -> None:
        """Serve the endpoint and each of its checks: `/readyz`, `/readyz/{check}`."""
        router.add(f"/{self.endpoint}", self._answer)
        router.add(f"/{self.endpoint}/{{check}}", self._answer_one)

    async def _answer(self, call: Call) -> Reply:
        problems = self.problems(call.query.get("exclude", "").split(","))
        is_failing = any(problems.values())
        if not is_failing and "verbose" not in call.query:
            return Reply("ok")
        lines = [f"[-]{name} failed: {text}" if text else f"[+]{name} ok" for name, text in problems.items()]
        lines.append(f"{self.endpoint} check {'failed' if is_failing else 'passed'}")
        return Reply("\n".join(lines) + "\n", self._failure_status if is_failing else 200)

    async def _answer_one(self, call: Call) -> Reply:
        name = call.parts["check"]
        check = self._checks.get(name)
        if check is None:
            return Reply(f"no check {name}\n", 404)
        problem = _run(name, check)
        return Reply(f"{problem}\n", self._failure_status) if problem else Reply("ok")


class Health:
    """The three endpoints of a process."""

    def __init__(self) -> None:
        self.healthz = Checks("healthz", failure_status=500)
        self.livez = Checks("livez", failure_status=500)
        self.readyz = Checks("readyz", failure_status=503)

    def route(self, router: Router) -> None:
        """Serve all three."""
        for checks in (self.healthz, self.livez, self.readyz):
            checks.route(router)


def _run(name: str, check: Check) -> str:
    try:
        return check()
    except Exception as error:
        log.exception("health check failed check=%s", name)
        return f"{type(error).__name__}: {error}"
