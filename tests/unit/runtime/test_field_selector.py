from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.field_selector import FieldRequirement, FieldSelector, field_text, parse_fields
from runtime.selector import InvalidSelector


class Meta(msgspec.Struct, frozen=True):
    name: str = ""


class Spec(msgspec.Struct, frozen=True, rename="camel"):
    node_name: str = ""
    host_network: bool = False
    priority: int | None = None


class Thing(msgspec.Struct, frozen=True):
    metadata: Meta = Meta()
    spec: Spec | None = None
    extra: str | msgspec.UnsetType = msgspec.UNSET


def fields(text: str) -> FieldSelector:
    parsed = parse_fields(text)
    assert isinstance(parsed, FieldSelector), parsed
    return parsed


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", True),
        ("metadata.name=a", True),
        ("metadata.name==a", True),
        ("metadata.name!=a", False),
        ("spec.nodeName=n1", True),
        ("spec.nodeName=", False),
        ("spec.nodeName!=", True),
        ("spec.hostNetwork=true", True),
        ("spec.hostNetwork=false", False),
        ("spec.priority=7", True),
        ("metadata.name=a,spec.nodeName=n2", False),
        ("metadata.name=a,spec.nodeName!=n2", True),
    ],
)
def test_all_requirements_must_hold(text: str, expected: bool) -> None:
    thing = Thing(Meta("a"), Spec("n1", host_network=True, priority=7))
    assert fields(text).matches(thing) is expected


def test_an_absent_field_is_empty() -> None:
    assert field_text(Thing(), "spec.nodeName") == ""
    assert field_text(Thing(spec=Spec()), "spec.priority") == ""
    assert field_text(Thing(), "extra") == ""
    assert field_text(Thing(), "extra.deeper") == ""
    assert fields("spec.nodeName!=n1").matches(Thing())


def test_an_unknown_field_is_an_error() -> None:
    with pytest.raises(ValueError, match=r"no field 'spec\.nodename'.*no 'nodename'"):
        fields("spec.nodename=a").matches(Thing(spec=Spec()))
    with pytest.raises(ValueError, match="str has no 'x'"):
        field_text(Thing(Meta("a")), "metadata.name.x")


@pytest.mark.parametrize("text", ["a", "=b", " =b", "a=b=c", "!a", "a=b,c", "a=b\\"])
def test_text_that_is_no_selector_is_a_value(text: str) -> None:
    parsed = parse_fields(text)
    assert isinstance(parsed, InvalidSelector)
    assert "field" in parsed.message


def test_special_characters_of_a_value_are_escaped() -> None:
    assert fields(r"a=b\,c\=d\\e").requirements == (FieldRequirement("a", r"b,c=d\e"),)


@given(st.lists(st.tuples(st.sampled_from(["a", "b.c"]), st.text(), st.booleans()), max_size=4))
def test_a_printed_selector_reads_back_the_same(terms: list[tuple[str, str, bool]]) -> None:
    written = FieldSelector(tuple(FieldRequirement(*term) for term in terms))
    assert parse_fields(str(written)) == written
