from __future__ import annotations

import inspect
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from api import names
from runtime.selector import is_label_key, is_label_value


def constants() -> dict[str, str]:
    return {name: value for name, value in vars(names).items() if name.isupper() and isinstance(value, str)}


def keys() -> dict[str, str]:
    suffixes = ("_LABEL", "_ANNOTATION", "_KEY", "_RESOURCE")
    return {
        name: value
        for name, value in constants().items()
        if name.endswith(suffixes) and not name.endswith("CONFIG_KEY")
    }


def test_every_key_can_be_a_label_or_annotation() -> None:
    assert len(keys()) > 100
    assert [name for name, value in keys().items() if not is_label_key(value)] == []


def test_no_key_stands_twice() -> None:
    assert [value for value, count in Counter(keys().values()).items() if count > 1] == []


def test_reasons_and_variables_are_single_words() -> None:
    classes = [
        held for held in vars(names).values() if inspect.isclass(held) and held.__module__.startswith("api.names")
    ]
    words = {
        f"{held.__name__}.{name}": value
        for held in classes
        for name, value in vars(held).items()
        if name.isupper() and held.__name__.endswith(("Reason", "Env"))
    }
    assert len(words) > 60
    sentence = names.PodGroupConditionReason.TASKS_READY
    assert [name for name, value in words.items() if not value.isidentifier() and value != sentence] == []


@pytest.mark.parametrize(
    ("made", "expected"),
    [
        (names.pod_name("job", "task", 7), "job-task-7"),
        (names.default_task_name(0), "default0"),
        (names.template_uid("job", "task"), "job-task"),
        (names.pod_group_name("job", "u-1"), "job-u-1"),
        (names.workload_pod_group_name("U"), "podgroup-U"),
        (names.svc_name("job"), "job"),
        (names.svc_config_map_name("job"), "job-svc"),
        (names.hosts_file("my-task"), "my_task.host"),
        (names.hosts_variable("my-task"), "VC_MY_TASK_HOSTS"),
        (names.host_count_variable("my-task"), "VC_MY_TASK_NUM"),
        (names.ssh_secret_name("job"), "job-ssh"),
        (names.ray_head_service_name("job"), "job-head-svc"),
        (names.claim_name("job", "0123456789ab"), "job-pvc-0123456789ab"),
        (names.claim_volume_name("job", "0123456789ab"), "job-0123456789ab"),
        (names.claim_volume_name(f"a.{'b' * 57}", "0123456789ab"), f"a-{'b' * 48}-0123456789ab"),
        (names.plugin_marker("svc"), "plugin-svc"),
        (names.volume_marker("data"), "volume-pvc-data"),
        (names.cron_job_run_name("c", 1704067260), "c-28401121"),
        (names.cron_job_run_name("c", 1704067307), "c-28401121"),
        (names.cron_job_run_name("c", 1704067267, to_the_second=True), "c-2840112107"),
        (names.job_flow_job_name("f", "t"), "f-t"),
        (names.created_by("n", "f"), "n.f"),
        (names.hypernode_name_prefix("Topo_A.b-1", 2), "hypernode-topo-a.b-1-tier2"),
        (names.hypernode_name_prefix("é", 1), "hypernode---tier1"),
        (names.controller_config_map("rel"), "rel-controller-configmap"),
        (names.controller_config_map(names.DEFAULT_RELEASE), names.ConfigMap.CONTROLLER),
        (names.admission_service("volcano"), "volcano-admission-service"),
        (names.webhook_configuration("/jobs/mutate"), "volcano-admission-service-jobs-mutate"),
        (names.hami_register_annotation("Ascend310P"), "hami.io/node-register-Ascend310P"),
        (names.hami_to_allocate_annotation("A"), "hami.io/A-devices-to-allocate"),
        (names.hami_allocated_annotation("A"), "hami.io/A-devices-allocated"),
        (names.hami_choice_annotation("A"), "huawei.com/A"),
        (names.hami_use_annotation("A"), "hami.io/use-A-uuid"),
        (names.hami_nouse_annotation("A"), "hami.io/no-use-A-uuid"),
    ],
)
def test_names_of_children(made: str, expected: str) -> None:
    assert made == expected


@pytest.mark.parametrize(("pod", "index"), [("job-task-7", "7"), ("my-job-task-12", "12"), ("a-7", ""), ("a", "")])
def test_the_index_is_read_from_names_of_three_parts(pod: str, index: str) -> None:
    assert names.task_index_of(pod) == index


@pytest.mark.parametrize(
    ("value", "creator"),
    [
        ("n.f", ("n", "f")),
        ("n.f.with.dots", ("n", "f.with.dots")),
        ("nf", None),
        ("n.", None),
        (".f", None),
        ("", None),
    ],
)
def test_a_creator_is_split_at_the_first_dot(value: str, creator: tuple[str, str] | None) -> None:
    assert names.creator_of(value) == creator


def test_deprecated_watermarks_have_their_old_spelling() -> None:
    assert names.DEPRECATED_WATERMARKS[names.EVICTING_CPU_HIGH_WATERMARK_ANNOTATION] == (
        "volcano.sh/oversubscription-evicting-cpu-high-watermark"
    )
    assert len(names.DEPRECATED_WATERMARKS) == 4


def test_plugins_run_in_a_fixed_order_with_the_rank_table_last() -> None:
    assert names.JOB_PLUGINS == ("svc", "ssh", "env", "mpi", "tensorflow", "pytorch", "ray", "hcclrank")


@given(st.from_regex(r"\A[a-z]([a-z0-9.-]{0,200}[a-z0-9])?\Z"))
def test_a_label_value_fits_and_stays_apart_from_others(value: str) -> None:
    fitting = names.fitting_label_value(value)
    assert is_label_value(fitting)
    assert fitting == value if len(value) <= 63 else fitting.startswith(value[:50])
    assert names.fitting_label_value(value + "x") != fitting
