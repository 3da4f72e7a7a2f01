from __future__ import annotations

import pytest

from runtime.integers import is_integer, read
from runtime.quantity import QuantityError, parse

NINES = "9" * 5000


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("0", 0),
        ("-0", 0),
        ("+7", 7),
        ("-2147483648", -(2**31)),
        ("2147483647", 2**31 - 1),
        ("2147483648", None),
        ("0" * 50_000 + "7", 7),
        ("0" * 50_000, 0),
        ("0" * 50_000 + "x", None),
        (NINES, None),
        (f"-{NINES}", None),
        ("", None),
        ("-", None),
        ("1.0", None),
        ("1_0", None),
        ("\u0663", None),
        ("1\n", None),
    ],
)
def test_only_what_fits_is_read(text: str, expected: int | None) -> None:
    assert read(text, 32) == expected


def test_digits_are_an_integer_however_many() -> None:
    assert is_integer(f"-{NINES}")
    assert not is_integer(f"{NINES}%")


def test_numbers_without_end_are_no_quantities() -> None:
    with pytest.raises(QuantityError):
        parse(10**4000)
