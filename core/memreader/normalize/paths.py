"""What a string looks like when it is a file name or an address rather than words. Nothing here touches a disk."""

from __future__ import annotations

import re
from pathlib import Path, PurePosixPath, PureWindowsPath

from memreader.errors import InputError

_SUFFIXES = (
    "txt md markdown rst tex log pdf doc docx odt rtf ppt pptx odp xls xlsx ods csv tsv json jsonl html htm xml yaml "
    "yml epub msg eml ipynb pages numbers key"
)
_SUFFIX = re.compile(rf"[^\s./\\](?P<suffix>\.(?:{'|'.join(_SUFFIXES.split())}))\Z", re.IGNORECASE)
_ANCHOR = re.compile(r"(?:/|~[\w.-]*/|\.\.?[/\\]|[A-Za-z]:[/\\]|\\\\|file:)")
_SENTENCE = re.compile(r"[,;:!?，。；：！？、“”\"]")
_PROSE_WORDS = frozenset(
    "a i am is are was were be been in at to from see read open check use edit run please or it this that these those "
    "you we they he she has have had can could should will would called named attached don't not".split()
)
_URL = re.compile(r"(?!file:)[a-z][a-z0-9+.-]{1,20}://\S+", re.IGNORECASE)
_MAX_LENGTH = 1024
_MAX_WORDS = 5


def path_suffix(text: str) -> str | None:
    r"""Return the suffix if `text` as a whole looks like the name of a document, else None.

    It is one line of at most 1,024 characters that ends in a known suffix, and either starts like a path (`/`, `~/`,
    `./`, `C:\`, `\\`, `file:`), or has no space and no sentence punctuation, or is at most five words of which none is
    typical of a sentence ("see report.pdf" is one).

    >>> path_suffix("docs/年度 报告.docx"), path_suffix("The steps and/or options are in README.md")
    ('.docx', None)
    """
    line = text.strip()
    match = _SUFFIX.search(line) if len(line) <= _MAX_LENGTH and "\n" not in line and "\r" not in line else None
    if match is None:
        return None
    if not _ANCHOR.match(line):
        words = line.split()
        plain = {word for piece in words[:_MAX_WORDS] for word in re.split(r"[/\\_.]", piece.lower())}
        if _SENTENCE.search(line) or len(words) > _MAX_WORDS or (len(words) > 1 and plain & _PROSE_WORDS):
            return None
    return match["suffix"].lower()


def is_url(text: str) -> bool:
    """Return whether `text` is nothing but an address with a scheme other than `file:`."""
    return _URL.fullmatch(text.strip()) is not None


def path_below(root: Path, name: str, *, locator: str | None) -> Path:
    """Return `root`/`name` without looking at the disk.

    Symbolic links are not followed here: whoever opens the file decides about those.

    Raises:
        InputError: `name` is empty, absolute on any system, or leads out of `root`.
    """
    windows = PureWindowsPath(name)
    parts = {*PurePosixPath(name).parts, *windows.parts}
    if not name.strip() or "\0" in name or windows.anchor or name.startswith("/") or not parts - {"."}:
        raise InputError("not the name of a file below files_root", locator=locator)
    if ".." in parts or name.startswith("~"):
        raise InputError("a file name that leads out of files_root", locator=locator)
    return root / name
