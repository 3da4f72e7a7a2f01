from __future__ import annotations

from typing import Any

import pytest

from controllers.hypernode.settings import Settings, SettingsError, Source, read
from runtime.objects import Key
from tests.unit.controllers.hypernode.samples import LABELS, config, ufm


def settings(*entries: Any) -> Settings:
    return read(config(*entries).data)


@pytest.mark.parametrize(
    ("interval", "seconds"),
    [("10m", 600), ("1.5s", 1.5), (600_000_000_000, 600), (0, 3600), (-5, 3600), ("-1h", 3600), (None, 3600)],
)
def test_intervals_are_texts_or_nanoseconds(interval: Any, seconds: float) -> None:
    assert settings(ufm(interval=interval)).sources["ufm"].interval == seconds


def test_a_source_has_its_secret_and_its_own_settings() -> None:
    found = settings(ufm("https://ufm.example"))
    source = Source("ufm", 600, Key("ns", "s"), {"endpoint": "https://ufm.example"})
    assert found == Settings({"ufm": source}, {})


@pytest.mark.parametrize(
    ("entries", "enabled", "problems"),
    [
        ([LABELS, ufm()], ["label", "ufm"], {}),
        ([{**LABELS, "enabled": False}, ufm()], ["ufm"], {}),
        ([{"source": "label"}], [], {}),
        ([{"source": "roce", "enabled": True}, LABELS], ["label"], {"roce": "unsupported discoverer type: roce"}),
        ([{"source": "roce", "enabled": False}, LABELS], ["label"], {}),
        ([{**LABELS, "enabled": False}, LABELS, {**LABELS, "config": {}}], ["label"], {}),
    ],
)
def test_the_first_enabled_entry_of_a_source_counts(
    entries: list[Any], enabled: list[str], problems: dict[str, str]
) -> None:
    found = settings(*entries)
    assert (list(found.sources), found.problems) == (enabled, problems)
    if "label" in enabled:
        assert found.sources["label"].config == LABELS["config"]


@pytest.mark.parametrize(
    ("entry", "name"),
    [
        (ufm(interval="soon"), "ufm"),
        (ufm(enabled="maybe"), "ufm"),
        (ufm(config="none"), "ufm"),
        ({"enabled": True}, "networkTopologyDiscovery[0]"),
        ("text", "networkTopologyDiscovery[0]"),
    ],
)
def test_an_entry_that_can_not_be_read_spoils_only_itself(entry: Any, name: str) -> None:
    found = settings(entry, LABELS)
    assert (list(found.sources), list(found.problems)) == (["label"], [name])
    assert found.problems[name].startswith("failed to parse config: networkTopologyDiscovery[0]: ")


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({}, "config key not found in ConfigMap: volcano-controller.conf"),
        ({"volcano-controller.conf": "a: ["}, "failed to parse config: "),
        ({"volcano-controller.conf": "a: 2026-13-45"}, "failed to parse config: "),
        ({"volcano-controller.conf": "[]"}, "failed to parse config: the top level is no mapping"),
        ({"volcano-controller.conf": "networkTopologyDiscovery: {a: b}"}, "networkTopologyDiscovery is no list"),
    ],
)
def test_a_document_that_can_not_be_read_is_an_error(data: dict[str, str], message: str) -> None:
    with pytest.raises(SettingsError) as raised:
        read(data)
    assert message in str(raised.value)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize("text", ["", "other: 1", "networkTopologyDiscovery:"])
def test_an_empty_document_enables_nothing(text: str) -> None:
    assert read({"volcano-controller.conf": text}) == Settings()
