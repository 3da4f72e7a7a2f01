from __future__ import annotations

import json
import os
import stat
from pathlib import Path
from typing import Any

import pytest
import yaml

from codegen import vendor
from codegen.__main__ import main
from codegen.vendor import VendorError, closure, download, read_schemas, references, short_name, trim
from tests.unit.codegen.projects import ROOT

P = "#/components/schemas/"
POD = "io.k8s.api.core.v1.Pod"
META = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"


@pytest.mark.parametrize(
    ("name", "short"),
    [
        (POD, "core.v1.Pod"),
        (META, "meta.v1.ObjectMeta"),
        ("io.k8s.apimachinery.pkg.api.resource.Quantity", "meta.v1.Quantity"),
        ("io.k8s.apimachinery.pkg.util.intstr.IntOrString", "meta.v1.IntOrString"),
        ("io.k8s.apimachinery.pkg.runtime.RawExtension", "meta.v1.RawExtension"),
        ("io.k8s.api.resource.v1beta2.DeviceTaintRule", "resource.v1beta2.DeviceTaintRule"),
    ],
)
def test_names_are_cut_to_group_version_and_type(name: str, short: str) -> None:
    assert short_name(name) == short


def test_what_no_reader_needs_is_trimmed() -> None:
    schema = {
        "description": "long",
        "type": "object",
        "required": ["description"],
        "x-kubernetes-unions": [],
        "properties": {
            "description": {"type": "string", "description": "long", "default": ""},
            "metadata": {"allOf": [{"$ref": P + META}], "default": {}, "description": "long"},
            "list": {
                "type": "array",
                "items": {"$ref": P + POD},
                "x-kubernetes-list-type": "map",
                "x-kubernetes-list-map-keys": ["name"],
                "x-kubernetes-patch-strategy": "merge",
            },
            "map": {"type": "object", "additionalProperties": {"oneOf": [{"type": "string", "description": "x"}]}},
        },
    }
    assert trim(schema) == {
        "type": "object",
        "required": ["description"],
        "properties": {
            "description": {"type": "string", "default": ""},
            "metadata": {"$ref": P + "meta.v1.ObjectMeta", "default": {}},
            "list": {
                "type": "array",
                "items": {"$ref": P + "core.v1.Pod"},
                "x-kubernetes-list-type": "map",
                "x-kubernetes-list-map-keys": ["name"],
            },
            "map": {"type": "object", "additionalProperties": {"oneOf": [{"type": "string"}]}},
        },
    }


def test_an_unknown_composition_is_refused() -> None:
    with pytest.raises(VendorError, match="allOf with one reference"):
        trim({"allOf": [{"$ref": "a"}, {"$ref": "b"}]})


def test_the_closure_holds_what_roots_lead_to() -> None:
    schemas: dict[str, Any] = {
        "a": {"properties": {"$ref": {"type": "string"}, "b": {"items": {"$ref": P + "b"}}}},
        "b": {"additionalProperties": {"$ref": P + "a"}},
        "c": {},
    }
    assert list(closure(schemas, ["a"])) == ["a", "b"]
    with pytest.raises(VendorError, match="d: not in the OpenAPI documents"):
        closure(schemas, ["d"])


def write_documents(folder: Path, **schemas: dict[str, Any]) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for name, components in schemas.items():
        text = json.dumps({"components": {"schemas": components}})
        (folder / f"api{name}_openapi.json").write_text(text, encoding="utf-8")
    return folder


def test_documents_that_disagree_are_refused(tmp_path: Path) -> None:
    write_documents(tmp_path, a={POD: {"type": "object"}}, b={POD: {"type": "string"}})
    with pytest.raises(VendorError, match=r"apib_openapi.json: io.k8s.api.core.v1.Pod differs"):
        read_schemas(tmp_path)


def test_documents_may_differ_in_descriptions_and_kinds_of_options(tmp_path: Path) -> None:
    kinds = [{"group": "", "kind": "DeleteOptions", "version": "v1"}]
    options = "io.k8s.apimachinery.pkg.apis.meta.v1.DeleteOptions"
    write_documents(
        tmp_path,
        a={options: {"type": "object", "description": "x", "x-kubernetes-group-version-kind": kinds}},
        b={options: {"type": "object"}},
    )
    assert read_schemas(tmp_path) == {"meta.v1.DeleteOptions": {"type": "object"}}


def test_a_folder_without_documents_is_refused(tmp_path: Path) -> None:
    with pytest.raises(VendorError, match="no OpenAPI documents"):
        read_schemas(tmp_path)


def fake_go(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str) -> None:
    """Put a `go` first on PATH that runs a shell script."""
    program = tmp_path / "bin" / "go"
    program.parent.mkdir()
    program.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", f"{program.parent}{os.pathsep}{os.environ['PATH']}")


def test_a_module_is_found_where_go_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake_go(tmp_path, monkeypatch, 'echo "{\\"Dir\\": \\"/mod/$4\\"}"')
    assert download("k8s.io/api", "v0.1.2") == Path("/mod/k8s.io/api@v0.1.2")


@pytest.mark.parametrize(
    ("script", "message"),
    [
        ("""echo '{"Error": "not found"}'; exit 1""", "k8s.io/api@v0.1.2: not found"),
        ("echo broken >&2; exit 1", "k8s.io/api@v0.1.2: broken"),
        ("echo '{}'", "no folder in its answer"),
        ("echo nonsense", "no folder in its answer"),
    ],
)
def test_a_failed_download_tells_why(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str, message: str
) -> None:
    fake_go(tmp_path, monkeypatch, script)
    with pytest.raises(VendorError, match=message):
        download("k8s.io/api", "v0.1.2")


def test_without_go_the_message_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    with pytest.raises(VendorError, match="install Go"):
        download("k8s.io/api", "v0.1.2")


@pytest.mark.parametrize("version", ["1.36.1", "v1.36", "v2.0.0", "master", "v1.36.1-rc.0"])
def test_only_a_release_is_taken(tmp_path: Path, version: str) -> None:
    with pytest.raises(VendorError, match="a Kubernetes release is expected"):
        vendor.vendor(tmp_path, version)


def modules(tmp_path: Path) -> dict[str, Path]:
    """Three module folders with one kind that holds a pointer."""
    release, api, machinery = (tmp_path / "modules" / name for name in ("kubernetes", "api", "machinery"))
    properties = {"metadata": {"allOf": [{"$ref": P + META}], "default": {}}, "size": {"type": "integer"}}
    write_documents(
        release / "api" / "openapi-spec" / "v3",
        a={POD: {"type": "object", "properties": properties}, META: {"type": "object"}},
    )
    (release / "LICENSE").write_text("\nThe license.\n", encoding="utf-8")
    for folder, text in (
        (api / "core" / "v1", 'type Pod struct {\n\tSize *int `json:"size"`\n}\n'),
        (machinery / "pkg" / "apis" / "meta" / "v1", 'type ObjectMeta struct {\n\tName *string `json:"name"`\n}\n'),
    ):
        folder.mkdir(parents=True)
        (folder / "types.go").write_text(text, encoding="utf-8")
    return {
        "k8s.io/kubernetes@v1.36.1": release,
        "k8s.io/api@v0.36.1": api,
        "k8s.io/apimachinery@v0.36.1": machinery,
    }


def test_all_four_files_are_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folders = modules(tmp_path)
    monkeypatch.setattr(vendor, "download", lambda module, version: folders[f"{module}@{version}"])
    monkeypatch.setattr(vendor, "ROOTS", {"core.v1": ("Pod",)})
    vendor.vendor(tmp_path, "v1.36.1")
    written = {path.name: path.read_text(encoding="utf-8") for path in (tmp_path / "api" / "k8s").iterdir()}
    assert set(written) == {"LICENSE", "VERSION", "openapi.json", "pointers.yaml"}
    assert written["VERSION"] == "v1.36.1\n"
    assert written["LICENSE"].endswith("\n\nThe license.\n")
    assert "Kubernetes v1.36.1" in written["LICENSE"]
    assert list(json.loads(written["openapi.json"])["components"]["schemas"]) == ["core.v1.Pod", "meta.v1.ObjectMeta"]
    assert yaml.safe_load(written["pointers.yaml"]) == ["core.v1.Pod.size", "meta.v1.ObjectMeta.name"]


def test_the_command_vendors(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folders = modules(tmp_path)
    monkeypatch.setattr(vendor, "download", lambda module, version: folders[f"{module}@{version}"])
    monkeypatch.setattr(vendor, "ROOTS", {"core.v1": ("Pod",)})
    assert main(["--root", str(tmp_path), "vendor", "--k8s", "v1.36.1"]) == 0
    assert (tmp_path / "api/k8s/VERSION").exists()
    assert main(["--root", str(tmp_path), "vendor", "--k8s", "latest"]) == 2
    assert "a Kubernetes release is expected, such as v1.36.1; nothing was written" in capsys.readouterr().err


def test_a_failure_leaves_the_old_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folders = modules(tmp_path)
    (folders["k8s.io/api@v0.36.1"] / "core" / "v1" / "types.go").unlink()
    monkeypatch.setattr(vendor, "download", lambda module, version: folders[f"{module}@{version}"])
    monkeypatch.setattr(vendor, "ROOTS", {"core.v1": ("Pod",)})
    with pytest.raises(VendorError, match=r"no Go types of core.v1"):
        vendor.vendor(tmp_path, "v1.36.1")
    assert not (tmp_path / "api").exists()


# What is vendored now.

DOCUMENT = json.loads((ROOT / "api/k8s/openapi.json").read_bytes())
SCHEMAS: dict[str, dict[str, Any]] = DOCUMENT["components"]["schemas"]
POINTERS = set(yaml.safe_load((ROOT / "api/k8s/pointers.yaml").read_bytes()))


def test_the_version_is_told_in_both_places() -> None:
    assert (ROOT / "api/k8s/VERSION").read_text(encoding="utf-8").strip() == DOCUMENT["info"]["version"]


def test_every_root_is_there_and_nothing_is_missing() -> None:
    roots = {f"{module}.{name}" for module, names in vendor.ROOTS.items() for name in names}
    assert list(closure(SCHEMAS, roots)) == list(SCHEMAS)


def test_no_schema_carries_a_description() -> None:
    def described(node: dict[str, Any]) -> bool:
        nested = [*node.get("properties", {}).values(), node.get("items"), node.get("additionalProperties")]
        return "description" in node or any(described(child) for child in nested if child)

    assert not [name for name, schema in SCHEMAS.items() if described(schema)]


def test_every_pointer_is_a_property() -> None:
    for pointer in POINTERS:
        component, _, name = pointer.rpartition(".")
        assert name in SCHEMAS[component]["properties"], pointer


def test_pointers_agree_with_published_defaults() -> None:
    """A struct held by value is published with the default `{}`, one behind a pointer without."""
    for component, schema in SCHEMAS.items():
        for name, node in schema.get("properties", {}).items():
            target = SCHEMAS.get(node.get("$ref", "").removeprefix(P), {})
            if "properties" in target:
                assert (f"{component}.{name}" in POINTERS) == (node.get("default") != {}), f"{component}.{name}"


def test_references_of_lists_and_maps_are_found() -> None:
    assert references({"items": {"$ref": P + "a"}, "oneOf": [{"$ref": P + "b"}], "default": {}}) == ["a", "b"]
