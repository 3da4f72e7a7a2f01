"""What `--sort-by` takes, and what it says of fields that there are not."""

from __future__ import annotations

import pytest

from cli.errors import CommandError
from cli.kinds import JOBS, PODS, QUEUES, Kind
from cli.sorting import require_field
from tests.unit.cli.harness import BATCH, Server, job, run

HERE = f"{BATCH}/namespaces/default/jobs"


@pytest.mark.parametrize(
    ("kind", "path"),
    [
        (JOBS, "metadata.name"),
        (JOBS, "metadata.labels.app"),
        (JOBS, "status.running"),
        (JOBS, "status.state.phase"),
        (JOBS, "spec.networkTopology.mode"),
        (QUEUES, "spec.capability.cpu"),
        (QUEUES, "spec.guarantee.resource.cpu"),
        (PODS, "spec.nodeName"),
    ],
)
def test_a_field_that_no_object_has_set_is_one_all_the_same(kind: Kind, path: str) -> None:
    require_field(kind, path.split("."), [])


def test_a_field_that_only_a_newer_server_knows_orders_what_has_it() -> None:
    require_field(JOBS, ("spec", "brandNew"), [job(), job(spec={"brandNew": 1})])


@pytest.mark.parametrize(
    ("kind", "path", "told"),
    [
        (JOBS, "bad", r'"\.bad" is no field of Job .*: \.apiVersion, \.kind, \.metadata, \.spec, \.status$'),
        (JOBS, "status.runing", r'"\.status\.runing" is no field of Job .* \.status\.running, '),
        (JOBS, "status.running.more", r"expected one of: \.status\.running$"),
        (JOBS, "spec.tasks.name", r'"\.spec\.tasks\.name" is no .* \.spec\.schedulerName, '),
        (QUEUES, "spec", r'"\.spec" is no field of Queue .* \.spec\.weight$'),
        (QUEUES, "spec.capability", r"expected one of: \.spec\.capability\.KEY$"),
    ],
)
def test_a_field_that_can_order_nothing_is_refused_with_those_that_can(kind: Kind, path: str, told: str) -> None:
    objects = [{"metadata": {"name": "x"}, "spec": {"tasks": [{"name": "t"}], "capability": {"cpu": 1}}}]
    with pytest.raises(CommandError, match=told) as caught:
        require_field(kind, path.split("."), objects)
    assert str(caught.value).startswith("--sort-by: ")


@pytest.mark.parametrize("jobs", [(), (job(),)], ids=["no jobs", "one job"])
def test_a_list_in_an_order_that_there_is_not_prints_nothing_else(jobs: tuple[object, ...]) -> None:
    result = run("job", "list", "--sort-by", "bad", server=Server().items(HERE, *jobs))
    allowed = ".apiVersion, .kind, .metadata, .spec, .status"
    told = f'Failed to list job: --sort-by: ".bad" is no field of Job to sort by, expected one of: {allowed}\n'
    assert (result.code, result.out) == (255, told)
