"""
`python -m hack.manifests [--check]`: roles, webhook configurations and admission policies from the code.

Exit codes: 0 done or up to date, 1 files are out of date, 2 the code or the sources have mistakes.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from codegen import source
from codegen.crds import kustomization
from codegen.output import DONE, FOUND, Outputs
from codegen.problems import SourceError
from hack.manifests import components, policies, rights, roles, users, webhooks
from hack.manifests.components import ManifestError

UP_TO_DATE, OUT_OF_DATE, MISTAKES = 0, 1, 2
FOLDERS = (
    roles.FOLDER,
    roles.HYPERNODE_FOLDER,
    roles.AGENT_SCHEDULER_FOLDER,
    webhooks.FOLDER,
    webhooks.ON_DEMAND,
    policies.FOLDER,
    rights.FOLDER,
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Write or check; gives the exit code."""
    parser = argparse.ArgumentParser(prog=roles.COMMAND, description="Make roles and webhook configurations.")
    parser.add_argument("--check", action="store_true", help="write nothing; fail when a file is out of date")
    options = parser.parse_args(arguments)
    try:
        made, left_out = outputs(Path())
    except (ManifestError, SourceError) as error:
        print(f"{error}\nthe manifests could not be made; the old files are kept", file=sys.stderr)
        return MISTAKES
    difference = made.difference() if options.check else made.write()
    for line in difference.lines(*(FOUND if options.check else DONE)):
        print(line)
    if left_out:
        print(f"no webhook configuration for planned paths: {', '.join(left_out)}")
    if options.check and difference:
        print(f"manifests are out of date: run `{roles.COMMAND}`", file=sys.stderr)
        return OUT_OF_DATE
    return UP_TO_DATE


def outputs(root: Path) -> tuple[Outputs, list[str]]:
    """All manifests of the project at `root`, and the admission paths left out. Raises ManifestError, SourceError."""
    project = source.load(root)
    declared = components.load(root)
    texts = roles.files(declared) | users.files(project) | webhooks.files(project, declared.webhooks)
    texts |= policies.files(declared.policies, declared.mutations) | rights.files(declared)
    made = Outputs(root, FOLDERS, roles.COMMAND)
    made.add(texts)
    for folder in FOLDERS:
        listed = sorted(
            Path(path).name for path in texts if str(Path(path).parent) == folder and path.endswith(".yaml")
        )
        if listed:  # kustomize refuses an empty one
            made.add({f"{folder}/kustomization.yaml": kustomization_of(listed)})
    return made, webhooks.planned(project)


def kustomization_of(files: Sequence[str]) -> str:
    """A kustomization of these files, marked as ours."""
    _, _, body = kustomization(list(files)).partition("\n")
    return roles.text("the files beside it", ()) + body


if __name__ == "__main__":
    sys.exit(main())
