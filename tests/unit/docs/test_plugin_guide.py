"""The plugins of docs/plugins/writing.md, loaded from a directory and asked in a cycle."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks import plugin_forms
from benchmarks.plugin_forms import FORMS, GUIDE, Load, blocks, decide, guide, measure, undeclared
from scheduler.cycle import Result, run_cycle
from scheduler.memory import Memory
from scheduler.reporting.outcome import JobOutcome
from scheduler.settings import conf
from scheduler.settings.loading import Catalog, Directory, built_in, files_of
from tests.unit.scheduler.build import World, binds, shape

FILES = blocks(GUIDE)
PLUGINS = [name for name in FILES if name.endswith(".py")]
SMALL = Load(nodes=12, gangs=6, pods=9)


def installed(directory: Path) -> Catalog:
    """The guide's files as they stand in a directory of plugins."""
    for name in PLUGINS:
        (directory / name).write_text(FILES[name])
    found = Directory()
    assert found.take({path: path.read_bytes() for path in files_of(directory)}) == []
    return found.catalog.over(built_in())


def configured(catalog: Catalog, plugin: str = "thrifty") -> conf.Configuration:
    text = FILES["scheduler.conf"].replace("name: thrifty", f"name: {plugin}")
    return conf.parse(text, actions=catalog.actions, plugins=catalog.plugins, plugin_arguments=catalog.plugin_arguments)


def two_nodes(pods: int) -> World:
    world = World()
    world.node("node-a", labels={"power-price": "20"})
    world.node("node-b", labels={"power-price": "80"})
    world.gang("train", [("worker", pods, shape())])
    return world


def scheduled(world: World, catalog: Catalog, plugin: str) -> Result:
    memory = Memory(world.cluster, configured(catalog, plugin), dict(catalog.plugins))
    result = run_cycle(world.cluster, memory, catalog.actions, uid="s", now=0.0)
    assert not memory.failures
    return result


def told(result: Result) -> JobOutcome:
    return next(found for found in result.outcome.jobs if found.job.id == "ns/train")


def test_the_page_shows_three_forms_and_the_first_is_short() -> None:
    assert PLUGINS == ["thrifty.py", "thrifty-batch.py", "thrifty-fast.py"]
    assert len([line for line in FILES["thrifty.py"].splitlines() if line.strip()]) <= 20


@pytest.mark.parametrize("name", PLUGINS)
def test_each_form_keeps_the_spare_cpu_and_fills_the_cheap_node_first(name: str, tmp_path: Path) -> None:
    catalog = installed(tmp_path)
    placed = binds(scheduled(two_nodes(6), catalog, name.removesuffix(".py")))
    assert [node for _, node in placed] == ["node-a"] * 3 + ["node-b"] * 3


@pytest.mark.parametrize("name", PLUGINS)
def test_each_form_says_what_the_page_says_when_the_gang_does_not_fit(name: str, tmp_path: Path) -> None:
    result = scheduled(two_nodes(7), installed(tmp_path), name.removesuffix(".py"))
    assert binds(result) == []
    condition = told(result).condition
    assert condition is not None
    assert condition.message == FILES["condition"].strip()


def test_the_configuration_of_the_page_has_nothing_odd(tmp_path: Path) -> None:
    catalog = installed(tmp_path)
    for name in PLUGINS:
        assert configured(catalog, name.removesuffix(".py")).warnings == ()


def test_a_misspelt_argument_is_told_as_the_page_says(tmp_path: Path) -> None:
    catalog = installed(tmp_path)
    text = FILES["scheduler.conf"].replace("name: thrifty", "name: thrifty-fast").replace(".spare", ".spair")
    found = conf.parse(
        text, actions=catalog.actions, plugins=catalog.plugins, plugin_arguments=catalog.plugin_arguments
    )
    assert list(found.warnings) == FILES["warning"].splitlines()


def test_a_plugin_of_the_page_takes_part_in_place_of_a_built_in_one(tmp_path: Path) -> None:
    (tmp_path / "binpack.py").write_text(FILES["thrifty.py"])
    found = Directory()
    assert found.take({path: path.read_bytes() for path in files_of(tmp_path)}) == []
    catalog = found.catalog.over(built_in())
    assert catalog.plugins["binpack"] is not built_in().plugins["binpack"]
    assert len(binds(scheduled(two_nodes(7), catalog, "binpack"))) == 0


def test_all_forms_decide_the_same_on_a_cluster_that_fills_up() -> None:
    catalog = guide()
    decided = {plugin: decide(SMALL, catalog, plugin)[0] for plugin in FORMS if plugin}
    first = decided["thrifty"]
    assert len(first) == SMALL.gangs * SMALL.pods
    assert all(found == first for found in decided.values())


def test_the_benchmark_measures_every_form_and_refuses_forms_that_differ(monkeypatch: pytest.MonkeyPatch) -> None:
    figures = measure(SMALL, guide(), FORMS, 1)
    assert list(figures) == list(FORMS)
    assert all(figure > 0 for figure in figures.values())
    other = FILES["thrifty-batch.py"].replace("100.0 -", "100.0 +")
    catalog = plugin_forms.catalog_of(FILES | {"thrifty-batch.py": other})
    with pytest.raises(ValueError, match="plugin thrifty-batch decides otherwise"):
        measure(SMALL, catalog, ["thrifty", "thrifty-batch"], 1)


def test_without_a_declaration_no_two_tasks_share_an_answer() -> None:
    catalog = guide()
    plugin = undeclared(catalog.plugins["thrifty-fast"])
    asked: list[str] = []

    class Counting(plugin):  # type: ignore[valid-type,misc]  # made from the page at run time
        def rate(self, task: object, view: object) -> object:
            asked.append(getattr(task, "name", ""))
            return super().rate(task, view)

    decide(SMALL, Catalog({"undeclared": Counting}).over(catalog), "undeclared")
    assert len(set(asked)) == SMALL.gangs * SMALL.pods


def test_with_its_declaration_a_score_is_asked_once_for_a_thousand_tasks() -> None:
    catalog = guide()
    asked: list[int] = []

    class Counting(catalog.plugins["thrifty-fast"]):  # type: ignore[name-defined,misc]  # made from the page
        def rate(self, task: object, view: object) -> object:
            asked.append(len(view))  # type: ignore[arg-type]  # a view has a length
            return super().rate(task, view)

    decide(SMALL, Catalog({"thrifty-fast": Counting}).over(catalog), "thrifty-fast")
    assert asked == [SMALL.nodes]


def test_the_figures_of_the_page_name_every_form_in_the_words_of_the_benchmark() -> None:
    lines = FILES["figures"].splitlines()
    assert [line[:36].rstrip() for line in lines[1:]] == list(FORMS.values())
