"""What may be wrong with a pod template beside its containers and volumes."""

from __future__ import annotations

from tests.unit.webhooks.podtemplate.templates import (
    LABELS,
    LONG,
    Json,
    affinity,
    container,
    node_rule,
    node_terms,
    one,
    pod_terms,
    spread,
    template,
    tolerates,
)

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
