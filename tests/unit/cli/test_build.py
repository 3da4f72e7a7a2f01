"""`vcctl version`."""

from __future__ import annotations

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
    def deployment(name: str, image: str) -> dict[str, object]:
        return {"metadata": {"name": name}, "spec": {"template": {"spec": {"containers": [{"image": image}]}}}}

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
