from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from codegen.naming import plural
from codegen.scaffold.clashes import STRANGE, refuse, stranger
from codegen.scaffold.errors import ScaffoldError
from codegen.scaffold.render import Named
from tests.unit.codegen.projects import real_kind

TEMPLATES = ("kind_controller.py", "test_kind_controller.py")
QUEUE = real_kind("Queue")
STRANGE_VALUES: dict[str, Any] = {"named": stranger(QUEUE), "module": STRANGE}


def check(kind: str, plural_name: str) -> None:
    named = Named(replace(QUEUE, kind=kind, plural=plural_name, singular=kind.lower()))
    refuse(TEMPLATES, {"named": named, "module": kind.lower()}, STRANGE_VALUES, "--kind")


@pytest.mark.parametrize(
    ("kind", "plural_name"), [("Queue", "queues"), ("Sheep", "sheep"), ("Contexts", "contexts"), ("Clientset", "sets")]
)
def test_names_that_hide_nothing_pass(kind: str, plural_name: str) -> None:
    check(kind, plural_name)


@pytest.mark.parametrize(
    ("kind", "plural_name", "hidden"),
    [
        ("ObjectMeta", "objectmetas", "ObjectMeta"),
        ("Thing", "rules", "RULES"),
        ("Key", "keys", "key"),
    ],
)
def test_a_class_constant_or_variable_that_hides_something_is_named(kind: str, plural_name: str, hidden: str) -> None:
    with pytest.raises(ScaffoldError, match=rf"--kind: '{hidden}' would hide a name that the new code itself needs"):
        check(kind, plural_name)


def test_strangers_stay_apart() -> None:
    first, second = stranger(QUEUE), stranger(QUEUE, 1)
    assert first.name != second.name
    assert plural(first.name, first.kind.plural).lower().startswith(STRANGE)
