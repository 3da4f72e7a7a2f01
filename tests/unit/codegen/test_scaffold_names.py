from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codegen.kinds import read_kinds
from codegen.problems import Problem
from codegen.scaffold import names
from codegen.scaffold.errors import ScaffoldError


def group(value: str) -> str:
    return names.group(value, "volcano.sh")


@pytest.mark.parametrize(
    ("check", "value", "result"),
    [
        (names.kind, "TrainingJob", "TrainingJob"),
        (names.kind, "K" * 58, "K" * 58),
        (group, "fleet", "fleet.volcano.sh"),
        (group, "fleet.example.com", "fleet.example.com"),
        (names.version, "v1", "v1"),
        (names.version, "v2beta3", "v2beta3"),
        (names.plural, "training-jobs", "training-jobs"),
        (names.module, "quota-guard", "quota_guard"),
        (names.class_name, "quota-guard2", "QuotaGuard2"),
        (names.plural_of, "JobFlow", "jobflows"),
        (names.plural_of, "Policy", "policies"),
        (names.plural_of, "Gateway", "gateways"),
        (names.plural_of, "PriorityClass", "priorityclasses"),
        (names.plural_of, "Batch", "batches"),
        (names.plural_of, "Box", "boxes"),
    ],
)
def test_good_names_are_taken(check: Callable[[str], str], value: str, result: str) -> None:
    assert check(value) == result


@pytest.mark.parametrize(
    ("check", "value", "message"),
    [
        (names.kind, "widget", "--kind: 'widget' is no kind: write it in CamelCase"),
        (names.kind, "My-Kind", "--kind: 'My-Kind' is no kind"),
        (names.kind, "K" * 59, "at most 58 characters"),
        (names.kind, "", "--kind: '' is no kind"),
        (names.kind, "Widget\n", "is no kind"),
        (names.kind, "Import", "--kind: 'Import' is a keyword of Python"),
        (names.kind, "None", "--kind: 'None' is a keyword of Python"),
        (names.kind, "Resource", "--kind: 'Resource' is used by the generated modules"),
        (names.kind, "JobList", "--kind: 'JobList' looks like the list of another kind"),
        (group, "Fleet", "--group: 'Fleet' is no API group"),
        (group, "fleet_x", "is no API group"),
        (group, "-fleet", "is no API group"),
        (group, "my-fleet", "--group: 'my-fleet' names a Python package"),
        (group, "lambda", "--group: 'lambda' names a Python package"),
        (group, "9lives.example.com", "--group: '9lives' names a Python package"),
        (group, "clients.example.com", "--group: 'clients' is a folder of our own"),
        (group, "core", "--group: 'core' is a folder of our own"),
        (names.version, "1", "--version: '1' is no API version"),
        (names.version, "v0", "is no API version"),
        (names.version, "v1rc1", "is no API version"),
        (names.plural, "Widgets", "--plural: 'Widgets' is no plural"),
        (names.plural, "a.b", "is no plural"),
        (names.module, "Quota", "--name: 'Quota' is no name"),
        (names.module, "a_b", "is no name"),
        (names.module, "../x", "is no name"),
        (names.module, "class", "--name: 'class' is a keyword of Python"),
    ],
)
def test_bad_names_are_refused_with_their_argument(check: Callable[[str], str], value: str, message: str) -> None:
    with pytest.raises(ScaffoldError) as caught:
        check(value)
    assert message in str(caught.value)


@given(st.from_regex(r"[A-Za-z][A-Za-z0-9]{0,20}", fullmatch=True), st.from_regex(r"[a-z0-9.-]{1,20}", fullmatch=True))
def test_what_is_taken_is_taken_by_the_project_file_too(kind: str, place: str) -> None:
    try:
        entry = {"group": group(place), "version": "v1", "kind": names.kind(kind), "plural": names.plural_of(kind)}
    except ScaffoldError:
        return
    problems: list[Problem] = []
    read_kinds([entry], "p.yaml", "kinds", problems)
    assert not problems
