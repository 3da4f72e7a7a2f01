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

# A kind that no site has, unlike the example of docs/extending.md: the real project may have that already.
ZEPPELIN = Api("aerodrome", "v1", "Zeppelin")


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
    api.create(changes, real(), ZEPPELIN)
    assert changes.created == [
        "api/aerodrome/v1.yaml",
        "controllers/zeppelin.py",
        "tests/unit/controllers/test_zeppelin.py",
    ]
    assert changes.changed == ["api/project.yaml", "controllers/__init__.py"]
    before = (root / "api/project.yaml").read_text()
    project = written(changes)
    kind = kind_of(project, "Zeppelin", "aerodrome.volcano.sh")
    assert (kind.plural, kind.scope, kind.status, kind.controller) == ("zeppelins", "Namespaced", True, True)
    assert {
        "aerodrome.v1.Zeppelin",
        "aerodrome.v1.ZeppelinSpec",
        "aerodrome.v1.ZeppelinStatus",
    } <= project.components.keys()
    assert (
        "CONTROLLERS: tuple[Blueprint, ...] = (zeppelin.BLUEPRINT,)" in (root / "controllers/__init__.py").read_text()
    )
    after = (root / "api/project.yaml").read_text()
    start = after.index("  - group: aerodrome.volcano.sh")
    end = after.index("# Kubernetes' own kinds")
    assert after[:start] + after[end:] == before, "everything else stays as it stands"


@pytest.mark.parametrize(
    ("asked", "created", "status", "scope"),
    [
        (Api("aerodrome", "v1", "Zeppelin", has_controller=False), ["api/aerodrome/v1.yaml"], True, "Namespaced"),
        (
            Api("aerodrome", "v1", "Zeppelin", has_status=False, has_controller=False),
            ["api/aerodrome/v1.yaml"],
            False,
            "Namespaced",
        ),
        (Api("shard", "v1alpha1", "Zeppelin", scope="Cluster", has_controller=False), [], True, "Cluster"),
    ],
)
def test_options_of_a_kind(root: Path, asked: Api, created: list[str], status: bool, scope: str) -> None:
    changes = Changes(root)
    api.create(changes, real(), asked)
    assert changes.created == created
    with changes.written():
        project = load(root)
    kind = kind_of(project, "Zeppelin", f"{asked.group}.volcano.sh")
    assert (kind.status, kind.scope, kind.controller) == (status, scope, False)
    assert (f"{kind.component}Status" in project.components) == status
    assert real().components.keys() < project.components.keys()


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        (Api("batch", "v1alpha1", "Zeppelin", "jobs"), "--plural: 'jobs' is a name of batch.volcano.sh/v1alpha1 Job"),
        (Api("batch", "v1alpha1", "Zeppelin", "vcjob"), "--plural: 'vcjob' is a name of batch.volcano.sh/v1alpha1 Job"),
        (Api("batch", "v1alpha1", "Vj"), "--kind: 'vj' is a name of batch.volcano.sh/v1alpha1 Job"),
        (Api("batch", "v2", "Job"), "--version: Job of batch.volcano.sh is there as v1alpha1"),
        (Api("batch", "v1alpha1", "Task"), "--kind: the schema batch.v1alpha1.TaskSpec is there already"),
        (Api("batch", "v1", "Zeppelin"), "--group: batch.volcano.sh/v1 and batch/v1 would share the module batch.v1"),
        (Api("aerodrome", "v1", "zeppelin"), "--kind: 'zeppelin' is no kind"),
        (Api("aerodrome", "v1", "Zeppelin", "Zeppelins"), "--plural: 'Zeppelins' is no plural"),
    ],
)
def test_a_kind_that_clashes_is_refused(root: Path, asked: Api, message: str) -> None:
    changes = Changes(root)
    assert message in refusal(api.create, changes, real(), asked)
    assert not changes.paths(), "nothing is left to be written"


@pytest.mark.parametrize(
    "taken", ["controllers/zeppelin.py", "controllers/zeppelin/__init__.py", "tests/unit/controllers/test_zeppelin.py"]
)
def test_a_controller_is_never_overwritten(root: Path, taken: str) -> None:
    (root / taken).parent.mkdir(parents=True, exist_ok=True)
    (root / taken).write_text("mine")
    assert "--kind: " in refusal(api.create, Changes(root), real(), ZEPPELIN)
    assert (root / taken).read_text() == "mine"


def test_a_second_run_says_what_exists(root: Path) -> None:
    changes = Changes(root)
    api.create(changes, real(), ZEPPELIN)
    project = written(changes)
    with pytest.raises(AlreadyThere) as caught:
        api.create(Changes(root), project, ZEPPELIN)
    paths = "api/project.yaml, api/aerodrome/v1.yaml, controllers/zeppelin.py, tests/unit/controllers/test_zeppelin.py"
    assert str(caught.value) == f"Zeppelin of aerodrome.volcano.sh/v1 exists already: {paths}"


def test_a_webhook_is_added_to_a_new_kind(root: Path) -> None:
    changes = Changes(root)
    api.create(changes, real(), ZEPPELIN)
    project = written(changes)
    changes = Changes(root)
    webhook.create(changes, project, "Zeppelin", ["mutate", "validate"])
    assert changes.created == ["webhooks/zeppelins.py", "tests/unit/webhooks/test_zeppelins.py"]
    kind = kind_of(written(changes), "Zeppelin", "aerodrome.volcano.sh")
    assert kind.mutate is not None
    assert kind.validate is not None
    assert (kind.mutate.path, kind.mutate.name, kind.mutate.operations) == (
        "/zeppelins/mutate",
        "mutatezeppelin.volcano.sh",
        ("CREATE",),
    )
    assert (kind.validate.path, kind.validate.operations) == ("/zeppelins/validate", ("CREATE", "UPDATE"))
    text = (root / "webhooks/zeppelins.py").read_text()
    assert re.findall(r"class (\w+)\((\w+)\)", text) == [
        ("ZeppelinDefaults", "ZeppelinDefaulter"),
        ("ZeppelinRules", "ZeppelinValidator"),
    ]
    registry = (root / "webhooks/__init__.py").read_text()
    assert members(registry, "WEBHOOKS", "") == ["zeppelins.ZeppelinDefaults", "zeppelins.ZeppelinRules"]


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
    webhook.create(changes, real(), "CSINode", ["validate"])
    project = written(changes)
    changes = Changes(root)
    webhook.create(changes, project, "CSINode", ["mutate", "validate"])
    assert changes.created == []
    written(changes)
    text = (root / "webhooks/csinodes.py").read_text()
    assert re.findall(r"class (\w+)\(", text) == ["CSINodeRules", "CSINodeDefaults"]
    assert text.count("from runtime.admission import ALLOWED, Mutation, Validation\n") == 1
    assert (root / "tests/unit/webhooks/test_csinodes.py").read_text().count("def test_") == 2
    with pytest.raises(AlreadyThere, match="the webhook of CSINode exists already"):
        webhook.create(Changes(root), project, "CSINode", ["validate"])


@pytest.mark.parametrize("home", ["webhooks/pods/__init__.py", "webhooks/pods.py"])
def test_a_webhook_that_was_written_by_hand_exists(root: Path, home: str) -> None:
    (root / home).parent.mkdir(exist_ok=True)
    (root / home).write_text("class Mine: pass\n")
    with pytest.raises(AlreadyThere) as caught:
        webhook.create(Changes(root), real(), "Pod", ["validate"])
    assert str(caught.value) == f"the webhook of Pod exists already: {home.removesuffix('/__init__.py')}"


def test_a_package_of_webhooks_gets_no_class_beside_it(root: Path) -> None:
    (root / "webhooks/csinodes").mkdir()
    message = refusal(webhook.create, Changes(root), real(), "CSINode", ["mutate", "validate"])
    what = "the webhook of CSINode is the package webhooks/csinodes: add what mutates and validates there by hand"
    assert message == f"--kind: {what}"


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
        ("Job", {"group": "aerodrome"}, "--kind: api/project.yaml has no kind 'Job'"),
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
    (root / "webhooks/csinodes.py").write_text("class CSINodeRules(Base): pass\n")
    message = refusal(webhook.create, Changes(root), real(), "CSINode", ["validate"])
    assert message == "--kind: webhooks/csinodes.py has a class CSINodeRules already: add it to WEBHOOKS by hand"


@pytest.mark.parametrize("kind", ["Context", "Rule", "Watch", "Log", "Fakes", "Reconciler", "Key"])
def test_a_kind_hides_nothing_that_its_code_needs(root: Path, kind: str) -> None:
    changes = Changes(root)
    message = refusal(api.create, changes, real(), Api("aerodrome", "v1", kind))
    assert re.fullmatch(r"--kind: '\w+' would hide a name that the new code itself needs: choose another", message)
    assert not changes.paths()


def test_a_kind_without_a_controller_needs_no_names_of_one(root: Path) -> None:
    changes = Changes(root)
    api.create(changes, real(), Api("aerodrome", "v1", "Watch", has_controller=False))
    assert changes.created == ["api/aerodrome/v1.yaml"]


@pytest.mark.parametrize("kind", [*real().kinds, *real().external], ids=lambda kind: kind.component)
def test_every_kind_of_the_project_can_be_watched_and_judged(root: Path, kind: Kind) -> None:
    other = "Queue" if kind.kind == "PodGroup" else "PodGroup"
    controller.create(Changes(root), real(), "quota-guard", [f"{kind.api_version}/{kind.kind}", other])
    if kind.file == PROJECT_FILE:
        webhook.create(Changes(root), real(), f"{kind.api_version}/{kind.kind}", ["mutate", "validate"])


@pytest.mark.parametrize("name", ["plugin", "session", "task", "node", "arguments"])
def test_a_plugin_hides_nothing_that_its_code_needs(root: Path, name: str) -> None:
    message = refusal(plugin.create, Changes(root), name)
    assert message == f"--name: {name.capitalize()!r} would hide a name that the new code itself needs: choose another"


def test_a_controller_hides_nothing_that_the_list_of_controllers_needs(root: Path) -> None:
    (root / "controllers/__init__.py").write_text("from __future__ import annotations\n\nCONTROLLERS = ()\n")
    message = refusal(controller.create, Changes(root), real(), "annotations", ["Queue"])
    assert message == "controllers/__init__.py: imports another annotations already: choose another name"


@pytest.mark.parametrize(
    ("broken", "message"),
    [
        (b"def (\n", "can't be read as Python: invalid syntax (line 1): mend the file"),
        (b"# \xff\n", "is no UTF-8 text: invalid start byte at byte 2"),
        (b"\0", "can't be read as Python: source code string cannot contain null bytes: mend the file"),
    ],
)
@pytest.mark.parametrize("part", ["controllers", "webhooks", "scheduler/plugins"])
def test_a_registry_that_can_not_be_read_is_named(root: Path, part: str, broken: bytes, message: str) -> None:
    (root / part / "__init__.py").write_bytes(broken)
    create: dict[str, Callable[[], None]] = {
        "controllers": lambda: controller.create(Changes(root), real(), "quota-guard", ["Queue"]),
        "webhooks": lambda: webhook.create(Changes(root), real(), "CSINode", ["validate"]),
        "scheduler/plugins": lambda: plugin.create(Changes(root), "quiet-nodes"),
    }
    assert refusal(create[part]) == f"{part}/__init__.py: {message}"


def test_a_module_of_webhooks_that_can_not_be_read_is_named(root: Path) -> None:
    (root / "webhooks/csinodes.py").write_text("def (\n")
    message = refusal(webhook.create, Changes(root), real(), "CSINode", ["validate"])
    assert message.startswith("webhooks/csinodes.py: can't be read as Python: invalid syntax (line 1)")


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
    assert "add the entry by hand" in refusal(api.create, Changes(root), real(), ZEPPELIN)


def test_a_schema_file_of_another_form_is_left_to_its_author(root: Path) -> None:
    (root / "api/shard/v1alpha1.yaml").write_text(yaml.safe_dump({"components": {}}))
    asked = Api("shard", "v1alpha1", "Zeppelin")
    assert "add them by hand" in refusal(api.create, Changes(root), real(), asked)


def test_an_update_is_judged_by_its_spec_where_there_is_one(root: Path) -> None:
    changes = Changes(root)
    webhook.create(changes, real(), "Queue", ["validate"])
    webhook.create(changes, real(), "Command", ["validate"])
    written(changes)
    assert "ALLOWED if obj.spec == old.spec else self.judge(obj)" in (root / "webhooks/queues.py").read_text()
    assert "obj.spec" not in (root / "webhooks/commands.py").read_text()
