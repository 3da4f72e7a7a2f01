"""
Pin a Kubernetes release for the local control plane: `python hack/tools/pin_kubernetes.py v1.36.1 [FOLDER]`.

Kubernetes publishes its libraries as modules of their own but refers to them by place, which holds only in its own
repository. So a module that wants its servers has to name the published version of each. This writes such a module;
the version table in `cluster/versions.py` is for you to edit.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
SERVERS = ("kube-apiserver", "kube-controller-manager", "kube-scheduler")


def main() -> None:
    """Write go.mod, go.sum and tools.go of one release."""
    version = sys.argv[1]
    folder = HERE / (sys.argv[2] if len(sys.argv) > 2 else f"kubernetes-{version[1:].rpartition('.')[0]}")
    folder.mkdir(exist_ok=True)
    imports = "\n".join(f'\t_ "k8s.io/kubernetes/cmd/{server}"' for server in SERVERS)
    (folder / "tools.go").write_text(
        "//go:build tools\n\n"
        "// Package tools pins the Kubernetes servers that the local control plane runs.\n"
        f"package tools\n\nimport (\n{imports}\n)\n"
    )
    upstream = go("mod", "download", "-json", f"k8s.io/kubernetes@{version}", folder=HERE)
    text = Path(upstream["GoMod"]).read_text()
    libraries = sorted(set(re.findall(r"(k8s\.io/\S+) => \./staging", text)))
    published = "v0" + version.removeprefix("v1")
    replaces = "\n".join(f"\t{library} => {library} {published}" for library in libraries)
    language = re.findall(r"^go (\S+)", text, re.MULTILINE)[0]
    (folder / "go.mod").write_text(
        f"module stromboli.local/tools/{folder.name}\n\ngo {language}\n\n"
        f"require k8s.io/kubernetes {version}\n\nreplace (\n{replaces}\n)\n"
    )
    (folder / "go.sum").unlink(missing_ok=True)
    go("mod", "tidy", folder=folder)
    print(f"{folder}: {version}, {len(libraries)} libraries {published}")


def go(*arguments: str, folder: Path) -> dict[str, Any]:
    """Run a go command; its JSON answer, if it gives one."""
    done = subprocess.run(["go", *arguments], cwd=folder, check=True, stdout=subprocess.PIPE, text=True)  # noqa: S607  # the user's go
    return json.loads(done.stdout) if done.stdout.startswith("{") else {}


if __name__ == "__main__":
    main()
