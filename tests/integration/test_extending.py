"""
The walk of `docs/extending.md` in a copy of the tree, on the real control plane.

Every command is run as a user runs it. The tree is made once; what the commands changed on the control plane is put
back at the end, since other tests share it.
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import NamedTuple

import pytest
import yaml

from cluster import ControlPlane
from cluster.binaries import Binaries
from cluster.processes import wait_until
from hack.health import is_ready

ROOT = Path(__file__).resolve().parents[2]
PARTS = (
    "api", "cluster", "codegen", "config", "controllers", "docs", "generated", "hack", "runtime", "scheduler", "tests",
    "webhooks",
)  # fmt: skip
PATIENCE = 60.0
FIELD = "      costCenter: {description: Account that is charged for the job., type: string, maxLength: 20}\n"
EXTENSION = """\
group: batch.volcano.sh
version: v1alpha1
components:
  JobSpec:
    properties:
      project: {description: What the job is part of., type: string, pattern: "^[a-z]+$"}
"""
RULE = """\
        if (obj.spec.replicas or 0) > 5:
            return Denial(f"{obj.metadata.name} wants more than 5 replicas")
        return ALLOWED
"""
MADE = (
    "controllers/widget.py",
    "controllers/quota_guard.py",
    "scheduler/plugins/quiet_nodes.py",
    "webhooks/widgets.py",
    "tests/unit/controllers/test_widget.py",
    "tests/unit/controllers/test_quota_guard.py",
    "tests/unit/scheduler/plugins/test_quiet_nodes.py",
    "tests/unit/webhooks/test_widgets.py",
)
CYCLE = """
from tests.unit.scheduler.build import World, cycle, memory_of, shape
world = World()
world.node("loud", labels={"loud": "yes"})
world.node("quiet")
world.gang("gang", [("worker", 2, shape())])
text = '''
actions: "enqueue, allocate"
tiers:
- plugins:
  - name: gang
  - name: quiet-nodes
    arguments: {quiet-nodes.avoid: loud}
'''
cycle(world, memory_of(world.cluster, text))
print(*(task.node.name for task in world.cluster.jobs["ns/gang"].tasks.values()))
"""


class Tree:
    """A copy of the project, and a user in it."""

    def __init__(self, root: Path, plane: ControlPlane) -> None:
        self.root = root
        self.plane = plane
        self.kubectl = str(Binaries(plane.options.kubernetes, print).find("kubectl"))
        self.env = {**os.environ, "PYTHONPATH": str(root), "KUBECONFIG": str(plane.kubeconfig), "HOME": str(root)}

    def run(self, *words: str, ok: bool = True, given: str = "") -> str:
        """The output of one command; it must succeed, or fail when `ok` is False."""
        done = subprocess.run(
            words, cwd=self.root, env=self.env, input=given, capture_output=True, text=True, check=False
        )
        output = done.stdout + done.stderr
        assert (done.returncode == 0) is ok, f"{' '.join(words)}: exit code {done.returncode}\n{output}"
        return output

    def python(self, *words: str, ok: bool = True) -> str:
        return self.run(sys.executable, *words, ok=ok)

    def kube(self, *words: str, ok: bool = True, given: str = "") -> str:
        return self.run(self.kubectl, *words, ok=ok, given=given)

    @contextmanager
    def process(self, *words: str) -> Iterator[Path]:
        """A command that runs meanwhile; gives the file that holds its output. It must end well."""
        log = self.root / f"{words[1]}.log"
        with log.open("w") as file:
            process = subprocess.Popen(
                [sys.executable, *words], cwd=self.root, env=self.env, stdout=file, stderr=subprocess.STDOUT
            )
            try:
                yield log
            finally:
                process.terminate()
                process.wait(PATIENCE)


def replace(path: Path, old: str, new: str) -> None:
    text = path.read_text()
    assert old in text
    head, _, tail = text.rpartition(old)
    path.write_text(head + new + tail)


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory, control_plane: ControlPlane) -> Iterator[Tree]:
    """The tree after all scaffolds of the walk, its CRDs applied."""
    root = tmp_path_factory.mktemp("walk")
    for part in PARTS:
        shutil.copytree(ROOT / part, root / part, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", root)
    tree = Tree(root, control_plane)
    schema = root / "api/batch/v1alpha1.yaml"
    place = schema.read_text().index("    properties:\n", schema.read_text().index("  JobSpec:\n")) + 16
    schema.write_text(schema.read_text()[:place] + FIELD + schema.read_text()[place:])
    (root / "api/extensions/site.yaml").write_text(EXTENSION)
    tree.python("-m", "codegen", "create", "api", "--group", "fleet", "--version", "v1", "--kind", "Widget")
    tree.python("-m", "codegen", "create", "webhook", "--kind", "Widget", "--defaulting", "--validating")
    tree.python("-m", "codegen", "create", "controller", "--name", "quota-guard", "--watches", "Queue,PodGroup")
    tree.python("-m", "codegen", "create", "plugin", "--name", "quiet-nodes")
    tree.kube("apply", "--server-side", "--force-conflicts", "-k", "config/crd")
    tree.kube("wait", "--for=condition=Established", "crd", "--all", f"--timeout={PATIENCE:g}s")
    yield tree
    tree.kube("delete", "crd", "widgets.fleet.volcano.sh")
    paths = sorted((ROOT / "config/crd/bases").glob("*.yaml"))
    control_plane.apply_crds(yaml.safe_load(path.read_text()) for path in paths)


def job(**spec: str) -> str:
    task = {"name": "t", "replicas": 1, "template": {"spec": {"containers": [{"name": "c", "image": "i"}]}}}
    head = {"apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job", "metadata": {"name": "j"}}
    return yaml.safe_dump({**head, "spec": {"tasks": [task], **spec}})


def widget(name: str, replicas: int) -> str:
    head = {"apiVersion": "fleet.volcano.sh/v1", "kind": "Widget", "metadata": {"name": name}}
    return yaml.safe_dump({**head, "spec": {"replicas": replicas}})


class Added(NamedTuple):
    """A field of JobSpec that the walk added."""

    name: str
    words: str
    good: str
    bad: str
    refusal: str


@pytest.mark.parametrize(
    "field",
    [
        Added("costCenter", "Account that is charged for the job.", "a-123", "x" * 21, "may not be more than 20 bytes"),
        Added("project", "What the job is part of.", "apollo", "Apollo 13", "should match '^[a-z]+$'"),
    ],
    ids=lambda field: field.name,
)
def test_an_added_field_is_explained_kept_and_checked(tree: Tree, namespace: str, field: Added) -> None:
    assert wait_until(lambda: field.words in explained(tree, f"vcjob.spec.{field.name}"), PATIENCE)
    create = ("create", "-n", namespace, "--dry-run=server", "-o", "yaml", "-f", "-")
    assert f"{field.name}: {field.good}\n" in tree.kube(*create, given=job(**{field.name: field.good}))
    assert field.refusal in tree.kube(*create, ok=False, given=job(**{field.name: field.bad}))


def explained(tree: Tree, field: str) -> str:
    """What kubectl says of a field; nothing as long as the API server has not heard of it."""
    done = subprocess.run([tree.kubectl, "explain", field], env=tree.env, capture_output=True, text=True, check=False)
    return done.stdout


def test_a_new_kind_is_served_and_its_reconciler_reacts(tree: Tree, namespace: str) -> None:
    tree.kube("apply", "-n", namespace, "-f", "config/samples/fleet_v1_widget.yaml")
    arguments = ("--kubeconfig", str(tree.plane.kubeconfig), "--leader-elect=false", "--controllers=widget-controller")

    def seen() -> str:
        return tree.kube(
            "get", "-n", namespace, "widget", "widget-sample", "-o", "jsonpath={.status.observedGeneration}"
        )

    with tree.process("-m", "controllers", *arguments) as log:
        assert wait_until(lambda: seen() == "1", PATIENCE), log.read_text()
        tree.kube("patch", "-n", namespace, "widget", "widget-sample", "--type=merge", "-p", '{"spec":{"replicas":2}}')
        assert wait_until(lambda: seen() == "2", PATIENCE), log.read_text()
    assert f"widget.observed widget={namespace}/widget-sample generation=2" in log.read_text()


def test_a_new_webhook_denies(tree: Tree, namespace: str) -> None:
    module = tree.root / "webhooks/widgets.py"
    replace(module, "        return ALLOWED\n", RULE)
    replace(module, "import ALLOWED, Mutation", "import ALLOWED, Denial, Mutation")
    port, health = free_port(), free_port()
    arguments = (
        f"--kubeconfig={tree.plane.kubeconfig}",
        f"--port={port}",
        f"--webhook-namespace={namespace}",
        "--webhook-service-name=localhost",
        "--tls-secret-name=webhook-certificate",
        "--enable-healthz",
        f"--healthz-address=127.0.0.1:{health}",
    )
    manifests = "config/webhooks/manifests.yaml"
    with ExitStack() as stack:
        url = f"https://localhost:{port}"
        place = ("--dir", str(tree.plane.layout.root))
        assert "widgets-validate -> " in tree.python("-m", "cluster", "webhooks", *place, "--url", url, manifests)
        stack.callback(tree.kube, "delete", "-f", manifests)
        log = stack.enter_context(tree.process("-m", "webhooks", *arguments))
        assert wait_until(lambda: is_ready(health), PATIENCE), log.read_text()
        # API servers hear of a configuration a moment later.
        create = ("create", "-n", namespace, "--dry-run=server", "-f", "-")
        assert wait_until(lambda: refused(tree, create, widget("big", 6)), PATIENCE), log.read_text()
        text = 'admission webhook "validatewidget.volcano.sh" denied the request: big wants more than 5 replicas'
        assert text in tree.kube(*create, ok=False, given=widget("big", 6))
        assert "widget.fleet.volcano.sh/small created" in tree.kube(*create, given=widget("small", 5))
    assert "verdict=denied path=/widgets/validate" in log.read_text()


def refused(tree: Tree, create: tuple[str, ...], given: str) -> bool:
    done = subprocess.run(
        [tree.kubectl, *create], env=tree.env, input=given, capture_output=True, text=True, check=False
    )
    return "denied the request" in done.stderr


def free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port: int = taken.getsockname()[1]
        return port


def test_a_new_plugin_has_its_say(tree: Tree) -> None:
    assert tree.python("-c", CYCLE).split() == ["quiet", "quiet"]


def test_the_new_roles_are_accepted_and_are_no_wider_than_the_code(tree: Tree) -> None:
    tree.kube("apply", "--dry-run=client", "-k", "config/rbac")
    documents = yaml.safe_load_all((tree.root / "config/rbac/controllers_role.yaml").read_text())
    role = next(each for each in documents if each["kind"] == "ClusterRole")
    held = {(rule["apiGroups"][0], name): rule["verbs"] for rule in role["rules"] for name in rule["resources"]}
    assert held["fleet.volcano.sh", "widgets"] == ["get", "list", "watch"]
    assert held["fleet.volcano.sh", "widgets/status"] == ["patch"]


@pytest.mark.parametrize(
    "check",
    [
        pytest.param(lambda tree: tree.python("-m", "ruff", "check", *MADE), id="lint"),
        pytest.param(lambda tree: tree.python("-m", "ruff", "format", "--check", *MADE), id="format"),
        pytest.param(lambda tree: tree.python("-m", "mypy", "--strict", "--explicit-package-bases", *MADE), id="types"),
        pytest.param(
            lambda tree: tree.python("-m", "pytest", "-q", "-n0", *(path for path in MADE if "test_" in path)),
            id="tests",
        ),
        pytest.param(lambda tree: tree.python("-m", "codegen", "generate", "--check"), id="generated"),
        pytest.param(lambda tree: tree.python("-m", "hack.manifests", "--check"), id="manifests"),
    ],
)
def test_the_new_code_passes_every_check(tree: Tree, check: Callable[[Tree], str]) -> None:
    check(tree)
