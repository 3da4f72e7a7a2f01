"""The control plane as a library: what `python -m cluster` and the test fixtures are made of."""

from __future__ import annotations

import datetime as dt
import os
import time
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final, Self

import msgspec

from cluster import components, contents, pki, ports, stages
from cluster.binaries import Binaries
from cluster.cache import Report
from cluster.errors import AlreadyRunningError, ComponentFailed, NotRunningError, StartError, StateError
from cluster.hints import typed
from cluster.leftovers import sweep
from cluster.nodes import NodePool
from cluster.options import Options
from cluster.processes import ProcessId, wait_until
from cluster.rest import Api
from cluster.state import Facts, Layout, Processes, locate, locked, read, write
from cluster.supervision import Supervision
from runtime.errors import ApiError, ConnectionFailed

_TRIES: Final = 3
_POLL_SECONDS: Final = 0.03
_READY_SECONDS: Final = 60.0
_GRACE_SECONDS: Final = 3.0
_RELEASE_SECONDS: Final = 1.0


def _silent(_: str) -> None:
    """Report nothing."""


class Status(msgspec.Struct, frozen=True):
    """What is known of a control plane. `problem` is empty while it runs."""

    facts: Facts | None
    processes: Processes | None
    problem: str

    @property
    def is_running(self) -> bool:
        """Whether it came up and is still there."""
        return not self.problem


class ControlPlane:
    """
    etcd, kube-apiserver, kube-controller-manager and simulated nodes.

    Also a context manager. One that was started here ends with this process, however that ends, unless `disown` was
    called; one that runs already can be used without `start`. Every method blocks: from a coroutine, call it with
    `asyncio.to_thread`.
    """

    def __init__(
        self,
        name: str = "default",
        *,
        directory: Path | None = None,
        options: Options | None = None,
        nodes: Sequence[NodePool] = (),
        binaries: Binaries | None = None,
        report: Report = _silent,
    ) -> None:
        """`directory` is the state directory, by default one for `name`; `report` gets a line for each step."""
        self.name = name
        self._directory = directory
        self.layout: Layout = locate(name, directory)
        self.options = options or Options()
        self._nodes = tuple(nodes)
        self._binaries = binaries or Binaries(self.options.kubernetes, report)
        self._report = report
        self._supervision = Supervision(self.layout)
        self._api: Api | None = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    @property
    def kubeconfig(self) -> Path:
        """Kubeconfig of the administrator."""
        return self.layout.kubeconfig

    @property
    def server(self) -> str:
        """URL of the API server."""
        return f"https://{components.HOST}:{self._facts().api_port}"

    @property
    def api(self) -> Api:
        """Plain requests to the API server as the administrator."""
        if self._api is None:
            files = pki.Files(self.layout.pki)
            self._api = Api(self._facts().api_port, files.ca, files.client)
        return self._api

    def start(self, timeout: float = _READY_SECONDS) -> None:
        """
        Start it, wait until pods can be created and the nodes are ready.

        Whatever an earlier one left in the directory is cleaned up first. Raises AlreadyRunningError, StartError or
        another ClusterError; after any but the first nothing is left running.
        """
        self._refuse_second()
        binaries = {name: self._binaries.find(name) for name in components.ALL}
        with locked(self.layout):
            self._refuse_second()
            self._supervision.end("it is started anew")
            sweep(self.layout, self._report)
            for attempt in range(1, _TRIES + 1):
                try:
                    self._start_once(binaries, timeout)
                except BaseException as error:
                    self._supervision.end(str(error) or type(error).__name__)
                    self.close()
                    is_lost_race = isinstance(error, ComponentFailed) and error.is_port_conflict
                    if not is_lost_race or self.options.api_port or attempt == _TRIES:
                        raise
                    self._report("another process took a port meanwhile; trying other ports")
                else:
                    return

    def stop(self) -> None:
        """End every process and delete all data. Nothing happens when nothing runs."""
        with locked(self.layout):
            self._supervision.end("it was taken down")
            sweep(self.layout, self._report)
            self.layout.remove()
        self.close()

    def close(self) -> None:
        """Close this object's connections; the control plane goes on."""
        if self._api is not None:
            self._api.close()
        self._api = None

    def disown(self) -> None:
        """Let it outlive this process, as `python -m cluster up` does."""
        self._supervision.disown()
        self.close()

    def status(self) -> Status:
        """What runs, from the state directory alone."""
        facts = read(self.layout.facts_file, Facts)
        processes = read(self.layout.processes_file, Processes)
        problem = ""
        if facts is None or processes is None:
            problem = "was never started, or was taken down"
        elif processes.ended:
            problem = f"ended: {processes.ended}"
        elif not processes.supervisor.process.is_alive:
            problem = "ended: its supervisor was killed"
        elif facts.ready_seconds is None:
            problem = "is starting"
        return Status(facts, processes, problem)

    def kill_apiserver(self) -> None:
        """Kill the API server as a crash would; it stays down until `start_apiserver`."""
        self._supervision.stop(components.API_SERVER, 0)

    def start_apiserver(self, timeout: float = _READY_SECONDS) -> None:
        """Start the API server again on its port with its data, and wait until it is ready."""
        self._supervision.start(components.API_SERVER)
        self._wait_for("kube-apiserver", self._is_api_ready, timeout)
        # kwok drops a change whose connection broke, which would leave that pod as it is. A new one looks at all pods.
        self._supervision.stop(components.KWOK, 0)
        contents.delete_leases(self.api)
        self._supervision.start(components.KWOK)

    def restart_apiserver(self, timeout: float = _READY_SECONDS) -> None:
        """Stop the API server as a rolling update would (TERM, a grace of some seconds, KILL) and start it again."""
        self._supervision.stop(components.API_SERVER, _GRACE_SECONDS)
        self.start_apiserver(timeout)

    def add_nodes(self, *pools: NodePool, timeout: float = _READY_SECONDS) -> list[str]:
        """Create simulated nodes, wait until pods can go there; returns their names."""
        names = contents.create_nodes(self.api, pools, self._facts().options.kubernetes)
        self._wait_for(f"{len(names)} nodes", lambda: contents.are_usable(self.api, names), timeout)
        return names

    def remove_nodes(self, names: Iterable[str]) -> None:
        """Delete nodes; the controller manager deletes the pods that ran there."""
        contents.delete_nodes(self.api, names)

    def apply_crds(self, crds: Iterable[dict[str, Any]], timeout: float = _READY_SECONDS) -> None:
        """Apply CustomResourceDefinitions and wait until objects of all of them can be created."""
        definitions = list(crds)
        for crd in definitions:
            contents.apply_crd(self.api, crd)
        for crd in definitions:
            self._wait_for(f"CRD {crd['metadata']['name']}", partial(contents.is_served, self.api, crd), timeout)

    def apply_webhooks(self, configurations: Iterable[dict[str, Any]], url: str, ca_pem: bytes) -> None:
        """
        Apply webhook configurations, pointed at a server on this machine: `url` such as `https://127.0.0.1:8443`
        takes the place of their services, and `ca_pem` is what the API server trusts there.
        """
        contents.apply_webhooks(self.api, configurations, url, ca_pem)

    def _start_once(self, binaries: dict[str, Path], timeout: float) -> None:
        begin = time.monotonic()
        where = self._choose_ports()
        facts = Facts(
            name=self.name,
            options=self.options,
            api_port=where.api,
            etcd_port=where.etcd,
            binaries={name: str(path) for name, path in binaries.items()},
            created=time.time(),
        )
        self._start_storage(binaries[components.ETCD], where)
        self._write_files(where, facts)

        def reached(step: str) -> float:
            self._report(f"{step} ready after {time.monotonic() - begin:.1f} s")
            return begin + timeout - time.monotonic()

        api_server = components.api_server_argv(binaries[components.API_SERVER], self.layout, where, self.options)
        self._supervision.start(components.API_SERVER, api_server)
        self._wait_for("kube-apiserver", self._is_api_ready, timeout)
        left = reached("kube-apiserver")
        self._start_controllers(binaries)
        self._wait_for("kube-controller-manager", self._can_create_pods, left)
        left = reached("kube-controller-manager")
        if self._nodes:
            names = self.add_nodes(*self._nodes, timeout=left)
            reached(f"{len(names)} nodes")
        write(self.layout.facts_file, msgspec.structs.replace(facts, ready_seconds=time.monotonic() - begin))

    def _start_storage(self, etcd: Path, where: components.Ports) -> None:
        self.close()
        self.layout.clear()
        self.layout.create()
        self._supervision = Supervision.launch(self.layout, ProcessId.of(os.getpid()))
        self._supervision.start(components.ETCD, components.etcd_argv(etcd, self.layout, where))

    def _write_files(self, where: components.Ports, facts: Facts) -> None:
        server = f"https://{components.HOST}:{where.api}"
        now = dt.datetime.now(dt.UTC)
        pki.create(pki.Files(self.layout.pki), self.layout.kubeconfig, server, self.name, now)
        write(self.layout.kwok_config, stages.render())
        write(self.layout.facts_file, facts)

    def _start_controllers(self, binaries: dict[str, Path]) -> None:
        manager = components.controller_manager_argv(binaries[components.CONTROLLER_MANAGER], self.layout, self.options)
        self._supervision.start(components.CONTROLLER_MANAGER, manager)
        kwok = components.kwok_argv(binaries[components.KWOK], self.layout, self.options)
        self._supervision.start(components.KWOK, kwok, components.kwok_environment(self.layout))

    def _choose_ports(self) -> components.Ports:
        asked = self.options.api_port
        if not asked:
            return components.Ports(*ports.choose(2))
        # One that was killed a moment ago may still hold it.
        if not wait_until(lambda: ports.is_free(asked), _RELEASE_SECONDS):
            raise StartError(f"port {asked} on {components.HOST} is in use; choose another --port, or leave it out")
        return components.Ports(ports.choose(1)[0], asked)

    def _is_api_ready(self) -> bool:
        return bool(self.api.get("/readyz") == "ok")

    def _can_create_pods(self) -> bool:
        """Pods need their namespace's service account, which the controller manager makes."""
        return bool(self.api.get("/api/v1/namespaces/default/serviceaccounts/default"))

    def _wait_for(self, what: str, condition: Callable[[], bool], timeout: float) -> None:
        """Wait for a condition; not yet answering, not found and not allowed yet count as not yet."""
        last = ""

        def holds() -> bool:
            nonlocal last
            self._supervision.check()
            try:
                return condition()
            except (ApiError, ConnectionFailed) as error:
                last = f": {error}"
                return False

        if not wait_until(holds, timeout, _POLL_SECONDS):
            raise StartError(f"{what} not ready within {timeout:.0f} s{last}; logs are in {self.layout.logs}")

    def _refuse_second(self) -> None:
        try:
            is_running = self.status().is_running
        except StateError:
            return  # damaged files: what they tell of is swept away
        if is_running:
            raise AlreadyRunningError(f"control plane {self.name!r} runs already in {self.layout.root}")

    def _facts(self) -> Facts:
        facts = read(self.layout.facts_file, Facts)
        if facts is None:
            up = typed("up", name=self.name, directory=self._directory)
            raise NotRunningError(f"no control plane runs in {self.layout.root}; start one: {up}")
        return facts
