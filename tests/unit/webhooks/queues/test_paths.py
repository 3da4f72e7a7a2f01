"""The hierarchy annotations."""

from __future__ import annotations

from typing import Any

import pytest

from generated.scheduling.v1beta1 import Queue
from tests.unit.webhooks.queues.worlds import queue
from webhooks.causes import Causes, aggregate
from webhooks.queues import paths

FIELD = "requestBody.metadata.annotations: Invalid value: "
OTHERS = (queue("root", hierarchy="root"), queue("a", hierarchy="root/sci/dev"), queue("plain"))


def annotated(path: Any, weights: Any, name: str = "q") -> Queue:
    made = queue(name)
    given = {"volcano.sh/hierarchy": path, "volcano.sh/hierarchy-weights": weights}
    made.metadata.annotations.update({key: value for key, value in given.items() if value is not None})
    return made


def told(path: Any, weights: Any, name: str = "q") -> str:
    causes = Causes()
    paths.check(causes, annotated(path, weights, name), OTHERS)
    return aggregate(causes)


@pytest.mark.parametrize(
    ("path", "weights"),
    [
        (None, None),
        ("", ""),
        (None, "1"),
        ("root/sci/dev", "1/2/3"),
        ("root/sci/prod", "1/2/0.5"),
        ("root/sc", "1/1e3"),
        ("root/sci/device", "1/2/3"),
        ("other", "1"),
    ],
)
def test_paths_beside_each_other_are_fine(path: Any, weights: Any) -> None:
    assert told(path, weights) == ""


def test_root_itself_is_the_path_of_no_queue_beside_others() -> None:
    text = f'{FIELD}"root": root is not allowed to be in the sub path of root/sci/dev of queue a'
    assert told("root", "1") == text


LENGTH = "volcano.sh/hierarchy must have the same length with volcano.sh/hierarchy-weights"


@pytest.mark.parametrize(
    ("path", "weights", "expected"),
    [
        ("root/a", "1", f'"root/a": {LENGTH}'),
        ("root/a", None, f'"root/a": {LENGTH}'),
        (None, "1/2", f'"": {LENGTH}'),
        ("root/a", "1/x", '"1/x": x in the 1/x is invalid number: strconv.ParseFloat: parsing "x": invalid syntax'),
        ("root/a", "1/", '"1/":  in the 1/ is invalid number: strconv.ParseFloat: parsing "": invalid syntax'),
        (
            "root/a",
            "1/ 2",
            '"1/ 2":  2 in the 1/ 2 is invalid number: strconv.ParseFloat: parsing " 2": invalid syntax',
        ),
        (
            "root/a",
            "1/1e400",
            (
                '"1/1e400": 1e400 in the 1/1e400 is invalid number: '
                'strconv.ParseFloat: parsing "1e400": value out of range'
            ),
        ),
        ("root/a", "1/0", '"1/0": 0 in the 1/0 must be larger than 0'),
        ("root/a", "-1/2", '"-1/2": -1 in the -1/2 must be larger than 0'),
        ("root/a", "1/inf", '"1/inf": inf in the 1/inf must be a finite number'),
        ("root/a", "1/NaN", '"1/NaN": NaN in the 1/NaN must be a finite number'),
        ("root//a", "1/2/3", '"root//a": volcano.sh/hierarchy must not have empty parts'),
        (
            "root/sci",
            "1/2",
            '"root/sci": root/sci is not allowed to be in the sub path of root/sci/dev of queue a',
        ),
        (
            "root/sci/dev/x",
            "1/2/3/4",
            '"root/sci/dev/x": root/sci/dev/x is not allowed to be in the sub path of root/sci/dev of queue a',
        ),
    ],
)
def test_the_first_mistake_is_told(path: Any, weights: Any, expected: str) -> None:
    assert told(path, weights) == FIELD + expected


def test_a_queue_is_not_in_its_own_way() -> None:
    assert told("root/sci", "1/2", name="a") == ""
