from __future__ import annotations

from pathlib import Path

import pytest

from codegen.problems import SourceError
from codegen.yamlfile import parse, read


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("a: no", "no"),
        ("a: on", "on"),
        ("a: true", True),
        ("a: False", "False"),
        ("a: 2024-01-01", "2024-01-01"),
        ("a: 0o7", "0o7"),
        ("a: 010", "010"),
        ("a: 12", 12),
        ("a: -1", -1),
        ("a: 1.5", 1.5),
        ("a: 1e3", 1000.0),
        ("a: 1_000", "1_000"),
        ("a: 1:30", "1:30"),
        ("a: null", None),
        ("a: ~", None),
        ("a:", None),
        ("a: NULL", "NULL"),
        ("a: .inf", ".inf"),
        ("a: 9223372036854775807", 2**63 - 1),
        ("a: -9223372036854775808", -(2**63)),
        ('a: "\\U0001F600"', "\U0001f600"),
    ],
)
def test_values_have_the_types_of_json(text: str, value: object) -> None:
    read_value = parse(text, "x.yaml")["a"]
    assert read_value == value
    assert type(read_value) is type(value)


@pytest.mark.parametrize(
    ("text", "place", "words"),
    [
        ("a: 1\nb: 2\na: 3\n", "x.yaml:3:1", "key 'a' stands twice: remove one"),
        ("a:\n  true: 1\n", "x.yaml:2:3", "key True is no string: put it in quotes"),
        ("a: &x {b: 1}\nc: *x\n", "x.yaml:2:4", "aliases are not allowed: name a component and $ref it"),
        ("a: [1\n", "x.yaml:2:1", "cannot be read as YAML"),
        ("a: b: c\n", "x.yaml:1:5", "cannot be read as YAML"),
        ("a: 1\n---\nb: 2\n", "x.yaml:2:1", "cannot be read as YAML"),
        ("a: !!python/object:os.system {}\n", "x.yaml:1:4", "cannot be read as YAML"),
        ("a: !!bool foo\n", "x.yaml:1:4", "tags are not allowed: write the plain value, text in quotes"),
        ('a: !!int ""\n', "x.yaml:1:4", "tags are not allowed"),
        ('a: !!float ""\n', "x.yaml:1:4", "tags are not allowed"),
        ("a: !!timestamp foo\n", "x.yaml:1:4", "tags are not allowed"),
        ("a:\n- ! foo\n", "x.yaml:2:3", "tags are not allowed"),
        ('a: "\\uD800"\n', "x.yaml:1:4", "U+D800 is half a character: write the character itself"),
        ('"\\uDFFF": 1\n', "x.yaml:1:1", "U+DFFF is half a character"),
        ("a: 1e999\n", "x.yaml:1:4", "is a number too big to be held"),
        ("a: -1e999\n", "x.yaml:1:4", "is a number too big to be held"),
        ("a: 9223372036854775808\n", "x.yaml:1:4", "is a whole number of more than 64 bits"),
        (f"a: {'9' * 5000}\n", "x.yaml:1:4", "cannot be read as YAML: Exceeds the limit"),
        (f"a: {'[' * 120}{']' * 120}\n", "x.yaml:1:104", "is nested more than 100 levels deep: name a component"),
        (f"a: {'[' * 3000}\n", "x.yaml:1:104", "is nested more than 100 levels deep"),
        ("- " * 3000 + "a\n", "x.yaml:1:203", "is nested more than 100 levels deep"),
    ],
)
def test_a_mistake_is_named_with_its_line(text: str, place: str, words: str) -> None:
    with pytest.raises(SourceError) as caught:
        parse(text, "x.yaml")
    assert str(caught.value).startswith(f"{place}: ")
    assert words in str(caught.value)


def test_characters_that_yaml_forbids_are_a_mistake_and_no_crash() -> None:
    with pytest.raises(SourceError, match=r"x\.yaml: cannot be read as YAML"):
        parse("a: \x00", "x.yaml")


def test_a_file_is_named_relative_to_the_root(tmp_path: Path) -> None:
    (tmp_path / "api").mkdir()
    with pytest.raises(SourceError, match=r"^api/none\.yaml: cannot be read: No such file"):
        read(tmp_path / "api/none.yaml", tmp_path)


def test_a_file_that_is_no_text_is_named(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_bytes(b"a: \xff")
    with pytest.raises(SourceError, match=r"^a\.yaml: is no UTF-8 text: .* at byte 3"):
        read(tmp_path / "a.yaml", tmp_path)
