"""
Tables whose bytes scripts rely on: fixed widths, padded to the last column.

A column grows only when a value would touch the next one; then it leaves two blanks.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

Row = Sequence[str | int]


class Table:
    """Titles with the width of each column, the last one included."""

    def __init__(self, *columns: tuple[str, int]) -> None:
        self.titles = tuple(title for title, _ in columns)
        self.widths = [width for _, width in columns]

    def fit(self, rows: Iterable[Row]) -> None:
        """Widen the columns that a value of these rows would fill. The last one touches nothing."""
        for row in rows:
            for index, value in enumerate(row[:-1]):
                length = len(str(value))
                if length >= self.widths[index]:
                    self.widths[index] = length + 2

    def header(self) -> str:
        return self.line(self.titles)

    def line(self, row: Row) -> str:
        """One padded line, without the newline. A value wider than its column keeps two blanks behind it."""
        cells = []
        last = len(row) - 1
        for index, (value, width) in enumerate(zip(row, self.widths, strict=True)):
            cell = f"{value!s:<{width}}"
            cells.append(
                f"{value}  " if index < last and len(str(value)) >= width and not self._is_title(row) else cell
            )
        return "".join(cells)

    def lines(self, rows: Sequence[Row]) -> list[str]:
        """Header and rows, fitted."""
        self.fit(rows)
        return [self.header(), *map(self.line, rows)]

    def _is_title(self, row: Row) -> bool:
        return row is self.titles


def extended(columns: Sequence[tuple[str, int]], more: Sequence[tuple[str, int]]) -> list[tuple[str, int]]:
    """Columns with more behind them; what was the last one then leaves two blanks behind its title."""
    if not more:
        return list(columns)
    title, width = columns[-1]
    return [*columns[:-1], (title, max(width, len(title) + 2)), *more]


def widest(title: str, values: Iterable[str], *, gap: int) -> tuple[str, int]:
    """A column as wide as its longest value or its title, and `gap` blanks. Titles and values are ASCII."""
    return title, max(len(title), *(len(value) for value in values), 0) + gap
