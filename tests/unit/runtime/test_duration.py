from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime import duration
from runtime.duration import HOUR, MICROSECOND, MILLISECOND, MINUTE, SECOND, DurationError

INT64 = 2**63
DAY = 24 * HOUR
YEAR = 365 * DAY

# text, nanoseconds, what Go prints
READ = [
    ("0", 0, "0s"),
    ("+0", 0, "0s"),
    ("-0", 0, "0s"),
    ("0.0s", 0, "0s"),
    ("1h2m3.5s", 3_723_500_000_000, "1h2m3.5s"),
    ("300ms", 300 * MILLISECOND, "300ms"),
    ("1µs", 1000, "1µs"),
    ("1\u03bcs", 1000, "1µs"),
    ("1us", 1000, "1µs"),
    ("1500ns", 1500, "1.5µs"),
    ("-1.5h", -90 * MINUTE, "-1h30m0s"),
    ("+5s", 5 * SECOND, "5s"),
    ("1.s", SECOND, "1s"),
    (".5s", 500 * MILLISECOND, "500ms"),
    ("1h1h", 2 * HOUR, "2h0m0s"),
    ("1s1h", HOUR + SECOND, "1h0m1s"),
    ("90s", 90 * SECOND, "1m30s"),
    ("1000001ns", 1_000_001, "1.000001ms"),
    ("0.3333333333333333333h", 20 * MINUTE, "20m0s"),
    ("0.9007199254740993ms", 900_719, "900.719µs"),
    ("0.000000000000000000000000000001s", 0, "0s"),
    ("1.0000000000000000000000000000000000001h", HOUR, "1h0m0s"),
    ("00000000000000000000000001s", SECOND, "1s"),
    ("9223372036854775807ns", INT64 - 1, "2562047h47m16.854775807s"),
    ("9223372036854775.807us", INT64 - 1, "2562047h47m16.854775807s"),
    ("2562047h47m16.854775807s", INT64 - 1, "2562047h47m16.854775807s"),
    ("-9223372036854775808ns", -INT64, "-2562047h47m16.854775808s"),
]

REFUSED = [
    ("", 'time: invalid duration ""'),
    ("xyz", 'time: invalid duration "xyz"'),
    ("+", 'time: invalid duration "+"'),
    (".s", 'time: invalid duration ".s"'),
    ("1", 'time: missing unit in duration "1"'),
    ("1..5s", 'time: missing unit in duration "1..5s"'),
    ("3.1415s1", 'time: missing unit in duration "3.1415s1"'),
    ("1x", 'time: unknown unit "x" in duration "1x"'),
    ("1hx", 'time: unknown unit "hx" in duration "1hx"'),
    ("1d", 'time: unknown unit "d" in duration "1d"'),
    ("1 s", 'time: unknown unit " s" in duration "1 s"'),
    ("1e3s", 'time: unknown unit "e" in duration "1e3s"'),
    ("1_0s", 'time: unknown unit "_" in duration "1_0s"'),
    ('"', 'time: invalid duration "\\""'),
    ("1\\s", 'time: unknown unit "\\\\s" in duration "1\\\\s"'),
    ("1é", 'time: unknown unit "\\xc3\\xa9" in duration "1\\xc3\\xa9"'),
    ("a\tb", 'time: invalid duration "a\\x09b"'),
    ("\u0661s", 'time: invalid duration "\\xd9\\xa1s"'),
    ("9223372036854775808ns", 'time: invalid duration "9223372036854775808ns"'),
    ("-9223372036854775809ns", 'time: invalid duration "-9223372036854775809ns"'),
    ("9223372036854775.808us", 'time: invalid duration "9223372036854775.808us"'),
    ("2562048h", 'time: invalid duration "2562048h"'),
    ("99999999999999999999x", 'time: invalid duration "99999999999999999999x"'),
]

AGES = [
    (-2 * SECOND, "<invalid>"),
    (-2 * SECOND + 1, "0s"),
    (-SECOND, "0s"),
    (-1, "0s"),
    (0, "0s"),
    (SECOND - 1, "0s"),
    (89 * SECOND, "89s"),
    (120 * SECOND - 1, "119s"),
    (120 * SECOND, "2m"),
    (121 * SECOND, "2m1s"),
    (3 * MINUTE, "3m"),
    (10 * MINUTE - 1, "9m59s"),
    (610 * SECOND, "10m"),
    (180 * MINUTE - 1, "179m"),
    (3 * HOUR, "3h"),
    (3 * HOUR + MINUTE, "3h1m"),
    (8 * HOUR - 1, "7h59m"),
    (8 * HOUR, "8h"),
    (26 * HOUR, "26h"),
    (48 * HOUR - 1, "47h"),
    (48 * HOUR, "2d"),
    (49 * HOUR, "2d1h"),
    (8 * DAY - 1, "7d23h"),
    (8 * DAY, "8d"),
    (2 * YEAR - 1, "729d"),
    (2 * YEAR, "2y"),
    (2 * YEAR + DAY, "2y1d"),
    (8 * YEAR - 1, "7y364d"),
    (8 * YEAR, "8y"),
    (INT64 - 1, "292y"),
]


@pytest.mark.parametrize(("text", "nanoseconds", "printed"), READ)
def test_a_text_is_read_and_printed_as_in_go(text: str, nanoseconds: int, printed: str) -> None:
    assert duration.parse_nanoseconds(text) == nanoseconds
    assert duration.format_nanoseconds(nanoseconds) == printed


@pytest.mark.parametrize(("text", "message"), REFUSED)
def test_a_refusal_has_the_words_of_go(text: str, message: str) -> None:
    with pytest.raises(DurationError) as error:
        duration.parse_nanoseconds(text)
    assert str(error.value) == message


@given(st.integers(-INT64, INT64 - 1))
def test_what_is_printed_reads_back(nanoseconds: int) -> None:
    printed = duration.format_nanoseconds(nanoseconds)
    exact = sum(int(Decimal(number) * size) for number, size in _parts(printed.removeprefix("-")))
    assert (-exact if printed.startswith("-") else exact) == nanoseconds
    if "." not in printed:  # Go reads fractions in double precision
        assert duration.parse_nanoseconds(printed) == nanoseconds


def _parts(printed: str) -> list[tuple[str, int]]:
    """The numbers of a printed duration and their units, read another way than the parser does."""
    sizes = {"ns": 1, "µs": MICROSECOND, "ms": MILLISECOND, "s": SECOND, "m": MINUTE, "h": HOUR}
    parts, number, unit = [], "", ""
    for character in printed + "0":
        if character in "0123456789.":
            if unit:
                parts.append((number, sizes[unit]))
                number, unit = "", ""
            number += character
        else:
            unit += character
    return parts


@given(st.lists(st.tuples(st.integers(0, 10**6), st.sampled_from(["ns", "us", "ms", "s", "m", "h"])), min_size=1))
def test_parts_add_up(parts: list[tuple[int, str]]) -> None:
    text = "".join(f"{number}{unit}" for number, unit in parts)
    sizes = {"ns": 1, "us": MICROSECOND, "ms": MILLISECOND, "s": SECOND, "m": MINUTE, "h": HOUR}
    total = sum(number * sizes[unit] for number, unit in parts)
    if total < INT64:
        assert duration.parse_nanoseconds(text) == total
    else:
        with pytest.raises(DurationError):
            duration.parse_nanoseconds(text)


@given(st.text(alphabet="0123456789.hmsnuµ-+ x", max_size=12))
def test_any_text_gives_an_amount_or_our_error(text: str) -> None:
    try:
        nanoseconds = duration.parse_nanoseconds(text)
    except DurationError:
        return
    assert -INT64 <= nanoseconds < INT64


def test_a_very_long_number_is_refused_without_being_computed() -> None:
    with pytest.raises(DurationError, match="invalid duration"):
        duration.parse_nanoseconds("9" * 100_000 + "s")
    assert duration.parse_nanoseconds("0." + "0" * 100_000 + "1s") == 0


@pytest.mark.parametrize(("seconds", "text"), [(0.1, "100ms"), (15, "15s"), (90.5, "1m30.5s"), (-2, "-2s"), (0, "0s")])
def test_seconds_are_read_and_printed(seconds: float, text: str) -> None:
    assert duration.parse_seconds(text) == pytest.approx(seconds)
    assert duration.format_seconds(seconds) == text


@pytest.mark.parametrize(("nanoseconds", "printed"), AGES)
def test_an_age_prints_as_in_kubectl(nanoseconds: int, printed: str) -> None:
    assert duration.format_age(nanoseconds) == printed


@pytest.mark.parametrize(
    ("nanoseconds", "printed"),
    [(2 * YEAR, "2y0d"), (7 * YEAR + 3 * DAY, "7y3d"), (8 * YEAR, "8y"), (3 * HOUR, "3h"), (2 * DAY, "2d")],
)
def test_the_printer_of_events_keeps_the_days_of_whole_years(nanoseconds: int, printed: str) -> None:
    assert duration.format_age(nanoseconds, keep_zero_days=True) == printed


@given(st.integers(0, 300 * YEAR // SECOND))
def test_an_age_is_cut_never_rounded(seconds: int) -> None:
    printed = duration.format_age(seconds * SECOND)
    sizes = {"s": 1, "m": 60, "h": 3600, "d": 86400, "y": 365 * 86400}
    shown, number, smallest = 0, "", "s"
    for character in printed:
        if character.isdigit():
            number += character
        else:
            shown, number, smallest = shown + int(number) * sizes[character], "", character
    assert 0 <= seconds - shown < sizes[smallest]
