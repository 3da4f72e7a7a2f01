"""What can be asked of a control plane, apart from its nodes."""

from __future__ import annotations

import msgspec

from cluster.versions import DEFAULT_KUBERNETES


class Options(msgspec.Struct, frozen=True, kw_only=True):
    """
    Everything that shapes the servers' command lines; part of `cluster.json`, so that `up` can tell whether what runs
    is what was asked for.
    """

    kubernetes: str = DEFAULT_KUBERNETES
    """Full version of kube-apiserver and kube-controller-manager, such as `v1.36.1`."""

    api_port: int = 0
    """Port of the API server on 127.0.0.1; 0 takes a free one."""

    heartbeats: bool = True
    """
    Whether nodes renew leases. Without, nodes cost nothing at rest: none is ever marked unready, and new ones carry
    no not-ready taint. For benchmarks with thousands of nodes.
    """

    webhooks: bool = True
    """Whether the API server calls admission webhooks."""

    feature_gates: dict[str, bool] = {}
    """Kubernetes feature gates of API server and controller manager."""

    runtime_config: tuple[str, ...] = ()
    """`--runtime-config` of the API server: API versions to serve beyond the default, such as `resource.k8s.io/v1beta1=true`."""

    apiserver_args: tuple[str, ...] = ()
    """Further flags of kube-apiserver; a flag given here wins over ours."""

    controller_manager_args: tuple[str, ...] = ()
    """Further flags of kube-controller-manager; a flag given here wins over ours."""
