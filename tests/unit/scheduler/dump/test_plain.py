"""Plain values of slots."""

from __future__ import annotations

import numpy as np

from scheduler.dump import plain


class Base:
    __slots__ = ("rows",)


class Thing(Base):
    __slots__ = ("flag", "links", "name", "number", "share", "unset")

    def __init__(self) -> None:
        self.rows = np.array([[1.0, 0.1], [2.0, 1e300]])
        self.flag, self.name, self.number, self.share = True, "x", 3, 2.0
        self.links = {"a": object()}


def test_numbers_texts_and_arrays_are_taken_and_nothing_else() -> None:
    assert plain.take(Thing(), ("name",)) == {
        "rows": [[1.0, 0.1], [2.0, 1e300]],
        "flag": True,
        "number": 3,
        "share": 2.0,
    }


def test_values_come_back_as_what_they_were_and_unknown_names_are_passed_over() -> None:
    thing = Thing()
    values = plain.take(thing)
    again = Thing()
    again.rows, again.flag, again.number, again.share = np.zeros((2, 2)), False, 0, 0.0
    # JSON may turn 2.0 into 2.
    plain.put(again, {**values, "share": 2, "later": 7})
    assert np.array_equal(again.rows, thing.rows)
    assert again.rows.dtype == np.float64
    assert (again.flag, again.number, again.share, type(again.share)) == (True, 3, 2.0, float)
