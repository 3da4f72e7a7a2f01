"""Arithmetic of shares, against the tables of plugins.md 6 and against a plain round-by-round filling."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scheduler.fairness import shares
from scheduler.fairness.shares import at_most, dominant_share, lacking, names, room, shortage, until_used_up, water_fill
from scheduler.state.dimensions import Dimensions

GRID = 1 / 1024


def row(*amounts: float) -> np.ndarray:
    return np.array(amounts, dtype=np.float64)


def one(total: float, queues: list[tuple[float, float, float]]) -> list[float]:
    """Fill one dimension; queues are (weight, guarantee, most)."""
    weights, least, most = (np.array(values, dtype=np.float64) for values in zip(*queues, strict=True))
    filled: list[float] = water_fill(row(total), weights, least[:, None], np.maximum(most, least)[:, None])[
        :, 0
    ].tolist()
    return filled


@pytest.mark.parametrize(
    ("total", "queues", "expected"),
    [
        (12, [(1, 0, 2), (1, 0, 10), (2, 0, 10)], [2, 10 / 3, 20 / 3]),
        (12, [(1, 0, 2), (1, 0, 10)], [2, 10]),
        (12, [(1, 4, 1), (1, 0, 8)], [4, 8]),
        (12, [(0, 0, 5), (0, 0, 5)], [0, 0]),
        (12, [(0, 3, 5), (1, 0, 20)], [3, 12]),
        (12, [(1, 6, 12), (1, 0, 1), (1, 0, 6)], [6.5, 1, 4.5]),
        (12, [(1, 8, 8), (1, 0, 4), (1, 0, 4)], [8, 4, 4]),
        (0, [(1, 0, 5)], [0]),
        (9, [(1, 0, 9), (1, 0, 9), (1, 0, 9)], [3, 3, 3]),
    ],
    ids=["met early", "capped", "guarantee", "no weights", "weight 0", "guarantee counts on top", "over-full", "nothing", "equal"],
)  # fmt: skip
def test_queues_get_their_part_by_weight(
    total: float, queues: list[tuple[float, float, float]], expected: list[float]
) -> None:
    assert one(total, queues) == pytest.approx(expected, abs=GRID)


def test_a_dimension_in_which_a_queue_is_full_leaves_more_to_the_others_only_there() -> None:
    filled = water_fill(row(10, 10), row(1, 1), np.zeros((2, 2)), np.array([[2.0, 10.0], [10.0, 3.0]]))
    assert filled.tolist() == [[2.0, 7.0], [8.0, 3.0]]


def rounds(total: float, weights: list[float], least: list[float], most: list[float]) -> list[float]:
    """The same by rounds, as plugins.md 6 writes it, for one dimension and until next to nothing moves."""
    deserved, met, remaining = [0.0] * len(weights), set[int](), total
    for _ in range(5000):
        open_queues = [place for place in range(len(weights)) if place not in met]
        whole = sum(weights[place] for place in open_queues)
        if whole == 0:
            break
        increased = 0.0
        for place in open_queues:
            old = deserved[place]
            new = max(min(old + remaining * weights[place] / whole, most[place]), least[place])
            deserved[place] = new
            if new == old or new >= most[place]:
                met.add(place)
            increased += new - old
        left = max(remaining - increased, 0.0)
        if left < 1e-9:
            break
        remaining = left
    return deserved


queue = st.tuples(st.integers(0, 5), st.integers(0, 20), st.integers(0, 60))


@given(st.integers(0, 100), st.lists(queue, min_size=1, max_size=6))
def test_filling_at_once_is_the_limit_of_filling_by_rounds(total: int, queues: list[tuple[int, int, int]]) -> None:
    weights, least, wanted = ([float(value) for value in values] for values in zip(*queues, strict=True))
    most = [max(pair) for pair in zip(wanted, least, strict=True)]
    expected = rounds(float(total), weights, least, most)
    found = one(float(total), list(zip(weights, least, most, strict=True)))
    assert found == pytest.approx(expected, abs=GRID)


@given(st.integers(0, 100), st.lists(queue, min_size=1, max_size=6))
def test_nothing_is_given_away_twice_and_nothing_kept_that_is_wanted(
    total: int, queues: list[tuple[int, int, int]]
) -> None:
    unguaranteed = [(float(weight), 0.0, float(most)) for weight, _, most in queues]
    found = one(float(total), unguaranteed)
    assert sum(found) <= total + 6 * GRID
    wanted = sum(most for weight, _, most in unguaranteed if weight)
    assert sum(found) == pytest.approx(min(wanted, float(total)), abs=6 * GRID)


@given(st.integers(0, 10_000), st.integers(0, 10_000), st.integers(1, 500), st.integers(0, 50), st.integers(1, 1000))
def test_room_is_as_many_as_fit_one_by_one(used: int, limit: int, cpu: int, most: int, divisor: int) -> None:
    request, ceiling = row(cpu / divisor, 0, 1), row(limit / divisor, 0, 0)
    held, fitting = row(used / divisor, 99, 99), 0
    while fitting < most and not lacking(held + (fitting + 1) * request, ceiling, request).any():
        fitting += 1
    assert room(held, ceiling, request, most) == fitting


def test_a_request_for_nothing_but_a_place_always_has_room() -> None:
    assert room(row(5, 5, 5), row(0, 0, 0), row(0, 0, 1), 7) == 7


@pytest.mark.parametrize(
    ("held", "base", "expected"),
    [
        (row(3, 2, 0), row(2, 2, 0), 1.5),
        (row(1, 3, 0), row(2, 4, 0), 0.75),
        (row(1, 0, 0), row(0, 0, 0), 0.0),
        (row(0, 0, 100), row(10, 10, 110), 100 / 110),
        (row(-1, 0, 0), row(10, 10, 0), 0.0),
    ],
)
def test_the_share_is_that_of_the_dominant_resource(held: np.ndarray, base: np.ndarray, expected: float) -> None:
    assert dominant_share(held, base) == pytest.approx(expected)


def test_comparing_tolerates_a_tenth_of_a_unit_but_a_limit_does_not() -> None:
    assert at_most(row(1000.05, 0, 0), row(1000, 0, 0))
    assert not at_most(row(1000.2, 0, 0), row(1000, 0, 0))
    assert lacking(row(1000.05, 0, 5), row(1000, 0, 0), row(1, 0, 1)).tolist() == [True, False, False]


def test_names_come_in_the_order_of_messages() -> None:
    dimensions = Dimensions()
    for name in ("z/z", "a/a"):
        dimensions.column(name)
    assert names(dimensions, np.ones(5, dtype=np.bool_)) == ["cpu", "memory", "pods", "a/a", "z/z"]


def test_a_third_does_not_keep_a_whole_unit_out() -> None:
    filled = water_fill(row(9000), row(1, 1, 1), np.zeros((3, 1)), np.array([[2000.0], [9000.0], [9000.0]]))
    assert filled[:, 0].tolist() == [2000.0, 3500.0, 3500.0]
    assert (
        water_fill(row(7000), row(3, 3, 1), np.zeros((3, 1)), np.full((3, 1), 7000.0))[:, 0] == [3000, 3000, 1000]
    ).all()


@given(
    st.lists(st.integers(0, 40), min_size=3, max_size=3),
    st.lists(st.integers(0, 40), min_size=3, max_size=3),
    st.lists(st.integers(0, 5), min_size=3, max_size=3),
    st.integers(1, 20),
)
def test_a_part_is_used_up_after_as_many_as_asking_one_by_one_says(
    used: list[int], part: list[int], request: list[int], most: int
) -> None:
    held, deserved, step = row(*used), row(*part), row(*request)
    expected = next((count for count in range(1, most) if at_most(deserved, held + count * step)), most)
    assert until_used_up(held, deserved, step, most) == expected


def test_what_is_lacking_is_told_with_numbers() -> None:
    text = shortage(Dimensions(), row(500, 0, 1), row(1800, 5, 5), row(2000, 0, 0))
    assert text == "insufficient cpu (asked 500.00, taken 1800.00 of 2000.00)"


ROWS = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4), st.just(1)), max_size=8)
LIMIT = st.tuples(st.integers(0, 12), st.integers(0, 12), st.integers(0, 12))


@given(ROWS, LIMIT, LIMIT)
def test_a_stretch_is_as_long_as_asking_for_each_says(
    asked: list[tuple[int, ...]], limit: tuple[int, ...], used: tuple[int, ...]
) -> None:
    requests = np.array(asked, dtype=np.float64).reshape(-1, 3)
    most, held = np.array(limit, dtype=np.float64), np.array(used, dtype=np.float64)
    fitting, left = 0, 0
    while fitting < len(requests) and shares.room(held + requests[:fitting].sum(axis=0), most, requests[fitting], 1):
        fitting += 1
    while left < len(requests) and not shares.at_most(most, held + requests[:left].sum(axis=0)):
        left += 1
    assert shares.stretch(held, most, requests) == fitting
    assert shares.stretch_until_used_up(held, most, requests) == left


@given(st.lists(LIMIT, min_size=1, max_size=5), LIMIT)
def test_dominant_shares_are_those_of_each_row(rows: list[tuple[int, ...]], base: tuple[int, ...]) -> None:
    held, whole = np.array(rows, dtype=np.float64), np.array(base, dtype=np.float64)
    assert shares.dominant_shares(held, whole) == [shares.dominant_share(row, whole) for row in held]
