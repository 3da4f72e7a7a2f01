"""
`python -m scheduler replay DUMP`: run a recorded cycle again, without a server, and show what it decides.

Exit codes: 0 the decisions are those of the dump, 1 they differ (another version, or plugins that are not those of
then), 2 the file can't be replayed.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from runtime.errors import ConfigError
from runtime.flags import FlagParser
from runtime.flagtypes import STRING
from scheduler.budget import Budget, Round
from scheduler.cycle import Result, run_cycle
from scheduler.dump.files import Dump, DumpError, read
from scheduler.dump.parts import put
from scheduler.dump.record import CycleRecord, DecisionRecord, decisions_of
from scheduler.gates import Gates
from scheduler.memory import Memory
from scheduler.placing.sampling import Sampling
from scheduler.settings import conf
from scheduler.settings.loading import Catalog, Directory, built_in, files_of, installed
from scheduler.shards import Mode, Shards

SAME, DIFFERENT, UNREADABLE = 0, 1, 2


def main(arguments: Sequence[str]) -> int:
    """Replay the file that the arguments name; gives the exit code."""
    parser = FlagParser("vc-scheduler replay", "Runs the cycle of a dump again: replay DUMP")
    parser.flag("plugins-dir", STRING, "", "Directory of the custom plugins of then")
    flags = parser.parse(arguments)
    _, files = parser.canonical(arguments)
    if len(files) != 1:
        parser.error(f"replay needs one dump, {len(files)} were named")
    try:
        dump = read(Path(files[0]))
        result = replay(dump, known(flags.plugins_dir))
    except ConfigError as error:
        sys.stderr.write(f"{error}\n")
        return UNREADABLE
    return _show(dump, decisions_of(result))


def known(plugins_dir: str) -> Catalog:
    """The plugins and actions of a scheduler with that directory. Raises LoadError."""
    directory = Directory()
    if plugins_dir:
        problems = directory.take({path: path.read_bytes() for path in files_of(Path(plugins_dir))})
        if problems:
            raise problems[0]
    return directory.catalog.over(installed().over(built_in()))


def replay(dump: Dump, catalog: Catalog) -> Result:
    """Run the cycle of a dump. Raises DumpError when its configuration names an action that isn't known here."""
    cycle = dump.cycle
    try:
        configuration = conf.parse(
            cycle.configuration,
            actions=catalog.actions,
            plugins=catalog.plugins,
            plugin_arguments=catalog.plugin_arguments,
            action_arguments=catalog.action_arguments,
        )
    except conf.ConfigError as error:
        raise DumpError(f"the configuration of the dump can't be used here: {error}") from error
    try:
        restored = put(dump.parts)
    except (KeyError, IndexError, TypeError, ValueError, AttributeError) as error:
        raise DumpError(f"the state of the dump contradicts itself: {type(error).__name__}: {error}") from error
    memory = Memory(restored.cluster, configuration, dict(catalog.plugins))
    restored.remember(memory)
    carry(cycle, memory)
    budget = Budget.replayed(cycle.over_at)
    return run_cycle(restored.cluster, memory, catalog.actions, uid=cycle.uid, now=cycle.now, expired=budget)


def carry(cycle: CycleRecord, memory: Memory) -> None:
    """Give a memory what a recorded cycle knew beside the state: the search, gates on their way out, shard, turns."""
    sampling, gates, shards = cycle.sampling, cycle.gates, cycle.shards
    if sampling is not None:
        memory.sampling = Sampling(sampling.percentage, sampling.minimum, sampling.cursor)
    if gates is not None:
        memory.gates = Gates(memory.cluster, is_on=True, granted=gates.granted)
    if shards is not None:
        memory.shards = Shards(memory.cluster, Mode(shards.mode), shards.name, nodes=shards.nodes)
    if cycle.round is not None:
        owed, vain = (
            {stage: set(jobs) for stage, jobs in each.items()} for each in (cycle.round.owed, cycle.round.vain)
        )
        memory.round = Round(owed, vain, owed_only=cycle.round.owed_only)


def _show(dump: Dump, decisions: list[DecisionRecord]) -> int:
    out = sys.stdout
    out.write(f"session {dump.cycle.uid}: {len(decisions)} decisions\n")
    for decision in decisions:
        out.write(f"{decision}\n")
    if dump.cycle.over_at is not None:
        after = f" after job {dump.cycle.last_job}" if dump.cycle.last_job else ""
        out.write(f"the time of the cycle was over{after}: the rest of the jobs waited for the next one\n")
    if decisions == dump.cycle.decisions:
        out.write("the same decisions as recorded\n")
        return SAME
    out.write(f"recorded were {len(dump.cycle.decisions)} other decisions:\n")
    for decision in dump.cycle.decisions:
        out.write(f"{decision}\n")
    return DIFFERENT
