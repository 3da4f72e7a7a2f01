from __future__ import annotations

import pytest

from webhooks.causes import (
    LONGEST_TOLD,
    MOST_HELD,
    MOST_TOLD,
    Cause,
    Causes,
    aggregate,
    by_identity,
    not_negative,
    one_of,
    remembered,
    shortened,
    shown,
    within,
)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ('a "b"', r'"a \"b\""'),
        ("\u00e9", '"\u00e9"'),
        (5, "5"),
        (True, "true"),
        (None, "null"),
        (("a", "b"), '["a","b"]'),
        ({"A": None}, '{"A":null}'),
    ],
)
def test_values_are_shown_as_servers_show_them(value: object, expected: str) -> None:
    assert shown(value) == expected


def test_every_sort_of_mistake_has_its_words() -> None:
    causes = Causes()
    causes.invalid("f", "v", "a", "b")
    causes.invalid("f", "v")
    causes.required("f")
    causes.required("f", "why")
    causes.forbidden("f", "why")
    causes.duplicate("f", "v")
    causes.not_found("f", "v")
    causes.not_found("f", "v", "why")
    causes.unsupported("f", "v", ("a", "b"))
    causes.too_long("f", 5)
    causes.too_many("f", 6, 5)
    assert list(map(str, causes)) == [
        'f: Invalid value: "v": a',
        'f: Invalid value: "v": b',
        "f: Required value",
        "f: Required value: why",
        "f: Forbidden: why",
        'f: Duplicate value: "v"',
        'f: Not found: "v"',
        'f: Not found: "v": why',
        'f: Unsupported value: "v": supported values: "a", "b"',
        "f: Too long: may not be more than 5 bytes",
        "f: Too many: 6: must have at most 5 items",
    ]


def test_numbers_have_bounds() -> None:
    causes = Causes()
    for value in (-1, 0, 1, 2, 3):
        within(causes, "w", value, 1, 2)
        not_negative(causes, "n", value)
    one_of(causes, "o", "a", ("a",))
    one_of(causes, "o", "b", ("a",))
    assert [cause.field for cause in causes] == ["w", "n", "w", "w", "o"]


@pytest.mark.parametrize(
    ("texts", "expected"), [([], ""), (["a"], "a"), (["a", "a"], "a"), (["a", "b", "a"], "[a, b]")]
)
def test_several_are_put_into_brackets_each_once(texts: list[str], expected: str) -> None:
    assert aggregate(texts) == expected


def test_one_part_is_looked_at_once_and_told_under_each_of_its_fields() -> None:
    looked_at = []

    @remembered
    def find(causes: Causes, field: str, part: list[int]) -> None:
        looked_at.append(part)
        if part:
            causes.required(f"{field}.x")

    causes = Causes()
    wrong, right = [1], list[int]()
    for field in ("a", "b"):
        causes.below(field, find(wrong))
        causes.below(field, find(right))
    assert causes == [Cause("a.x", "Required value"), Cause("b.x", "Required value")]
    assert looked_at == [[1], []]


def test_only_so_many_parts_are_held_and_none_is_taken_for_another() -> None:
    judged = []

    @by_identity
    def size(part: list[int]) -> int:
        judged.append(len(part))
        return len(part)

    first = [0]
    for length in range(2, MOST_HELD + 1):  # each list is gone unless it is held, and its place in memory free
        assert size([0] * length) == length
    assert size(first) == size(first) == 1
    assert len(judged) == MOST_HELD
    assert size([0, 0]) == 2, "the one too many, for which the others are let go"
    assert size(first) == 1
    assert len(judged) == MOST_HELD + 2


def test_the_first_mistakes_are_told_and_the_others_counted() -> None:
    causes = Causes()
    for number in range(MOST_TOLD):
        causes.invalid("f", number, "why")
    causes.conclude("f")
    assert len(causes) == MOST_TOLD
    causes.required("g")
    assert aggregate(causes).endswith("f: Invalid value: 99: why, 1 more mistake is not shown]")
    causes.conclude("f")
    assert str(causes[-1]) == "f: 1 more mistake is not shown"


def test_long_mistakes_leave_room_for_fewer() -> None:
    causes = Causes()
    causes.invalid("f", "x" * LONGEST_TOLD, "a", "b")
    assert (len(causes), causes.untold) == (1, 1)


def test_parts_of_a_message_are_cut_likewise() -> None:
    assert shortened(["a", "", "b"]) == ["a", "b"]
    assert shortened(["a"] * (MOST_TOLD + 2))[-2:] == ["a", " 2 more mistakes are not shown;"]
