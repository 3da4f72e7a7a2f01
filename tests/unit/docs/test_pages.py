"""What the pages point at is there, and they stay short enough to be read."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from hack.docs.pages import pages
from tests.unit.controllers.test_wiring import BUILT_IN

ROOT = Path(__file__).parents[3]
PAGES = ("docs/architecture.md", "docs/deploy.md", "docs/scheduler.md", "docs/plugins/writing.md")
PLAYED = tuple(str(path.relative_to(ROOT)) for path in pages())
"""Those whose commands are run."""
WRITTEN = sorted(
    {
        "README.md",
        *(str(path.relative_to(ROOT)) for path in (ROOT / "docs").rglob("*.md") if "reference" not in path.parts),
    }
)
COMPONENTS = ("agent", "cli", "cluster", "controllers", "scheduler", "webhooks")
_LINK = re.compile(r"\]\((?!https?:)(?P<path>[^)#]*)(?:#(?P<anchor>[^)]*))?\)")
_MACHINE = re.compile(rf"{re.escape(str(ROOT.parent).rstrip('/'))}/|(?<!~)/\.cache/|/tmp/(docs|pytest|tmp)")
_PLAYED = re.compile(r"^```console run\n.*?^```$", re.MULTILINE | re.DOTALL)
_FILE = re.compile(r"`([a-z_/]+(?:\.py|/))`")


def anchors(page: Path) -> set[str]:
    """The anchors of the headings, as they are made on GitHub."""
    titles = re.findall(r"^#+ (.*)$", page.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


@pytest.mark.parametrize("page", WRITTEN)
def test_links_lead_somewhere(page: str) -> None:
    path = ROOT / page
    for link in _LINK.finditer(path.read_text()):
        target = (path.parent / link["path"]).resolve() if link["path"] else path
        assert target.exists(), link[0]
        if link["anchor"]:
            assert link["anchor"] in anchors(target), link[0]


def test_every_page_is_reached_from_the_list_of_pages() -> None:
    listed = {
        (ROOT / "docs" / link["path"]).resolve() for link in _LINK.finditer((ROOT / "docs/README.md").read_text())
    }
    assert ROOT / "docs/README.md" in {
        (ROOT / link["path"]).resolve() for link in _LINK.finditer((ROOT / "README.md").read_text())
    }
    unlisted = [page for page in WRITTEN if ROOT / page not in listed and not page.startswith("docs/decisions/")]
    assert unlisted == ["README.md", "docs/README.md"]


@pytest.mark.parametrize("page", WRITTEN)
def test_no_page_names_a_place_on_the_machine_that_wrote_it(page: str) -> None:
    assert [line for line in (ROOT / page).read_text().splitlines() if _MACHINE.search(line)] == []


@pytest.mark.parametrize("page", PAGES)
def test_modules_and_folders_that_are_named_exist(page: str) -> None:
    named = set(_FILE.findall((ROOT / page).read_text()))
    assert named
    missing = [name for name in sorted(named) if not ((ROOT / name).exists() or (ROOT / "scheduler" / name).exists())]
    assert missing == []


@pytest.mark.parametrize("page", [*PAGES, *PLAYED])
def test_pages_stay_short(page: str) -> None:
    text = (ROOT / page).read_text()
    assert len(text.splitlines()) <= 300
    prose = [line for line in _PLAYED.sub("", text).splitlines() if not line.startswith(("|", "1/7", "2/10"))]
    assert [line for line in prose if len(line) > 150] == []


def test_the_architecture_names_every_component_that_there_is() -> None:
    text = (ROOT / "docs/architecture.md").read_text()
    there = [name for name in COMPONENTS if (ROOT / name / "__main__.py").exists()]
    assert len(there) >= 5
    assert [name for name in there if f"| `{name}` |" not in text] == []
    assert [name for name in sorted(BUILT_IN) if f"| `{name}` |" not in text] == []
