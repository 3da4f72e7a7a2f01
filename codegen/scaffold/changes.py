"""
New and edited files as one change: written together, taken back together.

Files are edited in memory first, so a mistake that shows while they are made leaves nothing behind; and what comes
after the write, such as the generator's complaint about the new sources, takes the write back.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from codegen.output import named
from codegen.scaffold.errors import ScaffoldError
from codegen.scaffold.tidy import tidied


class Changes:
    """Texts to be written, by path relative to the root."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._texts: dict[str, str] = {}
        self.created: list[str] = []
        self.next_step = ""
        """What the author has to do now, for the end of the report."""

    @property
    def changed(self) -> list[str]:
        """Edited files."""
        return [path for path in self._texts if path not in self.created]

    def exists(self, path: str) -> bool:
        """Whether something is in the way of a new file."""
        return path in self._texts or (self.root / path).exists()

    def read(self, path: str, argument: str) -> str:
        """The text as it will be. Raises ScaffoldError on `argument` when there is no such file."""
        if path in self._texts:
            return self._texts[path]
        try:
            return (self.root / path).read_text(encoding="utf-8")
        except OSError as error:
            raise ScaffoldError(argument, f"{path} can't be read: {error.strerror}") from error
        except UnicodeDecodeError as error:
            message = f"is no UTF-8 text: {error.reason} at byte {error.start}"
            raise ScaffoldError(path, message) from error

    def create(self, path: str, text: str, argument: str) -> None:
        """A new file. Raises ScaffoldError on `argument` when the path is taken."""
        package = Path(path).with_suffix("")
        for taken in (path, package.as_posix() if path.endswith(".py") else path):
            if self.exists(taken):
                raise ScaffoldError(
                    argument, f"{taken} is there already, and would have to be overwritten: choose another name"
                )
        self.created.append(path)
        self._texts[path] = text

    def edit(self, path: str, text: str) -> None:
        """A new text for a file that is there."""
        self._texts[path] = text

    def paths(self) -> list[str]:
        """All files, new ones first."""
        return [*self.created, *self.changed]

    def touches(self, folder: str) -> bool:
        """Whether a file below the folder is new or edited."""
        return any(path.startswith(f"{folder}/") for path in self._texts)

    @contextmanager
    def written(self) -> Iterator[None]:
        """Write all; when the body fails, everything is as it was before."""
        texts = {path: tidied(self.root, path, text) for path, text in self._texts.items()}
        before: dict[Path, bytes | None] = {}
        folders: list[Path] = []
        try:
            for path, text in texts.items():
                target = self.root / path
                folders += _missing(target.parent)
                target.parent.mkdir(parents=True, exist_ok=True)
                before[target] = target.read_bytes() if target.exists() else None
                _replace(target, text.encode())
            yield
        except BaseException:
            for target, old in before.items():
                if old is None:
                    target.unlink(missing_ok=True)
                else:
                    _replace(target, old)
            for folder in reversed(folders):
                folder.rmdir()
            raise


def _missing(folder: Path) -> list[Path]:
    """The folders that have to be made, outermost first."""
    chain = [folder, *folder.parents]
    return [path for path in reversed(chain) if not path.exists()]


def _replace(target: Path, content: bytes) -> None:
    """All of the content or none of it, under the old file's mode."""
    temporary = target.with_name(f".{target.name}.new")
    try:
        with named(target):
            temporary.write_bytes(content)
        if target.exists():
            temporary.chmod(target.stat().st_mode & 0o777)
        temporary.replace(target)
    finally:
        temporary.unlink(missing_ok=True)
