"""
What a real API server takes, refuses, fills in and drops, kind by kind: our CRDs against what users of Volcano know.

Creations are dry runs, so the rows share one namespace and leave nothing behind. No webhook is registered.
"""

from __future__ import annotations

from typing import Any

import pytest

from cluster import ControlPlane
from runtime.errors import BadRequest, Invalid
from tests.integration import crd_rows as table
from tests.integration.crd_rows import (
    DRY_RUN,
    UNCHANGED,
    Refused,
    Taken,
    collection,
    cron,
    dry_create,
    job,
    manifest,
    task,
)


def rows(values: list[Any]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("row", [pytest.param(row, id=f"{row.kind}: {row.title}") for row in values])


@rows([*table.TAKEN_JOBS, *table.TAKEN_GROUPS, *table.TAKEN_QUEUES, *table.TAKEN_OTHERS])
def test_what_is_taken_is_stored_with_defaults_and_without_nulls(control_plane: ControlPlane, row: Taken) -> None:
    expected = row.body if row.stored is UNCHANGED else row.stored
    assert dry_create(control_plane, row.kind, row.body) == {k: v for k, v in expected.items() if k != "metadata"}


@rows([*table.REFUSED_JOBS, *table.REFUSED_GROUPS, *table.REFUSED_QUEUES, *table.REFUSED_OTHERS])
def test_what_is_refused_is_named(control_plane: ControlPlane, row: Refused) -> None:
    with pytest.raises(Invalid) as refusal:
        dry_create(control_plane, row.kind, row.body)
    for words in row.words:
        assert words in str(refusal.value)


@pytest.mark.parametrize("name", ["j" * 253, "a.b.c"])
def test_long_and_dotted_names_of_jobs_pass_the_schema(control_plane: ControlPlane, name: str) -> None:
    body = manifest("Job", name, job())
    assert control_plane.api.request("POST", collection("Job"), body, query=DRY_RUN)["metadata"]["name"] == name


@pytest.mark.parametrize(
    ("kind", "body"),
    [
        ("Job", {"spec": {"foo": 1}}),
        ("JobTemplate", {"spec": {"jobSpec": {}}}),
        ("Command", {"spec": {"action": "AbortJob"}}),
        ("CronJob", cron(jobTemplate={"metadata": {"generateName": "a"}})),
        ("Job", task(template={"metadata": {"ownerReferences": []}})),
    ],
)
def test_unknown_fields_are_pruned_unless_asked_for_strictness(
    control_plane: ControlPlane, kind: str, body: dict[str, Any]
) -> None:
    with pytest.raises(BadRequest, match="strict decoding error: unknown field"):
        dry_create(control_plane, kind, body)
    stored = control_plane.api.request("POST", collection(kind), manifest(kind, "sample", body), query=DRY_RUN)
    unknown = {"foo", "jobSpec", "generateName", "ownerReferences"} & set(_keys(stored))
    assert not unknown
    assert kind != "Command" or "spec" not in stored


def _keys(value: Any) -> list[str]:
    if isinstance(value, list):
        return [key for item in value for key in _keys(item)]
    if isinstance(value, dict):
        return [*value, *(key for inner in value.values() for key in _keys(inner))]
    return []
