from __future__ import annotations

from pathlib import Path

import pytest

from codegen.source import load
from codegen.webhooks import files
from tests.unit.codegen.projects import PROJECT, write

ENTRY = "- {group: test.example.com, version: v1, kind: Widget, plural: widgets"


def text(root: Path, hooks: str) -> str:
    project = PROJECT.replace(ENTRY, f"{ENTRY}, webhooks: {{{hooks}}}")
    return files(load(write(root, {"project.yaml": project}))).get("generated/webhooks/test_v1.py", "")


def test_a_kind_without_webhooks_has_no_interface(tmp_path: Path) -> None:
    assert list(files(load(write(tmp_path)))) == ["generated/webhooks/base.py"]


@pytest.mark.parametrize(
    ("operation", "signature", "call"),
    [
        ("CREATE", "obj: v1.Widget)", "validate_create(request, obj)"),
        ("UPDATE", "obj: v1.Widget, old: v1.Widget)", "validate_update(request, obj, present(request, old))"),
        ("DELETE", "old: v1.Widget)", "validate_delete(request, present(request, old))"),
        ("CONNECT", "obj: v1.Widget)", "validate_connect(request, obj)"),
    ],
)
def test_each_operation_has_a_method_with_what_it_has(
    tmp_path: Path, operation: str, signature: str, call: str
) -> None:
    made = text(tmp_path, f"validate: {{path: /w, name: w.example.com, operations: [{operation}]}}")
    assert f"def validate_{operation.lower()}(self, request: AdmissionRequest, {signature} -> ValidationAnswer:" in made
    assert f"        return self.{call}\n" in made
    assert "if request.operation" not in made
    assert ("import ValidationAnswer, present" in made.replace("Validating, ", "")) == ("present(" in call)


def test_only_the_interfaces_asked_for_are_made(tmp_path: Path) -> None:
    made = text(tmp_path, "mutate: {path: /w, name: w.example.com, operations: [CREATE]}")
    assert "class WidgetDefaulter(" in made
    assert "Validat" not in made
