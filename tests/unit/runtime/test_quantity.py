from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kubernetes.utils.quantity import parse_quantity

from runtime import quantity
from runtime.quantity import INT64_MAX, INT64_MIN, ZERO, Format, Quantity, QuantityError, parse

SUFFIXES = ["n", "u", "m", "", "k", "M", "G", "T", "P", "E", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"]

# What Go's printer gives, as measured.
CANONICAL = [
    ("4", "4"),
    ("+1", "1"),
    (".5", "500m"),
    ("1.", "1"),
    ("1.50", "1500m"),
    ("-.5", "-500m"),
    ("-0", "0"),
    ("0e5", "0"),
    ("0Ki", "0"),
    ("1E", "1E"),
    ("1000E", "1000E"),
    ("1000", "1k"),
    ("1500", "1500"),
    ("1000000u", "1"),
    ("1000n", "1u"),
    ("1.0001m", "1000100n"),
    ("0.1n", "1n"),
    ("-0.1n", "-1n"),
    ("1.5n", "2n"),
    ("1.5M", "1500k"),
    ("1e-5", "10e-6"),
    ("15e-10", "2e-9"),
    ("1.5e3", "1500"),
    ("1.5E3", "1500"),
    ("1e3", "1e3"),
    ("1e4", "10e3"),
    ("1e1", "10"),
    ("1e0", "1"),
    ("3E-1", "300e-3"),
    ("1e400", "10e399"),
    ("1e-400", "1e-9"),
    ("1024Ki", "1Mi"),
    ("1000Ki", "1000Ki"),
    ("0.5Gi", "512Mi"),
    ("-1.5Gi", "-1536Mi"),
    ("1.5Ki", "1536"),
    ("0.1Ki", "102400m"),
    ("1.00048828125Ki", "1024500m"),
    ("0.0009765625Ki", "1"),
    ("0.00000000011Ki", "113n"),
    ("8Ei", "9223372036854775807"),
    ("-16Ei", "-9223372036854775807"),
    ("1.5Ei", "1536Pi"),
    ("9223372036854775808", "9223372036854775808"),
    ("12345678901234567890m", "12345678901234567890m"),
    ("9.2233720368547758071E", "9223372036854775807100m"),
    (" 1 ", "1"),
    (5, "5"),
    (1024, "1024"),
    (0.5, "500m"),
    (1e22, "10e21"),
    (-3, "-3"),
]

REFUSED = [
    ("", "it is empty"),
    (" ", "it is empty"),
    ("abc", "it has no number"),
    (".", "it has no number"),
    ("-", "it has no number"),
    ("--1", "it has no number"),
    ("1e1.5", "the exponent 1.5 is not a whole number"),
    ("1e.5", "the exponent .5 is not a whole number"),
    ("1ki", "unknown suffix 'ki'"),
    ("1KI", "unknown suffix 'KI'"),
    ("1K", "unknown suffix 'K'"),
    ("1mi", "unknown suffix 'mi'"),
    ("5e", "unknown suffix 'e'"),
    ("1E+", "unknown suffix 'E+'"),
    ("1_000", "unknown suffix '_000'"),
    ("100%", "unknown suffix '%'"),
    ("1.1.1", "unknown suffix '.1'"),
    ("1e5m", "unknown suffix 'e5m'"),
    ("0x10", "unknown suffix 'x10'"),
    ("1 Gi", "unknown suffix ' Gi'"),
    ("\u0661", "it has no number"),
    ("1e2147483647", "exponents above 1000"),
    ("1" * 1001, "longer than 1000 characters"),
    (True, "expected a number"),
    (float("nan"), "it has no number"),
    (float("inf"), "it has no number"),
]


@st.composite
def texts(draw: st.DrawFn) -> tuple[str, Fraction]:
    """A valid text and its amount, computed another way than the parser does."""
    sign = draw(st.sampled_from(["", "+", "-"]))
    whole = draw(st.text("0123456789", max_size=20))
    fraction = draw(st.none() | st.text("0123456789", max_size=12))
    if not whole and not fraction:
        whole = "0"
    number = whole + ("" if fraction is None else f".{fraction}")
    amount = Fraction(Decimal(number if number[0] != "." else "0" + number))
    suffix = draw(st.sampled_from([*SUFFIXES, "exponent"]))
    if suffix == "exponent":
        exponent = draw(st.integers(-20, 20))
        letter = draw(st.sampled_from(["e", "E"]))
        text, factor = f"{number}{letter}{exponent}", Fraction(10) ** exponent
    elif suffix.endswith("i"):
        text, factor = number + suffix, Fraction(1024) ** ("KMGTPE".index(suffix[0]) + 1)
    else:
        text, factor = number + suffix, Fraction(1000) ** (SUFFIXES.index(suffix) - 3)
    return sign + text, -amount * factor if sign == "-" else amount * factor


@pytest.mark.parametrize(("value", "text"), CANONICAL)
def test_a_quantity_prints_as_in_kubernetes(value: quantity.Raw, text: str) -> None:
    assert str(parse(value)) == text
    assert quantity.canonical(value) == text


@pytest.mark.parametrize(("value", "reason"), REFUSED)
def test_a_refusal_names_the_value_and_the_reason(value: quantity.Raw, reason: str) -> None:
    with pytest.raises(QuantityError) as error:
        parse(value)
    assert reason in str(error.value)
    assert repr(value)[:20] in str(error.value)


@given(texts())
def test_a_text_holds_its_exact_amount_up_to_one_nano_unit(case: tuple[str, Fraction]) -> None:
    text, amount = case
    nano = amount * 10**9
    whole = abs(nano.numerator) // nano.denominator
    expected = whole if whole == abs(nano) else whole + 1
    if text.endswith("i"):
        expected = min(expected, INT64_MAX * 10**9)
    assert abs(parse(text).nano) == expected
    assert (parse(text).nano < 0) == (amount < 0)


@given(texts())
def test_printing_keeps_amount_and_is_stable(case: tuple[str, Fraction]) -> None:
    parsed = parse(case[0])
    printed = str(parsed)
    assert parse(printed) == parsed
    assert str(parse(printed)) == printed


@given(texts().filter(lambda case: "e" not in case[0].lower().removesuffix("ei").removesuffix("e")))
def test_amounts_agree_with_the_kubernetes_package(case: tuple[str, Fraction]) -> None:
    text = case[0]
    theirs = Fraction(parse_quantity(text))  # type: ignore[no-untyped-call]  # the package has no types
    ours = parse(text)
    if abs(theirs) < 2**63:  # they know no limit
        assert abs(ours.value - theirs) < Fraction(1, 10**9) + abs(theirs) / 10**27  # they compute with 28 digits


@given(st.integers(-(10**30), 10**30))
def test_milli_and_units_round_away_from_zero_and_stay_in_int64(nano: int) -> None:
    amount = Quantity(nano)
    for got, size in ((amount.units, 10**9), (amount.milli, 10**6)):
        if got in {INT64_MAX, INT64_MIN}:
            assert abs(nano) >= (2**63 - 1) * size
            continue
        assert abs(got * size) >= abs(nano)
        assert abs(got * size) - abs(nano) < size
        assert got * nano >= 0


@pytest.mark.parametrize(
    ("value", "milli", "units"),
    [
        ("1n", 1, 1),
        ("100m", 100, 1),
        ("1500m", 1500, 2),
        ("0.1Ki", 102400, 103),
        ("-1500m", -1500, -2),
        ("-1n", -1, -1),
        ("10E", INT64_MAX, INT64_MAX),
        ("1E", INT64_MAX, 10**18),
        ("-10E", INT64_MIN, INT64_MIN),
        ("7Ei", INT64_MAX, 7 * 2**60),
        (3, 3000, 3),
        (0.25, 250, 1),
        ("0", 0, 0),
    ],
)
def test_numbers_of_raw_values(value: quantity.Raw, milli: int, units: int) -> None:
    assert quantity.milli(value) == milli
    assert quantity.units(value) == units


@pytest.mark.parametrize("read", [quantity.milli, quantity.units])
@pytest.mark.parametrize("value", ["1e1.5", "", True])
def test_the_short_ways_refuse_too(read: object, value: quantity.Raw) -> None:
    assert callable(read)
    with pytest.raises(QuantityError):
        read(value)


def test_two_spellings_of_one_amount_are_equal() -> None:
    for spellings in (["1", "1000m", "1.0", "1e0", "+1", "1000000u"], ["1Mi", "1024Ki", "1048576", "1048576.0"]):
        assert len({parse(text) for text in spellings}) == 1
    assert parse("1Gi") > parse("1G") > parse("999M")
    assert max(parse("1"), parse("2m")) == parse("1000m")


def test_a_bool_is_refused_even_after_the_equal_integer_was_read() -> None:
    assert parse(1) == Quantity.from_units(1)
    with pytest.raises(QuantityError):
        parse(True)


@pytest.mark.parametrize(
    ("left", "right", "total", "difference"),
    [
        ("1Gi", "500M", "1573741824", "573741824"),
        ("500M", "1Gi", "1573741824", "-573741824"),
        ("1Gi", "1Gi", "2Gi", "0"),
        ("0", "1Gi", "1Gi", "-1Gi"),
        ("1e3", "500m", "1000500e-3", "999500e-3"),
        ("1.5Gi", "100m", "1610612736100m", "1610612735900m"),
        ("100m", "1", "1100m", "-900m"),
        ("10E", "10E", "20E", "0"),
    ],
)
def test_sums_keep_the_left_format(left: str, right: str, total: str, difference: str) -> None:
    assert str(parse(left) + parse(right)) == total
    assert str(parse(left) - parse(right)) == difference


@given(st.integers(-(10**25), 10**25), st.integers(-(10**25), 10**25), st.integers(-1000, 1000))
def test_arithmetic_is_exact_and_reversible(left: int, right: int, factor: int) -> None:
    a, b = Quantity(left), Quantity(right, Format.BINARY_SI)
    assert (a + b) - b == a
    assert a - b == a + -b
    assert (a * factor).value == a.value * factor
    assert (a + b).value == a.value + b.value
    assert (a < b) == (left < right)


def test_amounts_made_of_numbers_print_in_their_format() -> None:
    assert str(Quantity.from_milli(1500)) == "1500m"
    assert str(Quantity.from_milli(20000)) == "20"
    assert str(Quantity.from_units(10 * 2**30, Format.BINARY_SI)) == "10Gi"
    assert str(Quantity.from_units(1023, Format.BINARY_SI)) == "1023"
    assert str(Quantity.from_units(1024, Format.BINARY_SI)) == "1Ki"
    assert str(Quantity.from_units(-1024, Format.BINARY_SI)) == "-1Ki"
    assert str(Quantity.from_units(2**70, Format.BINARY_SI)) == "1024Ei"
    assert str(Quantity.from_units(1000, Format.BINARY_SI)) == "1k"
    assert str(Quantity.from_units(1000, Format.DECIMAL_EXPONENT)) == "1e3"
    assert str(ZERO) == "0"


def test_questions_about_an_amount() -> None:
    assert parse("0Ki").is_zero
    assert not parse("1n").is_zero
    assert parse("1.0").is_whole
    assert not parse("1500m").is_whole


def test_a_long_text_is_read_up_to_the_limit() -> None:
    assert parse("0" * 999 + "7") == Quantity.from_units(7)
    assert parse("1e1000").nano == 10**1009
    assert parse("0e99999").is_zero


def test_the_same_text_is_parsed_once() -> None:
    assert parse("123456789m") is parse("123456789m")
