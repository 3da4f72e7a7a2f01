"""
Every annotation and label that a simulated pod or node understands.

Tests, samples and benchmarks import these names, so that a typing error is an import error and not a pod that runs
for ever.
"""

from __future__ import annotations

from typing import Final

DOMAIN: Final = "stromboli.dev"

RUN_SECONDS: Final = f"{DOMAIN}/run-seconds"
"""Pod: seconds (decimal, from 0) after which the running pod ends. Absent: it runs until it is deleted."""

EXIT_CODE: Final = f"{DOMAIN}/exit-code"
"""Pod: exit code (0-255) of every container when the pod ends by itself. Absent or 0: Succeeded, else Failed."""

STOP_SECONDS: Final = f"{DOMAIN}/stop-seconds"
"""Pod: seconds the containers take to stop once deleted, cut off by the pod's grace period. Absent: stops at once."""

MANAGED_NODE: Final = "kwok.x-k8s.io/node"
"""Node: marks a simulated node; nodes without it are left alone, as if their kubelet never came up."""

MANAGED_NODE_VALUE: Final = "fake"

RACK: Final = f"{DOMAIN}/rack"
"""Node label: the rack, where racks were asked for."""

ZONE: Final = "topology.kubernetes.io/zone"
"""Node label: the zone, where zones were asked for."""

HOSTNAME: Final = "kubernetes.io/hostname"
GPU: Final = "nvidia.com/gpu"
