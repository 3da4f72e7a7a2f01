from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controllers.sharding.assignment import assign
from controllers.sharding.policies import Candidate, Policy, build, round2
from controllers.sharding.settings import Scheduler
from tests.unit.controllers.sharding.samples import settings

WARM = {"node.volcano.sh/warmup": "true"}


def rate(low: float, high: float, weight: int = 1) -> Policy:
    return build("allocation-rate", weight, {"minCPUUtil": low, "maxCPUUtil": high})


def warmup(weight: int = 1, **arguments: Any) -> Policy:
    return build("warmup", weight, arguments)


def limit(most: int, least: int = 0) -> Policy:
    return build("node-limit", 1, {"maxNodes": most, "minNodes": least})


def nodes(**loads: float | None) -> list[Candidate]:
    return [Candidate(name, cpu=cpu) for name, cpu in loads.items()]


def one(*policies: Policy, of: list[Candidate]) -> list[str]:
    return list(assign([Scheduler("a", policies)], of)["a"])


def test_the_case_of_the_specification() -> None:
    found = [
        Candidate("n1", WARM, 0.10),
        Candidate("n2", {}, 0.55),
        Candidate("n3", WARM, 0.05),
        Candidate("n4", {}, 0.40),
        Candidate("n5", WARM, 0.65),
        Candidate("n6", {}, 0.90),
        Candidate("n7", WARM, 0.30),
        Candidate("n8", {}, None),
    ]
    assert one(rate(0, 0.6), warmup(2), of=found) == ["n7", "n1", "n3", "n2", "n4"]
    assert one(rate(0, 0.6), warmup(2), limit(2), of=found) == ["n7", "n1"]


def test_shares_are_rounded_before_they_are_compared() -> None:
    found = nodes(half=0.5, below=0.4875, above=0.5125)
    schedulers = [Scheduler("a", (rate(0, 0.49),)), Scheduler("b", (rate(0.5, 1),))]
    assert assign(schedulers, found) == {"a": ("below",), "b": ("above", "half")}


def test_a_node_in_a_gap_is_in_no_shard() -> None:
    schedulers = [Scheduler("a", (rate(0, 0.4),)), Scheduler("b", (rate(0.6, 1),))]
    assert assign(schedulers, nodes(n=0.5)) == {"a": (), "b": ()}


@pytest.mark.parametrize(
    ("value", "rounded"), [(0.125, 0.13), (0.124, 0.12), (0.485, 0.49), (-0.125, -0.13), (1.0, 1.0), (0.0, 0.0)]
)
def test_halves_are_rounded_away_from_zero(value: float, rounded: float) -> None:
    assert round2(value) == rounded


@pytest.mark.parametrize(
    ("policies", "expected"),
    [
        ((), ["a", "b", "c"]),
        ((limit(2),), ["a", "b"]),
        ((limit(0),), ["a", "b", "c"]),
        ((limit(9, 5),), ["a", "b", "c"]),
        ((limit(2), limit(1)), ["a"]),
        ((rate(0, 1),), ["c", "b", "a"]),
        ((rate(0.5, 0.5),), ["b"]),
        ((rate(0.5, 1), limit(1)), ["c"]),
        ((warmup(),), ["a", "b", "c"]),
    ],
)
def test_filters_then_scores_then_selectors(policies: tuple[Policy, ...], expected: list[str]) -> None:
    assert one(*policies, of=nodes(c=0.9, a=0.1, b=0.5)) == expected


def test_the_label_of_warm_nodes_may_be_another() -> None:
    found = [Candidate("a", {"x": "y"}, 0.1), Candidate("b", {"x": "z"}, 0.1)]
    assert one(warmup(warmupLabel="x", warmupLabelValue="z"), of=found) == ["b", "a"]
    assert one(warmup(warmupLabel=5), of=found) == ["a", "b"]


def test_earlier_schedulers_choose_first() -> None:
    schedulers = [Scheduler("a", (limit(1),)), Scheduler("b", ()), Scheduler("c", ())]
    assert assign(schedulers, nodes(x=0.1, y=0.2)) == {"a": ("x",), "b": ("y",), "c": ()}


def test_many_nodes_are_limited_together() -> None:
    found = nodes(**{f"n{i:03d}": 0.1 for i in range(300)})
    schedulers = settings({"name": "a", "cpuUtilizationMax": 1, "maxNodes": 100}).schedulers
    assert len(assign(schedulers, found)["a"]) == 100


loads = st.dictionaries(st.text("abcdef", min_size=1, max_size=3), st.none() | st.floats(0, 1), max_size=20)
chains = st.lists(
    st.one_of(
        st.builds(lambda pair: rate(min(pair), max(pair)), st.tuples(st.floats(0, 1), st.floats(0, 1))),
        st.builds(limit, st.integers(0, 5)),
        st.builds(warmup, st.integers(1, 3)),
    ),
    max_size=3,
)


@given(loads, st.lists(chains, max_size=4), st.randoms())
def test_no_node_is_assigned_twice_and_order_of_arrival_does_not_matter(
    found: dict[str, float | None], policies: list[list[Policy]], random: Any
) -> None:
    schedulers = [Scheduler(f"s{place}", tuple(chain)) for place, chain in enumerate(policies)]
    candidates = nodes(**found)
    assigned = assign(schedulers, candidates)
    taken = [name for names in assigned.values() for name in names]
    assert len(taken) == len(set(taken))
    assert set(taken) <= found.keys()
    random.shuffle(candidates)
    assert assign(schedulers, candidates) == assigned
