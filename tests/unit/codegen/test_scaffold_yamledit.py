from __future__ import annotations

from textwrap import dedent
from typing import Any

import pytest
import yaml

from codegen.scaffold import yamledit
from codegen.scaffold.errors import ScaffoldError

DOCUMENT = dedent("""\
    # head
    kinds:
      - group: a
        kind: A  # the first
        hooks:
          mutate: {path: /a, planned: true}

      - {group: b, kind: B}

    # about external
    external:
      - {group: c, kind: C}
""")


def node(text: str, *keys: str | int) -> Any:
    found: Any = yamledit.compose(text, "f.yaml")
    for key in keys:
        found = found.value[key] if isinstance(key, int) else yamledit.child(found, key)
    return found


def test_an_item_goes_behind_the_last_one_and_comments_stay() -> None:
    text = yamledit.append_item(DOCUMENT, node(DOCUMENT, "kinds"), "- group: d\n  kind: D\n")
    assert "- {group: b, kind: B}\n\n  - group: d\n    kind: D\n\n# about external\n" in text
    assert text.replace("\n  - group: d\n    kind: D\n", "", 1) == DOCUMENT
    assert yaml.safe_load(text)["kinds"][2] == {"group": "d", "kind": "D"}


def test_an_item_goes_to_the_end_of_the_file() -> None:
    text = yamledit.append_item(DOCUMENT, node(DOCUMENT, "external"), "- {group: d}")
    assert text == f"{DOCUMENT}\n  - {{group: d}}\n"


@pytest.mark.parametrize(
    ("place", "expected"),
    [
        (
            ("kinds", 0),
            {"group": "a", "kind": "A", "hooks": {"mutate": {"path": "/a", "planned": True}}, "new": {"x": 1}},
        ),
        (("kinds", 1), {"group": "b", "kind": "B", "new": {"x": 1}}),
        (("external", 0), {"group": "c", "kind": "C", "new": {"x": 1}}),
    ],
)
def test_a_key_is_added_in_the_form_of_its_mapping(place: tuple[str | int, ...], expected: dict[str, Any]) -> None:
    text = yamledit.append_key(DOCUMENT, node(DOCUMENT, *place), "new: {x: 1}")
    section, index = place
    loaded = yaml.safe_load(text)
    assert loaded[section][index] == expected
    assert text.count("#") == DOCUMENT.count("#")
    before = yaml.safe_load(DOCUMENT)
    assert {**loaded, section: None} == {**before, section: None}


def test_a_key_of_several_lines_is_indented_and_may_stand_apart() -> None:
    text = "components:\n  A:\n    type: object\n"
    found = yamledit.append_key(text, node(text, "components"), "B:\n  type: object\n", apart=True)
    assert found == "components:\n  A:\n    type: object\n\n  B:\n    type: object\n"


def test_a_key_is_added_to_an_empty_flow_mapping() -> None:
    assert yamledit.append_key("a: {}\n", node("a: {}\n", "a"), "b: 1") == "a: {b: 1}\n"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a: {b: 1, planned: true}\n", "a: {b: 1}\n"),
        ("a: {planned: true, b: 1}\n", "a: {b: 1}\n"),
        ("a: {b: 1, planned: true, c: 2}\n", "a: {b: 1, c: 2}\n"),
        ("a: {planned: true}\n", "a: {}\n"),
        ("a:\n  b: 1\n  planned: true\n  c: 2\n", "a:\n  b: 1\n  c: 2\n"),
        ("a:\n  b: 1\n  planned: true\n", "a:\n  b: 1\n"),
        ("a:\n  b: 1\n  planned: true", "a:\n  b: 1"),
    ],
)
def test_a_key_is_taken_out(text: str, expected: str) -> None:
    assert yamledit.without_key(text, node(text, "a"), "planned") == expected


@pytest.mark.parametrize(
    ("text", "message"), [("- a\n", "is no mapping"), ("a: [", "can't be read as YAML"), ("", "is no mapping")]
)
def test_what_is_no_mapping_is_refused(text: str, message: str) -> None:
    with pytest.raises(ScaffoldError, match=f"f.yaml: {message}"):
        yamledit.compose(text, "f.yaml")
