from __future__ import annotations

import pytest

from codegen.scaffold.errors import ScaffoldError
from codegen.scaffold.registry import added, imported, members

EMPTY = '''"""Words."""

from __future__ import annotations

from house import Thing

THINGS: tuple[Thing, ...] = ()
'''


def test_the_first_member_is_added_with_its_import() -> None:
    text = added(EMPTY, "THINGS", "one.THING", "from house import one", "house.py")
    assert "from house import Thing\nfrom house import one\n" in text
    assert text.endswith("THINGS: tuple[Thing, ...] = (one.THING,)\n")
    assert members(text, "THINGS", "house.py") == ["one.THING"]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("THINGS = (a.X,)", "THINGS = (a.X, b.X,)"),
        ("THINGS = (a.X, c.X)", "THINGS = (a.X, c.X, b.X)"),
        ("THINGS = (\n    a.X,  # first\n)", "THINGS = (\n    a.X, b.X,  # first\n)"),
        ("THINGS = (a.X,)\nOTHER = ()", "THINGS = (a.X, b.X,)\nOTHER = ()"),
        ("OTHER = ()\nTHINGS = ()", "OTHER = ()\nTHINGS = (b.X,)"),
        ('é = "ü"; THINGS = (a.X,)', 'é = "ü"; THINGS = (a.X, b.X,)'),
        ("THINGS = {x.name: x for x in (A, B)}", "THINGS = {x.name: x for x in (A, B, b.X)}"),
        ("THINGS: dict[str, T] = {x.name: x for x in (A,)}", "THINGS: dict[str, T] = {x.name: x for x in (A, b.X,)}"),
    ],
)
def test_a_member_goes_behind_the_others_and_comments_stay(before: str, after: str) -> None:
    text = added(f"import house\n{before}\n", "THINGS", "b.X", "from house import b", "house.py")
    assert text == f"import house\nfrom house import b\n{after}\n"


@pytest.mark.parametrize("text", ["", "OTHER = ()", "THINGS = []", "THINGS = make()", "THINGS: tuple[int, ...]"])
def test_a_module_without_the_tuple_is_left_to_its_author(text: str) -> None:
    with pytest.raises(ScaffoldError, match=r"house.py: has no tuple THINGS to add to"):
        added(text, "THINGS", "b.X", "from house import b", "house.py")


def test_an_import_is_added_once() -> None:
    once = imported(EMPTY, "from house import one", "house.py")
    assert once.count("from house import one") == 1
    assert imported(once, "from house import one", "house.py") == once


def test_a_module_without_imports_gets_one() -> None:
    assert imported("X = ()\n", "import a", "house.py") == "import a\nX = ()\n"


def test_an_import_goes_behind_one_of_several_lines() -> None:
    text = "from a import (\n    b,\n)\nX = 1\n"
    assert imported(text, "import c", "house.py") == "from a import (\n    b,\n)\nimport c\nX = 1\n"
