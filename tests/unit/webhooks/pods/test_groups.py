from __future__ import annotations

from contextlib import suppress

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from runtime.errors import ConfigError
from webhooks.pods.groups import ResourceGroup, find, parse

FILE = """
resourceGroups:
- resourceGroup: management
  object:
    key: namespace
    value: [mng-ns-1, mng-ns-2, ""]
  schedulerName: default-scheduler
  tolerations:
  - {effect: NoSchedule, key: taint, operator: Exists}
  - {effect: NoExecute, key: slow, operator: Exists, tolerationseconds: 5}
  - {effect: NoExecute, key: slower, operator: Exists, tolerationSeconds: 6}
  labels: {volcano.sh/nodetype: management}
- resourceGroup: cpu
  object:
    key: annotation
    value: ["volcano.sh/resource-group: cpu", "other: x", "other: y", "[", "just text", "empty: ''"]
  affinity: '{"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [{"matchExpressions": [{"key": "a", "operator": "Exists"}]}]}}}'
- resourceGroup: gpu
  affinity:
    nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{}]}}
- resourceGroup: ""
  unknown: {a: b}
"""


@pytest.mark.parametrize(
    ("namespace", "annotations", "expected"),
    [
        ("mng-ns-2", {}, "management"),
        ("", {}, None),
        ("n", {"volcano.sh/resource-group": "cpu"}, "cpu"),
        ("n", {"other": "x"}, "cpu"),
        ("n", {"other": "y"}, None),
        ("n", {"empty": ""}, None),
        ("n", {"volcano.sh/resource-group": "gpu"}, "gpu"),
        ("n", {"volcano.sh/resource-group": ""}, None),
        ("n", {"volcano.sh/resource-group": "management"}, None),
        ("n", {}, None),
        ("mng-ns-1", {"other": "x"}, "management"),
    ],
)
def test_the_first_group_that_a_pod_belongs_to_counts(
    namespace: str, annotations: dict[str, str], expected: str | None
) -> None:
    group = find(parse(FILE), namespace, annotations)
    assert (group.name if group else None) == expected


def test_seconds_of_tolerations_are_read_in_both_spellings() -> None:
    assert parse(FILE)[0].tolerations == (
        {"effect": "NoSchedule", "key": "taint", "operator": "Exists"},
        {"effect": "NoExecute", "key": "slow", "operator": "Exists", "tolerationSeconds": 5},
        {"effect": "NoExecute", "key": "slower", "operator": "Exists", "tolerationSeconds": 6},
    )


def test_an_affinity_is_text_or_a_mapping() -> None:
    assert parse(FILE)[1].affinity is not None
    assert parse(FILE)[2].affinity is not None


@pytest.mark.parametrize(
    "text", ["", "# nothing but words\n", "other: 1\n", "resourceGroups:\n", "resourceGroups: []\n"]
)
def test_a_file_may_hold_no_groups(text: str) -> None:
    assert parse(text) == ()


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("[", "the file is no YAML"),
        ("[]", "the file must be a mapping"),
        ("resourceGroups: {}\n", "^$"),
        ("resourceGroups: {a: b}\n", "resourceGroups must be a list"),
        ("resourceGroups: [a]\n", r"resourceGroups\[0\]: expected a mapping, got 'a'"),
        ("resourceGroups: [{object: {key: label}}]\n", r"resourceGroups\[0\].object.key: 'label' is unknown"),
        ("resourceGroups: [{object: {value: a}}]\n", r"object.value: expected a list"),
        ("resourceGroups: [{object: {value: [1]}}]\n", r"object.value\[0\]: expected a text, got 1"),
        ("resourceGroups: [{affinity: '{'}]\n", "affinity: it is no affinity"),
        ("resourceGroups: [{affinity: {nodeAffinity: 5}}]\n", "affinity: it is no affinity"),
        (
            "resourceGroups: [{tolerations: [{key: a, operator: In}]}]\n",
            r"tolerations\[0\].operator: Unsupported value",
        ),
        ("resourceGroups: [{tolerations: 5}]\n", "tolerations: expected a list"),
        ("resourceGroups: [{labels: {a: 1}}]\n", r"labels\[a\]: expected a text, got 1"),
    ],
)
def test_a_file_with_a_mistake_is_refused_with_its_place(text: str, problem: str) -> None:
    if problem == "^$":
        assert parse(text) == ()
        return
    with pytest.raises(ConfigError, match=problem):
        parse(text)


def test_all_mistakes_are_told_at_once() -> None:
    with pytest.raises(ConfigError) as refused:
        parse("resourceGroups: [{object: {key: label}}, {schedulerName: 5}]")
    assert "resourceGroups[0].object.key" in str(refused.value)
    assert "resourceGroups[1].schedulerName" in str(refused.value)


@given(
    st.recursive(
        st.none() | st.integers() | st.text(max_size=5),
        lambda inner: (
            st.lists(inner)
            | st.dictionaries(
                st.sampled_from(["resourceGroups", "object", "key", "value", "labels", "tolerations", "affinity"]),
                inner,
            )
        ),
    )
)
def test_no_file_breaks_the_reader(document: object) -> None:
    with suppress(ConfigError):
        assert isinstance(parse(yaml.safe_dump(document)), tuple)


def test_a_group_without_words_matches_nothing() -> None:
    assert not ResourceGroup("").matches("n", {"volcano.sh/resource-group": ""})
