"""What may be wrong with the volumes of a pod template."""

from __future__ import annotations

from tests.unit.webhooks.podtemplate.templates import LONG, Json, mounted, one, template

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
