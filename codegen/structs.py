"""
Renders classes with datamodel-code-generator: it orders the classes, cuts them into modules and imports what
they refer to. The fields come out as marks, so that models and apply builders are made of one run.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from datamodel_code_generator import generate
from datamodel_code_generator.config import GenerateConfig
from datamodel_code_generator.enums import DataModelType, InputFileType
from datamodel_code_generator.format import PythonVersion

from codegen.document import PREFIX, Property, Types
from codegen.pytext import docstring

_TEMPLATES = Path(__file__).parent / "templates" / "types"
_BASE = "Base"
_IMPORT = re.compile(r"^(?:from|import) ")
_NOT_OURS = ("from __future__ ", f"from {_BASE.lower()} ", "from msgspec ")
_MARK = re.compile(r"^    \w+: (?P<hint>.*) = FIELD\((?P<place>.*)\)$", re.MULTILINE)

WriteField = Callable[[Property, str], str]
"""(property, type as the generator spells it) -> the line of the field, and further lines below it."""


@dataclass(frozen=True, slots=True)
class Module:
    """One module of classes whose fields are still to be written."""

    imports: tuple[str, ...]
    """Those that the types of the fields need."""
    marked: str
    types: Types

    def body(self, base: str, write: WriteField) -> str:
        """The classes, derived from `base`, with fields as `write` spells them."""

        def line(mark: re.Match[str]) -> str:
            component, wire = json.loads(mark["place"])
            made = self.types.classes[component]
            return "    " + write(next(item for item in made.properties if item.wire == wire), mark["hint"])

        return _MARK.sub(line, self.marked).replace(f"({_BASE}, kw_only=True):", f"({base}, kw_only=True):")


def render(types: Types) -> dict[str, Module]:
    """Modules by name (`batch.v1alpha1`), with a class for each type."""
    extra: defaultdict[str, dict[str, Any]] = defaultdict(dict)
    aliases: dict[str, str] = {}
    for name, made in types.classes.items():
        extra[PREFIX + name] = {"mark": partial(_mark, name), "summary": docstring(made.description)}
        aliases |= {item.wire: item.attribute for item in made.properties if item.attribute != item.wire}
    config = GenerateConfig(
        input_file_type=InputFileType.OpenAPI,
        output_model_type=DataModelType.MsgspecStruct,
        target_python_version=PythonVersion.PY_311,
        custom_template_dir=_TEMPLATES,
        extra_template_data=extra,
        base_class=f"{_BASE.lower()}.{_BASE}",
        aliases=aliases,
        treat_dot_as_module=True,
        use_exact_imports=True,
        use_type_alias=True,
        use_union_operator=True,
        use_standard_collections=True,
        strict_nullable=True,
        disable_timestamp=True,
        formatters=[],
    )
    texts = generate(json.dumps(types.openapi()), config=config)
    if not isinstance(texts, Mapping):
        raise TypeError(f"expected one text a module, not {type(texts).__name__}")
    names = {path: ".".join(path).removesuffix(".py") for path in texts if path[-1] != "__init__.py"}
    return {name: _module(str(texts[path]), types) for path, name in names.items()}


def _mark(component: str, wire: str) -> str:
    """What stands for a field until its module is written; the generator wants to read it as Python."""
    return f"FIELD({json.dumps([component, wire])})"


def _module(text: str, types: Types) -> Module:
    lines = text.splitlines()
    imports = [line for line in lines if _IMPORT.match(line) and not line.startswith(_NOT_OURS)]
    body = "\n".join(line for line in lines if not _IMPORT.match(line) and not line.startswith("#")).strip("\n")
    return Module(tuple(imports), re.sub(r"\n{3,}", "\n\n\n", body), types)


def containers(hint: str, sequence: str, mapping: str) -> str:
    """
    The type with other containers: (`list[str]`, `tuple[{}, ...]`, `dict[str, {}]`) -> `tuple[str, ...]`.

    The patterns hold `{}` where the type of the elements goes; keys are always strings.
    """
    for head, pattern in (("list[", sequence), ("dict[str, ", mapping)):
        if hint.startswith(head) and hint.endswith("]"):
            return pattern.format(containers(hint[len(head) : -1], sequence, mapping))
    return hint
