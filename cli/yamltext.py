"""
YAML in and out, in the dialect of Kubernetes tools.

Out: block style, keys sorted, texts that would read as something else in double quotes, no folded lines. In: dates
stay texts, since JSON has none.
"""

from __future__ import annotations

from typing import Any

import yaml

from runtime.yamlguard import Bounded

_TEXT = "tag:yaml.org,2002:str"


class _Dumper(yaml.SafeDumper):
    """Shared parts of a document are written out each time: other tools may not know anchors."""

    def ignore_aliases(self, data: Any) -> bool:  # noqa: ARG002  # the interface of the library
        return True


def _represent_text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    if "\n" in text:
        return dumper.represent_scalar(_TEXT, text, style="|")
    plain = dumper.resolve(yaml.ScalarNode, text, (True, False)) == _TEXT  # type: ignore[no-untyped-call]  # the stubs lag behind
    return dumper.represent_scalar(_TEXT, text, style=None if plain else '"')


_Dumper.add_representer(str, _represent_text)


class _Loader(Bounded, yaml.SafeLoader):
    """Dates and times are texts."""

    yaml_implicit_resolvers = {  # noqa: RUF012  # the library's own attribute
        first: [(tag, pattern) for tag, pattern in resolvers if tag != "tag:yaml.org,2002:timestamp"]
        for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }


def dump(value: Any, *, sort_keys: bool = True) -> str:
    """A value as a YAML document."""
    return yaml.dump(value, Dumper=_Dumper, sort_keys=sort_keys, allow_unicode=True, width=float("inf"))


def load(text: str) -> Any:
    """
    The first document of a text, None for an empty one.

    Raises ValueError saying where it can't be read; a key that is no text becomes one, as in JSON.
    """
    try:
        return _as_json(yaml.load(text, Loader=_Loader))  # noqa: S506  # derived from the safe loader
    except (yaml.YAMLError, ValueError, TypeError) as error:
        raise ValueError(f"error converting YAML to JSON: yaml: {_reason(error)}") from error


def _reason(error: Exception) -> str:
    if isinstance(error, yaml.MarkedYAMLError) and error.problem_mark is not None:
        return f"line {error.problem_mark.line + 1}: {error.problem or error.context or 'not readable'}"
    return " ".join(str(error).split()) or type(error).__name__


def _as_json(value: Any) -> Any:
    if isinstance(value, dict):
        return {_key(key): _as_json(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_as_json(item) for item in value]
    if isinstance(value, set | tuple | bytes):
        raise TypeError(f"a {type(value).__name__} has no form in JSON")
    return value


def _key(key: Any) -> str:
    if isinstance(key, bool):
        return "true" if key else "false"
    if isinstance(key, str | int | float):
        return str(key)
    raise TypeError(f"the key {key!r} is no text")
