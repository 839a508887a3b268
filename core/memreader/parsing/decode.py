"""Bytes of a text file -> its words, in whatever charset they were written."""

from __future__ import annotations

import codecs
import re

_BOMS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_SAMPLE = 1 << 16
_CONTROLS = bytes(set(range(32)) - set(b"\t\n\v\f\r\x1b"))
_MAX_CONTROLS_IN_UTF8 = 0.1
_MAX_CONTROLS = 0.005
_MAX_BROKEN = 1 / 3

_DECLARED = re.compile(
    rb"""<(?:meta|\?xml)[^>]{0,300}?\b(?:charset|encoding)\s{0,9}=\s{0,9}["']?\s{0,9}([A-Za-z0-9_.:-]{2,40})""",
    re.IGNORECASE,
)
_SUPERSETS = {"gb2312": "gb18030", "gbk": "gb18030", "iso8859-1": "cp1252", "ascii": "cp1252", "shift_jis": "cp932"}
"""Python's name of a declared charset -> the larger one that files declared so are really written in."""

_HAN = "的一是不了在人有我他大中上小到好天生就你也自用子多心下看得去道能之那知"
_HAN_SIMPLIFIED = _HAN + "这个来说们为时会对过还后学没样国么发经起给问间开点里长见现从话里动让边东车门爱岁"
_HAN_TRADITIONAL = _HAN + "這個來說們為時會對過還後學沒樣國麼發經起給問間開點裡長見現從話裏動讓邊東車門愛歲"
_KANA = "".join(map(chr, range(0x3041, 0x30FF))) + "、。「」"
_HANGUL = "이다는에을를가의고하지은도한로서기나어니라해요아들사리자있그것으만인과수시게일부대스전저여"
_EAST_ASIAN = (
    ("gb18030", frozenset(_HAN_SIMPLIFIED + "，。")),
    ("big5", frozenset(_HAN_TRADITIONAL + "，。")),
    ("cp932", frozenset(_KANA)),
    ("euc_jp", frozenset(_KANA)),
    ("cp949", frozenset(_HANGUL)),
)
"""Multi-byte charset -> the characters that fill a good part of any text in its language."""
_MIN_COMMON = 0.15

_OTHERS = "cp1252 cp1251 cp1250 koi8_r cp1253 cp1254 cp1255 cp1256 cp874 cp866 gb18030 big5 cp932 euc_jp cp949".split()


def decode(data: bytes, *, markup: bool = False) -> str | None:
    """Return the text in `data`, or None if no charset makes words of it (it isn't text).

    In this order: a BOM; strict UTF-8; with `markup`, the charset that an HTML or XML head declares; UTF-16 without a
    BOM; UTF-8 with a few broken characters (they become U+FFFD, so that one bad byte does not spoil the rest); the
    East Asian charset whose common characters fill the text; whatever charset-normalizer finds among the usual ones.
    Empty bytes give "". The BOM itself is not part of the text.
    """
    for bom, encoding in _BOMS:
        if data.startswith(bom):
            marked = data.decode(encoding, "replace").removeprefix("\ufeff")
            return marked if marked.count("\ufffd") <= 1 + len(marked) // 20 else None
    controls = _share_of_controls(data)
    if controls <= _MAX_CONTROLS_IN_UTF8 and (text := _strict(data, "utf-8")) is not None:
        return text
    if markup and (text := _declared(data)) is not None:
        return text
    if controls > _MAX_CONTROLS:
        return _bare_utf16(data)
    return _damaged_utf8(data) or _east_asian(data) or _other(data)


def _strict(data: bytes, encoding: str) -> str | None:
    try:
        return data.decode(encoding)
    except UnicodeDecodeError:
        return None


def _share_of_controls(data: bytes) -> float:
    """Return which part of the first bytes are control characters that no text file needs."""
    sample = data[:_SAMPLE]
    return (len(sample) - len(sample.translate(None, _CONTROLS))) / max(1, len(sample))


def _declared(data: bytes) -> str | None:
    found = _DECLARED.search(data[:4096])
    if not found:
        return None
    try:
        name = codecs.lookup(found.group(1).decode("ascii")).name
        return data.decode(_SUPERSETS.get(name, name))
    except (LookupError, UnicodeDecodeError):
        return None


def _bare_utf16(data: bytes) -> str | None:
    """Return UTF-16 text without a BOM whose letters are mostly Latin: every second byte is then a NUL."""
    sample = data[: _SAMPLE & ~1]
    if len(data) % 2 or len(sample) < 4:
        return None
    even, odd = sample[0::2].count(0) / (len(sample) // 2), sample[1::2].count(0) / (len(sample) // 2)
    if min(even, odd) > 0.01 or max(even, odd) < 0.4:
        return None
    return _strict(data, "utf-16-le" if odd > even else "utf-16-be")


def _damaged_utf8(data: bytes) -> str | None:
    text = data.decode("utf-8", "replace")
    broken = text.count("\ufffd")
    beyond_ascii = len(text) - len(text.encode("ascii", "ignore")) - broken
    return text if broken <= _MAX_BROKEN * beyond_ascii else None


def _east_asian(data: bytes) -> str | None:
    best, best_share = None, _MIN_COMMON
    for encoding, common in _EAST_ASIAN:
        text = _strict(data, encoding)
        if text is None:
            continue
        beyond_ascii = [character for character in text[:_SAMPLE] if character > "\x7f"]
        share = sum(character in common for character in beyond_ascii) / max(1, len(beyond_ascii))
        if share > best_share:
            best, best_share = text, share
    return best


def _other(data: bytes) -> str | None:
    from charset_normalizer import from_bytes

    matches = from_bytes(data, cp_isolation=_OTHERS)
    best = matches.best()
    if best is None:
        return None
    # Western and Central European letters share their places; where both look alike, Western text is the likelier.
    western = next((match for match in matches if match.encoding == "cp1252"), best)
    tied = (western.chaos, western.coherence) == (best.chaos, best.coherence)
    return str(western if best.encoding == "cp1250" and tied else best)
