from __future__ import annotations

import time
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from generated.batch.v1alpha1 import DependsOn, TaskSpec
from webhooks.jobs.graph import find_cycle, problem

NODES = "abcdef"
graphs = st.dictionaries(st.sampled_from(NODES), st.lists(st.sampled_from(NODES), unique=True, max_size=4)).map(
    lambda needs: {node: needs.get(node, []) for node in NODES}
)


def has_cycle(needs: dict[str, list[str]]) -> bool:
    """By taking away, again and again, whoever needs nobody."""
    left = dict(needs)
    while free := [node for node, needed in left.items() if not any(name in left for name in needed)]:
        for node in free:
            del left[node]
    return bool(left)


@given(graphs)
def test_a_cycle_is_found_if_there_is_one_and_leads_back_to_its_beginning(needs: dict[str, list[str]]) -> None:
    cycle = find_cycle(needs)
    assert bool(cycle) is has_cycle(needs)
    if cycle:
        assert cycle[0] == cycle[-1]
        assert all(following in needs[node] for node, following in pairwise(cycle))
        assert len(set(cycle)) == len(cycle) - 1


def test_wide_graphs_take_no_longer_than_they_are_large() -> None:
    layers = [[f"{layer}-{place}" for place in range(20)] for layer in range(100)]
    needs = {node: above for above, layer in zip([[], *layers], layers, strict=False) for node in layer}
    started = time.thread_time()
    assert find_cycle(needs) == []
    assert time.thread_time() - started < 10, "an exponential search would never end"


def test_a_long_chain_needs_no_deep_stack() -> None:
    needs = {str(number): [str(number + 1)] for number in range(50_000)} | {"50000": []}
    assert find_cycle(needs) == []
    assert find_cycle({**needs, "50000": ["0"]})[:2] == ["0", "1"]


def task(name: str, *needed: str) -> TaskSpec:
    return TaskSpec(name=name, depends_on=DependsOn(name=needed))


def test_tasks_that_wait_for_nobody_have_no_problem() -> None:
    assert problem([TaskSpec(name="a"), TaskSpec(name="a")]) == ""


def test_the_cycle_is_shown_and_nothing_beside_it() -> None:
    text = problem([task("x", "a"), task("a", "b"), task("b", "c"), task("c", "a")])
    assert text.endswith("(DAG): a -> b -> c -> a;")
