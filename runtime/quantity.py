"""
Kubernetes quantities, exact.

No float touches an amount: a queue that counts a thousand pods must end where it began, and two spellings of one
amount (`1` and `1000m`) are the same amount everywhere. Every quantity is a whole number of nano-units, which is the
finest step that Kubernetes itself keeps, so one integer holds it.

The scheduler parses the same few hundred texts millions of times: each text is parsed once and then found by a
dictionary look-up.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from enum import Enum
from fractions import Fraction
from functools import lru_cache
from typing import Final

Raw = int | float | str
"""How a quantity stands in an object: JSON number or text."""

INT64_MAX: Final = 2**63 - 1
INT64_MIN: Final = -(2**63)

_NANO: Final = 10**9
_MICRO_PER_MILLI: Final = 10**6
_CACHED_TEXTS: Final = 1 << 16
# Longer texts and larger exponents carry no amount that a cluster could have, only work for whoever reads them.
_LONGEST: Final = 1000
_LARGEST_EXPONENT: Final = 1000

_TEXT = re.compile(
    r"([+-]?)(?:([0-9]+)(?:\.([0-9]*))?|\.([0-9]+))(?:([numkMGTPE]|[KMGTPE]i)|[eE]([+-]?[0-9]+))?",
)
_NUMBER_PART = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)")
_FRACTIONAL_EXPONENT = re.compile(r"[eE][+-]?(?:[0-9]*\.[0-9]+|[0-9]+\.)")
_DECIMAL_EXPONENTS: Final = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_BINARY_EXPONENTS: Final = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}
_DECIMAL_SUFFIXES: Final = {exponent: suffix for suffix, exponent in _DECIMAL_EXPONENTS.items()}
_BINARY_SUFFIXES: Final = ("", *_BINARY_EXPONENTS)


class QuantityError(ValueError):
    """A value is no quantity. The message holds the value and says why."""


class Format(Enum):
    """In which family of suffixes a quantity was written, and so is printed."""

    DECIMAL_SI = "DecimalSI"
    BINARY_SI = "BinarySI"
    DECIMAL_EXPONENT = "DecimalExponent"


@dataclass(frozen=True, slots=True, order=True)
class Quantity:
    """
    An exact amount. Compares, orders and hashes by amount alone; `str()` gives the canonical text.

    Sums keep the left operand's format, or the right one's when the left is zero.
    """

    nano: int
    """Amount in units of 1e-9."""
    format: Format = field(default=Format.DECIMAL_SI, compare=False)

    @classmethod
    def from_units(cls, units: int, form: Format = Format.DECIMAL_SI) -> Quantity:
        """So many whole units, such as bytes or pods."""
        return cls(units * _NANO, form)

    @classmethod
    def from_milli(cls, milli: int, form: Format = Format.DECIMAL_SI) -> Quantity:
        """So many thousandths, such as millicores."""
        return cls(milli * _MICRO_PER_MILLI, form)

    @property
    def value(self) -> Fraction:
        """The amount in units."""
        return Fraction(self.nano, _NANO)

    @property
    def units(self) -> int:
        """Whole units, rounded away from zero, held within int64."""
        return _saturated(_rounded_away(self.nano, _NANO))

    @property
    def milli(self) -> int:
        """Thousandths, rounded away from zero, held within int64."""
        return _saturated(_rounded_away(self.nano, _MICRO_PER_MILLI))

    @property
    def is_zero(self) -> bool:
        """Whether the amount is nothing."""
        return not self.nano

    @property
    def is_whole(self) -> bool:
        """Whether the amount is a whole number of units, as counts of pods and of devices have to be."""
        return not self.nano % _NANO

    def __add__(self, other: Quantity) -> Quantity:
        return Quantity(self.nano + other.nano, self.format if self.nano else other.format)

    def __sub__(self, other: Quantity) -> Quantity:
        return Quantity(self.nano - other.nano, self.format if self.nano else other.format)

    def __neg__(self) -> Quantity:
        return Quantity(-self.nano, self.format)

    def __mul__(self, factor: int) -> Quantity:
        return Quantity(self.nano * factor, self.format)

    def __str__(self) -> str:
        if self.format is Format.BINARY_SI and abs(self.nano) >= 1024 * _NANO and self.is_whole:
            return _binary_text(self.nano // _NANO)
        return _decimal_text(self.nano, has_suffixes=self.format is not Format.DECIMAL_EXPONENT)


ZERO: Final = Quantity(0)


def parse(value: Raw) -> Quantity:
    """
    Read a quantity as an object holds it. Amounts below one nano-unit are rounded away from zero.

    Raises QuantityError for what the Kubernetes parser refuses too, also where a schema lets it pass (`1e1.5`).
    """
    if isinstance(value, str):
        return _parse_text(value)
    if isinstance(value, bool):
        raise QuantityError(f"{value!r} is not a quantity: expected a number or a text such as 100m, 1.5 or 2Gi")
    if isinstance(value, int):
        if abs(value) >= 10**_LONGEST:
            raise QuantityError(f"the number is not a quantity: longer than {_LONGEST} characters")
        return Quantity(value * _NANO)
    return _parse_text(repr(value))


def units(value: Raw) -> int:
    """Whole units of a raw quantity, rounded away from zero: bytes, pods. Raises QuantityError."""
    return _units_of_text(value) if isinstance(value, str) else parse(value).units


def milli(value: Raw) -> int:
    """Thousandths of a raw quantity, rounded away from zero: millicores. Raises QuantityError."""
    return _milli_of_text(value) if isinstance(value, str) else parse(value).milli


def canonical(value: Raw) -> str:
    """The text that Kubernetes prints for this amount, such as `512Mi` for `0.5Gi`. Raises QuantityError."""
    return str(parse(value))


@lru_cache(maxsize=_CACHED_TEXTS)
def _parse_text(text: str) -> Quantity:
    if len(text) > _LONGEST:
        raise QuantityError(f"{text[:20] + '...'!r} is not a quantity: longer than {_LONGEST} characters")
    match = _TEXT.fullmatch(text.strip())
    if match is None:
        raise QuantityError(f"{text!r} is not a quantity: {_complaint(text.strip())}")
    sign, whole, fraction, bare_fraction, suffix, exponent_text = match.groups(default="")
    fraction = fraction or bare_fraction
    digits = int(whole + fraction)
    if suffix in _BINARY_EXPONENTS:
        nano, form = _binary_amount(digits << _BINARY_EXPONENTS[suffix], len(fraction))
    else:
        exponent = int(exponent_text) if exponent_text else _DECIMAL_EXPONENTS[suffix]
        if exponent > _LARGEST_EXPONENT and digits:
            raise QuantityError(f"{text!r} is not a quantity: exponents above {_LARGEST_EXPONENT} are not supported")
        nano = _scaled(digits, max(exponent, -2 * _LONGEST) - len(fraction) + 9) if digits else 0
        form = Format.DECIMAL_EXPONENT if exponent_text else Format.DECIMAL_SI
    return Quantity(-nano if sign == "-" else nano, form)


@lru_cache(maxsize=_CACHED_TEXTS)
def _units_of_text(text: str) -> int:
    return _parse_text(text).units


@lru_cache(maxsize=_CACHED_TEXTS)
def _milli_of_text(text: str) -> int:
    return _parse_text(text).milli


def _complaint(text: str) -> str:
    """Say what is wrong with a text that is no quantity."""
    number = _NUMBER_PART.match(text)
    if number is None:
        return "it has no number" if text else "it is empty"
    rest = text[number.end() :]
    if _FRACTIONAL_EXPONENT.fullmatch(rest):
        return f"the exponent {rest[1:]} is not a whole number"
    return f"unknown suffix {rest!r}, expected one of n u m k M G T P E Ki Mi Gi Ti Pi Ei or an exponent such as e3"


def _binary_amount(digits: int, decimals: int) -> tuple[int, Format]:
    """Nano-units and format of a text with a binary suffix: capped at int64, decimal below 1 (compat: QTY-1, QTY-4)."""
    nano = min(_scaled(digits, 9 - decimals), INT64_MAX * _NANO)
    return nano, Format.DECIMAL_SI if 0 < nano < _NANO else Format.BINARY_SI


def _scaled(digits: int, exponent: int) -> int:
    """`digits` times ten to the `exponent`, rounded away from zero."""
    return digits * 10**exponent if exponent >= 0 else _rounded_away(digits, 10**-exponent)


def _rounded_away(amount: int, unit: int) -> int:
    """`amount` in whole `unit`s, rounded away from zero (compat: QTY-2)."""
    return -(-amount // unit) if amount >= 0 else amount // unit


def _saturated(amount: int) -> int:
    return min(max(amount, INT64_MIN), INT64_MAX)


def _binary_text(amount: int) -> str:
    power = 0
    while power + 1 < len(_BINARY_SUFFIXES) and not amount % 1024:
        amount //= 1024
        power += 1
    return f"{amount}{_BINARY_SUFFIXES[power]}"


def _decimal_text(amount: int, *, has_suffixes: bool) -> str:
    """The shortest mantissa whose exponent is a multiple of three."""
    if not amount:
        return "0"
    exponent = -9
    while not amount % 1000 and not (has_suffixes and exponent == 18):
        amount //= 1000
        exponent += 3
    if has_suffixes:
        return f"{amount}{_DECIMAL_SUFFIXES[exponent]}"
    return f"{amount}e{exponent}" if exponent else str(amount)
