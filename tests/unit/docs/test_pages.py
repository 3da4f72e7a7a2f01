"""What the pages point at is there, and they stay short enough to be read."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from controllers import CONTROLLERS

ROOT = Path(__file__).parents[3]
PAGES = ("docs/architecture.md", "docs/deploy.md", "docs/scheduler.md", "docs/plugins/writing.md")
COMPONENTS = ("agent", "cli", "cluster", "controllers", "scheduler", "webhooks")
_LINK = re.compile(r"\]\((?!https?:)(?P<path>[^)#]*)(?:#(?P<anchor>[^)]*))?\)")
_FILE = re.compile(r"`([a-z_/]+(?:\.py|/))`")


def anchors(page: Path) -> set[str]:
    """The anchors of the headings, as they are made on GitHub."""
    titles = re.findall(r"^#+ (.*)$", page.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


@pytest.mark.parametrize("page", PAGES)
def test_links_lead_somewhere(page: str) -> None:
    path = ROOT / page
    links = list(_LINK.finditer(path.read_text()))
    assert links
    for link in links:
        target = (path.parent / link["path"]).resolve() if link["path"] else path
        assert target.exists(), link[0]
        if link["anchor"]:
            assert link["anchor"] in anchors(target), link[0]


@pytest.mark.parametrize("page", PAGES)
def test_modules_and_folders_that_are_named_exist(page: str) -> None:
    named = set(_FILE.findall((ROOT / page).read_text()))
    assert named
    missing = [name for name in sorted(named) if not ((ROOT / name).exists() or (ROOT / "scheduler" / name).exists())]
    assert missing == []


@pytest.mark.parametrize("page", PAGES)
def test_pages_stay_short(page: str) -> None:
    lines = (ROOT / page).read_text().splitlines()
    assert len(lines) <= 260
    prose = [line for line in lines if not line.startswith(("|", "1/7", "2/10"))]
    assert [line for line in prose if len(line) > 150] == []


def test_the_architecture_names_every_component_that_there_is() -> None:
    text = (ROOT / "docs/architecture.md").read_text()
    there = [name for name in COMPONENTS if (ROOT / name / "__main__.py").exists()]
    assert len(there) >= 5
    assert [name for name in there if f"| `{name}` |" not in text] == []
    assert len(CONTROLLERS) >= 6
    assert [found.name for found in CONTROLLERS if f"| `{found.name}` |" not in text] == []
