"""
A local control plane: real etcd, kube-apiserver and kube-controller-manager on loopback, with simulated nodes.

`python -m cluster` is the command, `ControlPlane` the library. The names below load on first use, because the
supervisor process also lives in this package and should start in milliseconds, without the certificate library.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from cluster.control_plane import ControlPlane
    from cluster.errors import ClusterError
    from cluster.nodes import NodePool
    from cluster.options import Options

__all__ = ["ClusterError", "ControlPlane", "NodePool", "Options"]

_HOMES = {
    "ClusterError": "cluster.errors",
    "ControlPlane": "cluster.control_plane",
    "NodePool": "cluster.nodes",
    "Options": "cluster.options",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(_HOMES[name]), name)
