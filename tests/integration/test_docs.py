"""
What pages show is what their commands print.

CI plays those that a newcomer reads first and lets the server judge the manifests of all; `DOCS=all` plays every page,
as `python -m hack.docs --check` does.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from hack.deploy.kubectl import Kubectl, load
from hack.docs.pages import ROOT, File, pages, steps
from hack.docs.playing import play
from hack.docs.system import System, system

FIRST = ("docs/quick-start.md", "docs/tasks/gang.md", "docs/operate/access.md")
PAGES = [str(page.relative_to(ROOT)) for page in pages()] if os.environ.get("DOCS") == "all" else FIRST
pytestmark = pytest.mark.xdist_group("docs")  # one cluster serves all pages


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory, report: Callable[[str], None]) -> Iterator[System]:
    with system(tmp_path_factory.mktemp("docs"), report) as made:
        yield made


@pytest.fixture
def tidied(cluster: System) -> Iterator[System]:
    yield cluster
    cluster.tidy()


@pytest.mark.parametrize("page", PAGES)
def test_a_page_shows_what_its_commands_print(tidied: System, page: str) -> None:
    answers = list(play((ROOT / page).read_text(), tidied.folder, tidied.environment))
    assert answers
    for answer in answers:
        assert answer.is_as_shown, f"$ {answer.command.text}\n{answer.printed}"


def test_the_server_takes_every_manifest_that_a_page_shows(cluster: System, tmp_path: Path) -> None:
    found = [
        manifest
        for page in pages()
        for step in steps(page.read_text())
        if isinstance(step, File) and step.name.endswith(".yaml")
        for document in load(step.text)
        for manifest in document.get("items", [document])
    ]
    assert len(found) > 10
    kubectl = Kubectl(cluster.environment["KUBECONFIG"])
    judged = kubectl.attempt("create", "--dry-run=server", "--validate=strict", "--filename=-", objects=found)
    assert judged == ""
