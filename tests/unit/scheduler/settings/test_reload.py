"""The configuration over the life of the process."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from pathlib import Path

import pytest

from scheduler.reporting import metrics
from scheduler.settings.conf import ConfigError
from scheduler.settings.loading import LoadError, built_in
from scheduler.settings.reload import Configurations, Loaded

GOOD = "actions: allocate\ntiers: [{plugins: [{name: gang}]}]"
OTHER = "actions: enqueue, allocate"
INVALID = "; scheduler configuration {path} is invalid, the last good one stays in effect"
PLUGIN = (
    "from scheduler.plugin import Plugin\nclass P(Plugin):\n    declares = {}\n    def on_session_open(self, s): ...\n"
)


class Bench:
    def __init__(self, directory: Path, *, strict: bool = False, path: str = "scheduler.conf") -> None:
        self.file = directory / "conf" / path
        self.file.parent.mkdir(exist_ok=True)
        self.plugins = directory / "plugins"
        self.plugins.mkdir(exist_ok=True)
        self.complaints: list[str] = []
        self.configurations = Configurations(
            str(self.file) if path else "",
            str(self.plugins),
            built_in(),
            is_strict=strict,
            complain=self.complaints.append,
        )

    def look(self) -> None:
        self.configurations.look(
            {path: path.read_bytes() if path.exists() else None for path in self.configurations._watched()}
        )

    @property
    def actions(self) -> tuple[str, ...]:
        return self.configurations.loaded.configuration.actions


def valid() -> float:
    value = metrics.CONFIG_VALID._value.get()
    return float(value)


def test_the_file_at_the_start_is_in_effect_and_shown_in_the_log(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    bench = Bench(tmp_path)
    bench.file.write_text(f"{GOOD}\nbudget: 1\n")
    with caplog.at_level(logging.INFO):
        loaded = bench.configurations.start()
    assert (bench.actions, loaded.text, valid(), bench.complaints) == (("allocate",), f"{GOOD}\nbudget: 1", 1.0, [])
    lines = [record.getMessage() for record in caplog.records]
    assert "Successfully loaded Scheduler conf as follows:" in lines
    assert "actions: allocate" in lines
    assert "effective configuration: tier=0 plugin=gang off=- on=- arguments={}" in lines
    assert lines.count("scheduler configuration: budget: unknown key has no effect") == 1


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (
            None,
            "Failed to read the Scheduler config in '{path}', using previous configuration: open {path}: no such file",
        ),
        (b"actions: fly", f"failed to find Action fly{INVALID}"),
        (b"\xff\xfe", "it is not UTF-8: "),
        (b"", "failed to find Action : the configuration is empty"),
        (
            b"actions: [",
            f"not YAML: line 1, column 11: while parsing a flow node expected the node content, but found '<stream end>'{INVALID}",
        ),
    ],
)
def test_a_bad_file_at_the_start_leaves_the_built_in_default_and_is_told(
    tmp_path: Path, content: bytes | None, message: str
) -> None:
    bench = Bench(tmp_path)
    if content is not None:
        bench.file.write_bytes(content)
    bench.configurations.start()
    assert bench.actions == ("enqueue", "allocate", "backfill")
    assert valid() == 0.0
    assert len(bench.complaints) == 1
    assert bench.complaints[0].startswith(message.format(path=bench.file))


def test_the_log_has_the_text_of_a_bad_file_and_the_event_only_what_is_wrong_with_it(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    bench = Bench(tmp_path)
    text = f"{OTHER}, alocate\nmetrics: {{address: hidden}}"
    bench.file.write_text(text)
    bench.configurations.start()
    reason = "failed to find Action alocate, did you mean allocate?"
    assert bench.complaints == [f"{reason}{INVALID.format(path=bench.file)}"]
    assert f"Scheduler config {text} is invalid: {reason}" in [record.getMessage() for record in caplog.records]


def test_without_a_path_the_built_in_default_counts_and_nobody_is_troubled(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    bench = Bench(tmp_path, path="")
    bench.configurations.start()
    assert bench.actions == ("enqueue", "allocate", "backfill")
    assert (valid(), bench.complaints) == (1.0, [])
    assert "failed to find Action " in caplog.text


@pytest.mark.parametrize("content", [None, "actions: fly"])
def test_without_a_default_a_bad_file_is_fatal_at_the_start(tmp_path: Path, content: str | None) -> None:
    bench = Bench(tmp_path, strict=True)
    if content is not None:
        bench.file.write_text(content)
    with pytest.raises(ConfigError):
        bench.configurations.start()


def test_without_a_default_no_path_is_fatal(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="failed to find Action "):
        Bench(tmp_path, strict=True, path="").configurations.start()


def test_without_a_default_a_bad_reload_is_fatal_too(tmp_path: Path) -> None:
    bench = Bench(tmp_path, strict=True)
    bench.file.write_text(GOOD)
    bench.configurations.start()
    bench.file.write_text("actions: fly")
    with pytest.raises(ConfigError, match="fly"):
        bench.look()


def test_a_missing_directory_of_the_file_is_fatal(tmp_path: Path) -> None:
    configurations = Configurations(
        str(tmp_path / "nowhere" / "x.conf"), "", built_in(), is_strict=False, complain=print
    )
    with pytest.raises(ConfigError, match=r"the directory .*nowhere does not exist"):
        configurations.start()


def test_a_bad_reload_keeps_the_last_good_one_until_a_better_comes(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    bench.file.write_text(GOOD)
    bench.configurations.start()
    before = bench.configurations.loaded
    bench.file.write_text("actions: [")
    bench.look()
    assert (bench.configurations.loaded is before, valid(), len(bench.complaints)) == (True, 0.0, 1)
    bench.look()  # the same again is not told again
    assert len(bench.complaints) == 1
    bench.file.write_text(OTHER)
    bench.look()
    assert (bench.actions, valid()) == (("enqueue", "allocate"), 1.0)


def test_a_plugin_that_fails_at_the_start_is_fatal_and_later_keeps_its_last_good_form(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    bench.file.write_text("actions: allocate\ntiers: [{plugins: [{name: mine}]}]")
    plugin = bench.plugins / "mine.py"
    plugin.write_text("(")
    with pytest.raises(LoadError, match=r"mine\.py"):
        bench.configurations.start()
    plugin.write_text(PLUGIN)
    bench = Bench(tmp_path)
    loaded = bench.configurations.start()
    assert loaded.configuration.warnings == ()
    first = loaded.catalog.plugins["mine"]
    plugin.write_text("(")
    bench.look()
    assert bench.configurations.loaded.catalog.plugins["mine"] is first
    assert len(bench.complaints) == 1
    assert "the last good one stays" in bench.complaints[0]
    plugin.write_text(f"{PLUGIN}\n")
    bench.look()
    assert bench.configurations.loaded.catalog.plugins["mine"] is not first


def test_a_plugin_that_comes_later_is_known_from_then_on(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    bench.file.write_text("actions: allocate\ntiers: [{plugins: [{name: mine}]}]")
    assert bench.configurations.start().configuration.warnings == (
        "tiers[0].plugins[0].name: unknown plugin 'mine' is passed over",
    )
    (bench.plugins / "mine.py").write_text(PLUGIN)
    bench.look()
    assert bench.configurations.loaded.configuration.warnings == ()


async def followed(bench: Bench, change: Callable[[], object]) -> Loaded:
    bench.configurations.start()
    seen: asyncio.Queue[Loaded] = asyncio.Queue()
    following = asyncio.create_task(bench.configurations.run(seen.put_nowait))
    try:
        await asyncio.sleep(0)
        change()
        return await asyncio.wait_for(seen.get(), 20)
    finally:
        following.cancel()
        await asyncio.gather(following, return_exceptions=True)


async def test_the_swap_of_a_mounted_config_map_is_followed(tmp_path: Path) -> None:
    mount = tmp_path / "conf"
    for name, text in (("..one", GOOD), ("..two", OTHER)):
        (mount / name).mkdir(parents=True)
        (mount / name / "scheduler.conf").write_text(text)
    (mount / "..data").symlink_to("..one")
    (mount / "scheduler.conf").symlink_to("..data/scheduler.conf")

    def swap() -> None:
        (mount / "..tmp").symlink_to("..two")
        (mount / "..tmp").rename(mount / "..data")

    loaded = await followed(Bench(tmp_path), swap)
    assert loaded.configuration.actions == ("enqueue", "allocate")


async def test_a_new_plugin_file_is_followed(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    bench.file.write_text(GOOD)
    loaded = await followed(bench, lambda: (bench.plugins / "mine.py").write_text(PLUGIN))
    assert "mine" in loaded.catalog.plugins
