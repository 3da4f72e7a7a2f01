from __future__ import annotations

import time
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.lenient import LenientDecoder


class Meta(msgspec.Struct, frozen=True, rename="camel"):
    name: str = ""
    creation_timestamp: str = ""
    labels: dict[str, str] = {}


class Task(msgspec.Struct, frozen=True, rename="camel"):
    name: str = ""
    min_available: int = 0
    shares: dict[str, dict[str, int]] = {}


class Spec(msgspec.Struct, frozen=True, rename="camel"):
    min_available: int = 0
    ratio: float = 0.0
    size: int | str = 0
    held: bool = False
    tasks: tuple[Task, ...] = ()
    raw: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET


class Job(msgspec.Struct, frozen=True):
    metadata: Meta = Meta()
    spec: Spec = Spec()


DECODER = LenientDecoder(Job)


def texts(document: Any) -> list[str]:
    return [str(problem) for problem in DECODER.read(msgspec.json.encode(document)).problems]


@pytest.mark.parametrize("raw", [b"", b"null", b"{}"])
def test_what_is_absent_reads_as_an_empty_object(raw: bytes) -> None:
    for text in (raw, msgspec.Raw(raw)):
        reading = DECODER.read(text)
        assert reading.obj == Job()
        assert reading.problems == ()


def test_an_object_that_fits_is_read_once() -> None:
    reading = DECODER.read(b'{"metadata":{"name":"a"},"spec":{"minAvailable":2,"unknown":{"x":[1]}}}')

    assert reading.obj == Job(Meta("a"), Spec(2))
    assert reading.problems == ()


@pytest.mark.parametrize(
    ("document", "expected"),
    [
        pytest.param({"metadata": {"creationTimestamp": None, "name": "a"}}, Job(Meta("a")), id="null for a text"),
        pytest.param({"metadata": {"labels": {"a": None, "b": "c"}}}, Job(Meta(labels={"b": "c"})), id="null in a map"),
        pytest.param({"spec": None}, Job(), id="null for a struct"),
        pytest.param({"spec": {"minAvailable": 3.0}}, Job(spec=Spec(3)), id="a whole number with a fraction"),
        pytest.param({"spec": {"minAvailable": 1e3}}, Job(spec=Spec(1000)), id="a whole number with an exponent"),
        pytest.param({"spec": {"tasks": [{"minAvailable": 2.0}]}}, Job(spec=Spec(tasks=(Task("", 2),))), id="nested"),
    ],
)
def test_nulls_and_whole_fractions_are_no_problem(document: Any, expected: Job) -> None:
    reading = DECODER.read(msgspec.json.encode(document))

    assert reading.obj == expected
    assert reading.problems == ()


@pytest.mark.parametrize(
    ("document", "expected"),
    [
        ({"spec": {"minAvailable": "3"}}, ['spec.minAvailable: Invalid value: "3": expected integer, got string']),
        ({"spec": {"minAvailable": 1.5}}, ["spec.minAvailable: Invalid value: 1.5: expected integer, got number"]),
        ({"spec": {"ratio": "x"}}, ['spec.ratio: Invalid value: "x": expected number, got string']),
        ({"spec": {"held": 1}}, ["spec.held: Invalid value: 1: expected boolean, got integer"]),
        ({"spec": {"size": [1]}}, ["spec.size: Invalid value: [1]: expected integer or string, got array"]),
        ({"spec": 7}, ["spec: Invalid value: 7: expected object, got integer"]),
        ({"metadata": {"name": 1.0}}, ["metadata.name: Invalid value: 1: expected string, got integer"]),
        (
            {"metadata": {"labels": {"a": "b", "x.y/z": 1}}},
            ["metadata.labels[x.y/z]: Invalid value: 1: expected string, got integer"],
        ),
        (
            {"spec": {"tasks": [{}, {"shares": {"a": {"b": 1}, "c": {"d": 2, "e": "f"}}}]}},
            ['spec.tasks[1].shares[c][e]: Invalid value: "f": expected integer, got string'],
        ),
        (
            {"spec": {"tasks": [1, {"name": "a"}, None, {"name": 2}, "x"]}},
            [
                "spec.tasks[0]: Invalid value: 1: expected object, got integer",
                "spec.tasks[2]: Invalid value: null: expected object, got null",
                "spec.tasks[3].name: Invalid value: 2: expected string, got integer",
                'spec.tasks[4]: Invalid value: "x": expected object, got string',
            ],
        ),
        ([1], [": Invalid value: [1]: expected object, got array"]),
    ],
)
def test_a_problem_names_the_path_in_the_users_words(document: Any, expected: list[str]) -> None:
    assert texts(document) == expected


def test_all_that_fits_is_read() -> None:
    document = {
        "metadata": {"name": "a", "labels": {"a": 1, "b": "c"}},
        "spec": {"minAvailable": "x", "held": True, "raw": {"any": [1]}, "tasks": [{"name": 1, "minAvailable": 2}, 3]},
    }

    reading = DECODER.read(msgspec.json.encode(document))

    assert reading.obj.metadata == Meta("a", "", {"b": "c"})
    assert reading.obj.spec.tasks == (Task("", 2),)
    assert reading.obj.spec.held
    assert isinstance(reading.obj.spec.raw, msgspec.Raw)
    assert bytes(reading.obj.spec.raw) == b'{"any":[1]}'
    assert len(reading.problems) == 4


def test_a_long_value_is_cut() -> None:
    [text] = texts({"spec": {"minAvailable": "x" * 1000}})

    assert text == f'spec.minAvailable: Invalid value: "{"x" * 99}...: expected integer, got string'


@pytest.mark.parametrize(
    "raw", [b"{", b'{"metadata":{"name":"\xff"}}', b'{"spec":{"minAvailable":1e400}}', b"nul", b"nan"]
)
def test_what_is_no_json_is_an_error(raw: bytes) -> None:
    with pytest.raises(msgspec.DecodeError):
        DECODER.read(raw)


def test_a_model_with_required_fields_can_not_stand_for_an_absent_object() -> None:
    class Needy(msgspec.Struct):
        name: str

    with pytest.raises(ValueError, match=r"Needy can't stand for an absent object: .*required field `name`"):
        LenientDecoder(Needy)


def test_a_huge_object_full_of_problems_costs_little() -> None:
    labels = {f"label-{number:06}": number for number in range(100_000)}
    raw = msgspec.json.encode({"metadata": {"name": "a", "labels": labels}, "spec": {"minAvailable": 2}})
    started = time.process_time()

    reading = DECODER.read(raw)

    assert time.process_time() - started < 5
    assert reading.obj.spec == Spec(2)
    assert reading.problems[-1].path == "metadata"


ANY = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.floats(-2, 2) | st.text("ab", max_size=2),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
    max_leaves=6,
)
TASKS = st.lists(st.dictionaries(st.sampled_from(["name", "minAvailable", "shares", "x"]), ANY) | ANY, max_size=4)
SPECS = st.fixed_dictionaries({}, optional={"minAvailable": ANY, "held": ANY, "size": ANY, "tasks": TASKS | ANY})
METAS = st.fixed_dictionaries({}, optional={"name": ANY, "labels": st.dictionaries(st.sampled_from("ab/~"), ANY) | ANY})


@given(st.fixed_dictionaries({}, optional={"metadata": METAS | ANY, "spec": SPECS | ANY}))
def test_whatever_the_object_holds_the_reading_ends_and_fits_the_model(document: Any) -> None:
    raw = msgspec.json.encode(document)

    reading = DECODER.read(raw)

    assert msgspec.json.decode(msgspec.json.encode(reading.obj), type=Job) == reading.obj
    try:
        strict = msgspec.json.decode(raw, type=Job)
    except msgspec.ValidationError:
        return
    assert reading.obj == strict
    assert reading.problems == ()


def test_equal_parts_come_as_one_and_what_does_not_fit_is_named_as_ever() -> None:
    decoder = LenientDecoder(Job, ["spec.tasks[]"])
    task = {"name": "a", "minAvailable": 1}
    found = decoder.read(msgspec.json.encode({"spec": {"tasks": [task, {"name": "b"}, task]}}))
    first, other, again = found.obj.spec.tasks
    assert first is again
    assert other == Task(name="b")
    for document in (
        {"spec": {"tasks": [task, {"minAvailable": "x"}]}},
        {"spec": {"tasks": [task, {"minAvailable": 1.0}, None]}},
        {"spec": {"tasks": "x"}},
    ):
        raw = msgspec.json.encode(document)
        assert decoder.read(raw) == DECODER.read(raw)
