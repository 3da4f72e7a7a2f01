"""Pods that look at other pods are placed as the oracle places them, in runs as well as one by one."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.unit.scheduler.build import binds, cycle, memory_of
from tests.unit.scheduler.slow import Slow
from tests.unit.scheduler.sociable import sociable_world


@settings(max_examples=150, deadline=None)
@given(st.integers(0, 2**32))
def test_a_cycle_over_pods_that_look_at_each_other_binds_as_the_oracle_does(seed: int) -> None:
    world = sociable_world(seed)
    expected = Slow(world.cluster).cycle()
    assert binds(cycle(world)) == expected


@pytest.mark.parametrize("seed", range(30))
def test_a_second_cycle_sees_the_pods_that_the_first_one_placed(seed: int) -> None:
    world = sociable_world(seed)
    memory = memory_of(world.cluster)
    cycle(world, memory)
    expected = Slow(world.cluster).cycle()
    assert binds(cycle(world, memory, uid="session-2")) == expected
