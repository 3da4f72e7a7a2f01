"""Which Kubernetes versions the tests run on: the default, and the others where they are built already."""

from __future__ import annotations

import os

import pytest

from cluster.binaries import KUBERNETES as SERVERS
from cluster.cache import cached_binary
from cluster.versions import DEFAULT_KUBERNETES, KUBERNETES

ALL = list(KUBERNETES.values())
_WISH = "KUBERNETES_VERSIONS"


def need(version: str) -> None:
    """
    Skip the test where the version would have to be built first, which takes some minutes; with
    `KUBERNETES_VERSIONS=all` it is.
    """
    started = [name for name in SERVERS if name != "kube-scheduler"]
    is_built = all(cached_binary(name, version).exists() for name in started)
    if version != DEFAULT_KUBERNETES and not is_built and os.environ.get(_WISH) != "all":
        pytest.skip(f"Kubernetes {version} isn't built here; {_WISH}=all builds it")
