"""What a parsing process may not do, whatever a document makes its libraries try."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import Any

_NETWORK_AND_PROCESSES = (
    "socket.", "urllib.", "http.", "ftplib.", "smtplib.", "poplib.", "imaplib.", "webbrowser.",
    "subprocess.", "os.system", "os.exec", "os.fork", "os.spawn", "os.posix_spawn", "os.startfile", "os.kill", "pty.",
)  # fmt: skip
_CHANGES = (
    "os.remove", "os.rename", "os.mkdir", "os.rmdir", "os.link", "os.symlink", "os.truncate", "os.chmod", "os.chown",
    "os.utime", "shutil.", "tempfile.",
)  # fmt: skip
_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND


def block_network() -> None:
    """From now on, for the life of this process: opening a socket or starting a process raises PermissionError.

    An audit hook, and not a replaced `socket.socket`: it also stops code that goes to the C module beneath, and nothing
    can take it off again. Unix sockets are refused too.
    """

    def refuse(event: str, _: tuple[Any, ...]) -> None:
        if event.startswith(_NETWORK_AND_PROCESSES):
            raise PermissionError(f"a parsing process may not do {event}")

    sys.addaudithook(refuse)


def block_files(readable: Sequence[str]) -> None:
    """From now on: only files below the `readable` folders can be opened, and none for writing; PermissionError else.

    To be called once the libraries are imported. What they still load lazily (modules, font maps) lies beside them; the
    document itself came through a pipe, so a path in a document has no reason to be opened.
    """
    roots = tuple(os.path.join(os.path.realpath(folder), "") for folder in readable if folder)

    def refuse(event: str, arguments: tuple[Any, ...]) -> None:
        if event.startswith(_CHANGES):
            raise PermissionError(f"a parsing process may not do {event}")
        if event != "open" or isinstance(arguments[0], int):
            return
        path, _, flags = arguments
        if isinstance(flags, int) and flags & _WRITING:
            raise PermissionError("a parsing process may not write files")
        if not os.path.realpath(os.fsdecode(path)).startswith(roots):
            raise PermissionError("a parsing process may not open files outside of its libraries")

    sys.addaudithook(refuse)
