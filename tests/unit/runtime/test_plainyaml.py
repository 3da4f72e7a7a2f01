"""The plain reader against the library: what it reads it reads alike, and what it can't it leaves."""

from __future__ import annotations

from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from runtime import plainyaml

KUBECONFIG = """\
apiVersion: v1
clusters:
- cluster:
    certificate-authority-data: LS0tLS1CRUdJTi==
    server: https://127.0.0.1:6443
  name: kind-kind
contexts:
- context: {}
  name: "kind kind"
current-context: 'kind kind'
kind: Config
preferences: {}
users:
  - name: system:admin
    user:
      exec:
        args:
        - get-token
        - --region
        interactive: true
"""


def test_a_kubeconfig_is_read_as_the_library_reads_it() -> None:
    text = KUBECONFIG.replace("        - --region\n", "")
    assert plainyaml.read(text) == yaml.safe_load(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "a: 1",
        "a: yes",
        "a: null",
        "a:",
        "a: ~",
        "a: 2024-01-02",
        "a: b # c",
        "a: &x b",
        "a: *x",
        "a: |\n  b",
        "a: >\n  b",
        "a: b c",
        "a: [b]",
        "a: {b: c}",
        "a: 'it''s'",
        'a: "\\n"',
        "a: b\n  c: d",
        "a: b\na: c",
        "- - a",
        "-   a: b",
        "? a\n: b",
        "on: a",
        "a: ü",
        "a:\tb",
        "---\na: b",
        "a: b:",
        "  a: b",
        "!!str a",
        KUBECONFIG,
    ],
)
def test_what_is_not_plain_is_left_to_the_library(text: str) -> None:
    with pytest.raises(plainyaml.NotPlain):
        plainyaml.read(text)


words = st.text("abonyetrufls/0-9:=.@ \"'{}[]#-", min_size=0, max_size=8)
lines = st.builds(lambda indent, dash, key, value: f"{' ' * indent}{'- ' * dash}{key}: {value}", st.integers(0, 4), st.integers(0, 1), st.sampled_from("abc"), words)  # fmt: skip
documents = st.one_of(
    st.lists(lines, max_size=8).map("\n".join),
    st.recursive(
        st.sampled_from(["a", "yes", "x:y", "", "b c", "1", "true"]) | st.booleans(),
        lambda inner: (
            st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["k", "on", "name-x"]), inner, max_size=3)
        ),
        max_leaves=12,
    ).map(yaml.safe_dump),
)


@given(documents)
def test_both_agree_wherever_the_plain_reader_answers(text: str) -> None:
    try:
        found: Any = plainyaml.read(text)
    except plainyaml.NotPlain:
        return
    assert found == yaml.safe_load(text)
