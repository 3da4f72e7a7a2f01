"""Adding a line to the list that a process reads: `CONTROLLERS`, `WEBHOOKS`, `BUILT_IN`."""

from __future__ import annotations

import ast

from codegen.scaffold.errors import ScaffoldError


def members(text: str, name: str, path: str) -> list[str]:
    """The expressions in the tuple assigned to `name`. Raises ScaffoldError when there is no such tuple."""
    return [ast.unparse(element) for element in _tuple(text, name, path).elts]


def added(text: str, name: str, member: str, statement: str, path: str) -> str:
    """
    The module with one more member in the tuple assigned to `name`, and the import that it needs.

    `BUILT_IN` may hold its tuple inside a comprehension. Everything else stays as it stands, comments too.
    """
    found = _tuple(text, name, path)
    _refuse_hidden(text, statement, path)
    if found.elts:
        at = _offset(text, found.elts[-1].end_lineno, found.elts[-1].end_col_offset)
        text = f"{text[:at]}, {member}{text[at:]}"
    else:
        start = _offset(text, found.lineno, found.col_offset)
        end = _offset(text, found.end_lineno, found.end_col_offset)
        text = f"{text[:start]}({member},){text[end:]}"
    return imported(text, statement, path)


def _refuse_hidden(text: str, statement: str, path: str) -> None:
    """Raises ScaffoldError when the import would take the name of another one."""
    source, _, name = statement.removeprefix("from ").partition(" import ")
    for node in _parsed(text, path).body:
        for alias in node.names if isinstance(node, ast.Import | ast.ImportFrom) else ():
            origin = node.module if isinstance(node, ast.ImportFrom) else ""
            if (alias.asname or alias.name) == name and (origin, alias.name) != (source, name):
                raise ScaffoldError(path, f"imports another {name} already: choose another name")


def imported(text: str, statement: str, path: str) -> str:
    """The module with an import more, behind the last one at its top; where it belongs, the formatter knows."""
    if statement in text.splitlines():
        return text
    lines = text.splitlines(keepends=True)
    places = [
        node.end_lineno or 0 for node in _parsed(text, path).body if isinstance(node, ast.Import | ast.ImportFrom)
    ]
    lines.insert(max(places, default=0), f"{statement}\n")
    return "".join(lines)


def _parsed(text: str, path: str) -> ast.Module:
    try:
        return ast.parse(text)
    except SyntaxError as error:
        place = f" (line {error.lineno})" if error.lineno else ""
        raise ScaffoldError(path, f"can't be read as Python: {error.msg}{place}: mend the file") from error
    except (ValueError, RecursionError, MemoryError) as error:
        raise ScaffoldError(path, f"can't be read as Python: {error}: mend the file") from error


def _tuple(text: str, name: str, path: str) -> ast.Tuple:
    for node in _parsed(text, path).body:
        targets = [node.target] if isinstance(node, ast.AnnAssign) else getattr(node, "targets", [])
        if any(isinstance(target, ast.Name) and target.id == name for target in targets):
            value = getattr(node, "value", None)
            for inner in ast.walk(value) if value is not None else ():
                if isinstance(inner, ast.Tuple) and isinstance(inner.ctx, ast.Load):
                    return inner
    raise ScaffoldError(path, f"has no tuple {name} to add to: mend the file, or write the new part by hand")


def _offset(text: str, line: int | None, column: int | None) -> int:
    """Position in the text of a place that ast counts in lines and bytes."""
    assert line is not None and column is not None  # noqa: PT018  # ast gives both or none
    lines = text.splitlines(keepends=True)
    return sum(map(len, lines[: line - 1])) + len(lines[line - 1].encode()[:column].decode())
