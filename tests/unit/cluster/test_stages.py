"""The text that kwok gets. What it makes kwok do is tested on the real thing, in tests/integration."""

from __future__ import annotations

import re
from typing import Any

import pytest
import yaml

from cluster.annotations import EXIT_CODE, RUN_SECONDS, STOP_SECONDS
from cluster.stages import render, stages

NAMES = ["node-report", "pod-run", "pod-refuse", "pod-end", "pod-stop", "pod-remove"]


def documents() -> list[dict[str, Any]]:
    return list(yaml.safe_load_all(render()))


def stage(name: str) -> dict[str, Any]:
    return next(found for found in stages() if found["metadata"]["name"] == name)


def keys(name: str) -> list[str]:
    return [match["jq"]["key"] for match in stage(name)["spec"]["selector"]["matchExpressions"]]


def test_settings_come_first_and_then_every_stage() -> None:
    settings, *rest = documents()
    assert settings["kind"] == "KwokConfiguration"
    assert set(settings["options"].values()) == {16}
    assert [found["metadata"]["name"] for found in rest] == NAMES
    assert {found["kind"] for found in rest} == {"Stage"}


def test_no_placeholder_is_left() -> None:
    assert not re.search(r"@[A-Z_]+@", render())


@pytest.mark.parametrize(
    ("name", "annotation"),
    [
        ("pod-end", RUN_SECONDS),
        ("pod-end", EXIT_CODE),
        ("pod-stop", STOP_SECONDS),
        ("pod-refuse", RUN_SECONDS),
        ("pod-refuse", EXIT_CODE),
        ("pod-refuse", STOP_SECONDS),
        ("pod-run", RUN_SECONDS),
    ],
)
def test_the_stages_read_the_documented_annotations(name: str, annotation: str) -> None:
    assert annotation in yaml.safe_dump(stage(name), width=10_000)


def test_every_pod_stage_looks_at_deletion_first() -> None:
    for name in NAMES[1:]:
        assert keys(name)[0] == ".metadata.deletionTimestamp", name


def test_what_only_finalizers_hold_is_not_removed_again() -> None:
    assert keys("pod-remove")[1] == ".metadata.deletionGracePeriodSeconds | tostring"


def test_every_block_of_a_template_ends() -> None:
    for found in stages():
        for step in found["spec"]["steps"]:
            template = step.get("patch", {}).get("template", "")
            blocks = len(re.findall(r"{{ (?:if|range|with) ", template))
            assert blocks == len(re.findall(r"{{ end }}", template)), found["metadata"]["name"]


def test_a_change_of_status_goes_to_the_status() -> None:
    patches = [step["patch"] for found in stages() for step in found["spec"]["steps"] if "patch" in step]
    assert len(patches) == 5
    assert {(patch["subresource"], patch["root"]) for patch in patches} == {("status", "status")}


@pytest.mark.parametrize(
    ("text", "is_readable"),
    [
        ("0", True),
        ("2", True),
        ("0.5", True),
        ("12.25", True),
        ("2s", False),
        ("-1", False),
        ("", False),
        (".5", False),
        ("1e3", False),
    ],
)
def test_seconds_are_plain_decimals(text: str, is_readable: bool) -> None:  # a table's column
    (pattern,) = {found for found in re.findall(r'test\("([^"]+)"\)', keys("pod-run")[2]) if "." in found}
    assert bool(re.match(pattern, text)) is is_readable


def test_exit_codes_are_those_of_a_process() -> None:
    (pattern,) = {found for found in re.findall(r'test\("([^"]+)"\)', keys("pod-run")[2]) if "25[0-5]" in found}
    readable = [number for number in range(-5, 1000) if re.match(pattern, str(number))]
    assert readable == list(range(256))
    assert not re.match(pattern, "01")
    assert not re.match(pattern, "1.0")
