"""
Waiting until an installation works, and telling meanwhile how far it is.

Each workload gets a line when it comes up and whenever what holds it up changes; in between a line says from time to
time who is still waited for, so that nobody takes a slow start for a dead one. Lines only, so that logs have them too.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from hack.deploy import order
from hack.deploy.applying import Say
from hack.deploy.errors import DeployError
from hack.deploy.kubectl import WORKLOADS, Kubectl, Object
from hack.deploy.rollouts import obstacles, unfinished

POLL_SECONDS = 2.0
REPEAT_SECONDS = 15.0
"""After so long without a change a line says that it is still waited."""


def wait(
    kubectl: Kubectl,
    objects: Sequence[Object],
    seconds: float,
    say: Say,
    *,
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
) -> None:
    """Until every workload has rolled out. Raises DeployError with what holds up those that haven't in time."""
    workloads = [found for found in order.sort(objects) if found["kind"] in WORKLOADS]
    if not workloads:
        return
    say(f"waiting until {len(workloads)} workloads are up, {seconds:.0f} s at most")
    waiting, begin = _Waiting(kubectl, workloads, say), clock()
    while not waiting.look(clock() - begin):
        if clock() - begin >= seconds:
            raise DeployError(waiting.failure(seconds))
        sleep(POLL_SECONDS)


class _Waiting:
    """What is known of the workloads, and what was told of them."""

    def __init__(self, kubectl: Kubectl, workloads: Sequence[Object], say: Say) -> None:
        self._kubectl = kubectl
        self._workloads = workloads
        self._say = say
        self._states = {order.label(found): "" for found in workloads}
        """What holds them up, of those that aren't up."""
        self._told = 0.0

    def look(self, passed: float) -> bool:
        """Ask the cluster once, `passed` seconds after the first time, and tell what is new. Whether all are up."""
        try:
            states = self._ask()
        except DeployError as error:  # a server that restarts is back in a moment
            states = dict.fromkeys(self._states, f"the cluster can't be asked: {_last_line(error)}")
        for label, before in list(self._states.items()):
            after = states.get(label, "")
            if not after:
                self._tell(f"{label} is up", passed)
                del self._states[label]
            elif after != before:
                self._tell(f"{label}: {after}", passed)
                self._states[label] = after
        if self._states and passed - self._told >= REPEAT_SECONDS:
            count = len(self._workloads) - len(self._states)
            self._tell(
                f"after {passed:.0f} s {count} of {len(self._workloads)} are up, waiting for {', '.join(self._states)}",
                passed,
            )
        return not self._states

    def failure(self, seconds: float) -> str:
        """What to tell when the time is over."""
        lines = [f"{label} is not up after {seconds:.0f} s: {state}" for label, state in self._states.items()]
        return "\n".join([*lines, "all is applied: `make deploy` again goes on waiting, `make undeploy` takes it away"])

    def _ask(self) -> dict[str, str]:
        """What holds up the workloads that aren't up yet, by label. Raises DeployError."""
        asked = [found for found in self._workloads if order.label(found) in self._states]
        there = {order.label(found): found for found in self._kubectl.get("--filename=-", objects=asked)}
        states = {
            order.label(found): unfinished(there[order.label(found)])
            if order.label(found) in there
            else "somebody deleted it"
            for found in asked
        }
        late = [label for label, state in states.items() if state and label in there]
        pods = self._pods({there[label]["metadata"]["namespace"] for label in late})
        for label in late:
            states[label] = "; ".join([states[label], *obstacles(there[label], pods)])
        return states

    def _pods(self, namespaces: set[str]) -> list[Object]:
        return [
            pod for namespace in sorted(namespaces) for pod in self._kubectl.get("pods", f"--namespace={namespace}")
        ]

    def _tell(self, text: str, passed: float) -> None:
        self._say(text)
        self._told = passed


def _last_line(error: DeployError) -> str:
    return str(error).splitlines()[-1]
