from __future__ import annotations

import pytest

from scheduler.contract.arguments import Type
from scheduler.settings.conf import DEFAULT, ConfigError, Configuration, effective, parse

ACTIONS = ("enqueue", "allocate", "backfill", "preempt")
PLUGINS = ("priority", "gang", "drf", "proportion", "predicates", "nodeorder", "overcommit", "conformance", "binpack")


def read(text: str) -> Configuration:
    return parse(
        text,
        actions=ACTIONS,
        plugins=PLUGINS,
        plugin_arguments={"binpack": {"binpack.weight": Type.INT}},
        action_arguments={"preempt": {"minCandidateNodesPercentage": Type.INT}},
    )


def test_the_built_in_default_has_two_tiers_and_no_warnings() -> None:
    found = read(DEFAULT)
    assert found.actions == ("enqueue", "allocate", "backfill")
    assert [[option.name for option in tier] for tier in found.tiers] == [
        ["priority", "gang", "conformance"],
        ["overcommit", "drf", "predicates", "proportion", "nodeorder"],
    ]
    assert found.warnings == ()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "^failed to find Action : the configuration is empty, name the actions of a cycle under actions$"),
        ("tiers: []", "^failed to find Action : actions is missing$"),
        (
            "acitons: allocate",
            r"^failed to find Action : actions is missing, acitons is no known key: did you mean actions\?$",
        ),
        ("actions:", "^failed to find Action : actions is empty, name the actions of a cycle$"),
        ("actions: ' , '", "^failed to find Action : actions is empty"),
        ("actions: 5", "failed to find Action 5"),
        ('actions: "allocate,"', "^failed to find Action : actions has a comma without a name beside it$"),
        ('actions: "allocate, fly"', "^failed to find Action fly$"),
        ("actions: alocate", r"^failed to find Action alocate, did you mean allocate\?$"),
        ("actions: Enqueue, allocate", r"^failed to find Action Enqueue, did you mean enqueue\?$"),
        ("- a", "the top level is a list, a mapping is needed"),
        ("actions: [allocate]", "actions is a list, a comma-separated text is needed"),
        ("actions: allocate\ntiers: 3", "tiers is a int, a list is needed"),
        ("actions: allocate\ntiers:\n- plugins: gang", r"tiers\[0\].plugins is a text, a list is needed"),
        (
            "actions: allocate\ntiers:\n\t- plugins: []",
            r"^not YAML: line 3, column 1: while scanning for the next token found character '\\t' that cannot start any token$",
        ),
        (
            "actions: allocate\ntiers:\n- plugins:\n  - name: gang\n    enableJobOrder: maybe",
            r"tiers\[0\].plugins\[0\].enableJobOrder is 'maybe', true or false is needed",
        ),
        (
            "actions: allocate\ntiers:\n- plugins:\n  - name: gang\n    enableJobOrder: 'true'",
            "enableJobOrder is 'true'",
        ),
        (
            "actions: allocate\ntiers:\n- plugins:\n  - name: drf\n    enableHierarchy: true\n  - name: proportion",
            "proportion and drf with hierarchy enabled conflicts",
        ),
    ],
)
def test_what_cannot_be_used_is_refused_whole(text: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        read(text)


def test_hierarchy_and_proportion_in_different_tiers_are_accepted() -> None:
    text = "actions: allocate\ntiers:\n- plugins: [{name: drf, enableHierarchy: true}]\n- plugins: [{name: proportion}]"
    assert read(text).tiers[0][0].is_on("enableHierarchy")


def test_yaml_1_1_words_are_booleans_and_numbers_and_metrics_are_texts() -> None:
    text = (
        "actions: allocate\ntiers:\n- plugins:\n  - name: gang\n    enableJobOrder: no\n    enabledOverused: on\n"
        "    arguments: {a: 010, b: 0x10, c: 1_000, d: 5.0}\nmetrics: {type: prometheus, interval: 1.5, empty: }"
    )
    found = read(text)
    option = found.tiers[0][0]
    assert not option.is_on("enableJobOrder")
    assert option.is_on("enabledOverused")
    assert dict(option.arguments) == {"a": 8, "b": 16, "c": 1000, "d": 5.0}
    assert found.metrics == {"type": "prometheus", "interval": "1.5", "empty": ""}


@pytest.mark.parametrize(
    ("switch", "value"),
    [("enableJobOrder", True), ("enableHierarchy", False), ("enabledClusterOrder", False), ("", True)],
)
def test_an_absent_switch_means_its_default(switch: str, value: bool) -> None:
    option = read("actions: allocate\ntiers:\n- plugins: [{name: gang}]").tiers[0][0]
    assert option.is_on(switch) is value


def test_only_the_first_document_counts_and_of_two_keys_the_last() -> None:
    found = read("actions: enqueue\nactions: allocate\n---\nactions: fly")
    assert found.actions == ("allocate",)
    assert found.warnings == ("actions: the key stands twice, the last one counts",)


@pytest.mark.parametrize(
    ("text", "warning"),
    [
        ("action: x", "action: unknown key has no effect, did you mean actions?"),
        ("budget: x", "budget: unknown key has no effect"),
        ("teirs: [{plugins: [{name: gang}]}]", "teirs: unknown key has no effect, did you mean tiers?"),
        ("metric: {}", "metric: unknown key has no effect, did you mean metrics?"),
        ("configuration: []", "configuration: unknown key has no effect, did you mean configurations?"),
        ("tiers: [{plugin: []}]", "tiers[0].plugin: unknown key has no effect, did you mean plugins?"),
        (
            "tiers: [{plugins: [{name: gang, enablePredicates: true}]}]",
            "tiers[0].plugins[0].enablePredicates: unknown key has no effect, did you mean enablePredicate?",
        ),
        (
            "tiers: [{plugins: [{name: gang, enabledJobOrder: true}]}]",
            "tiers[0].plugins[0].enabledJobOrder: unknown key has no effect, did you mean enableJobOrder?",
        ),
        (
            "tiers: [{plugins: [{name: gnag}]}]",
            "tiers[0].plugins[0].name: unknown plugin 'gnag' is passed over, did you mean gang?",
        ),
        (
            "tiers: [{plugins: [{name: DRF}]}]",
            "tiers[0].plugins[0].name: unknown plugin 'DRF' is passed over, did you mean drf?",
        ),
        (
            "tiers: [{plugins: [{name: gang, enablejoborder: true}]}]",
            "tiers[0].plugins[0].enablejoborder: unknown key has no effect, did you mean enableJobOrder?",
        ),
        (
            "configurations: [{name: premept}]",
            "configurations[0].name: unknown action 'premept' is passed over, did you mean preempt?",
        ),
        ("tiers: [{plugins: [{}]}]", "tiers[0].plugins[0].name: unknown plugin '' is passed over"),
        ("tiers: [{plugins: [{name: fast}]}]", "tiers[0].plugins[0].name: unknown plugin 'fast' is passed over"),
        (
            "tiers: [{plugins: [{name: gang}, {name: gang}]}]",
            "tiers[0].plugins[1].name: plugin gang is listed twice, the later arguments count",
        ),
        ("configurations: [{name: fly}]", "configurations[0].name: unknown action 'fly' is passed over"),
        (
            "configurations: [{name: allocate}, {name: allocate}]",
            "configurations[1].name: action allocate is listed twice, the first arguments count",
        ),
        (
            "tiers: [{plugins: [{name: gang, name: gang}]}]",
            "tiers[0].plugins[0].name: the key stands twice, the last one counts",
        ),
        (
            "tiers: [{plugins: [{name: binpack, arguments: {binpack.wieght: 1}}]}]",
            "tiers[0].plugins[0].arguments.binpack.wieght: unknown argument has no effect, did you mean binpack.weight?",
        ),
        (
            "configurations: [{name: preempt, arguments: {minCandidateNodesPercentage: '20'}}]",
            (
                "configurations[0].arguments.minCandidateNodesPercentage: Could not parse argument: 20 for key "
                "minCandidateNodesPercentage to int, the default counts"
            ),
        ),
    ],
)
def test_what_has_no_effect_is_warned_of_with_its_path(text: str, warning: str) -> None:
    assert read(f"actions: allocate\n{text}").warnings == (warning,)


def test_the_first_entry_of_an_action_gives_its_arguments() -> None:
    text = "actions: allocate\nconfigurations:\n- {name: allocate, arguments: {a: 1}}\n- {name: allocate, arguments: {a: 2}}"
    assert read(text).action_arguments == {"allocate": {"a": 1}}


@pytest.mark.parametrize(
    ("written", "read_as"),
    [
        ("1.50", "1.50"),
        ("null", ""),
        ("~", ""),
        ("yes", "yes"),
        ("010", "010"),
        ("2026-01-01", "2026-01-01"),
        ("'x'", "x"),
    ],
)
def test_metrics_keep_their_scalars_as_they_were_written(written: str, read_as: str) -> None:
    assert read(f"actions: allocate\nmetrics: {{interval: {written}}}").metrics == {"interval": read_as}


@pytest.mark.parametrize(
    ("written", "read_as"),
    [("y", True), ("N", False), ("off", False), ("1e3", 1000.0), ("2026-01-01", "2026-01-01"), ("1:30", "1:30"),
     ("-0x10", -16), ("0", 0), (".5", 0.5), ("08", "08"), ("+1_0", 10)],
)  # fmt: skip
def test_scalars_of_arguments_are_read_as_go_reads_them(written: str, read_as: object) -> None:
    text = f"actions: allocate\ntiers: [{{plugins: [{{name: gang, arguments: {{a: {written}}}}}]}}]"
    found = read(text).tiers[0][0].arguments["a"]
    assert (found, type(found)) == (read_as, type(read_as))


def test_the_effective_configuration_names_what_differs_from_the_defaults() -> None:
    text = (
        "actions: allocate, preempt\nconfigurations: [{name: preempt, arguments: {minCandidateNodesPercentage: 5}}]\n"
        "tiers: [{plugins: [{name: gang, enableJobOrder: false}]}, {plugins: [{name: drf, enableHierarchy: true}]}]"
    )
    assert effective(read(text)) == [
        "actions=allocate,preempt",
        "action=preempt arguments={'minCandidateNodesPercentage': 5}",
        "tier=0 plugin=gang off=enableJobOrder on=- arguments={}",
        "tier=1 plugin=drf off=- on=enableHierarchy arguments={}",
    ]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("tiers: &t [{plugins: *t}]", "leads back to the section"),
        ("actions: " + "[" * 5000, "nested too deeply"),
    ],
)
def test_a_text_that_can_not_be_held_is_a_bad_configuration(text: str, problem: str) -> None:
    with pytest.raises(ConfigError, match=problem):
        parse(text, actions=(), plugins=())
