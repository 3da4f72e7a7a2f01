"""`vcctl jobflow` and `vcctl jobtemplate`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.unit.cli.harness import FLOW, Server, run

HERE = f"{FLOW}/namespaces/default"


def flow(name: str = "f1", namespace: str = "default", created: str = "2021-02-04T03:11:10Z") -> dict[str, Any]:
    return {
        "apiVersion": "flow.volcano.sh/v1alpha1",
        "kind": "JobFlow",
        "metadata": {
            "creationTimestamp": created, "managedFields": [{}], "name": name, "namespace": namespace, "uid": "u",
        },
        "spec": {"jobRetainPolicy": "retain", "flows": [{"dependsOn": {"targets": ["x"]}, "name": "a"}]},
        "status": {"state": {"phase": "Running"}},
    }  # fmt: skip


def echo(request: Any) -> Any:
    return json.loads(request.body)


FILE = """\
apiVersion: flow.volcano.sh/v1alpha1
kind: JobFlow
metadata:
  name: f-a---b
spec: {}
---
# only a comment
---
kind: JobFlow
metadata:
  name: f2
  namespace: ns
"""


def test_documents_are_split_at_separator_lines_only(tmp_path: Path) -> None:
    file = tmp_path / "flows"
    file.write_text(FILE)
    used = Server().on(f"POST {HERE}/jobflows", echo).on(f"POST {FLOW}/namespaces/ns/jobflows", echo)
    result = run("jobflow", "create", "-f", str(file), server=used)
    assert (result.code, result.lines) == (0, ["Created JobFlow: default/f-a---b", "Created JobFlow: ns/f2"])


def test_all_documents_are_tried_and_one_failure_fails_the_command(tmp_path: Path) -> None:
    file = tmp_path / "f.yaml"
    file.write_text(
        "kind: Job\nmetadata: {name: a}\n---\nmetadata: {name: b}\n---\na: [\n---\nmetadata: {}\n---\nmetadata: {name: c}\n"
    )
    used = Server().on(f"POST {HERE}/jobflows", (409, {"status": "Failure", "message": "exists", "code": 409}), echo)
    result = run("jobflow", "create", "-f", str(file), server=used)
    assert result.code == 255
    assert [line for line in result.lines if not line.startswith("Failed to create JobFlow: error converting")] == [
        "Failed to create JobFlow: expected JobFlow, got Job",
        "Failed to create JobFlow: exists",
        "Failed to create JobFlow: JobFlow: metadata.name is missing",
        "Created JobFlow: default/c",
    ]
    moved = run("jobflow", "create", "-f", str(file), "--errors-to", "stderr", server=used)
    assert moved.err.startswith("Failed to create JobFlow: expected JobFlow, got Job\n")


LISTS = (
    "apiVersion: v1\nkind: List\nitems:\n- {kind: JobFlow, metadata: {name: a}}\n- {kind: Job, metadata: {name: b}}\n- x\n",
    "apiVersion: flow.volcano.sh/v1alpha1\nkind: JobFlowList\nitems: [{metadata: {name: a}}, {kind: Job}, x]\n",
    "kind: List\nitems:\n- {kind: List, items: [{metadata: {name: a}}]}\n- {kind: List, items: [{kind: Job}, x]}\n",
)


@pytest.mark.parametrize("text", LISTS, ids=["List", "JobFlowList", "Lists in a List"])
@pytest.mark.parametrize(("verb", "method"), [("create", "POST"), ("delete", "DELETE")])
def test_the_items_of_a_list_are_each_taken(tmp_path: Path, text: str, verb: str, method: str) -> None:
    file = tmp_path / "f.yaml"
    file.write_text(text)
    used = Server().on(f"POST {HERE}/jobflows", echo).on(f"DELETE {HERE}/jobflows/a", {})
    result = run("jobflow", verb, "-f", str(file), server=used)
    assert (result.code, [request.method for request in used.requests]) == (255, [method])
    assert result.lines == [
        f"{verb.title().removesuffix('e')}ed JobFlow: default/a",
        f"Failed to {verb} JobFlow: expected JobFlow, got Job",
        f"Failed to {verb} JobFlow: expected JobFlow, got a text",
    ]


@pytest.mark.parametrize("verb", ["create", "delete"])
def test_a_missing_file_is_told_as_the_system_tells_it(verb: str) -> None:
    result = run("jobtemplate", verb, "-f", "no/such")
    assert (result.code, result.out) == (
        255,
        f"Failed to {verb} jobtemplate: open no/such: no such file or directory\n",
    )


def test_create_without_a_file_names_none() -> None:
    assert run("jobflow", "create").out == "Failed to create jobflow: open : no such file or directory\n"


def test_the_list_of_flows() -> None:
    used = Server().items(f"{HERE}/jobflows", flow())
    assert run("jobflow", "list", server=used).out == (
        "Name    Namespace    Phase      Age       \nf1      default      Running    2y332d    \n"
    )
    every = Server().items(f"{FLOW}/jobflows", flow(), flow("f2", "other-namespace"))
    assert (
        run("jobflow", "list", "--all-namespaces", server=every)
        .lines[2]
        .startswith("f2      other-namespace    Running")
    )
    assert run("jobflow", "list", server=Server().items(f"{HERE}/jobflows")).out == "No resources found\n"
    filtered = run("jobflow", "list", "--phase", "Failed", server=used)
    assert filtered.out == "No resources found\n"


def test_the_list_of_templates_has_two_columns() -> None:
    used = Server().items(f"{HERE}/jobtemplates", flow("a-template"))
    assert run("jobtemplate", "list", server=used).out == "Name          Namespace    \na-template    default      \n"


def test_one_flow_and_one_template() -> None:
    used = Server().on(f"GET {HERE}/jobflows/f1", flow()).on(f"GET {HERE}/jobtemplates/t", flow("t"))
    assert run("jobflow", "get", "-N", "f1", server=used).lines[1] == "f1      default      Running    2y332d    "
    assert run("jobtemplate", "get", "-N", "t", server=used).lines[1] == "t       default      "
    assert json.loads(run("jobflow", "get", "-N", "f1", "-o", "json", server=used).out)["metadata"]["name"] == "f1"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("jobflow", "get"), "get jobflow: name is mandatory to get the particular jobflow details"),
        (("jobtemplate", "get"), "get jobtemplate: name is mandatory to get the particular job template details"),
        (("jobflow", "delete"), "delete jobflow: jobflow name must be specified"),
        (("jobtemplate", "delete"), "delete jobtemplate: job template name must be specified"),
        (("jobflow", "describe", "-o", "jsonn"), "describe jobflow: Unsupported format: jsonn"),
    ],
)
def test_what_is_missing_or_wrong_is_named(words: tuple[str, ...], message: str) -> None:
    result = run(*words)
    assert (result.code, result.out) == (255, f"Failed to {message}\n")


def test_describing_one_as_yaml_sorts_keys_and_quotes_what_is_no_plain_text() -> None:
    used = Server().on(f"GET {HERE}/jobflows/f1", flow())
    assert run("jobflow", "describe", "-N", "f1", server=used).out == (
        "apiVersion: flow.volcano.sh/v1alpha1\nkind: JobFlow\nmetadata:\n"
        '  creationTimestamp: "2021-02-04T03:11:10Z"\n  name: f1\n  namespace: default\n  uid: u\n'
        "spec:\n  flows:\n  - dependsOn:\n      targets:\n      - x\n    name: a\n  jobRetainPolicy: retain\n"
        "status:\n  state:\n    phase: Running\n"
    )


def test_describing_as_json_keeps_the_declared_order() -> None:
    used = Server().on(f"GET {HERE}/jobflows/f1", flow())
    text = run("jobflow", "describe", "-N", "f1", "-o", "json", server=used).out
    whole = json.loads(text)
    assert text.endswith("}\n")
    assert text.startswith('{\n  "kind": "JobFlow",\n  "apiVersion"')
    assert list(whole) == ["kind", "apiVersion", "metadata", "spec", "status"]
    assert list(whole["metadata"]) == ["name", "namespace", "uid", "creationTimestamp"]
    assert list(whole["spec"]) == ["flows", "jobRetainPolicy"]
    assert list(whole["spec"]["flows"][0]) == ["name", "dependsOn"]


def test_describing_all_separates_them_by_two_newlines_and_names_their_kind() -> None:
    bare = {key: value for key, value in flow("f2").items() if key not in ("apiVersion", "kind")}
    used = Server().items(f"{HERE}/jobflows", flow(), bare)
    first, second = run("jobflow", "describe", server=used).out.split("\n\n\n")
    assert yaml.safe_load(first)["metadata"]["name"] == "f1"
    assert yaml.safe_load(second)["kind"] == "JobFlow"
    assert run("jobflow", "describe", server=Server().items(f"{HERE}/jobflows")).out == ""


def test_deleting_by_name_looks_first() -> None:
    used = Server().on(f"GET {HERE}/jobflows/f1", flow()).on(f"DELETE {HERE}/jobflows/f1", {})
    assert run("jobflow", "delete", "-N", "f1", server=used).out == "Deleted JobFlow: default/f1\n"
    assert [request.method for request in used.requests] == ["GET", "DELETE"]


def test_deleting_by_file_wins_over_a_name(tmp_path: Path) -> None:
    file = tmp_path / "f.yaml"
    file.write_text(FILE)
    used = Server().on(f"DELETE {HERE}/jobflows/f-a---b", {})
    result = run("jobflow", "delete", "-f", str(file), "-N", "ignored", server=used)
    assert result.code == 255
    assert result.lines[0] == "Deleted JobFlow: default/f-a---b"
    assert result.lines[1].startswith("Failed to delete JobFlow: ")
