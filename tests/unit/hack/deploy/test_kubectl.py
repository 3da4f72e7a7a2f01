from __future__ import annotations

import json
from pathlib import Path

import pytest

from hack.deploy import kubectl
from hack.deploy.errors import DeployError
from hack.deploy.kubectl import Kubectl

RESOURCES = """\
configmaps            cm           v1                  true   ConfigMap
bindings                           v1                  true   Binding
deployments           deploy       apps/v1             true   Deployment
"""


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A stand-in for kubectl: keeps its words and its input, prints `answer`, fails where there is a file `code`, with its text."""
    path = tmp_path / "kubectl"
    path.write_text(
        f'#!/bin/sh\ncd {tmp_path}\necho "$@" > words\n[ -f reads ] && cat > input\ncat answer 2>/dev/null\n'
        "[ -s code ] && { cat code >&2; exit 1; }\n[ -f code ] && { echo bad luck >&2; exit 1; }\nexit 0\n"
    )
    path.chmod(0o755)
    monkeypatch.setattr(kubectl, "_program", lambda: str(path))
    return tmp_path


def test_the_cluster_is_named_only_when_one_is_given(program: Path) -> None:
    Kubectl().run("get", "pods")
    assert (program / "words").read_text() == "get pods\n"
    Kubectl("file", "there").run("get", "pods")
    assert (program / "words").read_text() == "--kubeconfig=file --context=there get pods\n"


def test_people_are_told_which_cluster_is_meant(program: Path) -> None:
    assert Kubectl("", "there").context == "context there"
    assert Kubectl().context == "no context"
    (program / "answer").write_text("current\n")
    assert Kubectl("file").context == "context current"
    assert (program / "words").read_text() == "--kubeconfig=file config current-context\n"


def test_objects_go_to_the_input_as_one_list(program: Path) -> None:
    (program / "reads").touch()
    Kubectl().run("apply", objects=[{"kind": "A"}, {"kind": "B"}])
    assert json.loads((program / "input").read_text()) == {
        "apiVersion": "v1", "kind": "List", "items": [{"kind": "A"}, {"kind": "B"}],
    }  # fmt: skip


def test_a_failure_says_what_was_tried_and_what_kubectl_says(program: Path) -> None:
    (program / "code").touch()
    with pytest.raises(DeployError, match="kubectl get pods:\nbad luck"):
        Kubectl().run("get", "pods")
    assert Kubectl().attempt("get", "pods") == "bad luck"


def test_a_failure_of_many_objects_is_cut_and_says_who_can_help(program: Path) -> None:
    lines = [f"Error from server (Forbidden): {number} is forbidden" for number in range(70)]
    (program / "code").write_text("\n".join(lines))
    with pytest.raises(DeployError) as failed:
        Kubectl().run("get", "all")
    assert str(failed.value).splitlines() == [
        "kubectl get all:", *lines[:5], "... and 65 lines more",
        "these are things for an administrator of the cluster: use another CONTEXT, or ask for the rights",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("answer", "names"),
    [("", []), ('{"items": [{"a": 1}, {"a": 2}]}', [1, 2]), ('{"a": 3}', [3])],
)
def test_lists_single_objects_and_nothing_are_lists(program: Path, answer: str, names: list[int]) -> None:
    (program / "answer").write_text(answer)
    assert [found["a"] for found in Kubectl().get("x")] == names


def test_kinds_are_read_with_and_without_short_names(program: Path) -> None:
    (program / "answer").write_text(RESOURCES)
    assert Kubectl().served() == {("v1", "ConfigMap"), ("v1", "Binding"), ("apps/v1", "Deployment")}


def test_a_wanted_kind_is_found_also_in_a_version_that_is_not_preferred(program: Path) -> None:
    served = json.dumps(
        {"resources": [{"name": "deployments", "kind": "Deployment"}, {"name": "x/status", "kind": "X"}]}
    )
    (program / "kubectl").write_text(
        '#!/bin/sh\ncase "$*" in\n'
        f"api-resources*) printf '%s' '{RESOURCES}' ;;\n"
        f"'get --raw /apis/apps/v1beta1') echo '{served}' ;;\n"
        "*) echo unexpected: $* >&2; exit 1 ;;\nesac\n"
    )
    wanted = [("apps/v1beta1", "Deployment"), ("apps/v1beta1", "X"), ("v1", "ConfigMap"), ("gone/v1", "Y")]
    assert Kubectl().served(wanted) & {*wanted} == {("apps/v1beta1", "Deployment"), ("v1", "ConfigMap")}


def test_of_kinds_that_are_not_served_nothing_is_asked(program: Path) -> None:
    (program / "kubectl").write_text(
        f'#!/bin/sh\ncd {program}\necho "$@" >> words\n[ "$1" = api-resources ] || exit 1\n'
        f"printf '%s' '{RESOURCES}'\n"
    )
    assert Kubectl().live([{"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "x"}}]) == []
    assert "--filename=-" not in (program / "words").read_text().split()
