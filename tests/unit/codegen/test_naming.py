from __future__ import annotations

import keyword

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from codegen import naming
from tests.unit.codegen.projects import real


@pytest.mark.parametrize(
    ("wire", "attribute"),
    [
        ("name", "name"),
        ("minAvailable", "min_available"),
        ("podIP", "pod_ip"),
        ("podIPs", "pod_ips"),
        ("clusterIPs", "cluster_ips"),
        ("podCIDRs", "pod_cidrs"),
        ("hostIPC", "host_ipc"),
        ("setHostnameAsFQDN", "set_hostname_as_fqdn"),
        ("nonResourceURLs", "non_resource_urls"),
        ("downwardAPI", "downward_api"),
        ("scaleIO", "scale_io"),
        ("awsElasticBlockStore", "aws_elastic_block_store"),
        ("unKnowJobs", "un_know_jobs"),
        ("transitionID", "transition_id"),
        ("Port", "port"),
        ("int32Value", "int32_value"),
        ("x-kubernetes-list-type", "x_kubernetes_list_type"),
        ("$ref", "ref"),
        ("from", "from_"),
        ("continue", "continue_"),
        ("default", "default"),
        ("bool", "bool_"),
        ("int", "int_"),
        ("string", "string"),
        ("type", "type"),
        ("100Continue", "field_100_continue"),
        ("*", "field"),
    ],
)
def test_properties_become_attributes(wire: str, attribute: str) -> None:
    assert naming.field(wire) == attribute


@pytest.mark.parametrize(
    ("name", "snake"),
    [
        ("HTTPGetAction", "http_get_action"),
        ("JSONSchemaProps", "json_schema_props"),
        ("CSINode", "csi_node"),
        ("K8sName", "k8s_name"),
        ("PodGroup", "pod_group"),
        ("sha256Sum", "sha256_sum"),
        ("storageClass", "storage_class"),
    ],
)
def test_type_names_become_snake_case(name: str, snake: str) -> None:
    assert naming.snake(name) == snake


@pytest.mark.parametrize(
    ("value", "constant"),
    [
        ("PodFailed", "POD_FAILED"),
        ("best-effort", "BEST_EFFORT"),
        ("single-numa-node", "SINGLE_NUMA_NODE"),
        ("OutOfSync", "OUT_OF_SYNC"),
        ("*", "ANY"),
        ("", "EMPTY"),
        ("True", "TRUE"),
        ("1st", "VALUE_1ST"),
        ("<=", "VALUE_3C_3D"),
    ],
)
def test_values_become_constants(value: str, constant: str) -> None:
    assert naming.constant(value) == constant


@pytest.mark.parametrize(
    ("kind", "plural", "constant"),
    [
        ("Job", "jobs", "JOBS"),
        ("PodGroup", "podgroups", "POD_GROUPS"),
        ("HyperNode", "hypernodes", "HYPER_NODES"),
        ("NetworkPolicy", "networkpolicies", "NETWORK_POLICIES"),
        ("CSIStorageCapacity", "csistoragecapacities", "CSI_STORAGE_CAPACITIES"),
        ("StorageClass", "storageclasses", "STORAGE_CLASSES"),
        ("Numatopology", "numatopologies", "NUMATOPOLOGIES"),
        ("Mouse", "mice", "MICE"),
        ("Ox", "kine", "KINE"),
    ],
)
def test_a_descriptor_is_called_by_the_plural(kind: str, plural: str, constant: str) -> None:
    assert naming.resource_constant(kind, plural) == constant


def test_nested_classes_are_called_by_owner_and_property() -> None:
    assert naming.pascal("volumeClaim") == "VolumeClaim"
    assert naming.pascal("") == ""


WIRE = st.from_regex(r"[$a-zA-Z][-a-zA-Z0-9]{0,20}", fullmatch=True)


@given(WIRE)
def test_an_attribute_is_a_usable_name(wire: str) -> None:
    attribute = naming.field(wire)
    assert attribute.isidentifier()
    assert not keyword.iskeyword(attribute)
    assert attribute == attribute.lower()


@given(WIRE)
def test_camel_is_what_msgspec_makes_of_an_attribute(wire: str) -> None:
    attribute = naming.field(wire)
    made = msgspec.defstruct("Made", [(attribute, int, 0)], rename="camel")
    assert made.__struct_encode_fields__ == (naming.camel(attribute),)


@given(st.text(max_size=20))
def test_a_constant_is_a_usable_name(value: str) -> None:
    constant = naming.constant(value)
    assert constant.isidentifier()
    assert constant == constant.upper()


def test_no_two_properties_of_a_type_share_an_attribute() -> None:
    project = real()
    for name in {*project.components, *project.core}:
        properties = project.schema(name).get("properties", {})
        assert len({naming.field(wire) for wire in properties}) == len(properties), name
