"""
Probes of the jobs that an entry waits for: requests, connections, and where their tasks stand (controllers.md DB-34).

Only addresses of pods are ever reached, and no redirect is followed: a flow's author can't have this process ask others.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from typing import Final

from controllers.job.counts import task_of
from generated.batch.v1alpha1 import Job
from generated.core.v1 import Pod
from generated.flow.v1alpha1 import HttpGet, Probe, TaskStatus, TcpSocket
from runtime.http import HttpClient, PeerError

SECONDS: Final = 3.0
"""How long a peer may take to answer."""
_TOGETHER: Final = 32
_LARGEST_ANSWER: Final = 64 * 1024


class Prober:
    """Asks pods. `pods_of` gives the pods of a job."""

    def __init__(self, pods_of: Callable[[Job], Sequence[Pod]], seconds: float = SECONDS) -> None:
        self._pods_of = pods_of
        self._seconds = seconds
        self._places = asyncio.Semaphore(_TOGETHER)

    async def passes(self, probe: Probe, jobs: Sequence[Job]) -> bool:
        """Whether everything that the probe asks for holds for these jobs."""
        if not all(_is_reached(wanted, jobs) for wanted in probe.task_status_list):
            return False
        requests = [(get, self._addresses(get.task_name, jobs)) for get in probe.http_get_list]
        sockets = [(socket, self._addresses(socket.task_name, jobs)) for socket in probe.tcp_socket_list]
        if not all(addresses for _, addresses in (*requests, *sockets)):
            return False
        async with HttpClient(timeout=self._seconds, connect_timeout=self._seconds, max_body=_LARGEST_ANSWER) as client:
            checks = [self._answers(client, get, address) for get, found in requests for address in found]
            checks += [self._accepts(socket, address) for socket, found in sockets for address in found]
            return all(await asyncio.gather(*checks))

    def _addresses(self, task: str, jobs: Iterable[Job]) -> list[str]:
        """Addresses of all pods of a task; none unless every one of them has got one."""
        pods = [pod for job in jobs for pod in self._pods_of(job) if task_of(pod) == task]
        addresses = [pod.status.pod_ip for pod in pods]
        return addresses if all(addresses) else []

    async def _answers(self, client: HttpClient, get: HttpGet, address: str) -> bool:
        headers = {get.http_header.name: get.http_header.value} if get.http_header and get.http_header.name else {}
        url = f"http://{_host(address)}:{get.port}/{get.path.removeprefix('/')}"
        async with self._places:
            try:
                answer = await client.get(url, headers=headers)
            except PeerError:
                return False
        return 200 <= answer.status < 400  # as kubelets judge

    async def _accepts(self, socket: TcpSocket, address: str) -> bool:
        async with self._places:
            try:
                async with asyncio.timeout(self._seconds):
                    _, writer = await asyncio.open_connection(address, socket.port)
            except (OSError, OverflowError):
                return False
            writer.close()
            with suppress(OSError):
                await writer.wait_closed()
        return True


def _is_reached(wanted: TaskStatus, jobs: Iterable[Job]) -> bool:
    """Whether some pod of the task is in the phase."""
    states = [job.status.task_status_count.get(wanted.task_name) for job in jobs]
    return any(state is not None and state.phase.get(wanted.phase, 0) > 0 for state in states)


def _host(address: str) -> str:
    return f"[{address}]" if ":" in address else address
