"""Plugins and actions from outside the tree."""

from __future__ import annotations

from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from scheduler.contract.arguments import Type
from scheduler.cycle import run_cycle
from scheduler.plugin import Plugin
from scheduler.settings.loading import (
    ACTIONS_GROUP,
    PLUGINS_GROUP,
    Directory,
    LoadError,
    built_in,
    files_of,
    installed,
    load_file,
)
from tests.unit.scheduler.build import World, binds, memory_of, shape

RELUCTANT = b"""
from __future__ import annotations
from dataclasses import dataclass
from scheduler.plugin import Plugin

@dataclass
class Word:
    text: str

class Reluctant(Plugin):
    def on_session_open(self, session):
        session.add_predicate(self.name, lambda task, node: Word("no").text if node.name == "a" else None)
"""
ACTION = b"def execute(session):\n    session.job_messages['ns/g'] = 'seen'\nexecute.arguments = {}\n"


def taken(directory: Directory, contents: dict[str, bytes]) -> list[str]:
    return [str(error) for error in directory.take({Path(path): content for path, content in contents.items()})]


def test_a_file_is_a_plugin_under_its_own_name_and_takes_part() -> None:
    directory = Directory()
    assert taken(directory, {"/p/my.plugin.py": RELUCTANT}) == []
    plugin = directory.catalog.plugins["my.plugin"]
    assert plugin.name == "my.plugin"
    world = World()
    world.node("a")
    world.node("b")
    world.gang("g", [("w", 1, shape())])
    text = "actions: enqueue, allocate\ntiers: [{plugins: [{name: gang}, {name: my.plugin}]}]"
    memory = memory_of(world.cluster, text, {"my.plugin": plugin})
    assert binds(run_cycle(world.cluster, memory, built_in().actions, uid="s", now=0.0)) == [("g-w-0", "b")]


def test_a_function_execute_is_an_action_and_may_declare_its_arguments() -> None:
    directory = Directory()
    assert taken(directory, {"/p/note.py": ACTION}) == []
    catalog = directory.catalog.over(built_in())
    assert "note" in catalog.actions
    assert catalog.action_arguments["note"] == {}
    assert catalog.action_arguments["preempt" if "preempt" in catalog.actions else "allocate"]


@pytest.mark.parametrize(
    ("path", "content", "message"),
    [
        ("/p/x.py", b"import nothing_of_that_name", "plugin /p/x.py: ModuleNotFoundError: No module named"),
        ("/p/x.py", b"def f(:", "plugin /p/x.py: SyntaxError: "),
        ("/p/x.py", b"a = 1", "neither a subclass of Plugin nor a function execute"),
        ("/p/x.py", b"raise SystemExit(3)", "plugin /p/x.py: SystemExit: 3"),
        ("/p/x.py", RELUCTANT + b"class Other(Plugin):\n    pass\n", "it defines 2 subclasses of Plugin"),
        ("/p/magic.so", b"\x7fELF", "docs/migrate.md"),
    ],
)
def test_what_cannot_be_loaded_says_which_file_and_why(path: str, content: bytes, message: str) -> None:
    problems = taken(Directory(), {path: content})
    assert len(problems) == 1
    assert message in problems[0]


def test_a_changed_file_is_loaded_again_and_a_broken_change_leaves_the_last_good_one() -> None:
    directory = Directory()
    taken(directory, {"/p/x.py": RELUCTANT})
    first = directory.catalog.plugins["x"]
    assert taken(directory, {"/p/x.py": RELUCTANT}) == []
    assert directory.catalog.plugins["x"] is first
    assert len(taken(directory, {"/p/x.py": b"("})) == 1
    assert directory.catalog.plugins["x"] is first
    assert taken(directory, {"/p/x.py": b"("}) == []  # told once
    taken(directory, {"/p/x.py": RELUCTANT + b"\nWord = Word\n"})
    assert directory.catalog.plugins["x"] is not first


def test_a_file_that_is_gone_takes_its_plugin_along() -> None:
    directory = Directory()
    taken(directory, {"/p/x.py": RELUCTANT})
    assert taken(directory, {}) == []
    assert directory.catalog.plugins == {}


def test_a_custom_plugin_takes_the_place_of_one_of_the_tree() -> None:
    directory = Directory()
    taken(directory, {"/p/gang.py": RELUCTANT})
    assert directory.catalog.over(built_in()).plugins["gang"].__name__ == "Reluctant"


def test_only_python_files_and_go_plugins_are_looked_at(tmp_path: Path) -> None:
    for name in ("b.py", "a.py", "c.so", ".hidden.py", "__init__.py", "README"):
        (tmp_path / name).write_text("")
    (tmp_path / "d.py").mkdir()
    assert [path.name for path in files_of(tmp_path)] == ["a.py", "b.py", "c.so"]
    assert files_of(tmp_path / "nowhere") == []


def found(*points: EntryPoint) -> object:
    return lambda group: [point for point in points if point.group == group]


def test_entry_points_give_plugins_and_actions_by_their_names() -> None:
    catalog = installed(
        found(  # type: ignore[arg-type]  # the part in use
            EntryPoint("mine", "scheduler.plugins.gang:Gang", PLUGINS_GROUP),
            EntryPoint("later", "scheduler.actions.backfill:backfill", ACTIONS_GROUP),
        )
    )
    assert catalog.plugins["mine"].name == "mine"
    assert issubclass(catalog.plugins["mine"], Plugin)
    assert list(catalog.actions) == ["later"]


@pytest.mark.parametrize(
    ("point", "message"),
    [
        (EntryPoint("x", "nothing_there:X", PLUGINS_GROUP), "entry point x of volcano.scheduler.plugins"),
        (EntryPoint("x", "scheduler.plugins.gang:is_ready", PLUGINS_GROUP), "is no subclass of Plugin"),
        (EntryPoint("x", "scheduler.plugins.gang:__name__", ACTIONS_GROUP), "can't be called with a session"),
    ],
)
def test_a_bad_entry_point_is_named(point: EntryPoint, message: str) -> None:
    with pytest.raises(LoadError, match=message):
        installed(found(point))  # type: ignore[arg-type]  # the part in use


def test_the_arguments_of_plugins_that_declare_theirs_are_known() -> None:
    declared = built_in().plugin_arguments
    assert declared["binpack"]["binpack.weight"] is Type.INT
    assert declared["gang"] == {}


def test_the_plugin_that_the_migration_page_shows_works() -> None:
    text = (Path(__file__).resolve().parents[4] / "docs" / "migrate.md").read_text()
    code = text.partition("```python\n")[2].partition("```")[0]
    plugin = load_file(Path("/p/magic.py"), code.encode()).plugins["magic"]
    assert plugin.declares == {"magic.weight": Type.INT}
    world = World()
    for name, labels in (("a", {}), ("b", {"magic": "1"}), ("c", {"magic": "3"})):
        world.node(name, labels=labels)
    world.gang("g", [("w", 1, shape())])
    tiers = "actions: enqueue, allocate\ntiers: [{plugins: [{name: gang}, {name: magic}]}]"
    memory = memory_of(world.cluster, tiers, {"magic": plugin})
    assert binds(run_cycle(world.cluster, memory, built_in().actions, uid="s", now=0.0)) == [("g-w-0", "c")]
