"""
What 10,000 cached pods of 4 KB cost: memory for each, and the time of a full pass of the garbage collector.

    python -m benchmarks.cache [--pods 10000] [--rounds 3]

Each flavour runs in a process of its own: pods of as many jobs as pods (every spec another one) and pods of 50 jobs,
decoded as the components do it (interned parts), and for comparison plainly, and to dicts. Memory is what the process
grew by (resident set), after the list and again after each pod changed twice, store, keys and indexes included.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from api.poddecoding import pod_decoder
from benchmarks.calibration import conditions
from benchmarks.pods import encode, pod
from generated.core.v1 import Pod
from runtime.cache import Cache
from runtime.decoding import decoder_of
from runtime.informer_metrics import InformerMetrics

ROOT = Path(__file__).resolve().parents[1]
FLAVOURS = ("interned", "plain", "dicts")
TARGETS = {"distinct": 15.0, "jobs50": 3.0}
"""KB a pod."""
GC_TARGET = 20.0
"""Milliseconds of CPU of a full pass."""


class Figures(NamedTuple):
    """KB a pod after the list, after two changes of each, and milliseconds of a full collection."""

    listed: float
    changed: float
    collection: float


def texts(pods: int, jobs: int) -> Iterator[bytes]:
    """The list of running pods, then two changes of each: they succeed, and run again."""
    version = 1
    for stage in ("running", "succeeded", "running"):
        for number in range(pods):
            version += 1
            yield encode(pod(number, jobs=jobs, stage=stage, version=version))


def fill(flavour: str) -> Callable[[bytes], None]:
    """What takes a pod's text into a cache of that flavour."""
    if flavour == "dicts":
        objects: dict[tuple[str, str], Any] = {}

        def keep(text: bytes) -> None:
            obj = json.loads(text)
            objects[obj["metadata"]["namespace"], obj["metadata"]["name"]] = obj

        return keep
    decode = pod_decoder().decode if flavour == "interned" else decoder_of(Pod).decode
    cache: Cache[Pod] = Cache("Pod", InformerMetrics.of("pods"), indexers={"node": lambda pod: (pod.spec.node_name,)})
    return lambda text: cache.put(decode(text))


def resident() -> int:
    """Bytes of this process in memory."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def measure(flavour: str, pods: int, jobs: int) -> Figures:
    """Fill a cache in this process."""
    keep = fill(flavour)
    keep(encode(pod(pods + 1, jobs=1)))  # decoders and pools are there
    gc.collect()
    before = resident()
    sizes: list[float] = []
    for count, text in enumerate(texts(pods, jobs), 1):
        keep(text)
        if count % pods == 0:
            gc.collect()
            sizes.append((resident() - before) / pods / 1024)
    passes: list[float] = []
    for _ in range(5):
        began = time.process_time()  # nothing is waited for, and others on the machine don't count
        gc.collect()
        passes.append((time.process_time() - began) * 1000)
    return Figures(sizes[0], sizes[-1], min(passes))


def in_own_process(flavour: str, pods: int, jobs: int) -> Figures:
    """`measure`, with a heap that nobody has used before."""
    command = [sys.executable, "-m", "benchmarks.cache", "--flavour", flavour, "--pods", str(pods), "--jobs", str(jobs)]
    output = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True).stdout
    return Figures(*map(float, output.split()))


def compare(options: argparse.Namespace) -> None:
    """Measure all flavours in turn and print them beside the targets."""
    print(conditions())
    print(f"{options.pods:,} pods, {len(encode(pod(1, jobs=1))):,} bytes each")
    for name, jobs in (("distinct", options.pods), ("jobs50", 50)):
        rounds: dict[str, list[Figures]] = {flavour: [] for flavour in FLAVOURS}
        for _ in range(options.rounds):
            for flavour, figures in rounds.items():
                figures.append(in_own_process(flavour, options.pods, jobs))
        for flavour, figures in rounds.items():
            best = Figures(*map(min, zip(*figures, strict=True)))
            target = f"  (targets {TARGETS[name]:g} KB, {GC_TARGET:g} ms)" if flavour == "interned" else ""
            print(
                f"{name:8} {flavour:8} {best.listed:6.1f} KB a pod after the list {best.changed:6.1f} after changes "
                f"{best.collection:7.1f} ms a full collection{target}"
            )


def main() -> None:
    """Compare the flavours, or be one of them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pods", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--flavour", choices=FLAVOURS, help=argparse.SUPPRESS)
    parser.add_argument("--jobs", type=int, default=50, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.flavour is None:
        compare(options)
    else:
        print(*measure(options.flavour, options.pods, options.jobs))


if __name__ == "__main__":
    main()
