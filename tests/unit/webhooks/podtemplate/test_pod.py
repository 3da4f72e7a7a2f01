from __future__ import annotations

import json
from pathlib import Path

import msgspec
import pytest

from generated.core.v1 import PodTemplateSpec
from tests.unit.webhooks.podtemplate.cases import CASES
from webhooks.podtemplate import abilities, check

RECORDED: dict[str, list[list[str]]] = json.loads(Path(__file__).with_name("causes.json").read_text())
NEWEST = abilities((1, 36), pod_resources=True)


@pytest.mark.parametrize("name", CASES)
def test_a_template_is_refused_for_the_causes_that_a_real_server_gives_in_their_order(name: str) -> None:
    template = msgspec.json.decode(msgspec.json.encode(CASES[name]), type=PodTemplateSpec)
    found = [[cause.field, cause.message] for cause in check(template, NEWEST)]
    expected = RECORDED[name]
    if name in IN_ANY_ORDER:
        found, expected = sorted(found), sorted(expected)
    assert found == expected


IN_ANY_ORDER = {"metadata: labels", "resources: several resources", "volumes: projected paths"}
"""Here the server walks through a map."""
