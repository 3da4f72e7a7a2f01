from __future__ import annotations

import pytest

from codegen.gotypes import Field, parse, pointers

SOURCE = """
/*
type Commented struct {
	Field *string `json:"field"`
}
*/
package v1

// Widget is a thing.
type Widget struct {
	metav1.TypeMeta `json:",inline"`
	// Standard object's metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`

	Name string `json:"name" protobuf:"bytes,1,opt,name=name"`
	Size *int32 `json:"size,omitempty" protobuf:"varint,2,opt,name=size"`
	When *metav1.Time `json:"when,omitempty"`
	Limits map[ResourceName]resource.Quantity `json:"limits,omitempty"`
	Parts []Part `json:"parts,omitempty" patchStrategy:"merge" patchMergeKey:"name"`
	// Old *string `json:"old"`
	Hidden *string `json:"-"`
	unexported *string
	PartSource `json:",inline" protobuf:"bytes,2,opt,name=partSource"`
	*PartExtra `json:",inline"`
}

type PartSource struct {
	File *FileSource `json:"file,omitempty"`
	Deep             `json:",inline"`
}

type PartExtra struct {
	Extra *bool `json:"extra,omitempty"`
}

type Deep struct {
	Level *int64 `json:"level,omitempty"`
	Plain bool   `json:"plain"`
}

type Alias string

func (w *Widget) Reset() {
	x := 1
}
"""


def test_fields_are_read_with_their_json_names() -> None:
    structs = parse(SOURCE, "core.v1")
    assert set(structs) == {"core.v1.Widget", "core.v1.PartSource", "core.v1.PartExtra", "core.v1.Deep"}
    assert structs["core.v1.Deep"] == (Field("level", "*int64"), Field("plain", "bool"))
    widget = {field.name: field for field in structs["core.v1.Widget"] if field.name}
    assert set(widget) == {"metadata", "name", "size", "when", "limits", "parts"}
    assert widget["limits"].type == "map[ResourceName]resource.Quantity"
    assert widget["size"].pointer
    assert not widget["parts"].pointer


def test_pointers_of_inlined_structs_count_for_the_outer_one() -> None:
    structs = parse(SOURCE, "core.v1") | {"meta.v1.TypeMeta": (Field("kind", "*string"),)}
    assert pointers(structs, ["core.v1.Widget"]) == [
        f"core.v1.Widget.{name}" for name in ("extra", "file", "kind", "level", "size", "when")
    ]


def test_a_component_without_a_struct_has_no_pointers() -> None:
    assert pointers(parse(SOURCE, "core.v1"), ["meta.v1.Quantity"]) == []


def test_a_package_alias_without_a_version_is_refused() -> None:
    structs = {"core.v1.Odd": (Field("", "stuff.Thing", inline=True),)}
    with pytest.raises(ValueError, match=r"core.v1.Odd inlines stuff.Thing: which group and version is 'stuff'"):
        pointers(structs, ["core.v1.Odd"])
