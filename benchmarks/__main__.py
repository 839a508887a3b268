"""`python -m benchmarks NAME`: measures this library beside others and prints a table.

A benchmark is a module here with `add_arguments(parser)` and `main(arguments)`; its name is the module's.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import sys
from collections.abc import Sequence
from pathlib import Path


def names() -> list[str]:
    """Return the names of the benchmarks, without importing them."""
    found = [file.stem for file in Path(__file__).parent.glob("*.py") if not file.stem.startswith("_")]
    return sorted(name for name in found if "def add_arguments(" in _source(name))


def _source(name: str) -> str:
    return (Path(__file__).parent / f"{name}.py").read_text(encoding="utf-8")


def main(argv: Sequence[str] | None = None) -> int:
    """Run the benchmark that `argv` names."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=(__doc__ or "").split("\n")[0])
    commands = parser.add_subparsers(dest="name", required=True, metavar="NAME")
    given = list(sys.argv[1:] if argv is None else argv)
    modules = {}
    for name in names():
        # Only the one asked for is imported: others may need what isn't installed.
        chosen = name in given[:1]
        modules[name] = importlib.import_module(f"benchmarks.{name}") if chosen else None
        command = commands.add_parser(name, help=_summary(name), description=_summary(name))
        command.add_argument(
            "--json",
            nargs="?",
            const=True,
            metavar="FILE",
            help="print one JSON object instead of a table, or write it",
        )
        command.add_argument("--no-peers", action="store_true", help="measure this library and the floor only")
        if module := modules[name]:
            module.add_arguments(command)
    arguments = parser.parse_args(given)
    module = modules[arguments.name]
    assert module is not None
    module.main(arguments)
    return 0


def _summary(name: str) -> str:
    """Return the first line of a module's docstring."""
    return _source(name).split('"""')[1].strip().split("\n")[0]


if __name__ == "__main__":
    sys.exit(main())
