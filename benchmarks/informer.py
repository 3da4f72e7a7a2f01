"""
How many watch events a second an informer takes in on one core: TLS, typed decode, cache, index, work queue.

    python -m benchmarks.informer [--seconds 5] [--rounds 3] [--pods 3000] [--jobs 50] [--recording FILE]

A process on another core replays a recorded watch (`benchmarks.replay`): pods of 4 KB that are created, bound, run,
succeed and are deleted. Rounds alternate between flavours, each in a process of its own:

    informer   decodes with interned parts: what the components use for pods
    plain      the same informer with plain typed decode
    lines      no informer: the client's stream of lines alone, which no informer can outrun

Figures are events a second by the clock and by the CPU time of the process, which a shared machine disturbs less.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from api.poddecoding import pod_decoder
from benchmarks.calibration import conditions
from benchmarks.replay import write_lives
from generated.core.v1 import PODS, Pod
from runtime.certs import create_pair, utc_now
from runtime.client import Client
from runtime.controller import Controller, Result, Watch
from runtime.informer import Informer
from runtime.interning import InterningDecoder
from runtime.kubeconfig import ClientConfig
from runtime.objects import Key, key_of
from runtime.tls import Pem, Tls
from runtime.transport import Transport

TARGET = 40_000
FLAVOURS = ("informer", "plain", "lines")
ROOT = Path(__file__).resolve().parents[1]


class Figures(NamedTuple):
    """Events a second: by the clock, and by CPU time of the reading process."""

    wall: float
    cpu: float


class Counter:
    """A handler that counts."""

    def __init__(self) -> None:
        self.events = 0

    def on_add(self, _obj: Pod, _initial: bool) -> None:  # noqa: FBT001  # as Handler
        self.events += 1

    def on_update(self, _old: Pod, _new: Pod) -> None:
        self.events += 1

    def on_delete(self, _obj: Pod) -> None:
        self.events += 1


async def read_by_informer(client: Client, seconds: float, pod_decoder: InterningDecoder[Pod] | None) -> Figures:
    """Events of an informer with an index and a controller whose keys nobody works on."""
    pods = Informer(client, PODS, decoder=pod_decoder, indexers={"node": lambda pod: (pod.spec.node_name,)})
    counter = Counter()
    pods.add_handler(counter)
    controller: Controller[Key] = Controller(
        "benchmark", _rest, watches=[Watch(pods, lambda pod: (key_of(pod),))], workers=1
    )
    tasks = [asyncio.ensure_future(pods.run()), asyncio.ensure_future(controller.run())]
    await pods.wait_synced()
    await asyncio.sleep(1.0)  # warm up: every template seen, the stream at its pace
    before, wall, cpu = counter.events, time.perf_counter(), time.process_time()
    await asyncio.sleep(seconds)
    events, wall, cpu = counter.events - before, time.perf_counter() - wall, time.process_time() - cpu
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    if pods.unreadable:
        raise SystemExit(f"unreadable: {next(iter(pods.unreadable.values()))}")
    return Figures(events / wall, events / cpu)


async def _rest(_key: Key) -> Result:
    """A reconciler that never gets done: keys gather in the queue as they do behind slow work."""
    await asyncio.get_running_loop().create_future()
    raise AssertionError


async def read_lines(client: Client, seconds: float) -> Figures:
    """Lines of the bare stream."""
    async with client.watch(PODS) as stream:
        events, until = 0, time.perf_counter() + 1.0
        started = cpu = 0.0
        async for lines in stream.batches():
            events += len(lines)
            if time.perf_counter() < until:
                continue
            if started:
                break
            events, started, cpu = 0, time.perf_counter(), time.process_time()
            until = started + seconds
    return Figures(events / (time.perf_counter() - started), events / (time.process_time() - cpu))


async def read(flavour: str, port: int, ca: Path, seconds: float) -> Figures:
    """Run one flavour against the replaying process."""
    config = ClientConfig(server=f"https://localhost:{port}", tls=Tls(ca=Pem("benchmark", path=ca)))
    async with Transport(config) as transport:
        client = Client(transport)
        if flavour == "lines":
            return await read_lines(client, seconds)
        return await read_by_informer(client, seconds, pod_decoder() if flavour == "informer" else None)


@contextmanager
def replaying(recording: Path, directory: Path, core: int) -> Iterator[int]:
    """The feeding process; gives its port."""
    command = [sys.executable, "-m", "benchmarks.replay", "serve", "--recording", str(recording)]
    command += ["--directory", str(directory), "--core", str(core)]
    with subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            yield int(process.stdout.readline())
        finally:
            process.kill()


def run_reader(flavour: str, port: int, directory: Path, options: argparse.Namespace, core: int) -> Figures:
    """One flavour in a process of its own, on one core."""
    command = [sys.executable, "-m", "benchmarks.informer", "--flavour", flavour, "--port", str(port)]
    command += ["--directory", str(directory), "--seconds", str(options.seconds), "--core", str(core)]
    output = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True).stdout
    wall, cpu = output.split()
    return Figures(float(wall), float(cpu))


def measure(options: argparse.Namespace, recording: Path, directory: Path) -> dict[str, list[Figures]]:
    """All rounds of all flavours."""
    feeder, reader = _cores()
    results: dict[str, list[Figures]] = {flavour: [] for flavour in FLAVOURS}
    with replaying(recording, directory, feeder) as port:
        for number in range(options.rounds):
            for flavour, figures in results.items():
                figures.append(run_reader(flavour, port, directory, options, reader))
                last = figures[-1]
                print(f"round {number + 1} {flavour:9} {last.wall:9,.0f}/s wall {last.cpu:9,.0f}/s of CPU", flush=True)
    return results


def _cores() -> tuple[int, int]:
    """Two cores, the same one twice on a machine that has no other."""
    cores = sorted(os.sched_getaffinity(0))
    return cores[0], cores[-1]


def compare(options: argparse.Namespace) -> None:
    """Prepare the recording, measure, print."""
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        pair = create_pair(["localhost"], utc_now())
        for file, text in (("cert.pem", pair.cert), ("key.pem", pair.key), ("ca.pem", pair.ca)):
            (directory / file).write_bytes(text)
        recording = options.recording
        if recording is None:
            recording = directory / "pods.watch"
            write_lives(recording, pods=options.pods, jobs=options.jobs)
        lines = recording.read_bytes().splitlines()[1:]
        print(conditions())
        print(f"{len(lines):,} recorded events of {sum(map(len, lines)) / len(lines):,.0f} bytes")
        results = measure(options, recording, directory)
    best = {flavour: Figures(*map(max, zip(*figures, strict=True))) for flavour, figures in results.items()}
    informer, ratio = best["informer"], best["informer"].cpu / best["lines"].cpu
    print(f"best: {informer.wall:,.0f}/s by the clock, {informer.cpu:,.0f}/s of CPU (target {TARGET:,})")
    print(f"{ratio:.2f} of what the stream alone gives, by CPU")


def main() -> None:
    """Compare the flavours, or be one of them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=5.0)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--pods", type=int, default=3000)
    parser.add_argument("--jobs", type=int, default=50)
    parser.add_argument("--recording", type=Path)
    parser.add_argument("--flavour", choices=FLAVOURS, help=argparse.SUPPRESS)
    parser.add_argument("--port", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--core", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--directory", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.flavour is None:
        compare(options)
        return
    os.sched_setaffinity(0, {options.core})
    figures: Any = asyncio.run(read(options.flavour, options.port, options.directory / "ca.pem", options.seconds))
    print(*figures)


if __name__ == "__main__":
    main()
