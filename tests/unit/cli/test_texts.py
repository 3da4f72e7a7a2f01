"""The small parts: times, tables, fields, documents, YAML, and the addresses of kinds."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from cli import documents, fields, kinds, times, yamltext
from cli.errors import CommandError
from cli.quantities import resource_list
from cli.sorting import sort_key
from cli.tables import Table, widest
from generated.registry import by_kind
from runtime.timestamps import parse_nanoseconds
from tests.unit.cli.harness import NOW

ROOT = Path(__file__).resolve().parents[3]
SECOND = 10**9


@pytest.mark.parametrize(
    ("elapsed", "short", "events"),
    [
        (-3, "<invalid>", "<invalid>"),
        (-1.5, "0s", "0s"),
        (89, "89s", "89s"),
        (180, "3m", "3m"),
        (610, "10m", "10m"),
        (125, "2m5s", "2m5s"),
        (26 * 3600, "26h", "26h"),
        (49 * 3600, "2d1h", "2d1h"),
        (3 * 365 * 86400, "3y", "3y0d"),
        (3 * 365 * 86400 + 5 * 86400, "3y5d", "3y5d"),
        (9 * 365 * 86400, "9y", "9y"),
    ],
)
def test_ages(elapsed: float, short: str, events: str) -> None:
    now = parse_nanoseconds(NOW) + int(elapsed * SECOND)
    assert times.age(NOW, now) == short
    assert times.age(NOW, now, keep_zero_days=True) == events


def test_times_that_are_missing_or_no_times() -> None:
    assert (times.age("", 0), times.age("x", 0), times.day(""), times.day("x")) == (
        "<unknown>", "<invalid>", "0001-01-01", "0001-01-01",
    )  # fmt: skip
    assert times.stamp("") == "0001-01-01 00:00:00 +0000 UTC"
    assert times.order("") < times.order("1970-01-01T00:00:00Z")


def test_a_column_grows_only_when_a_value_would_touch_the_next() -> None:
    table = Table(("A", 4), ("B", 3))
    assert table.lines([("abc", "x")]) == ["A   B  ", "abc x  "]
    assert Table(("A", 4), ("B", 3)).lines([("abcd", "long")]) == ["A     B  ", "abcd  long"]
    assert table.line(("abcdef", 1)) == "abcdef  1  "


def test_a_title_may_be_as_wide_as_its_column() -> None:
    assert Table(("Completed", 8), ("B", 2)).header() == "CompletedB "


@given(st.lists(st.tuples(st.text("ab", min_size=1, max_size=9), st.text("ab", min_size=1, max_size=9)), min_size=1))
def test_columns_never_touch(rows: list[tuple[str, str]]) -> None:
    for line, row in zip(Table(("A", 5), ("B", 3)).lines(rows)[1:], rows, strict=True):
        assert line.split() == list(row)


def test_computed_widths() -> None:
    assert widest("Name", ["abcdef", "x"], gap=3) == ("Name", 9)
    assert widest("Name", [], gap=3) == ("Name", 7)


def test_fields_of_any_shape_have_a_value() -> None:
    obj: dict[str, Any] = {"a": {"b": [1, {"c": "d"}], "n": None, "t": True, "f": 1.5}, "x": 3}
    assert fields.items(obj, "a", "b") == [{"c": "d"}]
    assert (fields.text(obj, "a", "t"), fields.text(obj, "a", "f"), fields.text(obj, "x")) == ("true", "1.5", "3")
    assert (fields.text(obj, "a"), fields.number(obj, "a", "t"), fields.number(obj, "x", "y")) == ("", 0, 0)
    assert (fields.mapping(obj, "a", "n"), fields.texts({"l": ["a", 1]}, "l"), fields.is_true(obj, "a", "t")) == (
        {},
        ["a"],
        True,
    )


@given(st.lists(st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text()))
def test_any_values_can_be_sorted(values: list[Any]) -> None:
    assert len(sorted(values, key=sort_key)) == len(values)


def test_documents_begin_at_separator_lines() -> None:
    text = "%YAML 1.1\n---\na: 1\n--- # head\nb: ---x\nc: a---b\n---\n\n# nothing\n---\n...\n"
    assert [documents.parse(part) for part in documents.split(text)] == [{"a": 1}, {"b": "---x", "c": "a---b"}]


def test_json_is_read_as_json_and_flow_style_as_yaml() -> None:
    assert documents.parse('{"a": "\\u00fc\\/"}') == {"a": "ü/"}
    assert documents.parse("{a: b}") == {"a": "b"}


def test_dates_stay_texts_and_keys_become_texts() -> None:
    assert documents.parse("a: 2024-01-02\n2: x\ntrue: y\n") == {"a": "2024-01-02", "2": "x", "true": "y"}


@pytest.mark.parametrize("text", ["a: [", "a: b: c", "\ta: b", "a: !!python/object:x.Y {}", "? [a]\n: b", "&a [*a]"])
def test_what_cannot_be_read_says_why(text: str) -> None:
    with pytest.raises(ValueError, match="error converting YAML to JSON: yaml: "):
        documents.parse(text)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("- a", "expected Job, got a list"),
        ("kind: Queue", "expected Job, got Queue"),
        ("apiVersion: batch/v1", "expected Job of batch.volcano.sh/v1alpha1, got apiVersion batch/v1"),
        ("metadata: x", "Job: metadata: expected an object, got a text"),
    ],
)
def test_objects_of_another_kind_are_refused(text: str, message: str) -> None:
    with pytest.raises(CommandError) as error:
        documents.check_object(documents.parse(text), kinds.JOBS)
    assert str(error.value) == message


def test_a_file_that_is_no_text_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "x"
    file.write_bytes(b"ab\xff")
    with pytest.raises(CommandError, match="not UTF-8 at byte 2"):
        documents.read_text(str(file))
    assert documents.read_text("-", stdin=io.StringIO("x")) == "x"


@pytest.mark.parametrize("errors", ["strict", "surrogateescape"])
def test_standard_input_is_utf8_whatever_the_locale_says(errors: str) -> None:
    def stdin(data: bytes) -> io.TextIOWrapper:
        return io.TextIOWrapper(io.BytesIO(data), encoding="latin-1", errors=errors)

    assert documents.read_text("-", stdin=stdin("é".encode())) == "é"
    with pytest.raises(CommandError, match="standard input: not UTF-8 at byte 2"):
        documents.read_text("-", stdin=stdin(b"ab\xff"))


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(st.characters(codec="utf-8", exclude_categories=("Cc", "Cs")), max_size=12)
    | st.sampled_from(["yes", "1", "0x1", "2024-01-02", "a: b", "- x", "", " a", "#x", "null", "line\nline", "1e3", "~"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("abc1y-", min_size=1, max_size=3), inner, max_size=3),
    max_leaves=10,
)  # fmt: skip


@given(values)
def test_what_is_written_is_read_back(value: Any) -> None:
    text = yamltext.dump(value)
    assert yamltext.load(text) == value
    assert yaml.safe_load(text) == value


def test_shared_parts_are_written_twice_and_long_lines_stay_whole() -> None:
    part = {"a": "word " * 60 + "end"}
    text = yamltext.dump({"x": part, "y": part})
    assert "&" not in text
    assert len(text.splitlines()) == 4
    assert yamltext.dump({"a": "1", "b": "yes", "c": "x\ny\n"}) == 'a: "1"\nb: "yes"\nc: |\n  x\n  y\n'


def test_amounts_are_canonical_and_the_last_of_a_name_wins() -> None:
    assert resource_list("cpu=0.5,memory=1024Mi,cpu=2") == {"cpu": "2", "memory": "1Gi"}
    assert resource_list("") == {}


@pytest.mark.parametrize("kind", kinds.ALL, ids=lambda kind: kind.qualified_name)
def test_addresses_are_those_of_the_generated_kinds(kind: kinds.Kind) -> None:
    found = by_kind(kind.api_version, kind.kind)
    assert (found.plural, found.namespaced) == (kind.plural, kind.namespaced)


@pytest.mark.parametrize(
    ("words", "unwanted"),
    [
        (("version",), ("typing", "msgspec", "argparse", "ssl", "json", "importlib.metadata")),
        (("job", "run", "--help"), ("typing", "msgspec", "argparse", "ssl", "json")),
        (
            ("job", "list", "-s", "http://127.0.0.1:1"),
            ("aiohttp", "asyncio", "argparse", "yaml", "generated.core.v1", "kubernetes"),
        ),
    ],
)
def test_a_command_imports_only_what_it_needs(
    words: tuple[str, ...], unwanted: tuple[str, ...], tmp_path: Path
) -> None:
    script = (
        "import sys, io; from cli.program import run; from cli.tree import root_of\n"
        f"run(root_of('vcctl'), {list(words)!r}, out=io.StringIO(), err=io.StringIO())\n"
        "print(*sys.modules)"
    )
    environ = {**os.environ, "HOME": str(tmp_path), "KUBECONFIG": str(tmp_path / "none")}
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=ROOT, env=environ, capture_output=True, text=True, check=True
    )
    assert not set(done.stdout.split()) & set(unwanted)
