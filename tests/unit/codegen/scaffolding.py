"""A folder with just the files that scaffolds read and edit, beside the real project."""

from __future__ import annotations

import shutil
from pathlib import Path

from tests.unit.codegen.projects import ROOT

REGISTRIES = {
    "controllers/__init__.py": "from controllers.blueprint import Blueprint\n\nCONTROLLERS: tuple[Blueprint, ...] = ()\n",
    "webhooks/__init__.py": "from webhooks.blueprint import WebhookClass\n\nWEBHOOKS: tuple[WebhookClass, ...] = ()\n",
    "scheduler/plugins/__init__.py": "BUILT_IN = {plugin.name: plugin for plugin in (Gang,)}\n",
}


def house(root: Path) -> Path:
    """The sources of this repository with empty registries."""
    shutil.copytree(ROOT / "api", root / "api", ignore=shutil.ignore_patterns("*.py", "__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", root)
    for path, text in REGISTRIES.items():
        (root / path).parent.mkdir(parents=True)
        (root / path).write_text(text)
    return root
