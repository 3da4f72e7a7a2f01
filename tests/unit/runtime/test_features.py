from __future__ import annotations

import logging

import pytest

from runtime.features import (
    VOLCANO,
    FeatureError,
    FeatureGates,
    Gate,
    Release,
    Stage,
    alpha,
    parse_release,
)
from runtime.flagtypes import parse_gates
from runtime.kubegates import HONOURED, TOLERATED


def gates(text: str = "", release: Release | None = None) -> FeatureGates:
    result = FeatureGates((*VOLCANO, *HONOURED), TOLERATED)
    result.set(parse_gates(text))
    if release is not None:
        result.align(release)
    return result


@pytest.mark.parametrize(
    ("name", "on"),
    [
        ("WorkLoadSupport", True),
        ("VolcanoJobSupport", True),
        ("PodDisruptionBudgetsSupport", True),
        ("QueueCommandSync", True),
        ("PriorityClass", True),
        ("ResourceTopology", True),
        ("CronVolcanoJobSupport", True),
        ("CSIStorage", False),
        ("SchedulingGatesQueueAdmission", False),
    ],
)
def test_gates_of_our_own_have_their_defaults_on_every_server(name: str, *, on: bool) -> None:
    assert gates().enabled(name) is on
    assert gates(release=(1, 34)).enabled(name) is on


@pytest.mark.parametrize(
    ("name", "at_34", "at_35", "at_36"),
    [
        ("DynamicResourceAllocation", True, True, True),
        ("DRAConsumableCapacity", False, False, True),
        ("DRADeviceTaints", False, False, True),
        ("DRADeviceTaintRules", False, False, False),
        ("InPlacePodVerticalScaling", True, True, True),
        ("PodLevelResources", True, True, True),
        ("PodSchedulingReadiness", True, True, True),
    ],
)
def test_kubernetes_gates_follow_the_servers_release(name: str, *, at_34: bool, at_35: bool, at_36: bool) -> None:
    found = [gates(release=release).enabled(name) for release in ((1, 34), (1, 35), (1, 36))]
    assert found == [at_34, at_35, at_36]


def test_before_alignment_and_beyond_the_newest_release_the_newest_defaults_hold() -> None:
    assert gates().enabled("DRAConsumableCapacity")
    assert gates(release=(1, 99)).enabled("DRAConsumableCapacity")


def test_a_feature_that_did_not_exist_yet_is_off() -> None:
    assert not gates(release=(1, 25)).enabled("DynamicResourceAllocation")


def test_a_setting_beats_the_default() -> None:
    found = gates("PriorityClass=false,DRAConsumableCapacity=true", (1, 34))
    assert not found.enabled("PriorityClass")
    assert found.enabled("DRAConsumableCapacity")


def test_a_later_setting_wins() -> None:
    found = gates("PriorityClass=false")
    found.set({"PriorityClass": True})
    assert found.enabled("PriorityClass")


@pytest.mark.parametrize("text", ["AllAlpha=false,WorkLoadSupport=true", "WorkLoadSupport=true,AllAlpha=false"])
def test_a_named_gate_beats_its_stage_in_any_order(text: str) -> None:
    found = gates(text)
    assert found.enabled("WorkLoadSupport")
    assert not found.enabled("PriorityClass")


def test_a_whole_stage_is_judged_at_the_servers_release() -> None:
    assert gates("AllAlpha=true", (1, 34)).enabled("DRAConsumableCapacity")
    assert not gates("AllBeta=false", (1, 36)).enabled("DRAConsumableCapacity")
    assert gates("AllBeta=false", (1, 36)).enabled("WorkLoadSupport")
    assert gates("AllAlpha=true").enabled("CSIStorage")


def test_a_feature_is_off_without_what_it_requires() -> None:
    found = gates("DynamicResourceAllocation=false,DRADeviceTaintRules=true,DRADeviceTaints=true", (1, 34))
    assert not found.enabled("DRADeviceTaintRules")
    assert not found.enabled("DRADeviceTaints")


def test_an_unknown_gate_is_an_error_and_nothing_is_set() -> None:
    found = gates()
    with pytest.raises(FeatureError, match="unrecognized feature gate: NoSuchGate"):
        found.set({"PriorityClass": False, "NoSuchGate": True})
    assert found.enabled("PriorityClass")


def test_other_kubernetes_gates_are_accepted_with_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        found = gates("EnvFiles=true")
    assert "gate=EnvFiles" in caplog.text
    assert "EnvFiles" not in found.names


def test_names_with_an_effect_are_not_among_the_tolerated() -> None:
    assert TOLERATED.isdisjoint(gates().names)
    assert len(TOLERATED) > 200


def test_a_locked_gate_cannot_be_turned_off() -> None:
    assert not gates("DynamicResourceAllocation=false", (1, 34)).enabled("DynamicResourceAllocation")
    with pytest.raises(FeatureError, match="DynamicResourceAllocation to false, feature is locked to true"):
        gates("DynamicResourceAllocation=false", (1, 35))


def test_a_locked_gate_may_be_set_to_what_it_is() -> None:
    assert gates("DynamicResourceAllocation=true", (1, 36)).enabled("DynamicResourceAllocation")


def test_a_stage_does_not_move_a_locked_gate() -> None:
    found = FeatureGates([Gate("Fixed").since((1, 0), Stage.ALPHA, default=True, locked=True)])
    found.set({"AllAlpha": False})
    assert found.enabled("Fixed")


def test_asking_for_a_gate_that_nobody_declared_is_a_mistake_in_the_program() -> None:
    with pytest.raises(KeyError):
        gates().enabled("Typo")


def test_the_effective_gates_can_be_printed_for_the_log() -> None:
    found = FeatureGates([alpha("B", default=True), alpha("A", default=False)])
    assert str(found) == "A=false,B=true"
    assert found.release is None


@pytest.mark.parametrize(
    ("major", "minor", "release"), [("1", "36", (1, 36)), ("1", "34+", (1, 34)), ("1+", "35", (1, 35))]
)
def test_releases_are_read_from_the_servers_version(major: str, minor: str, release: Release) -> None:
    assert parse_release(major, minor) == release


def test_an_unreadable_release_raises() -> None:
    with pytest.raises(ValueError, match="x"):
        parse_release("1", "x")
