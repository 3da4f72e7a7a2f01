"""The parts of the process that need no server."""

from __future__ import annotations

import asyncio
from argparse import Namespace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from generated.listers.scheduling_v1 import PriorityClassLister
from generated.meta.v1 import ObjectMeta
from generated.scheduling.v1 import PriorityClass
from generated.scheduling.v1beta1 import PodGroup, PodGroupSpec
from scheduler.cache.facts import Facts
from scheduler.cache.feed import RESOURCES
from scheduler.cache.foreign import ForeignPods
from scheduler.explain.report import CauseKind
from scheduler.process import (
    CONFIG_MAP,
    Process,
    class_check,
    component_name,
    known_of,
    standby_of,
    subject_of,
    wait_synced,
)
from scheduler.settings.options import feature_gates, parser
from scheduler.state.cluster import Cluster
from scheduler.state.job import Job
from tests.unit.scheduler.cache.test_facts import pod


def flags(*words: str) -> Namespace:
    return parser(feature_gates()).parse(words)


@pytest.mark.parametrize(
    ("words", "name"),
    [
        ((), "volcano"),
        (("--scheduler-name=batch",), "batch"),
        (("--scheduler-name=a", "--scheduler_name", "b"), "volcano"),
    ],
)
def test_events_come_from_the_only_scheduler_name_else_from_volcano(words: tuple[str, ...], name: str) -> None:
    assert component_name(flags(*words)) == name


@pytest.mark.parametrize(
    ("words", "namespace"), [((), "volcano-system"), (("--lock-object-namespace=other",), "other")]
)
def test_outside_of_a_cluster_a_bad_configuration_is_told_on_the_config_map(
    tmp_path: Path, words: tuple[str, ...], namespace: str
) -> None:
    subject = subject_of(flags(*words), tmp_path / "none")
    assert (subject.kind, subject.namespace, subject.name) == ("ConfigMap", namespace, CONFIG_MAP)


def test_in_a_cluster_it_is_told_on_the_own_pod(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "namespace").write_text("batch\n")
    monkeypatch.setattr("socket.gethostname", lambda: "volcano-scheduler-abc")
    subject = subject_of(flags(), tmp_path / "namespace")
    assert (subject.kind, subject.namespace, subject.name) == ("Pod", "batch", "volcano-scheduler-abc")


class Informer:
    def __init__(self, *, is_late: bool = False) -> None:
        self.is_late = is_late

    async def wait_synced(self) -> None:
        if self.is_late:
            await asyncio.get_running_loop().create_future()


@pytest.mark.parametrize(("seconds", "told"), [(0.0, False), (0.01, True)])
async def test_the_first_cycle_waits_for_the_first_lists_but_not_for_ever(
    seconds: float, told: bool, caplog: pytest.LogCaptureFixture
) -> None:
    informers: Any = {"Pod": Informer(), "Node": Informer(is_late=True), "HyperNode": Informer(is_late=True)}
    await asyncio.wait_for(wait_synced(informers, seconds), 10)
    assert ("kinds=HyperNode,Node" in caplog.text) is told


async def test_lists_that_are_there_are_not_complained_about(caplog: pytest.LogCaptureFixture) -> None:
    informers: Any = {"Pod": Informer(), "Node": Informer()}
    await asyncio.wait_for(wait_synced(informers, 60.0), 10)
    assert caplog.text == ""


@pytest.mark.parametrize(
    ("words", "passed_over"),
    [
        ((), set()),
        (("--priority-class=false",), {"PriorityClass"}),
        (("--feature-gates=PriorityClass=false",), {"PriorityClass"}),
        (("--feature-gates=WorkLoadSupport=false",), {"ReplicaSet", "StatefulSet", "ReplicationController"}),
    ],
)
def test_flags_and_gates_say_which_kinds_are_watched(words: tuple[str, ...], passed_over: set[str]) -> None:
    gates = feature_gates()
    found = parser(gates).parse(words)
    gates.set(found.feature_gates)
    everything = Facts(Cluster(), scheduler_names=("volcano",), default_queue="default")
    assert set(everything.kinds) - Process(found, gates)._kinds(everything) == passed_over


@pytest.mark.parametrize(
    ("stored", "has_synced", "is_told"),
    [((), True, True), ((), False, False), (("high",), True, False)],
    ids=["it doesn't exist", "nobody knows yet", "it exists"],
)
def test_a_missing_priority_class_is_told_as_soon_as_all_are_known(
    stored: tuple[str, ...], has_synced: bool, is_told: bool
) -> None:
    lister = PriorityClassLister.filled([PriorityClass(metadata=ObjectMeta(name=name)) for name in stored])
    classes: Any = SimpleNamespace(has_synced=has_synced, lister=lister.lister)
    job = Job("ns/a")
    job.pod_group, job.min_available = PodGroup(spec=PodGroupSpec(priority_class_name="high")), 1
    assert bool(class_check(classes)(job)) is is_told


def test_pods_for_another_scheduler_are_told_with_or_without_priority_classes() -> None:
    pods = ForeignPods(("volcano",))
    pods.on_add(pod(spec={"schedulerName": "other"}), initial=True)
    job = Job("ns/g")
    job.pod_group, job.min_available = PodGroup(spec=PodGroupSpec(priority_class_name="high")), 1
    classes: Any = SimpleNamespace(has_synced=True, lister=PriorityClassLister.filled([]).lister)
    assert [cause.kind for cause, _ in known_of(pods, None)(job)] == [CauseKind.OTHER_SCHEDULER]
    assert [cause.kind for cause, _ in known_of(pods, classes)(job)] == [
        CauseKind.OTHER_SCHEDULER,
        CauseKind.NO_PRIORITY_CLASS,
    ]


def test_everything_that_makes_the_state_can_be_watched() -> None:
    everything = Facts(Cluster(), scheduler_names=("volcano",), default_queue="default")
    assert set(everything.kinds) <= {resource.kind for resource in RESOURCES}


@pytest.mark.parametrize(
    ("name", "default"),
    [
        ("master", ""), ("kubeconfig", ""), ("ca_cert_file", ""), ("scheduler_name", ("volcano",)),
        ("scheduler_conf", ""), ("schedule_period", 1.0), ("resync_period", 0.0), ("default_queue", "default"),
        ("listen_address", ":8080"), ("healthz_address", ":11251"), ("enable_healthz", False),
        ("enable_metrics", False), ("enable_pprof", False), ("priority_class", True), ("kube_api_qps", 2000.0),
        ("kube_api_burst", 2000), ("minimum_feasible_nodes", 100), ("minimum_percentage_nodes_to_find", 5),
        ("percentage_nodes_to_find", 0), ("plugins_dir", ""), ("csi_storage", True), ("node_selector", ()),
        ("cache_dumper", True), ("cache_dump_dir", "/tmp"), ("node_worker_threads", 20), ("gate_removal_worker_num", 5),
        ("ignored_provisioners", ()), ("resource_sync_timeout", 60.0), ("disable_default_scheduler_config", False),
        ("scheduler_sharding_mode", "none"), ("scheduler_sharding_name", "volcano"), ("lock_object_namespace", ""),
        ("log_flush_frequency", 5.0), ("feature_gates", {}), ("leader_elect", True),
        ("leader_elect_lease_duration", 15.0), ("leader_elect_renew_deadline", 10.0), ("leader_elect_retry_period", 2.0),
        ("leader_elect_resource_lock", "leases"), ("leader_elect_resource_name", "volcano"),
        ("leader_elect_resource_namespace", "volcano-system"),
    ],
)  # fmt: skip
def test_flags_have_their_defaults(name: str, default: object) -> None:
    assert getattr(flags(), name) == default


def test_the_installers_line_is_readable() -> None:
    found = flags(
        "--logtostderr", "--scheduler-conf=/volcano.scheduler/volcano-scheduler.conf", "--enable-healthz=true",
        "--enable-metrics=true", "--leader-elect=false", "--leader-elect-resource-namespace=ns", "--kube-api-qps=50",
        "--kube-api-burst=100", "--schedule-period=1s", "--node-worker-threads=20", "--percentage-nodes-to-find=50",
        "--plugins-dir=/plugins", "--feature-gates=CSIStorage=true", "--ignored-provisioners=a,b",
        "--node-selector=a:b,c:d", "--node-selector=e:f", "--scheduler-sharding-mode=none", "-v=3", "2>&1",
    )  # fmt: skip
    assert (found.v, found.percentage_nodes_to_find, found.node_selector) == (3, 50, ("a:b", "c:d", "e:f"))


@pytest.mark.parametrize(
    ("words", "code"),
    [(("--no-such-flag",), 2), (("--schedule-period=soon",), 2), (("--version",), 0), (("--help",), 0)],
)
def test_exit_codes_of_the_command_line(words: tuple[str, ...], code: int) -> None:
    with pytest.raises(SystemExit) as ended:
        flags(*words)
    assert ended.value.code == code


@pytest.mark.parametrize(
    ("is_leader", "leader", "told"),
    [
        (True, "me", ""),
        (False, "vc-1_x", "this scheduler does not lead, vc-1_x does: ask there"),
        (False, "", "this scheduler does not lead, and nobody does at the moment: ask again"),
    ],
)
def test_a_standby_says_who_leads(is_leader: bool, leader: str, told: str) -> None:
    elector = SimpleNamespace(is_leader=is_leader, leader=leader)
    manager: Any = SimpleNamespace(elector=elector)
    assert standby_of(manager)() == told


def test_without_an_election_everybody_leads() -> None:
    manager: Any = SimpleNamespace(elector=None)
    assert standby_of(manager)() == ""
