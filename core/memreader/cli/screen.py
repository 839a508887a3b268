"""What the user sees: results on stdout, everything else on stderr; foreign text can't steer the terminal."""

from __future__ import annotations

import dataclasses
import json
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from pathlib import PurePath
from typing import Any, TypeAlias

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from memreader.items import TextualMemoryItem

_UNSAFE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
"""Control characters, those that turn the direction of a line, and halves of characters (of a file's name)."""
_UNSAFE_IN_JSON = re.compile("[\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
WIDE = 100
"""Columns from which a table has a column for everything."""

Cell: TypeAlias = str | Text


@dataclasses.dataclass(frozen=True, slots=True)
class Column:
    """One column of a table on a terminal."""

    title: str
    style: str = ""
    right: bool = False
    ratio: int | None = None


def printable(text: str) -> str:
    r"""Return `text` with everything that could steer a terminal written out; line breaks and tabs stay.

    >>> printable("red \x1b[31m"), printable("caf\udce9.txt")
    ('red \\x1b[31m', 'caf\\xe9.txt')
    """
    return _UNSAFE.sub(_written_out, text.replace("\r\n", "\n"))


def one_line(text: str) -> str:
    r"""Return `text` printable and on one line.

    >>> one_line("two\n  lines\x07")
    'two lines\\x07'
    """
    return " ".join(printable(text).split())


def _written_out(match: re.Match[str]) -> str:
    code = ord(match.group())
    if 0xDC80 <= code <= 0xDCFF:
        code -= 0xDC00  # a byte of a file's name that is no UTF-8
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"


def plain(value: Any) -> Any:
    """Return `value` made of what JSON knows: the fields of dataclasses, items without their vector."""
    if isinstance(value, TextualMemoryItem):
        return value.to_dict(with_embedding=False)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: plain(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        return {str(key): plain(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [plain(inner) for inner in value]
    if isinstance(value, AbstractSet):
        return sorted(plain(inner) for inner in value)
    return str(value) if isinstance(value, PurePath) else value


def json_text(value: Any, *, ascii_only: bool) -> str:
    """Return `value` as JSON that a terminal can show: what could steer it is escaped."""
    text = json.dumps(plain(value), ensure_ascii=ascii_only, indent=2)
    return _UNSAFE_IN_JSON.sub(lambda match: f"\\u{ord(match.group()):04x}", text)


class Screen:
    """Results to stdout, as tables, as tab-separated lines when it is no terminal, or as JSON; messages to stderr."""

    def __init__(self, *, as_json: bool = False) -> None:
        self.as_json = as_json
        self.out = Console(highlight=False, markup=False, emoji=False)
        self.err = Console(highlight=False, markup=False, emoji=False, stderr=True)

    @property
    def is_terminal(self) -> bool:
        """Whether somebody looks at the results."""
        return self.out.is_terminal

    @property
    def is_wide(self) -> bool:
        """Whether there is room for a table of many columns."""
        return self.out.width >= WIDE

    def say(self, message: str, *, style: str = "") -> None:
        """Show one line beside the results."""
        self.err.print(Text(one_line(message), style), soft_wrap=True)

    def write(self, text: str, *, style: str = "") -> None:
        """Show text as a result, as it is but for what could steer the terminal."""
        self.out.print(Text(printable(text), style), soft_wrap=True)

    def show_json(self, value: Any) -> None:
        """Write one JSON document."""
        self.out.file.write(self._json(value) + "\n")

    def show_json_list(self, values: Iterable[Any]) -> None:
        """Write one JSON list, an element as soon as it is there."""
        between = "[\n"
        for value in values:
            self.out.file.write(between + self._json(value))
            between = ",\n"
        self.out.file.write("[]\n" if between == "[\n" else "\n]\n")

    def _json(self, value: Any) -> str:
        encoding = (getattr(sys.stdout, "encoding", None) or "ascii").lower()
        return json_text(value, ascii_only=not encoding.startswith("utf"))

    def done(self, sentence: str, report: Any) -> None:
        """Show what was done: the report itself as JSON, else the sentence."""
        if self.as_json:
            self.show_json(report)
        else:
            self.write(sentence)

    def table(self, columns: Sequence[Column], rows: Iterable[Sequence[Cell]], *, title: str | None = None) -> None:
        """Show a table."""
        table = Table(
            box=box.SIMPLE_HEAD, title=title, title_style="bold", title_justify="left", expand=True, pad_edge=False
        )
        for column in columns:
            table.add_column(
                column.title,
                style=column.style,
                justify="right" if column.right else "left",
                ratio=column.ratio,
                overflow="fold",
            )
        for row in rows:
            table.add_row(*(cell if isinstance(cell, Text) else Text(printable(cell)) for cell in row))
        self.out.print(table)

    def lines(self, rows: Iterable[Sequence[str]]) -> None:
        """Write one line per row, its cells apart by a tab."""
        for row in rows:
            self.out.file.write("\t".join(map(one_line, row)) + "\n")

    def fields(self, pairs: Iterable[tuple[str, str]]) -> None:
        """Show names and values, one below the other; empty values are left out."""
        kept = [(name, value) for name, value in pairs if value]
        if not self.is_terminal:
            self.lines(kept)
            return
        grid = Table.grid(padding=(0, 2))
        grid.add_column(style="dim", no_wrap=True)
        grid.add_column(overflow="fold")
        for name, value in kept:
            grid.add_row(Text(name), Text(printable(value)))
        self.out.print(grid)


def counted(number: int, one: str, many: str | None = None) -> str:
    """Return a number with its noun.

    >>> counted(1, "file"), counted(1200, "memory", "memories")
    ('1 file', '1,200 memories')
    """
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def memories(number: int) -> str:
    """Return how many memories.

    >>> memories(2)
    '2 memories'
    """
    return counted(number, "memory", "memories")


def size(octets: int) -> str:
    """Return a number of bytes as people read it.

    >>> size(512), size(1_500_000)
    ('512 B', '1.5 MB')
    """
    amount, unit = float(octets), "B"
    for unit in ("B", "kB", "MB", "GB"):
        if amount < 1000 or unit == "GB":
            break
        amount /= 1000
    return f"{amount:,.0f} B" if unit == "B" else f"{amount:,.1f} {unit}"
