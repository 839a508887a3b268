"""Bytes that came inside a message: decoded once, and named by their digest everywhere else."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal
from urllib.parse import unquote_to_bytes

from memreader.errors import InputError
from memreader.text import clean, decode_base64, reference_of, split_data_uris
from memreader.types import Part

MAX_DEPTH = 64
"""How deep lists and dicts may be nested; a loop has no end and is refused by the same limit."""

MediaKind = Literal["image", "file", "audio"]

_DATA_URI = re.compile(r"data:(?P<media>[\w.+-]+/[\w.+-]+)?(?P<options>(?:;[^;,]*)*),(?P<payload>.*)", re.DOTALL | re.I)
_MAGIC = (
    b"%PDF",
    b"PK\x03\x04",
    b"\x89PNG",
    b"\xff\xd8\xff",
    b"GIF8",
    b"\xd0\xcf\x11\xe0",
    b"{\\rtf",
    b"RIFF",
    b"\x1f\x8b",
)
_LONG_PAYLOAD = 64
_LONGEST_INT = 1024
_PAYLOAD_KEYS = frozenset({"data", "file_data", "b64_json", "base64", "image", "images", "bytes", "thumbnail"})


@dataclass(slots=True)
class Inline:
    """The bytes inside one message: decodes them, and remembers which strings of the raw message they were."""

    locator: str | None
    references: dict[str, str] = field(default_factory=dict)

    def fail(self, problem: str) -> InputError:
        """Return the error that says what of this message can't be read."""
        return InputError(problem, locator=self.locator)

    def words(self, value: Any, what: str) -> str:
        """Return `value` as clean text without data URIs, "" for None; anything else than a string is an error."""
        if value is None:
            return ""
        if not isinstance(value, str):
            raise self.fail(f"{what} is a {type(value).__name__}, not text")
        return split_data_uris(clean(value))[0]

    def text_parts(self, value: Any) -> Iterator[Part]:
        """Yield `value` as a text part, then what data URIs inside it hold."""
        if not isinstance(value, str):
            raise self.fail(f"a text part holds a {type(value).__name__}, not text")
        words, found = split_data_uris(clean(value))
        yield Part("text", words)
        for held in found:
            media_type = held.media_type.lower()
            kind: MediaKind = "image" if media_type.startswith("image/") else "file"
            yield Part(kind, reference=held.reference, media_type=media_type, data=held.data)

    def label(self, value: Any, what: str) -> str | None:
        """Return a name or an id as one clean line, None if there is none; numbers become text."""
        if isinstance(value, int) and not isinstance(value, bool):
            value = _digits(value)
        return " ".join(self.words(value, what).split()) or None

    def base64_part(self, kind: MediaKind, payload: Any, *, media_type: str | None, **labels: Any) -> Part:
        """Return a part that holds the bytes of what must be base64, or is bytes already."""
        if isinstance(payload, bytes | bytearray | memoryview):
            return self._holding(kind, bytes(payload), media_type, labels)
        data = decode_base64(payload) if isinstance(payload, str) else None
        if not data:
            raise self.fail(f"the {kind} in its content is not valid base64")
        return self._holding(kind, data, media_type, labels, payload)

    def part_at(self, kind: MediaKind, address: Any, *, media_type: str | None = None, **labels: Any) -> Part:
        """Return a part for a URL: a data URI is decoded, any other is kept as the reference and never fetched."""
        if isinstance(address, str) and address[:5].lower() == "data:":
            return self.data_uri_part(kind, address, **labels)
        reference = self.label(address, f"the address of a {kind}")
        if reference is None:
            raise self.fail(f"the {kind} in its content has neither data nor an address")
        return Part(kind, reference=reference, media_type=media_type, **_known(labels))

    def data_uri_part(self, kind: MediaKind, uri: str, **labels: Any) -> Part:
        """Return a part that holds the bytes of a data URI."""
        match = _DATA_URI.fullmatch(uri.strip())
        if match is None:
            raise self.fail(f"the {kind} in its content is not a valid data URI")
        media_type = (match["media"] or "text/plain").lower()
        if match["options"].lower().endswith(";base64"):
            part = self.base64_part(kind, match["payload"], media_type=media_type, **labels)
        else:
            part = self._holding(kind, unquote_to_bytes(match["payload"]), media_type, labels)
        self.references[uri] = part.reference or ""
        return part

    def _holding(
        self,
        kind: MediaKind,
        data: bytes,
        media_type: str | None,
        labels: Mapping[str, Any],
        payload: str | None = None,
    ) -> Part:
        reference = reference_of(data)
        if payload is not None:
            self.references[payload] = reference
        return Part(kind, reference=reference, data=data, media_type=media_type, **_known(labels))

    def raw(self, value: Any) -> str:
        """Return `value` as JSON text in which inline bytes are replaced by their `sha256:` references."""
        text = json.dumps(self._plain(value, None), ensure_ascii=False, default=str)
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")

    def _plain(self, value: Any, key: str | None) -> Any:
        if isinstance(value, str):
            return self._without_payload(value, key)
        if isinstance(value, Mapping):
            return {(name := key_name(key)): self._plain(inner, name) for key, inner in value.items()}
        if isinstance(value, bytes | bytearray | memoryview):
            return reference_of(bytes(value))
        if isinstance(value, list | tuple):
            return [self._plain(inner, key) for inner in value]
        if isinstance(value, float) and not math.isfinite(value):
            return str(value)
        return _digits(value) if isinstance(value, int) and value.bit_length() > _LONGEST_INT else value

    def _without_payload(self, value: str, key: str | None) -> str:
        if value in self.references:
            return self.references[value]
        if key in _PAYLOAD_KEYS and (data := base64_bytes(value)):
            return reference_of(data)
        if ";base64," not in value.lower():
            return value
        text, found = split_data_uris(value)
        return text if not found or text else found[0].reference


def base64_bytes(text: str) -> bytes | None:
    """Return what `text` encodes if it is plainly base64 and not words, else None.

    Plainly: it decodes to a known file format or to readable UTF-8, or it is at least 64 characters of capitals, small
    letters and digits without a space.
    """
    if " " in text or len(text) < 8:
        return None
    data = decode_base64(text)
    if not data:
        return None
    if data.startswith(_MAGIC) or _is_readable(data):
        return data
    mixed = any(c.isupper() for c in text) and any(c.islower() for c in text) and any(c.isdigit() for c in text)
    return data if mixed and len(text) >= _LONG_PAYLOAD else None


def _is_readable(data: bytes) -> bool:
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return False
    return clean(text) == text.replace("\r\n", "\n")


def _digits(value: int) -> str:
    """Return the number as text; in hex where Python refuses to write it in decimals."""
    return str(value) if value.bit_length() <= _LONGEST_INT else hex(value)


def key_name(key: Any) -> str:
    """Return a dict's key as text, as JSON has it."""
    return _digits(key) if isinstance(key, int) else str(key)


def _known(labels: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in labels.items() if value is not None}


def check_depth(data: Any, locator: str | None) -> None:
    """Raise InputError if `data` is nested deeper than MAX_DEPTH, a structure that holds itself included."""
    level: list[Any] = [data]
    for _ in range(MAX_DEPTH):
        inner = {
            id(child): child
            for node in level
            for child in (node.values() if isinstance(node, Mapping) else node)
            if isinstance(child, Mapping | list | tuple)
        }
        if not inner:
            return
        level = list(inner.values())
    raise InputError(f"the input is nested deeper than {MAX_DEPTH} levels", locator=locator)


def copied(value: Any) -> Any:
    """Return `value` with dicts and lists copied and strings cleaned, so that it shares nothing that changes."""
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, Mapping):
        return {clean(key_name(key)): copied(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [copied(inner) for inner in value]
    return value
