"""
Pod templates, most of them wrong in one way: by name, as plain JSON.

What a real API server of Kubernetes 1.36 says of each stands in `causes.json`, written by
`python -m tests.unit.webhooks.podtemplate.record KUBECONFIG`.
"""

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

METADATA: dict[str, Json] = {
    "plain": template(),
    "label key": template(labels={"a b": "x"}),
    "label key with two slashes": template(labels={"a/b/c": "x"}),
    "label key with a bad prefix": template(labels={"A_/b": "x"}),
    "label key with an empty prefix": template(labels={"/b": "x"}),
    "label key with an empty name": template(labels={"a/": "x"}),
    "label key that is empty": template(labels={"": "x"}),
    "label key too long": template(labels={LONG: "x"}),
    "label key with a long prefix": template(labels={"a" * 254 + "/b": "x"}),
    "label value": template(labels={"a": "b c"}),
    "label value too long": template(labels={"a": LONG}),
    "labels": template(labels={"b": "b c", "a": "-", "c d": LONG}),
    "annotation key": template(annotations={"a b": "x"}),
    "annotation key in capitals": template(annotations={"Example.com/A": "x"}),
    "annotations too long": template(annotations={"a": "x" * 262145}),
    "deletion cost": template(annotations={"controller.kubernetes.io/pod-deletion-cost": "x"}),
    "deletion cost with a sign": template(annotations={"controller.kubernetes.io/pod-deletion-cost": "+5"}),
    "deletion cost with a zero": template(annotations={"controller.kubernetes.io/pod-deletion-cost": "05"}),
    "deletion cost too large": template(annotations={"controller.kubernetes.io/pod-deletion-cost": "4294967296"}),
    "mirror annotation": template(annotations={"kubernetes.io/config.mirror": "x"}),
    "AppArmor annotation": template(annotations={"container.apparmor.security.beta.kubernetes.io/c": "bad"}),
    "AppArmor annotation of nobody": template(
        annotations={"container.apparmor.security.beta.kubernetes.io/z": "unconfined"}
    ),
    "seccomp annotation": template(annotations={"seccomp.security.alpha.kubernetes.io/pod": "bad"}),
}

CONTAINERS: dict[str, Json] = {
    "no containers": {"metadata": {}, "spec": {"containers": []}},
    "no spec": {"metadata": {}},
    "container without a name": one(name=""),
    "container name": one(name="A"),
    "container name too long": one(name=LONG),
    "container name twice": template(container("c"), container("c")),
    "container name of an init container": template(container("c"), initContainers=[container("c")]),
    "no image": one(image=""),
    "blank image": one(image=" "),
    "image with blanks": one(image=" a "),
    "image pull policy": one(imagePullPolicy="Sometimes"),
    "termination message policy": one(terminationMessagePolicy="Shout"),
    "stdinOnce alone": one(stdinOnce=True),
    "ephemeral containers": template(ephemeralContainers=[container("e")]),
    "container restart policy": one(restartPolicy="Always"),
    "container restart policy unknown": one(restartPolicy="Sometimes"),
    "restart rules": one(
        restartPolicy="Never",
        restartPolicyRules=[{"action": "Restart", "exitCodes": {"operator": "In", "values": [1]}}],
    ),
    "restart rules without a policy": one(
        restartPolicyRules=[{"action": "Restart", "exitCodes": {"operator": "In", "values": [1]}}]
    ),
    "restart rules that are wrong": one(
        restartPolicy="Never",
        restartPolicyRules=[
            {"action": "Jump", "exitCodes": {"operator": "Near", "values": [1]}},
            {"action": "Restart"},
            {"action": "Restart", "exitCodes": {"operator": "In", "values": []}},
            {"action": "", "exitCodes": {"operator": "", "values": [1, 1]}},
        ],
    ),
    "resize policy": one(resizePolicy=[{"resourceName": "cpu", "restartPolicy": "Maybe"}]),
    "resize policy of another resource": one(resizePolicy=[{"resourceName": "gpu", "restartPolicy": "NotRequired"}]),
    "resize policy twice": one(resizePolicy=[{"resourceName": "cpu", "restartPolicy": "NotRequired"}] * 2),
    "resize policy of a pod that never restarts": template(
        container(resizePolicy=[{"resourceName": "cpu", "restartPolicy": "RestartContainer"}]), restartPolicy="Never"
    ),
    "empty resize policy": one(resizePolicy=[{"resourceName": "", "restartPolicy": ""}]),
    "init container": init(),
    "init container without an image": init(image=""),
    "init container name twice": template(initContainers=[container("i"), container("i")]),
    "init probes": init(
        livenessProbe=HTTP, readinessProbe=HTTP, startupProbe=HTTP, lifecycle={"preStop": {"exec": {"command": ["a"]}}}
    ),
    "init restart policy": init(restartPolicy="Never"),
    "sidecar": init(restartPolicy="Always", livenessProbe=HTTP, readinessProbe=HTTP, startupProbe=HTTP),
    "sidecar with a bad probe": init(restartPolicy="Always", livenessProbe={}, lifecycle={"preStop": {}}),
    "sidecar rules": init(
        restartPolicy="Always",
        restartPolicyRules=[{"action": "Restart", "exitCodes": {"operator": "In", "values": [1]}}],
    ),
    "init resize policy": init(resizePolicy=[{"resourceName": "cpu", "restartPolicy": "NotRequired"}]),
    "several": template(
        container("A", image=""), container("b", imagePullPolicy="x"), initContainers=[container("i", image="")]
    ),
}

PORTS: dict[str, Json] = {
    "port": one(ports=[{"containerPort": 80}]),
    "port 0": one(ports=[{"containerPort": 0}]),
    "port too large": one(ports=[{"containerPort": 65536}]),
    "port negative": one(ports=[{"containerPort": -1}]),
    "port name too long": one(ports=[{"containerPort": 80, "name": "a" * 16}]),
    "port name characters": one(ports=[{"containerPort": 80, "name": "A_b"}]),
    "port name without a letter": one(ports=[{"containerPort": 80, "name": "123"}]),
    "port name with hyphens": one(ports=[{"containerPort": 80, "name": "-a--b-"}]),
    "port name twice": one(ports=[{"containerPort": 80, "name": "a"}, {"containerPort": 81, "name": "a"}]),
    "port protocol": one(ports=[{"containerPort": 80, "protocol": "tcp"}]),
    "host port too large": one(ports=[{"containerPort": 80, "hostPort": 65536}]),
    "host port twice": template(
        container("a", ports=[{"containerPort": 80, "hostPort": 80}]),
        container("b", ports=[{"containerPort": 81, "hostPort": 80}]),
    ),
    "host port of two addresses": one(
        ports=[
            {"containerPort": 80, "hostPort": 80, "hostIP": "1.1.1.1"},
            {"containerPort": 80, "hostPort": 80, "protocol": "UDP"},
        ]
    ),
    "host ports of init containers": template(
        initContainers=[
            container("i", ports=[{"containerPort": 80, "hostPort": 80}, {"containerPort": 81, "hostPort": 80}])
        ]
    ),
    "host port of a sidecar": template(
        container(ports=[{"containerPort": 80, "hostPort": 80}]),
        initContainers=[container("i", restartPolicy="Always", ports=[{"containerPort": 80, "hostPort": 80}])],
    ),
    "host network": template(container(ports=[{"containerPort": 80}]), hostNetwork=True),
    "host network with another port": template(
        container(ports=[{"containerPort": 80, "hostPort": 81}]), hostNetwork=True
    ),
    "host network of init containers": template(
        initContainers=[container("i", ports=[{"containerPort": 80, "hostPort": 81}])], hostNetwork=True
    ),
    "host ip": one(ports=[{"containerPort": 80, "hostIP": "nonsense"}]),
}

ENV: dict[str, Json] = {
    "variable": env(value="x"),
    "variable without a name": env(name=""),
    "variable that begins with a digit": env(name="1A"),
    "variable with an equals sign": env(name="A=B"),
    "variable with a blank": env(name="A B"),
    "variable beyond ASCII": env(name="\u00e9"),
    "value and source": env(value="x", valueFrom={"fieldRef": {"fieldPath": "metadata.name"}}),
    "no source": source(),
    "two sources": source(fieldRef={"fieldPath": "metadata.name"}, secretKeyRef={"name": "a", "key": "k"}),
    "field": source(fieldRef={"fieldPath": "metadata.name"}),
    "field of a label": source(fieldRef={"fieldPath": "metadata.labels['a']"}),
    "field of all labels": source(fieldRef={"fieldPath": "metadata.labels"}),
    "field of a bad label": source(fieldRef={"fieldPath": "metadata.labels['a b']"}),
    "field of an annotation": source(fieldRef={"fieldPath": "metadata.annotations['a']"}),
    "field of a bad annotation": source(fieldRef={"fieldPath": "metadata.annotations['A B']"}),
    "field that is unknown": source(fieldRef={"fieldPath": "spec.foo"}),
    "field without subscripts": source(fieldRef={"fieldPath": "metadata.name['a']"}),
    "field of nothing": source(fieldRef={"fieldPath": ""}),
    "field of addresses": source(fieldRef={"fieldPath": "status.hostIPs"}),
    "field of the node": source(fieldRef={"fieldPath": "spec.nodeName"}),
    "field of the restart policy": source(fieldRef={"fieldPath": "spec.restartPolicy"}),
    "field of another version": source(fieldRef={"fieldPath": "metadata.name", "apiVersion": "v2"}),
    "resource": source(resourceFieldRef={"resource": "limits.cpu"}),
    "resource that is unknown": source(resourceFieldRef={"resource": "limits.gpu"}),
    "resource of nothing": source(resourceFieldRef={"resource": ""}),
    "resource of huge pages": source(resourceFieldRef={"resource": "limits.hugepages-2Mi"}),
    "resource divided": source(resourceFieldRef={"resource": "limits.cpu", "divisor": "3"}),
    "resource divided well": source(resourceFieldRef={"resource": "limits.cpu", "divisor": "1m"}),
    "memory divided": source(resourceFieldRef={"resource": "limits.memory", "divisor": "3"}),
    "memory divided well": source(resourceFieldRef={"resource": "limits.memory", "divisor": "1Mi"}),
    "disk divided": source(resourceFieldRef={"resource": "requests.ephemeral-storage", "divisor": "3"}),
    "huge pages divided": source(resourceFieldRef={"resource": "limits.hugepages-2Mi", "divisor": "3"}),
    "secret key": source(secretKeyRef={"name": "A", "key": "a b"}),
    "secret key without a name": source(secretKeyRef={"name": "", "key": ""}),
    "config map key": source(configMapKeyRef={"name": "a_b", "key": ".."}),
    "config map key too long": source(configMapKeyRef={"name": "a", "key": "k" * 254}),
    "config map key with two dots": source(configMapKeyRef={"name": "a", "key": "..a"}),
    "file key": template(
        container(env=[{"name": "A", "valueFrom": {"fileKeyRef": {"volumeName": "v", "path": "a", "key": "K"}}}]),
        volumes=[{"name": "v", "emptyDir": {}}],
    ),
    "file key that is wrong": source(fileKeyRef={"volumeName": "v", "path": "../a", "key": "1="}),
    "file key that is empty": source(fileKeyRef={"volumeName": "", "path": "", "key": ""}),
    "file key of another volume": template(
        container(env=[{"name": "A", "valueFrom": {"fileKeyRef": {"volumeName": "v", "path": "/a", "key": "K"}}}]),
        volumes=[{"name": "v", "secret": {"secretName": "s"}}],
    ),
    "sources": one(envFrom=[{"prefix": "P_", "configMapRef": {"name": "a"}}, {"secretRef": {"name": "b"}}]),
    "empty source": one(envFrom=[{}]),
    "both sources": one(envFrom=[{"configMapRef": {"name": "a"}, "secretRef": {"name": "b"}}]),
    "source names": one(envFrom=[{"configMapRef": {"name": ""}}, {"secretRef": {"name": "A"}}]),
    "source prefix": one(envFrom=[{"prefix": "a=", "configMapRef": {"name": "a"}}]),
}

RESOURCES: dict[str, Json] = {
    "request above limit": resources({"cpu": "2"}, {"cpu": "1"}),
    "request equal to limit": resources({"cpu": "1000m"}, {"cpu": 1}),
    "request from limit": resources(None, {"cpu": "1"}),
    "memory above limit": resources({"memory": "1Gi"}, {"memory": "512Mi"}),
    "negative request": resources({"cpu": "-1"}),
    "negative limit": resources(None, {"memory": "-1Gi"}),
    "unknown resource": resources({"gpu": "1"}),
    "unknown limit": resources(None, {"gpu": "1"}),
    "resource name that is no name": resources({"a b": "1"}),
    "pods as a resource": resources({"pods": "1"}),
    "kubernetes resource": resources({"kubernetes.io/x": "1"}),
    "requests. resource": resources({"requests.nvidia.com/gpu": "1"}, {"requests.nvidia.com/gpu": "1"}),
    "extended resource": resources({"nvidia.com/gpu": "1"}, {"nvidia.com/gpu": "1"}),
    "extended resource without limit": resources({"nvidia.com/gpu": "1"}),
    "extended resource unlike limit": resources({"nvidia.com/gpu": "1"}, {"nvidia.com/gpu": "2"}),
    "extended resource fraction": resources(None, {"nvidia.com/gpu": "1.5"}),
    "huge pages": resources(None, {"hugepages-2Mi": "4Mi", "memory": "1Gi"}),
    "huge pages alone": resources(None, {"hugepages-2Mi": "4Mi"}),
    "huge pages uneven": resources(None, {"hugepages-2Mi": "3Mi", "cpu": "1"}),
    "huge pages unlike limit": resources({"hugepages-2Mi": "2Mi", "cpu": "1"}, {"hugepages-2Mi": "4Mi"}),
    "huge pages without limit": resources({"hugepages-2Mi": "2Mi", "cpu": "1"}),
    "huge pages of two sizes": resources(None, {"hugepages-2Mi": "4Mi", "hugepages-1Gi": "1Gi", "cpu": "1"}),
    "huge pages of a bad size": resources(None, {"hugepages-2Zi": "4Mi", "cpu": "1"}),
    "several resources": resources({"z": "1", "cpu": "3", "a": "-1"}, {"memory": "-1", "cpu": "1", "b": "1"}),
    "claims": resources(claims=[{"name": "x"}]),
    "claims of the pod": template(
        container(resources={"claims": [{"name": "x"}, {"name": "y"}, {"name": "x"}, {"name": ""}]}),
        resourceClaims=[{"name": "x", "resourceClaimName": "a"}],
    ),
    "claims with requests": template(
        container(resources={"claims": [{"name": "x", "request": "A"}, {"name": "x", "request": "a"}, {"name": "x"}]}),
        resourceClaims=[{"name": "x", "resourceClaimName": "a"}],
    ),
    "claims of a pod whose claims have no name": template(
        container(resources={"claims": [{"name": "x"}]}), resourceClaims=[{"name": "", "resourceClaimName": "a"}]
    ),
    "pod resources on windows": template(resources={"requests": {"gpu": "-1"}}, os={"name": "windows"}),
    "pod resources": template(resources={"requests": {"cpu": "1"}, "limits": {"cpu": "2"}}),
    "pod request above limit": template(resources={"requests": {"cpu": "6"}, "limits": {"cpu": "4"}}),
    "pod request below containers": template(
        container("a", resources={"requests": {"cpu": "2"}}),
        container("b", resources={"requests": {"cpu": "2"}}),
        resources={"requests": {"cpu": "2"}},
    ),
    "pod limit below a container": template(
        container(resources={"limits": {"cpu": "3"}}), resources={"limits": {"cpu": "2"}}
    ),
    "pod resource that is not supported": template(resources={"requests": {"ephemeral-storage": "1Gi"}}),
    "pod resource that is unknown": template(resources={"requests": {"gpu": "1"}, "limits": {"nvidia.com/gpu": "1"}}),
    "pod resource claims": template(resources={"claims": [{"name": "x"}]}),
    "pod request negative": template(resources={"requests": {"cpu": "-1"}, "limits": {"memory": "-1"}}),
    "overhead": template(overhead={"cpu": "-1"}),
    "overhead of an unknown resource": template(overhead={"gpu": "1"}),
}

PROBES: dict[str, Json] = {
    "probe without handler": probe(),
    "probe with two handlers": probe(httpGet={"port": 80}, tcpSocket={"port": 80}),
    "probe with four handlers": probe(
        httpGet={"port": 80}, tcpSocket={"port": 80}, exec={"command": ["a"]}, grpc={"port": 80}
    ),
    "liveness successes": probe(successThreshold=2, **HTTP),
    "startup successes": probe("startupProbe", successThreshold=3, **HTTP),
    "readiness successes": probe("readinessProbe", successThreshold=3, **HTTP),
    "probe numbers": probe(initialDelaySeconds=-1, timeoutSeconds=-1, periodSeconds=-1, failureThreshold=-1, **HTTP),
    "readiness numbers": probe("readinessProbe", initialDelaySeconds=-1, successThreshold=-1, **HTTP),
    "probe grace": probe(terminationGracePeriodSeconds=0, **HTTP),
    "readiness grace": probe("readinessProbe", terminationGracePeriodSeconds=10, **HTTP),
    "startup grace": probe("startupProbe", terminationGracePeriodSeconds=10, **HTTP),
    "http port 0": probe(httpGet={"port": 0}),
    "http port name": probe(httpGet={"port": "Web_1"}),
    "http port name empty": probe(httpGet={"port": ""}),
    "http scheme": probe(httpGet={"port": 80, "scheme": "http"}),
    "http headers": probe(
        httpGet={"port": 80, "httpHeaders": [{"name": "a b", "value": "x"}, {"name": "", "value": ""}]}
    ),
    "tcp port": probe(tcpSocket={"port": 70000}),
    "grpc port": probe(grpc={"port": 0}),
    "exec without command": probe(exec={"command": []}),
    "hook without handler": one(lifecycle={"preStop": {}}),
    "hooks": one(lifecycle={"postStart": {"httpGet": {"port": 0}}, "preStop": {"tcpSocket": {"port": 0}}}),
    "hook with two handlers": one(lifecycle={"preStop": {"exec": {"command": ["a"]}, "sleep": {"seconds": 1}}}),
    "hook sleeps": one(lifecycle={"preStop": {"sleep": {"seconds": 5}}}),
    "hook sleeps zero": one(lifecycle={"preStop": {"sleep": {"seconds": 0}}}),
    "hook sleeps too long": one(lifecycle={"preStop": {"sleep": {"seconds": 31}}}),
    "hook sleeps negative": one(lifecycle={"postStart": {"sleep": {"seconds": -1}}}),
    "hook sleeps as long as the pod": template(
        container(lifecycle={"preStop": {"sleep": {"seconds": 40}}}), terminationGracePeriodSeconds=40
    ),
    "stop signal": one(lifecycle={"stopSignal": "SIGTERM"}),
    "stop signal with os": template(container(lifecycle={"stopSignal": "SIGTERM"}), os={"name": "linux"}),
    "stop signal unknown": template(container(lifecycle={"stopSignal": "SIGFOO"}), os={"name": "linux"}),
    "stop signal on windows": template(container(lifecycle={"stopSignal": "SIGUSR1"}), os={"name": "windows"}),
    "negative grace": template(terminationGracePeriodSeconds=-1),
}

VOLUMES: dict[str, Json] = {
    "volume without source": mounted({}),
    "volume name": template(volumes=[{"name": "A", "emptyDir": {}}, {"name": "", "emptyDir": {}}]),
    "volume name too long": template(volumes=[{"name": LONG, "emptyDir": {}}]),
    "volume name twice": template(volumes=[{"name": "v", "emptyDir": {}}] * 2),
    "two sources": mounted({"emptyDir": {}, "hostPath": {"path": "/a"}}),
    "three sources": mounted({"emptyDir": {}, "secret": {"secretName": "s"}, "configMap": {"name": "c"}}),
    "host path": mounted({"hostPath": {"path": ""}}),
    "host path above": mounted({"hostPath": {"path": "/a/../b"}}),
    "host path type": mounted({"hostPath": {"path": "/a", "type": "Dir"}}),
    "claim name": mounted({"persistentVolumeClaim": {"claimName": ""}}),
    "claim name bad": mounted({"persistentVolumeClaim": {"claimName": "A_"}}),
    "secret name": mounted({"secret": {"secretName": ""}}),
    "secret mode": mounted({"secret": {"secretName": "s", "defaultMode": 512}}),
    "secret items": mounted(
        {
            "secret": {
                "secretName": "s",
                "items": [
                    {"key": "", "path": ""},
                    {"key": "k", "path": "../a", "mode": 999},
                    {"key": "k", "path": "/a"},
                ],
            }
        }
    ),
    "config map name": mounted({"configMap": {"name": ""}}),
    "config map mode": mounted({"configMap": {"name": "c", "defaultMode": -1}}),
    "config map items": mounted(
        {"configMap": {"name": "c", "items": [{"key": "k", "path": "a/.."}, {"key": "k", "path": "..a"}]}}
    ),
    "empty dir limit": mounted({"emptyDir": {"sizeLimit": "-1Gi"}}),
    "empty dir medium": mounted({"emptyDir": {"medium": "Tape"}}),
    "downward": mounted({"downwardAPI": {"items": [{"path": "a", "fieldRef": {"fieldPath": "metadata.labels"}}]}}),
    "downward wrong": mounted(
        {
            "downwardAPI": {
                "defaultMode": 999,
                "items": [
                    {"path": "", "fieldRef": {"fieldPath": "spec.foo"}, "mode": 999},
                    {"path": "../a"},
                    {
                        "path": "b",
                        "fieldRef": {"fieldPath": "metadata.name"},
                        "resourceFieldRef": {"containerName": "c", "resource": "limits.cpu"},
                    },
                    {"path": "c", "resourceFieldRef": {"resource": "limits.cpu"}},
                    {"path": "d", "resourceFieldRef": {"containerName": "c", "resource": "limits.foo"}},
                    {"path": "e", "fieldRef": {"fieldPath": "spec.nodeName"}},
                ],
            }
        }
    ),
    "projected": mounted(
        {"projected": {"sources": [{"secret": {"name": "s"}}, {"serviceAccountToken": {"path": "t"}}]}}
    ),
    "projected empty": mounted({"projected": {}}),
    "projected wrong": mounted(
        {
            "projected": {
                "defaultMode": 999,
                "sources": [
                    {},
                    {"secret": {"name": ""}},
                    {"configMap": {"name": "", "items": [{"key": "", "path": "x"}]}},
                    {"secret": {"name": "s"}, "configMap": {"name": "c"}},
                    {"serviceAccountToken": {"path": "", "expirationSeconds": 1}},
                    {"serviceAccountToken": {"path": "../t", "expirationSeconds": 5000000000}},
                    {"downwardAPI": {"items": [{"path": "p"}]}},
                    {"clusterTrustBundle": {"path": ""}},
                    {"clusterTrustBundle": {"path": "x", "name": "n", "signerName": "a.b/c"}},
                    {"clusterTrustBundle": {"path": "y", "name": ":", "labelSelector": {}}},
                ],
            }
        }
    ),
    "projected paths": mounted(
        {
            "projected": {
                "sources": [
                    {"secret": {"name": "s", "items": [{"key": "k", "path": "p"}]}},
                    {"configMap": {"name": "c", "items": [{"key": "k", "path": "p"}]}},
                    {"serviceAccountToken": {"path": "p"}},
                    {"downwardAPI": {"items": [{"path": "p", "fieldRef": {"fieldPath": "metadata.name"}}]}},
                ]
            }
        }
    ),
    "nfs": mounted({"nfs": {"server": "", "path": ""}}),
    "nfs relative": mounted({"nfs": {"server": "s", "path": "a"}}),
    "iscsi": mounted({"iscsi": {"targetPortal": "", "iqn": "", "lun": 300}}),
    "iscsi name": mounted(
        {"iscsi": {"targetPortal": "p", "iqn": "bad", "lun": 0, "initiatorName": "bad", "chapAuthSession": True}}
    ),
    "fc": mounted({"fc": {}}),
    "fc both": mounted({"fc": {"targetWWNs": ["a"], "lun": 300, "wwids": ["b"]}}),
    "fc without lun": mounted({"fc": {"targetWWNs": ["a"]}}),
    "rbd": mounted({"rbd": {"monitors": [], "image": ""}}),
    "cephfs": mounted({"cephfs": {"monitors": []}}),
    "cinder": mounted({"cinder": {"volumeID": "", "secretRef": {"name": ""}}}),
    "glusterfs": mounted({"glusterfs": {"endpoints": "", "path": ""}}),
    "flocker": mounted({"flocker": {}}),
    "flocker both": mounted({"flocker": {"datasetName": "a/b", "datasetUUID": "u"}}),
    "gce": mounted({"gcePersistentDisk": {"pdName": "", "partition": 300}}),
    "aws": mounted({"awsElasticBlockStore": {"volumeID": "", "partition": -1}}),
    "git": mounted({"gitRepo": {"repository": "", "directory": "../a"}}),
    "azure file": mounted({"azureFile": {"secretName": "", "shareName": ""}}),
    "azure disk": mounted({"azureDisk": {"diskName": "", "diskURI": "x", "cachingMode": "Fast"}}),
    "azure disk managed": mounted({"azureDisk": {"diskName": "d", "diskURI": "x", "kind": "Managed"}}),
    "azure disk without a kind": mounted({"azureDisk": {"diskName": "d", "diskURI": "x", "kind": ""}}),
    "photon": mounted({"photonPersistentDisk": {"pdID": ""}}),
    "portworx": mounted({"portworxVolume": {"volumeID": ""}}),
    "quobyte": mounted({"quobyte": {"registry": "", "volume": ""}}),
    "quobyte registry": mounted({"quobyte": {"registry": "a:b:c", "volume": "v", "tenant": "t" * 65}}),
    "scaleio": mounted({"scaleIO": {"gateway": "", "system": "", "secretRef": None}}),
    "storageos": mounted({"storageos": {"secretRef": {"name": ""}}}),
    "vsphere": mounted({"vsphereVolume": {"volumePath": ""}}),
    "flex": mounted({"flexVolume": {"driver": "", "options": {"kubernetes.io/x": "y"}}}),
    "csi": mounted({"csi": {"driver": ""}}),
    "csi driver": mounted({"csi": {"driver": "a_b", "nodePublishSecretRef": {"name": ""}}}),
    "csi driver long": mounted({"csi": {"driver": "A" * 64}}),
    "image volume": mounted({"image": {"reference": "a"}}),
    "image volume wrong": mounted({"image": {"reference": "", "pullPolicy": "x"}}),
    "ephemeral": mounted({"ephemeral": {}}),
    "ephemeral wrong": mounted(
        {
            "ephemeral": {
                "volumeClaimTemplate": {
                    "metadata": {"name": "n", "labels": {"a b": "c"}},
                    "spec": {"accessModes": ["X"]},
                }
            }
        }
    ),
    "ephemeral name": template(
        volumes=[
            {
                "name": "v",
                "ephemeral": {
                    "volumeClaimTemplate": {
                        "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "0"}}}
                    }
                },
            }
        ]
    ),
    "mount": mounted({"emptyDir": {}}, volumeMounts=[{"name": "v", "mountPath": "/a"}]),
    "mount of nothing": one(volumeMounts=[{"name": "v", "mountPath": "/a"}]),
    "mount nowhere": mounted({"emptyDir": {}}, volumeMounts=[{"name": "v", "mountPath": ""}]),
    "mount without a name": mounted({"emptyDir": {}}, volumeMounts=[{"name": "", "mountPath": "/a"}]),
    "mount twice": mounted({"emptyDir": {}}, volumeMounts=[{"name": "v", "mountPath": "/a"}] * 2),
    "mount sub path": mounted({"emptyDir": {}}, volumeMounts=[{"name": "v", "mountPath": "/a", "subPath": "../x"}]),
    "mount sub paths": mounted(
        {"emptyDir": {}},
        volumeMounts=[
            {"name": "v", "mountPath": "/a", "subPath": "/x"},
            {"name": "v", "mountPath": "/b", "subPath": "x", "subPathExpr": "y"},
            {"name": "v", "mountPath": "/c", "subPathExpr": "../y"},
        ],
    ),
    "mount propagation": mounted(
        {"emptyDir": {}}, volumeMounts=[{"name": "v", "mountPath": "/a", "mountPropagation": "Up"}]
    ),
    "mount both ways": mounted(
        {"emptyDir": {}}, volumeMounts=[{"name": "v", "mountPath": "/a", "mountPropagation": "Bidirectional"}]
    ),
    "mount both ways with privilege": mounted(
        {"emptyDir": {}},
        securityContext={"privileged": True},
        volumeMounts=[{"name": "v", "mountPath": "/a", "mountPropagation": "Bidirectional"}],
    ),
    "mount recursively": mounted(
        {"emptyDir": {}},
        volumeMounts=[
            {"name": "v", "mountPath": "/a", "recursiveReadOnly": "Enabled"},
            {"name": "v", "mountPath": "/b", "readOnly": True, "recursiveReadOnly": "Maybe"},
            {
                "name": "v",
                "mountPath": "/c",
                "readOnly": True,
                "recursiveReadOnly": "Enabled",
                "mountPropagation": "HostToContainer",
            },
        ],
    ),
    "mount of an image": mounted(
        {"image": {"reference": "a"}}, volumeMounts=[{"name": "v", "mountPath": "/a", "subPath": "x"}]
    ),
    "device": mounted({"persistentVolumeClaim": {"claimName": "c"}}, volumeDevices=[{"name": "v", "devicePath": "/d"}]),
    "device of nothing": one(volumeDevices=[{"name": "v", "devicePath": "/d"}]),
    "device wrong": mounted(
        {"emptyDir": {}},
        volumeDevices=[
            {"name": "v", "devicePath": ""},
            {"name": "", "devicePath": "/d"},
            {"name": "v", "devicePath": "/../e"},
        ],
    ),
    "device also mounted": mounted(
        {"persistentVolumeClaim": {"claimName": "c"}},
        volumeDevices=[{"name": "v", "devicePath": "/d"}, {"name": "v", "devicePath": "/d"}],
        volumeMounts=[{"name": "v", "mountPath": "/d"}],
    ),
}

SECURITY: dict[str, Json] = {
    "user": one(securityContext={"runAsUser": -1, "runAsGroup": -1}),
    "escalation": one(securityContext={"allowPrivilegeEscalation": False, "privileged": True}),
    "escalation with admin": one(
        securityContext={"allowPrivilegeEscalation": False, "capabilities": {"add": ["CAP_SYS_ADMIN"]}}
    ),
    "escalation with everything": one(
        securityContext={
            "allowPrivilegeEscalation": False,
            "privileged": True,
            "seLinuxOptions": {"user": "u"},
            "windowsOptions": {"runAsUserName": "a"},
            "seccompProfile": {"type": "x", "localhostProfile": "a"},
            "appArmorProfile": {"type": "Unconfined"},
        }
    ),
    "privileged": one(securityContext={"privileged": True}),
    "proc mount": one(securityContext={"procMount": "Hidden"}),
    "proc mount unmasked": one(securityContext={"procMount": "Unmasked"}),
    "proc mount unmasked of a user namespace": template(
        container(securityContext={"procMount": "Unmasked"}), hostUsers=False
    ),
    "seccomp": one(securityContext={"seccompProfile": {"type": "Localhost"}}),
    "seccomp type": one(securityContext={"seccompProfile": {"type": "Fine"}}),
    "seccomp no type": one(securityContext={"seccompProfile": {"type": ""}}),
    "seccomp profile": one(securityContext={"seccompProfile": {"type": "RuntimeDefault", "localhostProfile": "a"}}),
    "seccomp path": one(securityContext={"seccompProfile": {"type": "Localhost", "localhostProfile": "../a"}}),
    "AppArmor": one(securityContext={"appArmorProfile": {"type": "Localhost"}}),
    "AppArmor type": one(securityContext={"appArmorProfile": {"type": "Fine"}}),
    "AppArmor no type": one(securityContext={"appArmorProfile": {"type": ""}}),
    "AppArmor profile": one(securityContext={"appArmorProfile": {"type": "Unconfined", "localhostProfile": "a"}}),
    "AppArmor profile text": one(securityContext={"appArmorProfile": {"type": "Localhost", "localhostProfile": " a"}}),
    "windows": one(
        securityContext={
            "windowsOptions": {"gmsaCredentialSpecName": "A_", "gmsaCredentialSpec": "", "runAsUserName": ""}
        }
    ),
    "windows user": one(securityContext={"windowsOptions": {"runAsUserName": "a\\b\\c"}}),
    "windows domain": one(securityContext={"windowsOptions": {"runAsUserName": "-a\\b"}}),
    "windows user characters": one(securityContext={"windowsOptions": {"runAsUserName": "a/b"}}),
    "windows host process": one(securityContext={"windowsOptions": {"hostProcess": True}}),
    "host process of a pod": template(hostNetwork=True, securityContext={"windowsOptions": {"hostProcess": True}}),
    "host pid": template(hostPID=True, shareProcessNamespace=True),
    "fs group": template(
        securityContext={"fsGroup": -1, "runAsUser": -1, "runAsGroup": -2, "supplementalGroups": [1, -1]}
    ),
    "fs group policy": template(securityContext={"fsGroupChangePolicy": "Never"}),
    "supplemental policy": template(securityContext={"supplementalGroupsPolicy": "Never"}),
    "selinux policy": template(securityContext={"seLinuxChangePolicy": "Never"}),
    "pod seccomp": template(securityContext={"seccompProfile": {"type": "Localhost"}}),
    "pod AppArmor": template(securityContext={"appArmorProfile": {"type": "Localhost", "localhostProfile": ""}}),
    "sysctls": template(
        securityContext={
            "sysctls": [
                {"name": "a b", "value": ""},
                {"name": "", "value": ""},
                {"name": "kernel.shm_rmid_forced", "value": "1"},
                {"name": "kernel/shm_rmid_forced", "value": "1"},
            ]
        }
    ),
    "sysctl of the host network": template(
        hostNetwork=True,
        hostIPC=True,
        securityContext={"sysctls": [{"name": "net.a", "value": "1"}, {"name": "kernel.msgmax", "value": "1"}]},
    ),
    "host users": template(hostUsers=False),
    "host users with host network": template(hostUsers=False, hostNetwork=True),
    "host users with host pid and ipc": template(hostUsers=False, hostPID=True, hostIPC=True),
    "host users with devices": template(
        container(volumeDevices=[{"name": "v", "devicePath": "/d"}]),
        volumes=[{"name": "v", "persistentVolumeClaim": {"claimName": "c"}}],
        hostUsers=False,
    ),
    "linux os": template(
        container(securityContext={"windowsOptions": {"runAsUserName": "a"}}),
        os={"name": "linux"},
        securityContext={"windowsOptions": {"hostProcess": False}},
    ),
    "windows os": template(
        container(
            securityContext={
                "runAsUser": 1,
                "privileged": False,
                "capabilities": {},
                "readOnlyRootFilesystem": True,
                "allowPrivilegeEscalation": True,
                "runAsGroup": 1,
                "procMount": "Default",
                "seLinuxOptions": {},
                "seccompProfile": {"type": "Unconfined"},
            }
        ),
        os={"name": "windows"},
        hostPID=True,
        hostIPC=True,
        shareProcessNamespace=True,
        securityContext={
            "fsGroup": 1,
            "runAsUser": 1,
            "runAsGroup": 1,
            "supplementalGroups": [1],
            "sysctls": [{"name": "a", "value": "1"}],
            "seLinuxOptions": {},
            "seccompProfile": {"type": "Unconfined"},
            "fsGroupChangePolicy": "Always",
        },
    ),
    "os": template(os={"name": "mac"}),
    "no os": template(os={"name": ""}),
}

POD: dict[str, Json] = {
    "restart policy": template(restartPolicy="Foo"),
    "restart never": template(restartPolicy="Never"),
    "dns policy": template(dnsPolicy="Mine"),
    "dns none": template(dnsPolicy="None"),
    "dns none without servers": template(dnsPolicy="None", dnsConfig={"searches": ["a"]}),
    "dns server": template(dnsConfig={"nameservers": ["x", "1.1.1.1"]}),
    "dns many servers": template(dnsConfig={"nameservers": ["1.1.1.1", "1.1.1.2", "1.1.1.3", "1.1.1.4"]}),
    "dns searches": template(dnsConfig={"searches": ["a_b", ".", "-a", "a.", "_x._tcp"]}),
    "dns many searches": template(dnsConfig={"searches": [f"s{number}" for number in range(33)]}),
    "dns long searches": template(dnsConfig={"searches": ["a" * 60 + "." + "b" * 60 for _ in range(20)]}),
    "dns options": template(dnsConfig={"options": [{"name": ""}, {"name": "ndots", "value": "2"}]}),
    "node selector": template(nodeSelector={"a b": "c", "d": "e f"}),
    "image pull secret": template(imagePullSecrets=[{"name": ""}, {"name": "A_"}]),
    "service account": template(serviceAccountName="A_"),
    "node name": template(nodeName="A_"),
    "priority class": template(priorityClassName="A_"),
    "runtime class": template(runtimeClassName="A_"),
    "runtime class empty": template(runtimeClassName=""),
    "host name": template(hostname="a.b"),
    "host name long": template(hostname=LONG),
    "subdomain": template(subdomain="A_"),
    "host name override": template(hostnameOverride="A_"),
    "host name override with host network": template(hostnameOverride="a", hostNetwork=True),
    "host name override with fqdn": template(hostnameOverride="a", setHostnameAsFQDN=True),
    "host name override long": template(hostnameOverride="a" * 65),
    "deadline": template(activeDeadlineSeconds=0),
    "deadline large": template(activeDeadlineSeconds=2147483648),
    "preemption": template(preemptionPolicy="Sometimes"),
    "host aliases": template(hostAliases=[{"ip": "x", "hostnames": ["A_", "a"]}, {"ip": "", "hostnames": []}]),
    "scheduling gates": template(schedulingGates=[{"name": "a b"}, {"name": "a"}, {"name": "a"}, {"name": ""}]),
    "node name with gates": template(schedulingGates=[{"name": "a"}], nodeName="n"),
    "readiness gates": template(readinessGates=[{"conditionType": "a b"}, {"conditionType": ""}]),
    "resource claims": template(
        resourceClaims=[
            {"name": "x"},
            {"name": "A", "resourceClaimName": "a"},
            {"name": "y", "resourceClaimName": "a", "resourceClaimTemplateName": "b"},
            {"name": "x", "resourceClaimTemplateName": "B_"},
            {"name": "", "resourceClaimName": "B_"},
        ]
    ),
    "toleration operator": tolerates(key="a", operator="In"),
    "toleration exists with value": tolerates(key="a", operator="Exists", value="x"),
    "toleration of everything": tolerates(operator="Exists"),
    "toleration without key": tolerates(operator="Equal", value="x"),
    "toleration without anything": tolerates(),
    "toleration key": tolerates(key="a b", operator="Exists"),
    "toleration value": tolerates(key="a", value="b c"),
    "toleration seconds": tolerates(key="a", operator="Exists", effect="NoSchedule", tolerationSeconds=5),
    "toleration effect": tolerates(key="a", operator="Exists", effect="Never"),
    "toleration seconds alone": tolerates(key="a", operator="Exists", tolerationSeconds=5),
    "toleration above": tolerates(key="a", operator="Gt", value="5"),
    "toleration above text": tolerates(key="a", operator="Lt", value="x"),
    "spread": spread(**LABELS),
    "spread skew": spread(maxSkew=0),
    "spread key": spread(topologyKey=""),
    "spread key bad": spread(topologyKey="a b"),
    "spread unsatisfiable": spread(whenUnsatisfiable="Maybe"),
    "spread unsatisfiable empty": spread(whenUnsatisfiable=""),
    "spread twice": template(
        topologySpreadConstraints=[{"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule"}] * 2
    ),
    "spread domains": spread(minDomains=0),
    "spread domains anyway": spread(minDomains=2, whenUnsatisfiable="ScheduleAnyway"),
    "spread policies": spread(nodeAffinityPolicy="x", nodeTaintsPolicy="y"),
    "spread label keys": spread(matchLabelKeys=["a b", "a"], **LABELS),
    "spread label keys alone": spread(matchLabelKeys=["a"]),
    "spread selector": spread(
        labelSelector={"matchLabels": {"a b": "c d"}, "matchExpressions": [{"key": "a", "operator": "Near"}]}
    ),
    "node affinity": node_rule(key="a", operator="In", values=["b"]),
    "node affinity without terms": node_terms(),
    "node affinity operator": node_rule(key="a", operator="Near", values=["b"]),
    "node affinity no values": node_rule(key="a", operator="In", values=[]),
    "node affinity values": node_rule(key="a", operator="Exists", values=["b"]),
    "node affinity above": node_rule(key="a", operator="Gt", values=["1", "2"]),
    "node affinity above text": node_rule(key="a", operator="Gt", values=["x"]),
    "node affinity key": node_rule(key="a b", operator="Exists"),
    "node affinity value": node_rule(key="a", operator="In", values=["b c"]),
    "node affinity fields": node_terms(
        {
            "matchFields": [
                {"key": "metadata.name", "operator": "In", "values": ["a", "b"]},
                {"key": "spec.x", "operator": "Exists"},
            ]
        }
    ),
    "node affinity fields name": node_terms(
        {
            "matchFields": [
                {"key": "metadata.name", "operator": "In", "values": ["A_"]},
                {"key": "metadata.name", "operator": "Exists"},
            ]
        }
    ),
    "node preference": affinity(
        nodeAffinity={
            "preferredDuringSchedulingIgnoredDuringExecution": [
                {"weight": 0, "preference": {}},
                {"weight": 101, "preference": {"matchExpressions": [{"key": "a", "operator": "Near"}]}},
            ]
        }
    ),
    "pod affinity": pod_terms({"topologyKey": "zone", **LABELS}),
    "pod affinity key": pod_terms({"topologyKey": "", **LABELS}),
    "pod affinity key bad": pod_terms({"topologyKey": "a b", "namespaces": ["A_"]}),
    "pod affinity selectors": pod_terms(
        {
            "topologyKey": "zone",
            "labelSelector": {
                "matchExpressions": [
                    {"key": "a", "operator": "In"},
                    {"key": "b", "operator": "Exists", "values": ["x"]},
                ]
            },
            "namespaceSelector": {"matchLabels": {"a b": "c"}},
        }
    ),
    "pod affinity weight": affinity(
        podAffinity={
            "preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 0, "podAffinityTerm": {"topologyKey": ""}}]
        }
    ),
    "pod anti-affinity": pod_terms({"topologyKey": ""}, kind="podAntiAffinity"),
    "pod anti-affinity weight": affinity(
        podAntiAffinity={
            "preferredDuringSchedulingIgnoredDuringExecution": [
                {"weight": 101, "podAffinityTerm": {"topologyKey": "zone"}}
            ]
        }
    ),
    "pod affinity label keys": pod_terms(
        {
            "topologyKey": "zone",
            "matchLabelKeys": ["a", "b c"],
            "mismatchLabelKeys": ["a"],
            "labelSelector": {"matchLabels": {"a": "b"}},
        }
    ),
    "pod affinity label keys alone": pod_terms({"topologyKey": "zone", "matchLabelKeys": ["a"]}),
    "scheduling group": template(schedulingGroup={"podGroupName": "A_"}),
    "everything": template(
        container(
            "A",
            image="",
            ports=[{"containerPort": 0}],
            env=[{"name": ""}],
            volumeMounts=[{"name": "v", "mountPath": ""}],
        ),
        labels={"a b": "c"},
        volumes=[{"name": "A", "emptyDir": {}}],
        initContainers=[container("B", image="")],
        restartPolicy="x",
        dnsPolicy="x",
        nodeSelector={"a b": "c"},
        tolerations=[{"operator": "x", "key": "a"}],
        hostname="A",
        priorityClassName="A_",
        overhead={"cpu": "-1"},
        os={"name": "x"},
    ),
}

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
