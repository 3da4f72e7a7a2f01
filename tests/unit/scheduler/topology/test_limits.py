"""What a topology means as a highest tier (scheduler.md 5.3)."""

from __future__ import annotations

import pytest

from generated.scheduling.v1beta1 import NetworkTopologySpec
from scheduler.state.subjob import grouping_of
from scheduler.topology.limits import Limit, job_limit, sub_job_limit
from tests.unit.scheduler.build import World, shape
from tests.unit.scheduler.hypernodes import by_name, divide, hypernode, labelled, limit, policy

ROOT_TIER = 4


def world() -> World:
    made = World()
    made.node("n0")
    made.cluster.hypernodes.set(hypernode("rack", 1, by_name("n0"), tier_name="rack"))
    made.cluster.hypernodes.set(hypernode("hall", 3, by_name("n0"), tier_name="hall"))
    made.gang("j", [("w", 1, shape())])
    made.cluster.settle()
    return made


JOBS = [
    ("hard", 2, "", Limit(2)),
    ("", 2, "", Limit(2)),
    ("soft", 2, "", Limit(ROOT_TIER)),
    ("soft", None, "", Limit(ROOT_TIER)),
    ("soft", None, "nowhere", Limit(ROOT_TIER)),
    ("hard", None, "", Limit()),
    ("hard", None, "hall", Limit(3)),
    ("hard", 1, "hall", Limit(1)),
    ("hard", 0, "", Limit(0)),
    ("hard", None, "nowhere", Limit(problem="failed to find hypernode tier name nowhere")),
]


@pytest.mark.parametrize(("mode", "tier", "name", "expected"), JOBS)
def test_jobs(mode: str, tier: int | None, name: str, expected: Limit) -> None:
    cluster = world().cluster
    job = cluster.jobs["ns/j"]
    limit(job, mode, tier, name)
    view = cluster.hypernodes.view(cluster)
    assert job_limit(job, view) == expected
    assert sub_job_limit(grouping_of(job).sub_jobs["ns/j"], view).tier == expected.tier


def test_none_is_no_limit() -> None:
    cluster = world().cluster
    assert not job_limit(cluster.jobs["ns/j"], cluster.hypernodes.view(cluster)).is_set


SOFT, HARD_1, HARD_3 = (
    NetworkTopologySpec(mode="soft"),
    NetworkTopologySpec(mode="hard", highest_tier_allowed=1),
    NetworkTopologySpec(mode="hard", highest_tier_allowed=3),
)
SUB_JOBS = [
    ("soft in soft", ("soft", None), SOFT, ROOT_TIER),
    ("soft in hard", ("hard", 3), SOFT, 3),
    ("soft in nothing", None, SOFT, ROOT_TIER),
    ("hard in soft", ("soft", None), HARD_1, 1),
    ("hard in hard", ("hard", 1), HARD_3, 3),
    ("hard in nothing", None, HARD_1, 1),
    ("nothing in hard", ("hard", 1), None, None),
]


@pytest.mark.parametrize(("case", "outer", "inner", "tier"), SUB_JOBS, ids=[case for case, _, _, _ in SUB_JOBS])
def test_sub_jobs(
    case: str, outer: tuple[str, int | None] | None, inner: NetworkTopologySpec | None, tier: int | None
) -> None:
    del case
    made = world()
    job = made.cluster.jobs["ns/j"]
    if outer is not None:
        limit(job, *outer)
    divide(job, policy("p", "block", topology=inner))
    labelled(made, "j", "j-1", shape(), block="1")
    sub_job = grouping_of(job).sub_jobs["ns/j/p-1"]
    assert sub_job_limit(sub_job, made.cluster.hypernodes.view(made.cluster)).tier == tier
