"""Verdicts were compared with the regexp package of Go, which the API server uses."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codegen.expand import QUANTITY_PATTERN
from codegen.patterns import fault, matches

GOOD = [
    "^a$", "(?:a|b)+", "(?P<n>a)", "(?<n>a)", r"\Aa\z", "a{1,2}", "a*?", "a??", "a{1000}", "a{,3}", "[[:alpha:]]+",
    "[^[:digit:]]", "[]a]", "[^]a]", "a]", r"\pL", r"\p{Greek}", r"\P{L}", r"\x{10FFFF}", r"\Qa.b\E", r"\d\w\s\D\W\S\b\B",
    r"\07", r"\123", "(?i)a", "a(?i)b", "(?i:a)b", "(?s).", "(?U)a+", "(?m)^a$", "(?-i)a", "x{", "x{a}", "x{1", "|a", "()",
    "[a-z&&[aeiou]]", r"[\d-z]", r"\/", r"\-", r"\"", r"[\]]", "",
]  # fmt: skip
BAD = [
    "(?=a)", "(?!a)b", "(?<=a)b", "(?<!a)b", "(?>a)", "(?#c)a", "(?P=n)", r"(a)\1", r"a\Z", "a*+", "a++", "a?+", "a{1,2}+",
    "a**", "a{1001}", "a{2,1}", "[a", "a)", "(a", r"\y", r"\k<n>", r"\R", r"\X", r"\G", r"\K", r"\e", r"\cA", r"\u0041",
    "(?(1)a|b)", "(?x)a b", "*a", "+a", "?a", "[z-a]", "[[:foo:]]",
]  # fmt: skip


@pytest.mark.parametrize("pattern", GOOD)
def test_what_the_server_compiles_passes(pattern: str) -> None:
    assert fault(pattern) is None


@pytest.mark.parametrize("pattern", BAD)
def test_what_the_server_refuses_is_a_fault(pattern: str) -> None:
    assert fault(pattern)


@pytest.mark.parametrize(
    ("pattern", "words"),
    [
        ("(?!a)b", "RE2 has no negative lookahead (?!...)"),
        (r"(a)\1", "RE2 has no back references"),
        ("a++", "RE2 has no possessive repetition"),
        ("a{1001}", "RE2 repeats at most 1000 times"),
        (r"a\Z", r"RE2 has no \Z, write \z or $"),
        ("[[:foo:]]", "RE2 has no class [:foo:]"),
        ("(a", "missing ), unterminated subpattern at position 0"),
    ],
)
def test_a_fault_says_what_is_missing(pattern: str, words: str) -> None:
    assert fault(pattern) == words


@pytest.mark.parametrize(
    ("pattern", "text", "found"),
    [
        ("^a$", "a", True),
        ("^a$", "a\n", False),
        ("b", "abc", True),
        (r"^\d$", "٣", False),
        ("^[[:upper:]]+$", "ABC", True),
        ("^[[:upper:]]+$", "AbC", False),
        ("^[[:^digit:]]+$", "abc", True),
        ("^[[:^digit:]]+$", "ab1", False),
        (r"^\Qa.b\E$", "a.b", True),
        (r"^\Qa.b\E$", "axb", False),
        (r"^\x{41}\102$", "AB", True),
        (r"^\p{L}$", "x", True),
        ("^(?<name>a)$", "a", True),
        (r"^[\d-z]$", "-", True),
        ("^[a&&b]$", "&", True),
        (QUANTITY_PATTERN, "1.5Gi", True),
        (QUANTITY_PATTERN, "1ki", False),
        (QUANTITY_PATTERN, "1\n", False),
    ],
)
def test_patterns_find_what_the_server_finds(pattern: str, text: str, *, found: bool) -> None:
    assert matches(pattern, text) is found


@given(st.text(max_size=30))
def test_any_text_gets_a_verdict_and_no_crash(pattern: str) -> None:
    if fault(pattern) is None:
        matches(pattern, "some text")


@given(st.text(alphabet="ab[]()^$.*+?{}|\\1,:-", max_size=12))
def test_texts_full_of_syntax_get_a_verdict(pattern: str) -> None:
    if fault(pattern) is None:
        matches(pattern, "ab")
