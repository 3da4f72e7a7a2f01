from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from api import names
from codegen.output import is_generated
from codegen.project import Kind, Project, Webhook
from hack.manifests import components, roles, users, webhooks
from hack.manifests.__main__ import main, outputs
from hack.manifests.components import Components, Declared, ManifestError
from runtime.rbac import READ, Rule
from tests.unit.codegen.projects import ROOT, real


def project(*kinds: Kind) -> Project:
    return Project("example.com", kinds, (), {}, {}, {})


def kind(name: str = "Widget", **settings: Any) -> Kind:
    word = name.lower()
    return Kind(
        **({"group": "g.example.com", "version": "v1", "kind": name, "plural": f"{word}s", "singular": word} | settings)
    )


def hook(path: str, **settings: Any) -> Webhook:
    return Webhook(path, f"x{path.replace('/', '-')}.example.com", ("CREATE",), **settings)


class Serves:
    """Stands in for webhook classes: only what manifests look at."""

    def __init__(self, path: str) -> None:
        self.PATH = path
        self.__qualname__ = f"Class{path}"


def served(*paths: str) -> Any:
    return [Serves(path) for path in paths]


def documents(texts: dict[str, str], path: str) -> list[dict[str, Any]]:
    return list(yaml.safe_load_all(texts[path]))


def configurations(made: Project, *paths: str) -> list[dict[str, Any]]:
    return documents(webhooks.files(made, served(*paths)), webhooks.FILE)


# Roles.


def test_a_process_has_an_account_a_role_and_what_binds_them() -> None:
    declared = Declared((Rule("g", ("a",), READ), Rule("g", ("b",), READ)), (Rule("", ("secrets",), ("get",)),))
    nothing = Declared(())
    texts = roles.files(Components(declared, nothing, nothing, ()))
    found = documents(texts, "config/rbac/controllers_role.yaml")
    assert [(each["kind"], each["metadata"]["name"], each["metadata"].get("namespace")) for each in found] == [
        ("ServiceAccount", "volcano-controllers", "volcano-system"),
        ("ClusterRole", "volcano-controllers", None),
        ("ClusterRoleBinding", "volcano-controllers-role", None),
        ("Role", "volcano-controllers", "volcano-system"),
        ("RoleBinding", "volcano-controllers-role", "volcano-system"),
    ]
    assert found[1]["rules"] == [{"apiGroups": ["g"], "resources": ["a", "b"], "verbs": ["get", "list", "watch"]}]
    assert found[3]["rules"] == [{"apiGroups": [""], "resources": ["secrets"], "verbs": ["get"]}]
    for binding, role in ((found[2], found[1]), (found[4], found[3])):
        assert binding["roleRef"] == {
            "apiGroup": "rbac.authorization.k8s.io",
            "kind": role["kind"],
            "name": role["metadata"]["name"],
        }
        assert binding["subjects"] == [
            {"kind": "ServiceAccount", "name": "volcano-controllers", "namespace": "volcano-system"}
        ]


def test_people_get_an_editor_and_a_viewer_of_each_kind() -> None:
    found = {
        role["metadata"]["name"]: role["rules"]
        for role in documents(users.files(real()), "config/rbac/user_roles.yaml")
    }
    assert len(found) == 2 * len(real().kinds) + 1
    jobs = next(rule for rule in found["vcjob-editor-role"] if rule["resources"] == ["jobs"])
    assert {"create", "get", "list", "update", "delete"} <= set(jobs["verbs"])
    commands = {"apiGroups": ["bus.volcano.sh"], "resources": ["commands"], "verbs": ["create", "get", "list"]}
    assert commands in found["vcjob-editor-role"]
    assert {verb for rule in found["vcjob-viewer-role"] for verb in rule["verbs"]} == {"get", "list", "watch"}
    assert "podgroup-viewer-role" in found


def test_people_may_be_let_ask_the_scheduler_and_nothing_else_of_the_system() -> None:
    [found] = [made for made in documents(users.files(real()), "config/rbac/user_roles.yaml") if made["kind"] == "Role"]
    assert found["metadata"] == {"name": "volcano-explain-role", "namespace": names.DEFAULT_NAMESPACE}
    assert found["rules"] == [
        {"apiGroups": [""], "resources": ["pods"], "verbs": ["get", "list"]},
        {"apiGroups": [""], "resources": ["pods/proxy"], "verbs": ["get"]},
        {
            "apiGroups": [""], "resources": ["services/proxy"], "verbs": ["get"],
            "resourceNames": ["volcano-scheduler-service:8080"],
        },
    ]  # fmt: skip


def test_kinds_of_one_name_get_roles_of_their_own() -> None:
    both = project(kind(), kind(group="h.example.com"))
    roles = documents(users.files(both), "config/rbac/user_roles.yaml")
    called = [role["metadata"]["name"] for role in roles if role["kind"] == "ClusterRole"]
    assert sorted(called) == [
        "g-widget-editor-role",
        "g-widget-viewer-role",
        "h-widget-editor-role",
        "h-widget-viewer-role",
    ]


# Webhook configurations.


def test_a_configuration_is_what_installations_know() -> None:
    [mutating, validating] = configurations(
        project(kind(mutate=hook("/widgets/mutate"), validate=hook("/widgets/validate"))),
        "/widgets/validate",
        "/widgets/mutate",
    )
    assert mutating["kind"] == "MutatingWebhookConfiguration"
    assert mutating["metadata"] == {"name": "volcano-admission-service-widgets-mutate"}
    [webhook] = mutating["webhooks"]
    assert webhook == {
        "name": "x-widgets-mutate.example.com",
        "admissionReviewVersions": ["v1"],
        "clientConfig": {
            "service": {
                "name": "volcano-admission-service",
                "namespace": "volcano-system",
                "path": "/widgets/mutate",
                "port": 443,
            }
        },
        "failurePolicy": "Fail",
        "matchPolicy": "Equivalent",
        "objectSelector": {},
        "namespaceSelector": {
            "matchExpressions": [
                {"key": "kubernetes.io/metadata.name", "operator": "NotIn", "values": ["volcano-system", "kube-system"]}
            ]
        },
        "reinvocationPolicy": "Never",
        "rules": [
            {
                "apiGroups": ["g.example.com"],
                "apiVersions": ["v1"],
                "operations": ["CREATE"],
                "resources": ["widgets"],
                "scope": "*",
            }
        ],
        "sideEffects": "NoneOnDryRun",
        "timeoutSeconds": 10,
    }
    assert validating["kind"] == "ValidatingWebhookConfiguration"
    assert "reinvocationPolicy" not in validating["webhooks"][0]


@pytest.mark.parametrize(
    ("settings", "field", "value"),
    [
        ({"side_effects": "None"}, "sideEffects", "None"),
        ({"failure_policy": "Ignore"}, "failurePolicy", "Ignore"),
        ({"every_namespace": True}, "namespaceSelector", None),
        ({"match_conditions": {"ours": "true"}}, "matchConditions", [{"name": "ours", "expression": "true"}]),
        ({}, "matchConditions", None),
    ],
)
def test_what_the_project_file_says_goes_into_the_configuration(settings: Any, field: str, value: Any) -> None:
    [found] = configurations(project(kind(validate=hook("/w", **settings))), "/w")
    assert found["webhooks"][0].get(field) == value


def test_a_planned_path_has_no_configuration() -> None:
    made = project(kind(mutate=hook("/m", planned=True), validate=hook("/v")))
    assert [each["metadata"]["name"] for each in configurations(made, "/v")] == ["volcano-admission-service-v"]
    assert webhooks.planned(made) == ["/m"]
    assert webhooks.files(project(kind(mutate=hook("/m", planned=True))), []) == {}


@pytest.mark.parametrize(
    ("made", "paths", "message"),
    [
        (
            project(kind(validate=hook("/v"))),
            [],
            "[Widget] /v: no class in webhooks.WEBHOOKS serves it: register one, or",
        ),
        (
            project(kind(validate=hook("/v", planned=True))),
            ["/v"],
            "/v: is `planned: true`, but Class/v serves it: remove",
        ),
        (project(kind(validate=hook("/v"))), ["/v", "/v"], "/v: both Class/v and Class/v serve it"),
        (project(), ["/x"], "/x: Class/x serves it, but api/project.yaml has no such webhook: run `make generate`"),
    ],
)
def test_paths_and_classes_must_agree(made: Project, paths: list[str], message: str) -> None:
    with pytest.raises(ManifestError) as caught:
        webhooks.files(made, served(*paths))
    assert message in str(caught.value)


def test_all_disagreements_are_told_together() -> None:
    made = project(kind(validate=hook("/a"), mutate=hook("/b")))
    with pytest.raises(ManifestError) as caught:
        webhooks.files(made, [])
    assert len(str(caught.value).splitlines()) == 2


# The components.


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A package `sample_house` whose modules a test writes."""
    monkeypatch.syspath_prepend(str(tmp_path))
    yield tmp_path
    for name in [name for name in sys.modules if name.split(".")[0] == "sample_house"]:
        del sys.modules[name]


def write(tree: Path, **modules: str) -> None:
    for name, text in modules.items():
        path = tree / "sample_house" / f"{name}.py"
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x = 1\ny = nothing\n", "sample_house/part.py:2: NameError: name 'nothing' is not defined"),
        ("import sample_missing\n", "sample_house/part.py:1: ModuleNotFoundError: No module named 'sample_missing'"),
        ("x = 1\n\ny = (\n", "sample_house/part.py:3: SyntaxError"),
        ("import json\njson.loads('x')\n", "sample_house/part.py:2: JSONDecodeError"),
    ],
)
def test_a_module_that_fails_is_named_with_its_line(tree: Path, text: str, message: str) -> None:
    write(tree, __init__="from sample_house import part\n", part=text)
    with pytest.raises(ManifestError) as caught:
        components.load_module("sample_house", tree)
    assert str(caught.value).startswith(message)


def test_a_module_that_is_missing_is_named(tree: Path) -> None:
    with pytest.raises(ManifestError, match=r"^sample_house: ModuleNotFoundError"):
        components.load_module("sample_house", tree)


def test_all_modules_of_a_package_are_looked_at_but_commands(tree: Path) -> None:
    write(tree, __init__="", b="", a="", __main__="raise SystemExit('a command ran')")
    found = [module.__name__ for module in components.modules_of("sample_house", tree)]
    assert found == ["sample_house", "sample_house.a", "sample_house.b"]


# All of it.


def test_the_manifests_of_this_repository_are_up_to_date_and_marked() -> None:
    made, _ = outputs(ROOT)
    assert made.difference().lines("stale", "missing", "left over") == []
    for path in made.paths:
        assert is_generated((ROOT / path).read_text().split("\n", 1)[0], roles.COMMAND)


def test_two_runs_give_the_same_bytes() -> None:
    assert outputs(ROOT)[0]._texts == outputs(ROOT)[0]._texts


def test_no_two_objects_have_one_name() -> None:
    made, _ = outputs(ROOT)
    objects: Counter[tuple[str, str]] = Counter()
    for path in made.paths:
        if path.endswith(".yaml") and not path.endswith("kustomization.yaml"):
            found = yaml.safe_load_all(made._texts[path])
            objects.update((each["kind"], each["metadata"]["name"]) for each in found)
    assert objects
    assert set(objects.values()) == {1}


def test_kustomizations_list_the_files_beside_them() -> None:
    made, _ = outputs(ROOT)
    for path in made.paths:
        if path.endswith("kustomization.yaml"):
            folder = path.removesuffix("kustomization.yaml")
            others = [other.removeprefix(folder) for other in made.paths if other.startswith(folder) and other != path]
            beside = sorted(other for other in others if "/" not in other)
            assert yaml.safe_load(made._texts[path])["resources"] == beside


def test_paths_that_are_not_served_by_default_are_not_installed_by_default() -> None:
    made, _ = outputs(ROOT)
    by_default = made._texts[webhooks.FILE]
    on_demand = made._texts[webhooks.ON_DEMAND_FILE]
    assert "/jobs/validate" in by_default
    assert "/pods/validate" in on_demand
    assert "/pods/validate" not in by_default


def test_no_role_of_a_process_is_wider_than_its_words() -> None:
    made, _ = outputs(ROOT)
    for path in (path for path in made.paths if path.endswith(".yaml")):
        for each in yaml.safe_load_all(made._texts[path]):
            for rule in each.get("rules", ()):
                assert "*" not in "".join((*rule["apiGroups"], *rule["resources"], *rule["verbs"]))


def test_the_hypernode_process_reads_secrets_and_config_maps_at_home_only() -> None:
    declared = components.load(ROOT).hypernode
    for resource in ("secrets", "configmaps"):
        assert not any(resource in rule.resources for rule in declared.everywhere)
        assert any(resource in rule.resources for rule in declared.at_home)


@pytest.mark.parametrize("arguments", [[], ["--check"]])
def test_a_mistake_keeps_the_old_files(
    arguments: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    def fail(root: Path) -> Components:
        raise ManifestError("controllers/x.py:3: NameError: name 'y' is not defined")

    monkeypatch.setattr(components, "load", fail)
    monkeypatch.chdir(ROOT)
    before = {path: path.read_bytes() for path in (ROOT / "config/rbac").rglob("*.yaml")}
    assert main(arguments) == 2
    assert capsys.readouterr().err == (
        "controllers/x.py:3: NameError: name 'y' is not defined\nthe manifests could not be made; the old files are kept\n"
    )
    assert {path: path.read_bytes() for path in (ROOT / "config/rbac").rglob("*.yaml")} == before


def test_a_stale_file_is_found_and_mended(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    (tmp_path / "api").symlink_to(ROOT / "api")
    monkeypatch.chdir(tmp_path)
    assert main([]) == 0
    assert "created: config/rbac/controllers_role.yaml" in capsys.readouterr().out
    assert main(["--check"]) == 0
    (tmp_path / "config/rbac/controllers_role.yaml").write_text("old")
    assert main(["--check"]) == 1
    captured = capsys.readouterr()
    assert "stale: config/rbac/controllers_role.yaml" in captured.out
    assert captured.err == "manifests are out of date: run `python -m hack.manifests`\n"
    assert main([]) == 0
    assert "updated: config/rbac/controllers_role.yaml" in capsys.readouterr().out
