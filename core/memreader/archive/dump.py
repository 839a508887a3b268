"""The dump: a JSON list of memories in one file, as seed 001 describes it; MemOS's own is read too."""

from __future__ import annotations

import math
import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from pydantic_core import PydanticSerializationError

from memreader.archive.files import MB, open_regular, replacing
from memreader.archive.flaws import Flaw
from memreader.archive.foreign import item_in
from memreader.archive.strict_json import decode_at
from memreader.errors import ArchiveError
from memreader.identity import item_id
from memreader.items import TextualMemoryItem
from memreader.types import Progress

FILENAME = "textual_memory.json"
GIVEN = "given"
"""Reading key of items that nobody read: a caller or another program made them."""

_SPACE = re.compile(r"[ \t\r\n]*")
_WITHOUT_VECTOR: Any = {"metadata": {"embedding"}}
_REMEDY = "Mend the file there, or dump it again; nothing was loaded."
_TELL_EVERY = 1000


def write_dump(
    folder: str | os.PathLike[str],
    items: Iterable[TextualMemoryItem],
    *,
    filename: str = FILENAME,
    with_embedding: bool = False,
) -> Path:
    """Return the path of the file that now holds `items`: a JSON list, one memory a line, UTF-8, mode 0600.

    It takes the old file's place whole when the last item is written and on the disk; before, the old one stays.

    Args:
        folder: Created with mode 0700 when absent.
        items: Taken one by one, never held together.
        filename: A bare name.
        with_embedding: Whether `metadata.embedding` is written too.

    Raises:
        ValueError: `filename` is not a bare name.
        ArchiveError: An item holds something that JSON can't, or no file can be in that place.
        OSError: It can't be written.
    """
    path = Path(folder) / bare_name(filename)
    exclude = None if with_embedding else _WITHOUT_VECTOR
    with replacing(path) as stream:
        opening = b"[\n"
        for place, item in enumerate(items):
            stream.write(opening)
            stream.write(_line(item, exclude, path, place))
            opening = b",\n"
        stream.write(b"[]\n" if opening == b"[\n" else b"\n]\n")
    return path


def read_dump(
    folder_or_file: str | os.PathLike[str],
    *,
    filename: str = FILENAME,
    max_mb: float = 1000,
    confidence_scale: float = 1,
    progress: Progress | None = None,
) -> list[TextualMemoryItem]:
    """Return the memories of a dump, in its order, each of them validated; or raise, and none is returned.

    The file is a JSON list of {"id", "memory", "metadata"}, or of MemOS's {"id", "vector", "payload"}; see
    `foreign.item_in` for what becomes of fields that are not ours. A memory without an id gets one that follows from
    its words, so that the same file gives the same ids again. An id may stand once per `metadata.user_id`. A byte order
    mark is skipped.

    Args:
        folder_or_file: The file, or the folder with `filename` in it. A symbolic link is followed.
        filename: A bare name.
        max_mb: A larger file is refused before it is read, in MB of 10**6 bytes.
        confidence_scale: What confidences in it count to: 1, or 100 for MemOS's.
        progress: Called with "read", characters done, and of how many.

    Raises:
        ValueError: `filename` is not a bare name, or another argument makes no sense.
        ArchiveError: The file is not a dump; names the file and the position in it, "[12].metadata.confidence".
        FileNotFoundError, OSError: It is not there, or not readable.
    """
    for name, number in (("max_mb", max_mb), ("confidence_scale", confidence_scale)):
        if not (number > 0 and math.isfinite(number)):
            raise ValueError(f"{name} must be a number above 0, got {number}")
    bare = bare_name(filename)
    path = Path(folder_or_file)
    if path.is_dir():
        path = path / bare
    text = _text_of(path, max_mb)
    items: list[TextualMemoryItem] = []
    places: dict[tuple[str | None, str], int] = {}
    unnamed: Counter[tuple[str | None, str]] = Counter()
    try:
        for place, (raw, end) in enumerate(_elements(text)):
            item = _item(raw, place, confidence_scale, unnamed)
            first = places.setdefault((item.metadata.user_id, item.id), place)
            if first != place:
                raise Flaw(f"is the same id as that of [{first}]", where=f"[{place}].id")
            items.append(item)
            if progress is not None and (place + 1) % _TELL_EVERY == 0:
                progress("read", end, len(text))
    except Flaw as flaw:
        raise flaw.in_file(str(path), "", _REMEDY) from None
    if progress is not None:
        progress("read", len(text), len(text))
    return items


def bare_name(filename: str) -> str:
    """Return `filename`.

    Raises:
        ValueError: It is more, or less, than the name of a file within a folder, here or on Windows.
    """
    bad = (
        not isinstance(filename, str) or filename in ("", ".", "..") or re.search(r"[/\\:\x00\ud800-\udfff]", filename)
    )
    if bad:
        raise ValueError(f"filename must be a bare name without folders, such as {FILENAME!r}, got {filename!r}")
    return filename


def _line(item: TextualMemoryItem, exclude: Any, path: Path, place: int) -> bytes:
    try:
        return item.model_dump_json(exclude=exclude).encode()
    except PydanticSerializationError:
        problem = "holds something that JSON can't: an object of an own class, bytes, or a lone surrogate"
    raise ArchiveError(
        path=str(path), problem=problem, where=f"[{place}]", remedy="Change that memory; no file was written."
    )


def _text_of(path: Path, max_mb: float) -> str:
    with open_regular(path) as stream:
        size = os.fstat(stream.fileno()).st_size
        if size > max_mb * MB:
            problem = f"holds {size / MB:.1f} MB, over max_mb={max_mb:g}"
            raise ArchiveError(path=str(path), problem=problem, remedy="Raise max_mb, or dump fewer memories.")
        data = stream.read(size + 1)
    if len(data) != size:
        problem = "changed while it was read"
        raise ArchiveError(path=str(path), problem=problem, remedy="Load it again when nobody writes it.")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        problem = f"is not UTF-8 (byte {error.start})"
    raise ArchiveError(path=str(path), problem=problem, remedy="Save it as UTF-8; nothing was loaded.")


def _elements(text: str) -> Iterator[tuple[Any, int]]:
    """Yield the elements of a JSON list one by one, each with the offset of its end."""
    at = _skip(text, 0)
    if text[at : at + 1] != "[":
        raise Flaw("is empty" if at == len(text) else "is not a JSON list of memories")
    at = _skip(text, at + 1)
    place = 0
    while text[at : at + 1] != "]":
        if place:
            if text[at : at + 1] != ",":
                ends = "the file ends" if at == len(text) else "something else than a comma stands"
                raise Flaw(f"{ends} behind this memory, before the list is closed", where=f"[{place - 1}]")
            at = _skip(text, at + 1)
        try:
            raw, at = decode_at(text, at)
        except Flaw as flaw:
            raise flaw.inside(f"[{place}]") from None
        yield raw, at
        at = _skip(text, at)
        place += 1
    if _skip(text, at + 1) != len(text):
        raise Flaw("something follows behind the end of the list")


def _skip(text: str, at: int) -> int:
    found = _SPACE.match(text, at)
    return found.end() if found else at


def _item(raw: Any, place: int, scale: float, unnamed: Counter[tuple[str | None, str]]) -> TextualMemoryItem:
    try:
        item, named = item_in(raw, confidence_scale=scale)
    except Flaw as flaw:
        raise flaw.inside(f"[{place}]") from None
    if named:
        return item
    owner = item.metadata.user_id
    occurrence = unnamed[owner, item.memory]
    unnamed[owner, item.memory] += 1
    return item.model_copy(update={"id": item_id(owner, (), GIVEN, item.memory, occurrence)})
