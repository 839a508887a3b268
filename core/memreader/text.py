"""Text as every other room expects it: free of what can't be stored or shown, and the one way a time is shown."""

from __future__ import annotations

import base64
import binascii
import re
from dataclasses import dataclass, field
from datetime import datetime
from functools import lru_cache
from hashlib import sha256
from urllib.parse import unquote

_SURROGATE = re.compile("[\ud800-\udfff]")
_LINE_END = re.compile("\r\n?|[\x0b\x85]")
_UNWANTED = re.compile("[\x00-\x08\x0e-\x1f\x7f-\x9f\ufeff\ufffe]")
_TO_CLEAN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ufeff\ufffe\ud800-\udfff]")

# The length limits keep a text full of openings without an end linear.
_DATA_URI = re.compile(
    r"""(?P<markdown>!\[(?P<alt>[^\[\]\n]{0,500})\]\(\s{0,9}<?)?
    data:(?P<media>[\w.+-]{1,80}/[\w.+-]{1,80})?(?:;[\w-]{1,40}=[^;,\s]{0,200}){0,8};base64,
    (?P<payload>[A-Za-z0-9+/_%-]{4,}={0,2})
    (?(markdown)(?:>?(?:\s{1,9}"[^"\n]{0,500}")?\s{0,9}\))?)""",
    re.VERBOSE | re.IGNORECASE | re.ASCII,
)

_MONTHS = (
    "January", "February", "March", "April", "May", "June",
    "July", "August", "September", "October", "November", "December",
)  # fmt: skip


def clean(text: str, *, keep_form_feeds: bool = False) -> str:
    r"""Return `text` without what breaks storage, prompts or offsets; every word and emoji stays.

    Line ends (CR LF, CR, VT, NEL and, unless kept, FF) become a newline, so that words on both sides stay apart. A
    surrogate pair becomes the character it stands for; lone surrogates, NULs, BOMs (U+FEFF anywhere, U+FFFE) and all
    other C0 and C1 control characters but newline and tab go. Zero-width joiners, variation selectors, bidirectional
    marks and every kind of space stay, and nothing is stripped or normalised. Idempotent; linear; a clean text comes
    back as the same object.

    Args:
        text: Any string, even one that UTF-8 can't encode.
        keep_form_feeds: Leave form feeds in, for a caller that still needs the page breaks.

    >>> clean("\ufeffa\x00b\r\nc\ud800")
    'ab\nc'
    """
    if not _TO_CLEAN.search(text):
        return text
    if _SURROGATE.search(text):
        text = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "ignore")
    if not keep_form_feeds:
        text = text.replace("\f", "\n")
    return _UNWANTED.sub("", _LINE_END.sub("\n", text))


@lru_cache(maxsize=4096)
def show_time(iso: str) -> str:
    """Return an ISO 8601 time as people read it: `%I:%M %p on %d %B, %Y`, month names in English whatever the locale.

    The wall-clock time is shown as it stands; an offset is not converted and not shown. A bare date shows as 12:00 AM.

    Raises:
        ValueError: `iso` is not an ISO 8601 date or time.

    >>> show_time("2023-05-08T13:56:00+02:00")
    '01:56 PM on 08 May, 2023'
    """
    at = datetime.fromisoformat(iso)
    half = "AM" if at.hour < 12 else "PM"
    return f"{at.hour % 12 or 12:02d}:{at.minute:02d} {half} on {at.day:02d} {_MONTHS[at.month - 1]}, {at.year:04d}"


@dataclass(frozen=True, slots=True)
class InlineData:
    """Bytes that stood inside a text as a base64 data URI."""

    media_type: str
    data: bytes = field(repr=False)
    alt: str = ""
    """The alt text of the Markdown image around it."""

    @property
    def reference(self) -> str:
        """`sha256:` and the digest of the bytes."""
        return reference_of(self.data)


def reference_of(data: bytes) -> str:
    """Return the name that inline bytes are kept under: `sha256:` and their digest in hex."""
    return f"sha256:{sha256(data).hexdigest()}"


def decode_base64(payload: str) -> bytes | None:
    """Return the bytes of `payload`, or None if it isn't base64.

    White space, percent escapes, the URL-safe alphabet and missing padding are accepted.

    >>> decode_base64("aGk"), decode_base64("not base64!")
    (b'hi', None)
    """
    compact = unquote("".join(payload.split())).rstrip("=").translate(str.maketrans("-_", "+/"))
    try:
        return base64.b64decode(compact + "=" * (-len(compact) % 4), validate=True)
    except (binascii.Error, ValueError):
        return None


def split_data_uris(text: str) -> tuple[str, tuple[InlineData, ...]]:
    """Return `text` without its base64 data URIs, and what they held, in order.

    A Markdown image leaves `[shared image: alt]` where it has an alt text; everything else leaves nothing. What calls
    itself base64 and isn't is taken out all the same, and holds nothing. A text without one comes back as it is.

    >>> split_data_uris("look: ![a cat](data:image/png;base64,aGVsbG8=)!")[0]
    'look: [shared image: a cat]!'
    """
    if ";base64," not in text.lower():
        return text, ()
    found: list[InlineData] = []

    def take(match: re.Match[str]) -> str:
        alt = (match["alt"] or "").strip()
        data = decode_base64(match["payload"])
        if data is not None:
            found.append(InlineData(match["media"] or "text/plain", data, alt))
        return f"[shared image: {alt}]" if alt else ""

    return _DATA_URI.sub(take, text), tuple(found)
