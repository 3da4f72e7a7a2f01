from __future__ import annotations

import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime import patterns
from runtime.patterns import Pattern, PatternError, PatternSet

# Go's texts, as measured.
REFUSED = [
    ("a(b", "missing closing ): `a(b`"),
    ("((a)", "missing closing ): `((a)`"),
    ("a)", "unexpected ): `a)`"),
    ("[a", "missing closing ]: `[a`"),
    ("[]", "missing closing ]: `[]`"),
    ("*", "missing argument to repetition operator: `*`"),
    ("a|*", "missing argument to repetition operator: `*`"),
    ("a**", "invalid nested repetition operator: `**`"),
    ("a++", "invalid nested repetition operator: `++`"),
    ("a*+", "invalid nested repetition operator: `*+`"),
    ("a{2}{3}", "invalid nested repetition operator: `{2}{3}`"),
    ("a{1001}", "invalid repeat count: `{1001}`"),
    ("a{2,1}", "invalid repeat count: `{2,1}`"),
    ("(a{100}){100}", "invalid repeat count: `{100}`"),
    ("[z-a]", "invalid character class range: `z-a`"),
    (r"\p{Foo}", r"invalid character class range: `\p{Foo}`"),
    ("[[:foo:]]", "invalid character class range: `[:foo:]`"),
    (r"\y", r"invalid escape sequence: `\y`"),
    (r"\1", r"invalid escape sequence: `\1`"),
    (r"\Z", r"invalid escape sequence: `\Z`"),
    (r"\C", r"invalid escape sequence: `\C`"),
    (r"a\\\C", r"invalid escape sequence: `\C`"),
    ("a\\", "trailing backslash at end of expression: ``"),
    ("(?=a)", "invalid or unsupported Perl syntax: `(?=`"),
    ("(?!a)", "invalid or unsupported Perl syntax: `(?!`"),
    ("(?<=a)", "invalid or unsupported Perl syntax: `(?<=`"),
    ("(?>a)", "invalid or unsupported Perl syntax: `(?>`"),
    ("(?x)a", "invalid or unsupported Perl syntax: `(?x`"),
    ("(?P=n)", "invalid or unsupported Perl syntax: `(?P`"),
    ("(?P<n", "invalid named capture: `(?P<n`"),
    ("(?P<n-x>a)", "invalid named capture: `(?P<n-x>`"),
    ("(?P<é>a)", "invalid named capture: `(?P<é>`"),
    ("x{1000}" * 1000, "expression too large"),
]

MATCHES = [
    ("node", "my-node-1", True),
    ("^node-[0-9]+$", "node-17", True),
    ("^node-[0-9]+$", "node-17\n", False),
    ("node[1-3]", "node4", False),
    ("", "anything", True),
    (r"\d", "\u0663", False),
    (r"\w", "é", False),
    (r"\pL", "é", True),
    (r"\p{Greek}", "λ", True),
    (r"[[:alpha:]]+\z", "rack", True),
    (r"(?i)RACK", "rack", True),
    (r"(?U)a+", "a", True),
    (r"a.b", "a\nb", False),
    (r"(?s)a.b", "a\nb", True),
    (r"(?m)^b$", "a\nb", True),
    (r"\Qa.b\E", "axb", False),
    (r"\Qa.b", "a.b", True),
    (r"\Q\C\E", r"\C", True),
    (r"\\C", r"\C", True),
    (r"\x{41}\x42", "AB", True),
    ("(?<n>a)(?P<n>b)", "ab", True),
    ("a{,2}", "a{,2}", True),
]


@pytest.mark.parametrize(("pattern", "reason"), REFUSED, ids=[pattern[:12] for pattern, _ in REFUSED])
def test_a_refusal_has_the_words_of_go(pattern: str, reason: str) -> None:
    for use in (patterns.check, Pattern, lambda text: PatternSet(("a", text))):
        with pytest.raises(PatternError) as error:
            use(pattern)
        assert str(error.value) == f"error parsing regexp: {reason}"


@pytest.mark.parametrize(("pattern", "text", "expected"), MATCHES)
def test_a_pattern_is_searched_with_the_meaning_of_go(pattern: str, text: str, expected: bool) -> None:
    assert Pattern(pattern).matches(text) is expected


def test_refused_patterns_are_not_logged(capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(PatternError):
        Pattern("a(")
    assert capfd.readouterr() == ("", "")


def test_a_set_tells_which_patterns_occur() -> None:
    several = PatternSet(("a", "^node-[0-9]+$", "(a*)*b", ""))
    assert several.matching("node-1") == (1, 3)
    assert several.matching("ab") == (0, 2, 3)
    assert several.matching("") == (3,)
    assert PatternSet(()).matching("x") == ()


def test_a_set_takes_one_search_for_all() -> None:
    several = PatternSet(("a", "b"))
    several._compiled = ()
    assert several.matching("ab") == (0, 1)


def test_a_pattern_shows_itself() -> None:
    assert repr(Pattern("a+")) == "Pattern('a+')"


class _Exhausted:
    """RE2's set after it ran out of memory: it says that nothing matched."""

    def Match(self, text: str) -> list[int]:  # noqa: N802  # the interface of RE2
        return []


def test_a_set_that_ran_out_of_memory_searches_one_by_one() -> None:
    several = PatternSet(("a", "b", "c"))
    several._set = _Exhausted()
    assert several.matching("cab") == (0, 1, 2)
    assert several.matching("x") == ()


def test_a_pattern_that_would_backtrack_takes_no_time() -> None:
    pattern = Pattern("^(a*)*(a|b)*$")
    started = time.thread_time()
    assert not pattern.matches("a" * 5000 + "!")
    assert time.thread_time() - started < 10, "one that backtracks would outlive us"


@given(
    st.lists(st.from_regex(r"\A[ab]{0,2}(\([ab]\|[ab]?\)[*+?]?){0,2}[ab.]?\Z"), max_size=5), st.text("abc", max_size=8)
)
def test_simple_patterns_agree_with_the_standard_library(several: list[str], text: str) -> None:
    expected = tuple(index for index, pattern in enumerate(several) if re.search(pattern, text))
    assert PatternSet(several).matching(text) == expected


@given(st.text(alphabet="ab()[]{}*+?|\\^$.,-019:=<>PQEpLdwCz", max_size=12))
def test_any_text_is_a_pattern_or_our_error(text: str) -> None:
    try:
        pattern = Pattern(text)
    except PatternError:
        return
    assert pattern.matches("ab01") in {True, False}
