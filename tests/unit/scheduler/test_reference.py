"""The kernel decides as the oracle does, whatever is shared, computed ahead or placed in runs."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.unit.scheduler.build import FIVE_PLUGINS, binds, cycle, memory_of, random_world
from tests.unit.scheduler.slow import Slow
from tests.unit.scheduler.synthetic import SlowSynthetic, Synthetic


@settings(max_examples=100, deadline=None)
@given(st.integers(0, 2**32))
def test_a_cycle_binds_as_the_oracle_does(seed: int) -> None:
    world = random_world(seed)
    expected = Slow(world.cluster).cycle()
    assert binds(cycle(world)) == expected


EFFECTS = ["row", "domain", "all", "loose", "columns-score", "row-score", "domain-score", "all-score"]


@settings(max_examples=100, deadline=None)
@given(st.integers(0, 2**32), st.sets(st.sampled_from(EFFECTS), min_size=1))
def test_a_plugin_of_any_effect_class_decides_as_the_oracle_does(seed: int, effects: set[str]) -> None:
    world = random_world(seed)
    on = "".join(f"{effect}," for effect in sorted(effects))
    expected = Slow(world.cluster, SlowSynthetic(on)).cycle()
    text = f"{FIVE_PLUGINS}  - name: synthetic\n    arguments: {{functions: '{on}'}}\n"
    assert binds(cycle(world, memory_of(world.cluster, text, {"synthetic": Synthetic}))) == expected


@pytest.mark.parametrize("seed", range(20))
def test_a_second_cycle_without_news_decides_nothing_more_than_the_oracle(seed: int) -> None:
    world = random_world(seed)
    memory = memory_of(world.cluster)
    cycle(world, memory)
    expected = Slow(world.cluster).cycle()
    assert binds(cycle(world, memory, uid="session-2")) == expected
