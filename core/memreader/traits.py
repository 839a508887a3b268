"""What recall looks at in an item beside its words and its vector, and its compact form on disk."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

QUESTION_END = 1
"""A turn ends with a question."""
HAS_QUESTION = 2
"""A turn asks something."""
SHORT = 4
"""A turn has next to no content."""
REACTION = 8
"""A turn opens as an answer to what was said before: wow, thanks, 好的."""
TIME = 16
"""Words that tell when."""
NUMBER = 32
"""A number or an amount."""
CAPITAL = 64
"""A capitalised word inside a sentence: English names of people, places and things."""
IN_DOCUMENT = 128
"""A piece of a document; `QUESTION_END` to `REACTION` and `CAPITAL` are then never set."""
STATEMENT = 256
"""Made by a model or given by a caller, no raw turn or chunk: it has a place in a group but is no neighbour there."""

MAX_WORDS = 0xFFFF
MAX_NAME_BYTES = 0xFFFF
"""UTF-8 bytes of a group or a speaker, at most."""

PIECE_BITS = 24
PIECE = (1 << PIECE_BITS) - 1
"""The lower bits of a chat's `order`: where in its message a piece begins, capped."""
FARTHEST = (1 << 38) - 1

VERSION = 1
_HEAD = struct.Struct("<BqiHHHH")
_COLUMNS = np.dtype(
    [
        ("version", "u1"),
        ("order", "<i8"),
        ("day", "<i4"),
        ("marks", "<u2"),
        ("words", "<u2"),
        ("group_size", "<u2"),
        ("speaker_size", "<u2"),
    ]
)

TraitRows = npt.NDArray[np.void]
"""Structured, with the fields `order` (int64), `day` (int32), `marks` and `words` (uint16)."""


@dataclass(frozen=True, slots=True)
class Traits:
    """What recall looks at in an item beside its words and its vector.

    >>> traits = Traits("s1", 3, "Ana", 738000, TIME | NUMBER, 7)
    >>> Traits.unpack(traits.pack()) == traits
    True
    """

    group: str = ""
    """What its neighbours share and session-level evidence is about: a session, a section of a document; "" is none."""
    order: int = 0
    """Ascending place in the group, -2**63 to 2**63 - 1; says nothing across groups, and places may be left out."""
    speaker: str = ""
    """Name of the one person who said it; "" for a bare role, a document, several speakers."""
    day: int = 0
    """`date.toordinal()` of when it happened, 0 if unknown."""
    marks: int = 0
    """Bits, the constants of this module."""
    words: int = 0
    """Content terms, at most `MAX_WORDS`."""

    def pack(self) -> bytes:
        """Return 21 bytes and the two names; the first byte is the version of this form.

        Raises:
            ValueError: A number or a name is out of its range.
        """
        group, speaker = self.group.encode(), self.speaker.encode()
        try:
            head = _HEAD.pack(VERSION, self.order, self.day, self.marks, self.words, len(group), len(speaker))
        except struct.error as error:
            raise ValueError(f"traits out of range: {error}") from error
        return head + group + speaker

    @classmethod
    def unpack(cls, packed: bytes) -> Traits:
        """Return what `pack` was given.

        Raises:
            ValueError: It is another version's form, or torn.
        """
        rows, groups, speakers = unpack_many([packed])
        row = rows[0]
        order, day, marks, words = (int(row[name]) for name in ("order", "day", "marks", "words"))
        return cls(groups[0], order, speakers[0], day, marks, words)


def moved(packed: bytes, message: int) -> bytes:
    """Return packed traits of a chat's item with its message at another place of the session; the piece stays.

    >>> Traits.unpack(moved(Traits(order=place_of(3, 5)).pack(), 8)).order == place_of(8, 5)
    True
    """
    fields = list(_HEAD.unpack_from(packed))
    fields[1] = place_of(message, fields[1] & PIECE)
    return _HEAD.pack(*fields) + packed[_HEAD.size :]


def place_of(message: int, piece: int) -> int:
    """Return the `order` of a piece of a chat's message: of its message in the session, then of where it begins."""
    return min(message, FARTHEST) << PIECE_BITS | min(piece, PIECE)


def unpack_many(packed: Sequence[bytes]) -> tuple[TraitRows, list[str], list[str]]:
    """Return columns, groups and speakers of packed traits, a row each, in order; equal names are one object.

    Raises:
        ValueError: One of them is another version's form, or torn.
    """
    head = _HEAD.size
    rows: TraitRows = np.frombuffer(_joined([row[:head] for row in packed]), _COLUMNS)
    lengths = np.fromiter(map(len, packed), np.int64, len(packed))
    wanted = head + rows["group_size"].astype(np.int64) + rows["speaker_size"]
    if (rows["version"] != VERSION).any() or (lengths != wanted).any():
        raise ValueError("traits of another version of memreader, or torn; derive them again from the items")
    names: dict[bytes, str] = {b"": ""}
    starts: list[int] = (head + rows["group_size"].astype(np.int64)).tolist()
    groups = [_name(row[head:start], names) for row, start in zip(packed, starts, strict=True)]
    speakers = [_name(row[start:], names) for row, start in zip(packed, starts, strict=True)]
    return rows, groups, speakers


def _joined(heads: list[bytes]) -> bytes:
    joined = b"".join(heads)
    if len(joined) != len(heads) * _HEAD.size:
        raise ValueError("torn traits; derive them again from the items")
    return joined


def _name(encoded: bytes, names: dict[bytes, str]) -> str:
    name = names.get(encoded)
    if name is None:
        name = names[encoded] = encoded.decode()
    return name
