"""`vcctl version`."""

from __future__ import annotations

import json
from typing import Any

import pytest
import yaml

from tests.unit.cli.harness import Server, refused, run

DEPLOYMENTS = "/apis/apps/v1/namespaces/volcano-system/deployments"


def test_the_version_needs_no_server() -> None:
    used = Server()
    result = run("version", server=used)
    assert result.code == 0
    assert [line.split(":")[0] for line in result.lines] == [
        "API Version", "Version", "Git SHA", "Built At", "Go Version", "Go OS/Arch",
    ]  # fmt: skip
    assert not used.requests


def test_the_server_and_its_components_are_asked_on_demand() -> None:
    used = Server().on("GET /version", {"gitVersion": "v1.36.1", "platform": "linux/amd64"})
    used.items(DEPLOYMENTS, deployment("volcano-scheduler", "vc-scheduler:1"), deployment("other", "x"))
    assert run("version", "--server", server=used).lines[6:] == [
        "Server Version: v1.36.1",
        "Server OS/Arch: linux/amd64",
        "Component volcano-scheduler: vc-scheduler:1",
    ]
    used.fail(f"GET {DEPLOYMENTS}", 403, "deployments is forbidden", "Forbidden")
    assert run("version", "--server", server=used).lines[-1] == "Components: Not provided. (deployments is forbidden)"


def test_a_server_that_does_not_answer_is_told_behind_the_version() -> None:
    result = run("version", "--server", server=Server().on("GET /version", refused()))
    assert result.code == 255
    assert result.lines[0] == "API Version: v1alpha1"
    assert result.lines[-1].startswith('Failed to version: Get "https://server/x": dial tcp')


def deployment(name: str, image: str) -> dict[str, Any]:
    return {"metadata": {"name": name}, "spec": {"template": {"spec": {"containers": [{"image": image}]}}}}


def test_programs_read_the_version_as_json_or_yaml() -> None:
    used = Server()
    result = run("version", "-o", "json", server=used)
    client = json.loads(result.out)["clientVersion"]
    lines = dict(line.split(": ", 1) for line in run("version").lines)
    assert client["apiVersion"] == lines["API Version"]
    assert (client["runtime"], client["platform"]) == (lines["Go Version"], lines["Go OS/Arch"])
    assert (client["version"] or "Not provided.") == lines["Version"]
    assert yaml.safe_load(run("version", "--output=yaml").out) == json.loads(result.out)
    assert not used.requests


def test_programs_read_what_the_server_and_its_components_are() -> None:
    used = Server().on("GET /version", {"gitVersion": "v1.36.1", "platform": "linux/amd64"})
    used.items(DEPLOYMENTS, deployment("volcano-scheduler", "vc-scheduler:1"), deployment("other", "x"))
    found = json.loads(run("version", "--server", "-o", "json", server=used).out)
    assert found["serverVersion"] == {"version": "v1.36.1", "platform": "linux/amd64"}
    assert found["components"] == [{"name": "volcano-scheduler", "images": ["vc-scheduler:1"]}]
    used.fail(f"GET {DEPLOYMENTS}", 403, "deployments is forbidden", "Forbidden")
    found = yaml.safe_load(run("version", "--server", "-o", "yaml", server=used).out)
    assert found["componentsError"] == "deployments is forbidden"


def test_half_a_document_is_never_printed() -> None:
    result = run("version", "--server", "-o", "json", server=Server().on("GET /version", refused()))
    assert result.code == 255
    assert result.out.startswith('Failed to version: Get "https://server/x": dial tcp')


@pytest.mark.parametrize("form", ["wide", "name", "jsonn"])
def test_another_format_is_refused(form: str) -> None:
    result = run("version", "-o", form)
    assert result.code == 255
    assert result.out == (
        f'Failed to version: --output: unable to match a printer for the format "{form}", allowed: json,yaml\n'
    )
