"""Looking at a cluster before anything is applied. Reads, and lets the server judge; stores nothing."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from datetime import UTC, datetime

from api import names
from cluster.versions import KUBERNETES
from hack.deploy import definitions, order, ownership, rights, rivals
from hack.deploy.findings import Check, Finding
from hack.deploy.kubectl import Kind, Kubectl, Object, kind_of


def look(kubectl: Kubectl, objects: Sequence[Object]) -> list[Finding]:
    """Everything that stands in the way of these objects, or should be known. Raises DeployError."""
    live = kubectl.live(objects)
    return [
        *version(kubectl.run("version", "--output=json")),
        *kinds(objects, kubectl.served(map(kind_of, objects))),
        *rights.missing(kubectl, objects),
        *leaving(live),
        *definitions.compare(objects, live),
        *ownership.helm_releases(live),
        *ownership.conflicts(kubectl, objects, live),
        *rivals.find(
            kubectl.get("deployments", "--all-namespaces"),
            kubectl.get("leases", "--all-namespaces", f"--field-selector=metadata.name={names.DEFAULT_SCHEDULER_NAME}"),
            datetime.now(UTC),
        ),
    ]


def kinds(objects: Sequence[Object], served: Collection[Kind]) -> Iterator[Finding]:
    """Findings about kinds that neither the cluster serves nor our own CRDs bring."""
    wanted = Counter(map(kind_of, objects))
    for (group_version, kind), count in sorted(wanted.items()):
        if (group_version, kind) not in served:
            yield Finding(
                Check.KIND,
                f"the cluster doesn't serve {kind} of {group_version}, of which {count} are to be applied: install what "
                "brings it, or leave the component out (docs/deploy.md)",
            )


def leaving(live: Sequence[Object]) -> Iterator[Finding]:
    """Findings about what would take an apply, and be gone a moment later."""
    for found in live:
        if found["metadata"].get("deletionTimestamp"):
            held = ", ".join(found["metadata"].get("finalizers", ()))
            because = f", held by {held}" if held else ""
            yield Finding(
                Check.LEAVING,
                f"{order.label(found)} is being deleted since {found['metadata']['deletionTimestamp']}{because}: wait until "
                "it is gone, `kubectl describe` says what it waits for",
            )


def version(text: str) -> Iterator[Finding]:
    """Findings about the server's release, out of `kubectl version --output=json`."""
    server = json.loads(text)["serverVersion"]
    found = (int(server["major"]), int("".join(filter(str.isdigit, server["minor"]))))
    tested = sorted((int(major), int(minor)) for major, minor in (release.split(".") for release in KUBERNETES))
    oldest, newest = (f"v{major}.{minor}" for major, minor in (tested[0], tested[-1]))
    if found < tested[0]:
        yield Finding(
            Check.VERSION, f"the cluster is {server['gitVersion']}; the oldest that this build runs on is {oldest}"
        )
    elif found > tested[-1]:
        text = f"the cluster is {server['gitVersion']}; this build was tested up to {newest}"
        yield Finding(Check.VERSION, text, is_blocking=False)
