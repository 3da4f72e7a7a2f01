"""Pages are taken apart into files and commands, and put together again with other outputs."""

from __future__ import annotations

import pytest

from hack.docs.pages import ROOT, Command, File, pages, rewrite, steps

PAGE = """\
# A page

```yaml file=a.yaml
kind: A
```

```console run
$ first
one
two
$ second \\
  goes on
$ third
three
```

```console
$ not run
```

```yaml
kind: B
```
"""
FOUND = [
    File("a.yaml", "kind: A\n"), Command("first", "one\ntwo\n"), Command("second \\\n  goes on", ""),
    Command("third", "three\n"),
]  # fmt: skip


def test_files_and_commands_come_in_the_order_of_the_page() -> None:
    assert list(steps(PAGE)) == FOUND


def test_what_a_page_shows_stays_when_it_is_what_is_printed() -> None:
    assert rewrite(PAGE, lambda command: command.output) == PAGE


def test_other_outputs_take_the_place_of_those_shown_and_nothing_else_changes() -> None:
    printed = {"first": "1\n", "second \\\n  goes on": "2\n", "third": ""}
    expected = PAGE.replace("one\ntwo\n", "1\n").replace("  goes on\n", "  goes on\n2\n").replace("three\n", "")
    assert rewrite(PAGE, lambda command: printed[command.text]) == expected


@pytest.mark.parametrize("page", ["docs/quick-start.md", "docs/concepts.md", "docs/tasks/mpi.md"])
def test_pages_with_commands_are_found(page: str) -> None:
    assert ROOT / page in pages()
