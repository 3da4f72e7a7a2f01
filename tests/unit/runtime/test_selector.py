from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.selector import (
    EVERYTHING,
    InvalidSelector,
    Requirement,
    Selector,
    from_label_selector,
    from_labels,
    from_requirements,
    is_label_key,
    is_label_value,
    parse,
)


class Expression(msgspec.Struct, frozen=True):
    key: str
    operator: str
    values: tuple[str, ...] = ()


class LabelSelector(msgspec.Struct, frozen=True):
    match_labels: dict[str, str] = {}
    match_expressions: tuple[Expression, ...] = ()


def selector(text: str) -> Selector:
    parsed = parse(text)
    assert isinstance(parsed, Selector), parsed
    return parsed


@pytest.mark.parametrize(
    ("text", "labels", "expected"),
    [
        ("", {}, True),
        ("", {"a": "b"}, True),
        ("a=b", {"a": "b"}, True),
        ("a==b", {"a": "b", "c": "d"}, True),
        ("a=b", {"a": "c"}, False),
        ("a=b", {}, False),
        ("a=", {"a": ""}, True),
        ("a=", {}, False),
        ("a!=b", {"a": "c"}, True),
        ("a!=b", {"a": "b"}, False),
        ("a!=b", {}, True),
        ("a in (b,c)", {"a": "c"}, True),
        ("a in (b,c)", {"a": "d"}, False),
        ("a in (b,c)", {}, False),
        ("a in ()", {"a": ""}, True),
        ("a in (b,)", {"a": ""}, True),
        ("a notin (b,c)", {"a": "d"}, True),
        ("a notin (b,c)", {"a": "b"}, False),
        ("a notin (b,c)", {}, True),
        ("a", {"a": "x"}, True),
        ("a", {}, False),
        ("!a", {"a": "x"}, False),
        ("! a", {}, True),
        ("a>5", {"a": "6"}, True),
        ("a>5", {"a": "5"}, False),
        ("a<5", {"a": "-4"}, True),
        ("a<5", {"a": "5"}, False),
        ("a>5", {"a": "six"}, False),
        ("a>5", {"a": str(2**63)}, False),
        ("a>5", {}, False),
        ("a=b,c!=d,!e, f", {"a": "b", "f": ""}, True),
        ("a=b,c!=d,!e, f", {"a": "b", "f": "", "e": ""}, False),
        ("  a  in ( b , c ) ", {"a": "b"}, True),
        ("in in (in,notin)", {"in": "notin"}, True),
        ("volcano.sh/queue-name=q", {"volcano.sh/queue-name": "q"}, True),
    ],
)
def test_matching_means_what_the_server_means(text: str, labels: dict[str, str], expected: bool) -> None:
    assert selector(text).matches(labels) is expected


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("a b", "unexpected 'b'"),
        ("a=b,", "ends with a comma"),
        (",a", "expected a label key"),
        ("a in b", "expected '('"),
        ("a in (b", "expected ')'"),
        ("a in (b c)", "expected ')'"),
        ("a=b=c", "expected ','"),
        ("=b", "expected a label key"),
        ("!", "expected a label key"),
        ("!a=b", "expected ','"),
        ("a=!b", "'!'"),
        ("a>x", "integer"),
        ("a>", "integer"),
        ("a=b/c", "invalid value"),
        ("-a=b", "invalid label key"),
        ("A/b=c", "invalid label key"),
        ("a/b/c", "invalid label key"),
        (f"{'x' * 64}=b", "invalid label key"),
        (f"a={'x' * 64}", "invalid value"),
    ],
)
def test_text_that_is_no_selector_is_a_value_that_says_why(text: str, part: str) -> None:
    parsed = parse(text)
    assert isinstance(parsed, InvalidSelector)
    assert part in str(parsed)


@pytest.mark.parametrize(
    ("expression", "labels", "expected"),
    [
        (Expression("a", "In", ("b", "b")), {"a": "b"}, True),
        (Expression("a", "NotIn", ("b",)), {}, True),
        (Expression("a", "Exists"), {"a": ""}, True),
        (Expression("a", "DoesNotExist"), {"a": ""}, False),
    ],
)
def test_expressions_of_a_label_selector_match(expression: Expression, labels: dict[str, str], expected: bool) -> None:
    parsed = from_label_selector(LabelSelector(match_expressions=(expression,)))
    assert isinstance(parsed, Selector)
    assert parsed.matches(labels) is expected


def test_labels_and_expressions_of_a_label_selector_must_all_match() -> None:
    parsed = from_label_selector(LabelSelector({"a": "b"}, (Expression("c", "Exists"),)))
    assert isinstance(parsed, Selector)
    assert parsed.matches({"a": "b", "c": ""})
    assert not parsed.matches({"a": "b"})
    assert not parsed.matches({"c": ""})


@pytest.mark.parametrize(
    ("expression", "part"),
    [
        (Expression("a", "Near", ("b",)), "unknown operator 'Near'"),
        (Expression("a", "Gt", ("1",)), "unknown operator 'Gt'"),
        (Expression("a", "In"), "at least one value"),
        (Expression("a", "NotIn"), "at least one value"),
        (Expression("a", "Exists", ("b",)), "takes no values"),
        (Expression("a", "DoesNotExist", ("b",)), "takes no values"),
        (Expression("a b", "Exists"), "invalid label key"),
        (Expression("a", "In", ("b c",)), "invalid value"),
    ],
)
def test_a_bad_expression_is_a_value_that_says_why(expression: Expression, part: str) -> None:
    parsed = from_label_selector(LabelSelector(match_expressions=(expression,)))
    assert isinstance(parsed, InvalidSelector)
    assert part in parsed.message


def test_node_selectors_may_compare_numbers() -> None:
    parsed = from_requirements([Requirement("gpus", "Gt", ("-1",))])
    assert isinstance(parsed, Selector)
    assert parsed.matches({"gpus": "0"})


def test_an_empty_label_selector_selects_everything() -> None:
    parsed = from_label_selector(LabelSelector())
    assert parsed == EVERYTHING
    assert EVERYTHING.selects_everything
    assert not selector("a").selects_everything


def test_bad_labels_make_no_selector() -> None:
    assert isinstance(from_labels({"a": "not a value"}), InvalidSelector)
    wanted = from_labels({"a": "b"})
    assert isinstance(wanted, Selector)
    assert str(wanted) == "a=b"


def test_an_unchecked_unknown_operator_is_refused_when_compiled() -> None:
    with pytest.raises(ValueError, match="unknown operator"):
        Selector([Requirement("a", "Near")])


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("b=1,a=2", "a=2,b=1"),
        ("a notin (c,b)", "a notin (b,c)"),
        ("a in (b)", "a=b"),
        ("a notin (b)", "a!=b"),
        ("!a", "!a"),
        ("a<3,a>1", "a>1,a<3"),
    ],
)
def test_selectors_of_one_meaning_are_equal_and_print_alike(text: str, canonical: str) -> None:
    assert str(selector(text)) == canonical
    assert selector(text) == selector(canonical)
    assert hash(selector(text)) == hash(selector(canonical))
    assert selector(text) != selector(canonical + ",z")
    assert canonical in repr(selector(text))


@pytest.mark.parametrize(
    ("key", "expected"),
    [
        ("a", True),
        ("a.b_c-D", True),
        ("volcano.sh/job-name", True),
        ("", False),
        ("/a", False),
        ("a/", False),
        ("a.-b/c", False),
        (f"{'a' * 254}/b", False),
    ],
)
def test_label_keys(key: str, expected: bool) -> None:
    assert is_label_key(key) is expected


@pytest.mark.parametrize(
    ("value", "expected"), [("", True), ("a", True), ("a.b-c_D", True), ("-a", False), ("a\n", False), ("ä", False)]
)
def test_label_values(value: str, expected: bool) -> None:
    assert is_label_value(value) is expected


KEYS = st.sampled_from(["a", "b", "volcano.sh/c"])
VALUES = st.sampled_from(["", "x", "y", "3", "-7", "10"])
REQUIREMENTS = st.one_of(
    st.builds(
        Requirement,
        KEYS,
        st.sampled_from(["In", "NotIn"]),
        st.sets(VALUES.filter(lambda value: value != "-7"), min_size=1).map(lambda found: tuple(sorted(found))),
    ),
    st.builds(Requirement, KEYS, st.sampled_from(["Exists", "DoesNotExist"])),
    st.builds(Requirement, KEYS, st.sampled_from(["Gt", "Lt"]), st.integers(-20, 20).map(lambda n: (str(n),))),
)


def holds(requirement: Requirement, labels: dict[str, str]) -> bool:
    """The meaning of one requirement, spelt out."""
    value = labels.get(requirement.key)
    number = int(value) if value and value.lstrip("-").isdigit() else None
    match requirement.operator:
        case "In":
            return value is not None and value in requirement.values
        case "NotIn":
            return value is None or value not in requirement.values
        case "Exists":
            return value is not None
        case "DoesNotExist":
            return value is None
        case "Gt":
            return number is not None and number > int(requirement.values[0])
        case "Lt":
            return number is not None and number < int(requirement.values[0])
    raise AssertionError(requirement)


@given(st.lists(REQUIREMENTS, max_size=4), st.dictionaries(KEYS, VALUES))
def test_compiled_matching_is_the_conjunction_of_its_requirements(
    requirements: list[Requirement], labels: dict[str, str]
) -> None:
    parsed = from_requirements(requirements)
    assert isinstance(parsed, Selector)
    assert parsed.matches(labels) == all(holds(requirement, labels) for requirement in requirements)


@given(st.lists(REQUIREMENTS, max_size=4))
def test_a_printed_selector_reads_back_the_same(requirements: list[Requirement]) -> None:
    written = from_requirements(requirements)
    assert isinstance(written, Selector)
    assert parse(str(written)) == written


@given(st.text(alphabet="ab=!<>(), in/t-.", max_size=20))
def test_no_text_makes_the_parser_throw(text: str) -> None:
    parsed = parse(text)
    assert isinstance(parsed, Selector | InvalidSelector)
