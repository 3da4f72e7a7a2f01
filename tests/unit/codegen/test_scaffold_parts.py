"""What each scaffold writes and edits. That the code runs and passes all checks is tested on a whole tree, elsewhere."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from codegen.kinds import read_kinds
from codegen.problems import Problem
from codegen.project import Kind, Project
from codegen.scaffold import api, controller, plugin, webhook
from codegen.scaffold.api import Api
from codegen.scaffold.changes import Changes
from codegen.scaffold.errors import AlreadyThere, ScaffoldError
from codegen.scaffold.registry import members
from codegen.source import PROJECT_FILE, load
from tests.unit.codegen.projects import real
from tests.unit.codegen.scaffolding import house

WIDGET = Api("fleet", "v1", "Widget")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return house(tmp_path)


def written(changes: Changes) -> Project:
    """The project after the changes, as far as its files say it; whether it is sound is asked elsewhere, in one test."""
    with changes.written():
        head = yaml.safe_load((changes.root / "api/project.yaml").read_text())
    problems: list[Problem] = []
    kinds = read_kinds(head["kinds"], PROJECT_FILE, "kinds", problems)
    external = read_kinds(head["external"], PROJECT_FILE, "external", problems, external=True)
    assert not problems
    components = dict(real().components)
    for path in changes.paths():
        if path.startswith("api/") and path != PROJECT_FILE:
            module = ".".join(Path(path).with_suffix("").parts[1:])
            schemas = yaml.safe_load((changes.root / path).read_text())["components"]
            components |= {f"{module}.{name}": schema for name, schema in schemas.items()}
    return replace(real(), kinds=tuple(kinds), external=tuple(external), components=components)


def kind_of(project: Project, name: str, group: str) -> Kind:
    return next(kind for kind in (*project.kinds, *project.external) if (kind.kind, kind.group) == (name, group))


def refusal(create: Callable[..., None], *arguments: Any, **options: Any) -> str:
    with pytest.raises(ScaffoldError) as caught:
        create(*arguments, **options)
    return str(caught.value)


def test_a_kind_stands_in_project_schema_controller_and_test(root: Path) -> None:
    changes = Changes(root)
    api.create(changes, real(), WIDGET)
    assert changes.created == ["api/fleet/v1.yaml", "controllers/widget.py", "tests/unit/controllers/test_widget.py"]
    assert changes.changed == ["api/project.yaml", "controllers/__init__.py"]
    before = (root / "api/project.yaml").read_text()
    project = written(changes)
    kind = kind_of(project, "Widget", "fleet.volcano.sh")
    assert (kind.plural, kind.scope, kind.status, kind.controller) == ("widgets", "Namespaced", True, True)
    assert {"fleet.v1.Widget", "fleet.v1.WidgetSpec", "fleet.v1.WidgetStatus"} <= project.components.keys()
    assert "CONTROLLERS: tuple[Blueprint, ...] = (widget.BLUEPRINT,)" in (root / "controllers/__init__.py").read_text()
    after = (root / "api/project.yaml").read_text()
    start = after.index("  - group: fleet.volcano.sh")
    end = after.index("# Kubernetes' own kinds")
    assert after[:start] + after[end:] == before, "everything else stays as it stands"


@pytest.mark.parametrize(
    ("asked", "created", "status", "scope"),
    [
        (Api("fleet", "v1", "Widget", has_controller=False), ["api/fleet/v1.yaml"], True, "Namespaced"),
        (
            Api("fleet", "v1", "Widget", has_status=False, has_controller=False),
            ["api/fleet/v1.yaml"],
            False,
            "Namespaced",
        ),
        (Api("shard", "v1alpha1", "Widget", scope="Cluster", has_controller=False), [], True, "Cluster"),
    ],
)
def test_options_of_a_kind(root: Path, asked: Api, created: list[str], status: bool, scope: str) -> None:
    changes = Changes(root)
    api.create(changes, real(), asked)
    assert changes.created == created
    with changes.written():
        project = load(root)
    kind = kind_of(project, "Widget", f"{asked.group}.volcano.sh")
    assert (kind.status, kind.scope, kind.controller) == (status, scope, False)
    assert (f"{kind.component}Status" in project.components) == status
    assert real().components.keys() < project.components.keys()


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        (Api("batch", "v1alpha1", "Widget", "jobs"), "--plural: 'jobs' is a name of batch.volcano.sh/v1alpha1 Job"),
        (Api("batch", "v1alpha1", "Widget", "vcjob"), "--plural: 'vcjob' is a name of batch.volcano.sh/v1alpha1 Job"),
        (Api("batch", "v1alpha1", "Vj"), "--kind: 'vj' is a name of batch.volcano.sh/v1alpha1 Job"),
        (Api("batch", "v2", "Job"), "--version: Job of batch.volcano.sh is there as v1alpha1"),
        (Api("batch", "v1alpha1", "Task"), "--kind: the schema batch.v1alpha1.TaskSpec is there already"),
        (Api("batch", "v1", "Widget"), "--group: batch.volcano.sh/v1 and batch/v1 would share the module batch.v1"),
        (Api("fleet", "v1", "widget"), "--kind: 'widget' is no kind"),
        (Api("fleet", "v1", "Widget", "Widgets"), "--plural: 'Widgets' is no plural"),
    ],
)
def test_a_kind_that_clashes_is_refused(root: Path, asked: Api, message: str) -> None:
    changes = Changes(root)
    assert message in refusal(api.create, changes, real(), asked)
    assert not changes.paths(), "nothing is left to be written"


@pytest.mark.parametrize(
    "taken", ["controllers/widget.py", "controllers/widget/__init__.py", "tests/unit/controllers/test_widget.py"]
)
def test_a_controller_is_never_overwritten(root: Path, taken: str) -> None:
    (root / taken).parent.mkdir(parents=True, exist_ok=True)
    (root / taken).write_text("mine")
    assert "--kind: " in refusal(api.create, Changes(root), real(), WIDGET)
    assert (root / taken).read_text() == "mine"


def test_a_second_run_says_what_exists(root: Path) -> None:
    changes = Changes(root)
    api.create(changes, real(), WIDGET)
    project = written(changes)
    with pytest.raises(AlreadyThere) as caught:
        api.create(Changes(root), project, WIDGET)
    paths = "api/project.yaml, api/fleet/v1.yaml, controllers/widget.py, tests/unit/controllers/test_widget.py"
    assert str(caught.value) == f"Widget of fleet.volcano.sh/v1 exists already: {paths}"


def test_a_webhook_is_added_to_a_new_kind(root: Path) -> None:
    changes = Changes(root)
    api.create(changes, real(), WIDGET)
    project = written(changes)
    changes = Changes(root)
    webhook.create(changes, project, "Widget", ["mutate", "validate"])
    assert changes.created == ["webhooks/widgets.py", "tests/unit/webhooks/test_widgets.py"]
    kind = kind_of(written(changes), "Widget", "fleet.volcano.sh")
    assert kind.mutate is not None
    assert kind.validate is not None
    assert (kind.mutate.path, kind.mutate.name, kind.mutate.operations) == (
        "/widgets/mutate",
        "mutatewidget.volcano.sh",
        ("CREATE",),
    )
    assert (kind.validate.path, kind.validate.operations) == ("/widgets/validate", ("CREATE", "UPDATE"))
    text = (root / "webhooks/widgets.py").read_text()
    assert re.findall(r"class (\w+)\((\w+)\)", text) == [
        ("WidgetDefaults", "WidgetDefaulter"),
        ("WidgetRules", "WidgetValidator"),
    ]
    registry = (root / "webhooks/__init__.py").read_text()
    assert members(registry, "WEBHOOKS", "") == ["widgets.WidgetDefaults", "widgets.WidgetRules"]


def test_a_planned_webhook_becomes_real(root: Path) -> None:
    planned = kind_of(real(), "Queue", "scheduling.volcano.sh").validate
    if planned is not None and not planned.planned:
        project_file = root / "api/project.yaml"
        lines = project_file.read_text()
        project_file.write_text(
            lines.replace("operations: [CREATE, UPDATE, DELETE]", "operations: [CREATE, UPDATE, DELETE], planned: true")
        )
    changes = Changes(root)
    webhook.create(changes, load(root), "Queue", ["validate"])
    validate = kind_of(written(changes), "Queue", "scheduling.volcano.sh").validate
    assert validate is not None
    assert not validate.planned
    assert validate.operations == ("CREATE", "UPDATE", "DELETE"), "what was planned stays"
    text = (root / "webhooks/queues.py").read_text()
    assert re.findall(r"def (validate_\w+)", text) == ["validate_create", "validate_update", "validate_delete"]


def test_the_second_webhook_of_a_kind_joins_the_first(root: Path) -> None:
    changes = Changes(root)
    webhook.create(changes, real(), "Pod", ["validate"])
    project = written(changes)
    changes = Changes(root)
    webhook.create(changes, project, "Pod", ["mutate", "validate"])
    assert changes.created == []
    written(changes)
    text = (root / "webhooks/pods.py").read_text()
    assert re.findall(r"class (\w+)\(", text) == ["PodRules", "PodDefaults"]
    assert text.count("from runtime.admission import ALLOWED, Mutation, Validation\n") == 1
    assert (root / "tests/unit/webhooks/test_pods.py").read_text().count("def test_") == 2
    with pytest.raises(AlreadyThere, match="the webhook of Pod exists already"):
        webhook.create(Changes(root), project, "Pod", ["validate"])


def test_kinds_that_share_a_plural_get_paths_of_their_own(root: Path) -> None:
    changes = Changes(root)
    webhook.create(changes, real(), "batch/v1/Job", ["validate"])
    assert changes.created[0] == "webhooks/batch_jobs.py"
    validate = kind_of(written(changes), "Job", "batch").validate
    assert validate is not None
    assert (validate.path, validate.name) == ("/batch-jobs/validate", "validatejob-batch.volcano.sh")


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        (
            "Job",
            {},
            "--kind: 'Job' is the name of several kinds: say which (batch.volcano.sh/v1alpha1/Job, batch/v1/Job)",
        ),
        (
            "Joob",
            {},
            "--kind: api/project.yaml has no kind 'Joob'; did you mean 'Job'? Otherwise `create api` makes one",
        ),
        ("Zzzzz", {}, "--kind: api/project.yaml has no kind 'Zzzzz'; `create api` makes one"),
        ("Job", {"group": "fleet"}, "--kind: api/project.yaml has no kind 'Job'"),
        ("Queue", {"version": "v7"}, "--kind: api/project.yaml has no kind 'Queue'"),
    ],
)
def test_the_kind_of_a_webhook_must_be_one(root: Path, name: str, options: dict[str, str], message: str) -> None:
    assert message in refusal(webhook.create, Changes(root), real(), name, ["validate"], **options)


@pytest.mark.parametrize("options", [{"group": "batch.volcano.sh"}, {"group": "batch", "version": "v1alpha1"}])
def test_group_and_version_choose_among_kinds(root: Path, options: dict[str, str]) -> None:
    changes = Changes(root)
    webhook.create(changes, real(), "Job", ["validate"], **options)
    assert changes.created[0] == "webhooks/jobs.py"


def test_a_webhook_has_to_do_something(root: Path) -> None:
    assert refusal(webhook.create, Changes(root), real(), "Queue", []).startswith("--defaulting, --validating: say")


def test_a_class_that_is_there_is_not_written_again(root: Path) -> None:
    (root / "webhooks/queues.py").write_text("class QueueRules(Base): pass\n")
    message = refusal(webhook.create, Changes(root), real(), "Queue", ["validate"])
    assert message == "--kind: webhooks/queues.py has a class QueueRules already: add it to WEBHOOKS by hand"


def test_a_kind_of_an_extension_is_left_to_its_file(root: Path) -> None:
    (root / "api/extensions/site.yaml").write_text(
        "group: site.example.com\nversion: v1\n"
        "kinds: [{group: site.example.com, version: v1, kind: Account, plural: accounts, status: false}]\n"
        "components: {Account: {properties: {metadata: {$ref: meta.v1.ObjectMeta}}}}\n"
    )
    message = refusal(webhook.create, Changes(root), load(root), "Account", ["validate"])
    assert message.startswith("--kind: Account stands in api/extensions/site.yaml: add `webhooks` there by hand")


def test_a_controller_watches_what_it_reconciles_and_what_that_owns(root: Path) -> None:
    changes = Changes(root)
    controller.create(changes, real(), "quota-guard", ["Queue", "PodGroup", "Pod"])
    assert changes.created == ["controllers/quota_guard.py", "tests/unit/controllers/test_quota_guard.py"]
    written(changes)
    text = (root / "controllers/quota_guard.py").read_text()
    ast.parse(text)
    assert re.findall(r'Rule\("(.*)", \("(\w+)",\), READ\)', text) == [
        ("scheduling.volcano.sh", "queues"),
        ("scheduling.volcano.sh", "podgroups"),
        ("", "pods"),
    ]
    assert "def owners_of_pod_group(" in text
    assert "quota_guard.BLUEPRINT" in (root / "controllers/__init__.py").read_text()
    with pytest.raises(AlreadyThere, match="the controller quota-guard exists already"):
        controller.create(Changes(root), real(), "quota-guard", ["Queue"])


@pytest.mark.parametrize(
    ("name", "watches", "message"),
    [
        ("quota-guard", [], "--watches: names no kind"),
        ("quota-guard", ["Queue", "Queue"], "--watches: names Queue twice"),
        ("quota-guard", ["batch/v1/Job", "batch.volcano.sh/v1alpha1/Job"], "--watches: names two kinds called Job"),
        ("quota-guard", ["Qeue"], "did you mean 'Queue'?"),
        ("Quota", ["Queue"], "--name: 'Quota' is no name"),
        ("options", ["Queue"], "--name: controllers/options.py is there already"),
    ],
)
def test_a_controller_that_can_not_be_is_refused(root: Path, name: str, watches: list[str], message: str) -> None:
    (root / "controllers/options.py").write_text("")
    assert message in refusal(controller.create, Changes(root), real(), name, watches)


def test_a_plugin_is_registered_under_its_name(root: Path) -> None:
    changes = Changes(root)
    plugin.create(changes, "quiet-nodes")
    assert changes.created == [
        "scheduler/plugins/quiet_nodes.py",
        "tests/unit/scheduler/plugins/test_quiet_nodes.py",
    ]
    written(changes)
    assert members((root / "scheduler/plugins/__init__.py").read_text(), "BUILT_IN", "") == ["Gang", "QuietNodes"]
    with pytest.raises(AlreadyThere, match="the plugin quiet-nodes exists already"):
        plugin.create(Changes(root), "quiet-nodes")


def test_a_plugin_takes_no_name_of_another(root: Path) -> None:
    assert refusal(plugin.create, Changes(root), "gang") == (
        "--name: scheduler/plugins/__init__.py has a plugin class Gang already: choose another name"
    )
    (root / "scheduler/plugins/quiet_nodes.py").write_text("mine")
    assert "quiet_nodes.py is there already" in refusal(plugin.create, Changes(root), "quiet-nodes")


def test_a_changed_registry_is_left_to_its_author(root: Path) -> None:
    (root / "scheduler/plugins/__init__.py").write_text("BUILT_IN = discover()\n")
    assert "has no tuple BUILT_IN to add to" in refusal(plugin.create, Changes(root), "quiet-nodes")


@pytest.mark.parametrize("text", ["kinds: []\n", "kinds: {}\n", "domain: x\n"])
def test_a_project_file_of_another_form_is_left_to_its_author(root: Path, text: str) -> None:
    (root / "api/project.yaml").write_text(text)
    assert "add the entry by hand" in refusal(api.create, Changes(root), real(), WIDGET)


def test_a_schema_file_of_another_form_is_left_to_its_author(root: Path) -> None:
    (root / "api/shard/v1alpha1.yaml").write_text(yaml.safe_dump({"components": {}}))
    asked = Api("shard", "v1alpha1", "Widget")
    assert "add them by hand" in refusal(api.create, Changes(root), real(), asked)


def test_an_update_is_judged_by_its_spec_where_there_is_one(root: Path) -> None:
    changes = Changes(root)
    webhook.create(changes, real(), "Queue", ["validate"])
    webhook.create(changes, real(), "Command", ["validate"])
    written(changes)
    assert "ALLOWED if obj.spec == old.spec else self.judge(obj)" in (root / "webhooks/queues.py").read_text()
    assert "obj.spec" not in (root / "webhooks/commands.py").read_text()
