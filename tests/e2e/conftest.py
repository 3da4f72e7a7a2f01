"""
Tests on a cluster that runs containers, such as one of kind: `make e2e CONTEXT=kind-volcano`.

They are left out, with the reason, where no such cluster is named: pods must really run, which takes a container engine.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from pathlib import Path

import pytest

from hack.deploy.kubectl import Kubectl

HERE = Path(__file__).resolve().parent
CONTEXT = "E2E_CONTEXT"
REASON = (
    f"{CONTEXT} names no cluster: these tests need one whose nodes run containers; `make kind-up` makes one where a "
    "container engine is, `make e2e CONTEXT=...` uses any"
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    if os.environ.get(CONTEXT):
        return
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.skip(reason=REASON))


@pytest.fixture(scope="session")
def kubectl() -> Kubectl:
    return Kubectl(context=os.environ[CONTEXT])


@pytest.fixture
def namespace(kubectl: Kubectl) -> Iterator[str]:
    name = f"e2e-{secrets.token_hex(3)}"
    kubectl.run("create", "namespace", name)
    yield name
    kubectl.run("delete", "namespace", name, "--wait=false")
