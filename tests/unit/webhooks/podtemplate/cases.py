"""
Pod templates, most of them wrong in one way: by name, as plain JSON.

What a real API server of Kubernetes 1.36 says of each stands in `causes.json`, written by
`python -m tests.unit.webhooks.podtemplate.record KUBECONFIG`.
"""

from __future__ import annotations

from tests.unit.webhooks.podtemplate.container_cases import CONTAINERS, ENV, PORTS, PROBES, RESOURCES
from tests.unit.webhooks.podtemplate.pod_cases import METADATA, POD, SECURITY
from tests.unit.webhooks.podtemplate.templates import Json
from tests.unit.webhooks.podtemplate.volume_cases import VOLUMES

GROUPS = {
    "metadata": METADATA,
    "containers": CONTAINERS,
    "ports": PORTS,
    "env": ENV,
    "resources": RESOURCES,
    "probes": PROBES,
    "volumes": VOLUMES,
    "security": SECURITY,
    "pod": POD,
}
CASES: dict[str, Json] = {f"{group}: {name}": case for group, cases in GROUPS.items() for name, case in cases.items()}
