from __future__ import annotations

import re
from typing import Any

import pytest

from codegen.kinds import PACKAGES, TAKEN_KINDS, clashes, read_kinds
from codegen.problems import Problem
from codegen.project import Kind
from tests.unit.codegen.projects import ROOT, real

MINIMAL: dict[str, Any] = {"group": "test.example.com", "version": "v1", "kind": "Widget", "plural": "widgets"}


def read(*entries: Any, external: bool = False) -> tuple[list[Kind], list[str]]:
    problems: list[Problem] = []
    kinds = read_kinds(list(entries), "p.yaml", "kinds", problems, external=external)
    return kinds, [str(problem) for problem in problems]


def test_a_minimal_entry_gets_the_usual_values() -> None:
    kinds, problems = read(MINIMAL)
    assert not problems
    kind = kinds[0]
    assert (kind.singular, kind.scope, kind.status, kind.optional, kind.descriptions) == (
        "widget",
        "Namespaced",
        True,
        False,
        "keep",
    )
    assert kind.component == "test.v1.Widget"
    assert kind.module == "test.v1"
    assert kind.list_kind == "WidgetList"
    assert kind.api_version == "test.example.com/v1"
    assert kind.crd_name == "widgets.test.example.com"
    assert kind.namespaced
    assert list(kind.webhooks) == []


def test_a_core_kind_has_no_group() -> None:
    kinds, problems = read({"group": "", "version": "v1", "kind": "Pod", "plural": "pods"}, external=True)
    assert not problems
    assert (kinds[0].component, kinds[0].api_version, kinds[0].crd_name) == ("core.v1.Pod", "v1", "pods")


def test_webhooks_columns_and_indexes_are_read() -> None:
    hook = {"path": "/w/mutate", "name": "mutate.example.com", "operations": ["CREATE"], "default": False}
    column = {"name": "Size", "type": "integer", "path": ".spec.size", "priority": 1}
    kinds, problems = read(
        {**MINIMAL, "webhooks": {"mutate": hook}, "columns": [column], "indexes": {"a": "spec.a", "b": ["spec.b", "c"]}}
    )
    assert not problems
    kind = kinds[0]
    assert [(what, hook.path, hook.default) for what, hook in kind.webhooks] == [("mutate", "/w/mutate", False)]
    assert (kind.columns[0].name, kind.columns[0].priority) == ("Size", 1)
    assert kind.indexes == {"a": ("spec.a",), "b": ("spec.b", "c")}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"kind": None}, "p.yaml: kinds.[None].kind: is missing: add it"),
        ({"kind": "widget"}, "p.yaml: kinds.[widget].kind: 'widget' doesn't match"),
        ({"group": "nodots"}, "p.yaml: kinds.[Widget].group: 'nodots' doesn't match"),
        ({"version": "1"}, "p.yaml: kinds.[Widget].version: '1' doesn't match"),
        ({"plural": "Widgets"}, "p.yaml: kinds.[Widget].plural: 'Widgets' doesn't match"),
        ({"scope": "cluster"}, "p.yaml: kinds.[Widget].scope: 'cluster' is none of Namespaced, Cluster"),
        ({"status": "yes"}, "p.yaml: kinds.[Widget].status: must be true or false, not 'yes'"),
        ({"shortNames": "w"}, "p.yaml: kinds.[Widget].shortNames: must be a list of strings"),
        ({"shortNames": ["W"]}, "p.yaml: kinds.[Widget].shortNames: 'W' doesn't match"),
        ({"shortName": ["w"]}, "p.yaml: kinds.[Widget].shortName: unknown key; did you mean 'shortNames'?"),
        ({"descriptions": "max"}, "p.yaml: kinds.[Widget].descriptions: 'max' doesn't match"),
        ({"columns": {}}, "p.yaml: kinds.[Widget].columns: must be a list"),
        ({"columns": [1]}, "p.yaml: kinds.[Widget].columns[0]: must be a mapping, not 1"),
        (
            {"columns": [{"name": "a", "type": "text", "path": ".a"}]},
            "columns[0].type: 'text' is none of boolean, date",
        ),
        ({"columns": [{"name": "a", "type": "string", "path": "a"}]}, "columns[0].path: 'a' doesn't match"),
        (
            {"columns": [{"name": "a", "type": "string", "path": ".a", "priority": -1}]},
            "columns[0].priority: must be 0 or more",
        ),
        ({"columns": [{"name": "", "type": "string", "path": ".a"}]}, "columns[0].name: '' doesn't match"),
        ({"columns": [{"name": " ", "type": "string", "path": ".a"}]}, "columns[0].name: ' ' doesn't match"),
        ({"kind": "K" * 59}, f"kind: '{'K' * 59}' doesn't match"),
        ({"annotations": {"a": 1}}, "annotations.a: must be a string, not 1: put it in quotes"),
        ({"indexes": {'a"b': "spec.a"}}, "indexes.a\"b: 'a\"b' doesn't match"),
        ({"indexes": {"podIP": "spec.a", "podIp": "spec.b"}}, "podIp and podIP would be the same method of listers"),
        ({"indexes": {"a": 1}}, "indexes.a: must be a path such as spec.queue"),
        ({"webhooks": {"mutating": {}}}, "webhooks.mutating: unknown key; known: mutate, validate"),
        (
            {"webhooks": {"mutate": {"path": "/a", "name": "a.b", "operations": ["create"]}}},
            "webhooks.mutate.operations: 'create' is none of CREATE",
        ),
        ({"webhooks": {"mutate": {"path": "/a", "name": "a.b"}}}, "webhooks.mutate.operations: name at least one of"),
        (
            {"webhooks": {"mutate": {"path": "a", "name": "a.b", "operations": ["CREATE"]}}},
            "webhooks.mutate.path: 'a' doesn't match",
        ),
    ],
)
def test_a_mistake_in_an_entry_names_the_key(change: dict[str, Any], message: str) -> None:
    entry = {key: value for key, value in {**MINIMAL, **change}.items() if value is not None}
    _, problems = read(entry)
    expected = message.replace("[None]", "[0]")
    assert any(expected in problem for problem in problems), problems


def test_all_mistakes_are_told_at_once() -> None:
    _, problems = read({"kind": "x", "scope": 1}, 7, MINIMAL)
    assert len(problems) == 6


def test_what_is_no_list_of_kinds_is_told() -> None:
    problems: list[Problem] = []
    assert read_kinds({}, "p.yaml", "kinds", problems) == []
    assert str(problems[0]) == "p.yaml: kinds: must be a list of kinds"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({}, "kind 'Widget' is already taken by test.example.com/v1 Widget (p.yaml)"),
        ({"kind": "Other"}, "name 'widgets' is already taken"),
        ({"kind": "Other", "plural": "others", "singular": "widget"}, "name 'widget' is already taken"),
        ({"kind": "Other", "plural": "others", "shortNames": ["wd"]}, "name 'wd' is already taken"),
    ],
)
def test_kinds_of_a_group_share_no_name(change: dict[str, Any], message: str) -> None:
    kinds, _ = read({**MINIMAL, "shortNames": ["wd"]}, {**MINIMAL, **change})
    assert message in "\n".join(map(str, clashes(kinds)))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"group": "my-group.example.com"}, "group: 'my-group' names a Python package"),
        ({"group": "import.example.com"}, "group: 'import' names a Python package"),
        ({"group": "4you.example.com"}, "group: '4you' names a Python package"),
        ({"kind": "None"}, "kind: 'None' names a Python class, and is a keyword"),
        ({"kind": "Cluster"}, "kind: 'Cluster' is used by the generated modules themselves: choose another"),
        *(
            ({"group": f"{package}.example.com"}, f"group: '{package}' is a folder of our own in api/ or generated/")
            for package in sorted(PACKAGES)
        ),
    ],
)
def test_names_that_python_can_not_bear_are_refused(change: dict[str, str], message: str) -> None:
    [problem] = read({**MINIMAL, **change})[1]
    assert message in problem


def test_every_package_beside_groups_is_taken() -> None:
    groups = {kind.group_short for kind in (*real().kinds, *real().external)} | {
        name.split(".")[0] for name in real().core
    }
    paths = [*(ROOT / "generated").glob("[a-z]*"), *(ROOT / "api").glob("[a-z]*/__init__.py")]
    there = {path.parent.name if path.name == "__init__.py" else path.stem for path in paths}
    assert there - groups <= PACKAGES


def test_every_name_that_generated_modules_use_is_taken() -> None:
    models = [path for path in (ROOT / "generated").glob("*/v*.py") if path.parent.name not in PACKAGES]
    files = [*models, *(ROOT / "generated").glob("apply/*/v*.py"), *(ROOT / "generated").glob("listers/*_v*.py")]
    text = "\n".join(path.read_text() for path in files)
    imports = re.findall(r"^from (?!generated\.\w+\.v|\.)\S+ import (.*)$", text, re.MULTILINE)
    names = {name.strip().removesuffix("Lister") for line in imports for name in line.split(",")}
    assert {name for name in names if name[:1].isupper() and not name.isupper()} <= TAKEN_KINDS


def test_groups_that_begin_alike_share_no_version() -> None:
    kinds, problems = read(
        MINIMAL, {**MINIMAL, "group": "test.other.com"}, {**MINIMAL, "group": "test.other.com", "version": "v2"}
    )
    assert not problems
    [problem] = [str(problem) for problem in clashes(kinds) if "module" in problem.message]
    assert problem.startswith(
        "p.yaml: [Widget].group: test.example.com/v1 and test.other.com/v1 would share the module test.v1: change"
    )


@pytest.mark.parametrize("group", ["batch", "storage.k8s.io", ""])
def test_groups_of_kubernetes_are_taken(group: str) -> None:
    assert read({**MINIMAL, "group": group}, external=True)[1] == []


@pytest.mark.parametrize("group", ["os;import sys.x", "a..b", "-a.b", f"{'a' * 64}.b", "../x", "a.b\n"])
@pytest.mark.parametrize("external", [False, True])
def test_a_group_is_a_domain_name(group: str, *, external: bool) -> None:
    assert "doesn't match" in read({**MINIMAL, "group": group}, external=external)[1][0]


def test_kinds_of_different_groups_may_share_names() -> None:
    kinds, _ = read(MINIMAL, {**MINIMAL, "group": "other.example.com"})
    assert clashes(kinds) == []


def test_a_kind_with_webhooks_guards_its_other_names_too() -> None:
    hooks = {
        key: {"path": f"/w/{key}", "name": f"{key}.example.com", "operations": ["CREATE"]}
        for key in ("mutate", "validate")
    }
    kinds, _ = read({**MINIMAL, "webhooks": hooks}, {**MINIMAL, "webhooks": hooks})
    text = "\n".join(map(str, clashes(kinds)))
    for what in ("kind 'Widget'", "name 'widgets'", "webhook path '/w/mutate'", "webhook path '/w/validate'"):
        assert f"{what} is already taken" in text


def test_webhooks_share_neither_path_nor_name() -> None:
    hook = {"path": "/w", "name": "w.example.com", "operations": ["CREATE"]}
    other = {**MINIMAL, "kind": "Other", "plural": "others", "webhooks": {"validate": hook}}
    kinds, _ = read({**MINIMAL, "webhooks": {"mutate": hook}}, other)
    text = "\n".join(map(str, clashes(kinds)))
    assert "webhook path '/w' is already taken" in text
    assert "webhook name 'w.example.com' is already taken" in text


def test_a_webhook_may_differ_from_the_usual() -> None:
    hook = {"path": "/w", "name": "w.example.com", "operations": ["CREATE"]}
    more = {
        "planned": True,
        "sideEffects": "None",
        "failurePolicy": "Ignore",
        "everyNamespace": True,
        "matchConditions": {"ours": "object.spec.schedulerName == 'volcano'"},
    }
    kinds, problems = read({**MINIMAL, "webhooks": {"mutate": hook, "validate": hook | more}})
    assert not problems
    usual, other = kinds[0].mutate, kinds[0].validate
    assert usual is not None
    assert other is not None
    assert (usual.planned, usual.side_effects, usual.failure_policy) == (False, "NoneOnDryRun", "Fail")
    assert (usual.every_namespace, usual.match_conditions) == (False, {})
    assert (other.planned, other.side_effects, other.failure_policy) == (True, "None", "Ignore")
    assert (other.every_namespace, other.match_conditions) == (True, more["matchConditions"])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"planned": "yes"}, "webhooks.mutate.planned: must be true or false, not 'yes'"),
        ({"sideEffects": "Some"}, "webhooks.mutate.sideEffects: 'Some' is none of NoneOnDryRun, None"),
        ({"failurePolicy": "Retry"}, "webhooks.mutate.failurePolicy: 'Retry' is none of Fail, Ignore"),
        ({"matchConditions": {"a": 1}}, "webhooks.mutate.matchConditions.a: must be a CEL expression in quotes, not 1"),
        ({"plannd": True}, "webhooks.mutate.plannd: unknown key; did you mean 'planned'?"),
    ],
)
def test_mistakes_in_a_webhook_are_told(change: dict[str, Any], message: str) -> None:
    hook = {"path": "/w", "name": "w.example.com", "operations": ["CREATE"], **change}
    _, problems = read({**MINIMAL, "webhooks": {"mutate": hook}})
    assert any(message in problem for problem in problems)
