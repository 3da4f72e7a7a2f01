"""Pod templates and their parts in few words, as plain JSON."""

from __future__ import annotations

from typing import Any

Json = dict[str, Any]


def container(name: str = "c", **fields: Any) -> Json:
    return {"name": name, "image": "busybox", **fields}


def template(*containers: Json, labels: Json | None = None, annotations: Json | None = None, **spec: Any) -> Json:
    metadata = {"labels": labels or {}, "annotations": annotations or {}}
    return {"metadata": metadata, "spec": {"containers": list(containers or [container()]), **spec}}


def one(**fields: Any) -> Json:
    """A template with one container."""
    return template(container(**fields))


def mounted(volume: Json, **fields: Any) -> Json:
    return template(container(**fields), volumes=[{"name": "v", **volume}])


def env(**variable: Any) -> Json:
    return one(env=[{"name": "A", **variable}])


def source(**value_from: Any) -> Json:
    return env(valueFrom=value_from)


def resources(requests: Json | None = None, limits: Json | None = None, **more: Any) -> Json:
    return one(resources={"requests": requests or {}, "limits": limits or {}, **more})


def probe(kind: str = "livenessProbe", **fields: Any) -> Json:
    return one(**{kind: fields})


def affinity(**fields: Any) -> Json:
    return template(affinity=fields)


def node_terms(*terms: Json) -> Json:
    return affinity(nodeAffinity={"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": list(terms)}})


def node_rule(**rule: Any) -> Json:
    return node_terms({"matchExpressions": [rule]})


def pod_terms(*terms: Json, kind: str = "podAffinity") -> Json:
    return affinity(**{kind: {"requiredDuringSchedulingIgnoredDuringExecution": list(terms)}})


def spread(**fields: Any) -> Json:
    constraint = {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule", **fields}
    return template(topologySpreadConstraints=[constraint])


def tolerates(**fields: Any) -> Json:
    return template(tolerations=[fields])


def init(**fields: Any) -> Json:
    return template(initContainers=[container("i", **fields)])


LONG = "a" * 64
HTTP: Json = {"httpGet": {"port": 80}}
LABELS = {"labelSelector": {"matchLabels": {"a": "b"}}}
