"""Files of webhook configurations, good and bad."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from cluster.errors import UsageError
from cluster.webhookfiles import read

START = "apiVersion: admissionregistration.k8s.io/v1\nkind: MutatingWebhookConfiguration\n"
GOOD = f"{START}metadata: {{name: good}}\n"


def test_our_own_webhooks_are_read_as_they_stand() -> None:
    file = Path(__file__).parents[3] / "config" / "webhooks" / "manifests.yaml"
    assert read(file) == [document for document in yaml.safe_load_all(file.read_text()) if document]


def test_empty_documents_and_left_out_parts_are_passed_over(tmp_path: Path) -> None:
    file = tmp_path / "some.yaml"
    file.write_text(f"---\n# nothing\n---\n{GOOD}webhooks:\n---\n{GOOD}webhooks: [{{clientConfig: {{service: }}}}]\n")
    assert [found["webhooks"] for found in read(file)] == [None, [{"clientConfig": {"service": None}}]]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "holds no webhook configuration"),
        (b"# a comment\n---\n", "holds no webhook configuration"),
        (b"\x7fELF\xff\xfe", "no valid YAML: "),
        (b"\xff\xfe\x00", "no valid YAML: "),
        (b"a: [", "no valid YAML: "),
        (b"[" * 5000, "no valid YAML: "),
        (b"? [a]\n: b", "no valid YAML: "),
        (b"a: 2001-99-99", "no valid YAML: "),
        (b"- a", "top level: Expected `object`, got `array`"),
        (b"0", "top level: Expected `object`, got `int`"),
        (b"{}", "kind: expected MutatingWebhookConfiguration or ValidatingWebhookConfiguration, got ''"),
        (b"kind: Cluster", "kind: expected MutatingWebhookConfiguration or ValidatingWebhookConfiguration, got 'Cluster'"),
        (b"kind: [a]", "kind: Expected `str`, got `array`"),
        (b"kind: MutatingWebhookConfiguration", "apiVersion: expected admissionregistration.k8s.io/v1, got ''"),
        (START.encode(), "top level: Object missing required field `metadata`"),
        (f"{START}metadata:".encode(), "metadata: Expected `object`, got `null`"),
        (f"{START}metadata: {{}}".encode(), "metadata: Object missing required field `name`"),
        (f"{START}metadata: {{name: 5}}".encode(), "metadata.name: Expected `str`, got `int`"),
        (f"{START}metadata: {{name: ''}}".encode(), "metadata.name: is empty"),
        (f"{GOOD}webhooks: {{}}".encode(), "webhooks: Expected `array | null`, got `object`"),
        (f"{GOOD}webhooks: [{{name: a}}]".encode(), "webhooks[0]: Object missing required field `clientConfig`"),
        (f"{GOOD}webhooks: [{{clientConfig: {{service: a}}}}]".encode(), "webhooks[0].clientConfig.service: Expected"),
        (f"{GOOD}other: !!set {{{{a: 1}}: 2}}".encode(), "no valid YAML: "),
        (f"{GOOD}---\n- a".encode(), "document 2: top level: Expected `object`, got `array`"),
    ],
)  # fmt: skip
def test_a_wrong_file_is_one_line_that_names_file_and_field(tmp_path: Path, content: bytes, message: str) -> None:
    file = tmp_path / "wrong.yaml"
    file.write_bytes(content)
    with pytest.raises(UsageError) as caught:
        read(file)
    assert str(caught.value).startswith(f"{file}: {message}")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(("name", "problem"), [("none", "No such file or directory"), (".", "Is a directory")])
def test_a_file_that_cannot_be_read_is_named(tmp_path: Path, name: str, problem: str) -> None:
    with pytest.raises(UsageError, match=f"^{tmp_path / name}: can't be read: {problem}$"):
        read(tmp_path / name)
