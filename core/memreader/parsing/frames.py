"""Length-prefixed frames between a process and its parser: 8 bytes, big-endian, then that many bytes."""

from __future__ import annotations

import struct
from typing import Protocol

_LENGTH = struct.Struct(">Q")


class Readable(Protocol):
    """A raw byte stream that may return fewer bytes than asked for."""

    def read(self, size: int, /) -> bytes | None:
        """Return up to `size` bytes, b"" at the end."""
        ...


class Writable(Protocol):
    """A raw byte stream that may take fewer bytes than given."""

    def write(self, data: memoryview, /) -> int | None:
        """Return how many bytes were taken."""
        ...


def write_frame(stream: Writable, payload: bytes) -> None:
    """Write one frame whole. OSError when the other side is gone."""
    for piece in (_LENGTH.pack(len(payload)), payload):
        left = memoryview(piece)
        while left:
            left = left[stream.write(left) or 0 :]


def read_frame(stream: Readable, *, max_bytes: int) -> bytes | None:
    """Return the next frame's payload, or None if the other side closed the stream, even amid a frame.

    Raises:
        ValueError: The frame says that it is longer than `max_bytes`; the stream is of no use afterwards.
    """
    head = _read_exactly(stream, _LENGTH.size)
    if head is None:
        return None
    length: int = _LENGTH.unpack(head)[0]
    if length > max_bytes:
        raise ValueError(f"a frame of {length} bytes, at most {max_bytes} expected")
    return _read_exactly(stream, length)


def _read_exactly(stream: Readable, size: int) -> bytes | None:
    buffer = bytearray()
    while len(buffer) < size:
        piece = stream.read(min(size - len(buffer), 1 << 20))
        if not piece:
            return None
        buffer += piece
    return bytes(buffer)
