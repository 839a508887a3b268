"""The command `memreader`; needs the extra `cli`."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from memreader.errors import MissingExtraError, require


def main(arguments: Sequence[str] | None = None) -> int:
    """Return the exit code of one run: 0 fine, 1 failed, 2 wrongly called, 130 interrupted.

    Args:
        arguments: What follows the program's name; those of this process when None.
    """
    try:
        for package in ("rich", "typer"):
            require(package, package=package, extra="cli")
        from memreader.cli.program import run
    except MissingExtraError as error:
        print(f"memreader: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    return run(sys.argv[1:] if arguments is None else list(arguments))
