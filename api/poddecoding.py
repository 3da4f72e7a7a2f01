"""
How components hold pods: what many pods share is one object, and what nobody reads is not kept.

A cluster holds more pods than anything else, so their caches decide on a component's memory (1 to 3 KB a pod, against
13 KB of a pod decoded by itself) and on how fast it follows a watch.
"""

from __future__ import annotations

import re
from typing import Final

from generated.core.v1 import Pod
from runtime.interning import InterningDecoder

_INTERNED: Final = (
    "metadata.annotations",
    "metadata.ownerReferences",
    "spec",
    "spec.affinity",
    "spec.containers",
    "spec.containers[].args",
    "spec.containers[].command",
    "spec.containers[].env",
    "spec.containers[].envFrom",
    "spec.containers[].livenessProbe",
    "spec.containers[].ports",
    "spec.containers[].readinessProbe",
    "spec.containers[].resources",
    "spec.containers[].securityContext",
    "spec.containers[].volumeMounts",
    "spec.imagePullSecrets",
    "spec.initContainers",
    "spec.nodeSelector",
    "spec.resourceClaims",
    "spec.resources",
    "spec.schedulingGates",
    "spec.securityContext",
    "spec.tolerations",
    "spec.topologySpreadConstraints",
    "spec.volumes",
    "status.conditions",
    "status.containerStatuses[].allocatedResources",
    "status.containerStatuses[].lastState",
    "status.containerStatuses[].resources",
    "status.conditions[]",
    "status.initContainerStatuses[].allocatedResources",
    "status.initContainerStatuses[].resources",
)
"""
What pods of one template share. The spec as a whole stays the same object over all changes of a pod's status, and
its parts are shared by pods that differ in node name alone.
"""

_VARYING: Final = ("spec.nodeName",)
"""In what the specs of one template differ, once the token volume has one name."""
_DROPPED: Final = (
    "apiVersion",
    "kind",
    "status.containerStatuses[].containerID",
    "status.containerStatuses[].image",
    "status.containerStatuses[].imageID",
    "status.containerStatuses[].lastState.terminated.containerID",
    "status.containerStatuses[].state.terminated.containerID",
    "status.hostIPs",
)
"""What no component reads of a pod."""
_ADDRESSES: Final = ("status.podIP", "status.podIPs")
_TOKEN_VOLUME: Final = re.compile(rb"kube-api-access-[a-z0-9]{5}")


def pod_decoder(*, with_addresses: bool = False) -> InterningDecoder[Pod]:
    """
    The decoder for a component's pods; one a cache, since it holds what its pods share.

    Pods lose what no component reads, and their addresses too unless asked for. The token volume, which the API server
    gives a random name in each pod, has one name in all of them: pods from here are to be read, never to be written.
    """
    drop = _DROPPED if with_addresses else (*_DROPPED, *_ADDRESSES)
    return InterningDecoder(Pod, intern=_INTERNED, drop=drop, rewrite={"spec": _unify_token_volumes}, vary=_VARYING)


def _unify_token_volumes(text: bytes) -> bytes:
    return _TOKEN_VOLUME.sub(b"kube-api-access", text)
