"""Results as a table on the terminal, or as one JSON object."""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

NOT_INSTALLED = "not installed"
Results = Mapping[str, Mapping[str, Any] | str]
"""What was measured, by system; a word where nothing could be."""


def show(title: str, results: Results, arguments: argparse.Namespace, *, notes: Sequence[str] = ()) -> dict[str, Any]:
    """Print `results`, a row per system and a column per measure, and return them with the title.

    With `arguments.json` the same is printed as one JSON object and nothing else; if that is a file's name, it is
    written there beside the table.
    """
    report = {"benchmark": title, "results": dict(results), "notes": list(notes)}
    if arguments.json is True:
        print(json.dumps(report, ensure_ascii=False))
        return report
    if arguments.json:
        Path(arguments.json).write_text(json.dumps(report, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
    columns: dict[str, None] = {}
    for row in results.values():
        if isinstance(row, Mapping):
            columns.update(dict.fromkeys(row))
    header = ["", *columns]
    rows = []
    for system, row in results.items():
        values = [row.get(column) for column in columns] if isinstance(row, Mapping) else [row]
        rows.append([system, *map(_cell, values), *[""] * (len(columns) - len(values))])
    try:
        _print_rich(title, header, rows)
    except ImportError:
        _print_plain(title, header, rows)
    for note in notes:
        print(note)
    return report


def _cell(value: object) -> str:
    if value is None:
        return "-"
    if isinstance(value, float):
        return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}" if abs(value) < 1 else f"{value:.2f}"
    return f"{value:,}" if isinstance(value, int) else str(value)


def _print_rich(title: str, header: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table(title=title)
    for place, column in enumerate(header):
        table.add_column(column, justify="right" if place else "left", no_wrap=not place)
    for row in rows:
        table.add_row(*row)
    console = Console()
    if not console.is_terminal:
        console = Console(width=200)
    console.print(table)


def _print_plain(title: str, header: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    widths = [max(map(len, column)) for column in zip(header, *rows, strict=True)]
    print(title)
    for row in (header, *rows):
        cells = [cell.rjust(width) for cell, width in zip(row, widths, strict=True)]
        print("  ".join([row[0].ljust(widths[0]), *cells[1:]]))
