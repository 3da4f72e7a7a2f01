"""What may be wrong with the containers of a pod template."""

from __future__ import annotations

from tests.unit.webhooks.podtemplate.templates import (
    HTTP,
    LONG,
    Json,
    container,
    env,
    init,
    one,
    probe,
    resources,
    source,
    template,
)

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
