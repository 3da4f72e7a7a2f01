from __future__ import annotations

import gc
import subprocess
import sys
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from codegen import naming
from generated.batch import v1alpha1 as batch
from generated.core import v1 as core
from generated.meta import v1 as meta
from generated.scheduling import v1beta1 as scheduling
from generated.topology import v1alpha1 as topology
from runtime.decoding import decoder_of
from runtime.model import Model
from runtime.objects import Object
from tests.unit.codegen.projects import ROOT
from tests.unit.generated.schemas import (
    components,
    documents,
    fields,
    is_droppable,
    model,
    normal,
    project,
    properties,
    resolved,
    zero,
)

FIELDS = list(fields())


def written(component: str, document: Any) -> Any:
    """Decode a document and encode it again."""
    return msgspec.json.decode(msgspec.json.encode(decoder_of(model(component)).decode(msgspec.json.encode(document))))


def test_every_component_has_a_model_with_all_its_properties() -> None:
    for component in components():
        assert set(model(component).__struct_encode_fields__) == set(properties(component)), component


def test_every_explicit_zero_survives_or_equals_absence() -> None:
    """The rule of the models, for each of their fields: what was written is written again unless it says nothing."""
    survivors = 0
    for component, wire in FIELDS:
        value = zero(properties(component)[wire])
        again = written(component, {wire: value})
        if is_droppable(component, wire):
            assert wire not in again, f"{component}.{wire} writes a zero that nobody set"
        else:
            assert wire in again, f"{component}.{wire}: an explicit {value!r} got lost"
            survivors += 1
    assert 0 < survivors < len(FIELDS)


def test_every_absent_field_stays_absent_unless_it_is_required() -> None:
    for component in components():
        again = written(component, {})
        assert set(again) <= set(project().schema(component).get("required", ())), component
        assert again == normal(component, {}), component


@given(st.data())
@settings(max_examples=400, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
def test_random_documents_survive(data: st.DataObject) -> None:
    component = data.draw(st.sampled_from(components()))
    document = data.draw(documents(component))
    assert written(component, document) == normal(component, document)


@pytest.mark.parametrize("component", [kind.component for kind in project().kinds])
@given(st.data())
@settings(max_examples=10, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
def test_random_objects_of_our_kinds_survive(component: str, data: st.DataObject) -> None:
    document = data.draw(documents(component, depth=5))
    again = written(component, document)
    assert again == normal(component, document)
    assert written(component, again) == again


def test_unknown_fields_are_ignored_everywhere() -> None:
    for component in components():
        assert written(component, {"noSuchField": {"a": [1]}}) == written(component, {}), component


def test_null_reads_as_absent_in_every_field() -> None:
    for component, wire in FIELDS:
        assert written(component, {wire: None}) == written(component, {}), f"{component}.{wire}"


def test_the_null_times_of_go_need_no_second_decode() -> None:
    """Go writes null for a zero time, in each pod condition for example: that must not cost a second decode."""
    for component, wire in FIELDS:
        node = properties(component)[wire]
        if node.get("$ref") in ("meta.v1.Time", "meta.v1.MicroTime"):
            msgspec.convert({wire: None}, model(component))


def test_each_model_is_frozen_and_invisible_to_the_garbage_collector() -> None:
    for component in components():
        made = decoder_of(model(component)).decode(b"{}")
        assert not gc.is_tracked(made), component
        assert isinstance(made, Model)
        config = type(made).__struct_config__
        assert (config.frozen, config.gc, config.omit_defaults) == (True, False, True), component


def test_lists_are_tuples() -> None:
    for component, wire in FIELDS:
        node = resolved(properties(component)[wire])
        if node.get("type") == "array":
            made = decoder_of(model(component)).decode(msgspec.json.encode({wire: []}))
            assert getattr(made, naming.field(wire)) == (), f"{component}.{wire}"


@pytest.mark.parametrize(
    ("component", "wire", "attribute"),
    [
        ("core.v1.ServiceSpec", "clusterIPs", "cluster_ips"),
        ("core.v1.NodeSpec", "podCIDRs", "pod_cidrs"),
        ("core.v1.PodStatus", "hostIPs", "host_ips"),
        ("core.v1.PodSpec", "hostIPC", "host_ipc"),
        ("networking.v1.NetworkPolicyIngressRule", "from", "from_"),
        ("resource.v1.DeviceAttribute", "bool", "bool_"),
        ("resource.v1.DeviceAttribute", "int", "int_"),
        ("resource.v1.DeviceAttribute", "string", "string"),
        ("flow.v1alpha1.JobFlowStatus", "unKnowJobs", "un_know_jobs"),
        ("scheduling.v1beta1.PodGroupCondition", "transitionID", "transition_id"),
        ("core.v1.DaemonEndpoint", "Port", "port"),
    ],
)
def test_odd_names_map_both_ways(component: str, wire: str, attribute: str) -> None:
    kind = model(component)
    position = kind.__struct_encode_fields__.index(wire)
    assert kind.__struct_fields__[position] == attribute


def test_a_zero_struct_is_shared_and_an_explicit_one_is_not() -> None:
    assert batch.Job().spec is batch.Job().spec
    explicit = decoder_of(batch.Job).decode(b'{"spec":{}}')
    assert explicit.spec == batch.Job().spec
    assert explicit.spec is not batch.Job().spec


def test_absent_differs_from_empty_where_it_has_a_meaning() -> None:
    claim = decoder_of(core.PersistentVolumeClaimSpec)
    assert claim.decode(b"{}").storage_class_name is None
    assert claim.decode(b'{"storageClassName":""}').storage_class_name == ""
    assert batch.JobSpec().ttl_seconds_after_finished is None
    assert batch.JobSpec().queue is None
    assert scheduling.QueueSpec().reclaimable is None


def test_quantities_and_ports_keep_their_form() -> None:
    document = {"limits": {"cpu": 1, "memory": "1Gi", "x": 0.5, "y": "0"}}
    assert written("core.v1.ResourceRequirements", document) == document
    assert written("core.v1.HTTPGetAction", {"port": "http"}) == {"port": "http"}


def test_a_required_list_may_be_empty() -> None:
    """The server refuses a NodeShard without nodes and a HyperNode condition without message, but takes empty ones."""
    assert written("shard.v1alpha1.NodeShardSpec", {"nodesDesired": []}) == {"nodesDesired": []}
    assert written("topology.v1alpha1.HyperNodeSpec", {"tier": 0}) == {"tier": 0}
    assert msgspec.json.decode(msgspec.json.encode(meta.Condition(type="Ready")))["message"] == ""


def test_kinds_are_objects_to_the_machine() -> None:
    found: list[Object] = [batch.Job(), core.Pod(), scheduling.Queue(), topology.HyperNode()]
    assert [(obj.metadata.name, obj.metadata.labels) for obj in found] == [("", {})] * 4


def test_constants_are_plain_strings() -> None:
    assert batch.JobPhase.PENDING == "Pending"
    assert type(batch.JobPhase.PENDING) is str
    assert batch.NumaPolicy.SINGLE_NUMA_NODE == "single-numa-node"
    assert scheduling.QueueState.VALUES == ("Open", "Closed", "Closing", "Unknown")


def test_constants_hold_the_values_of_the_schemas() -> None:
    for name, schema in project().components.items():
        if "enum" in schema:
            constants: Any = model(name)
            assert tuple(schema["enum"]) == constants.VALUES, name
            held = {value for key, value in vars(constants).items() if key.isupper() and key != "VALUES"}
            assert held == set(schema["enum"]), name


def test_an_unknown_enum_value_is_read() -> None:
    assert decoder_of(batch.JobState).decode(b'{"phase":"Novel"}').phase == "Novel"


def test_descriptors_say_what_the_project_says() -> None:
    for kind in (*project().kinds, *project().external):
        constant = naming.resource_constant(kind.kind, kind.plural)
        resource = getattr(sys.modules[model(kind.component).__module__], constant)
        assert resource.model is model(kind.component)
        assert (resource.group, resource.version, resource.kind, resource.plural) == (
            kind.group,
            kind.version,
            kind.kind,
            kind.plural,
        )
        assert (resource.namespaced, resource.has_status) == (kind.namespaced, kind.status)
        assert (resource.singular, resource.list_kind, resource.short_names) == (
            kind.singular,
            f"{kind.kind}List",
            kind.short_names,
        )


def test_pod_groups_have_no_status_subresource() -> None:
    assert not scheduling.POD_GROUPS.has_status


def test_types_import_neither_clients_nor_the_generator() -> None:
    script = "import sys, generated.batch.v1alpha1; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True, cwd=ROOT).stdout
    assert not {"aiohttp", "codegen", "jinja2", "generated.clients", "generated.apply", "kubernetes"} & set(
        loaded.split()
    )
