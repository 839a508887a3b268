"""The tokens of JSON that a model wrote badly: what stands at a place, read the way it was most likely meant.

How a string ends is the hard part. A quote ends one if what follows it is what follows a string at that place: a
colon after a key, a comma and another key after a value, a comma and another element in a list. Any other quote was
meant as part of the text. Every look ahead is bounded, so that reading all tokens of a text is linear in its length.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from memreader.extract.repair.endings import (
    ANY_QUOTE,
    CLOSERS,
    COLONS,
    COMMAS,
    KEY_AHEAD,
    NEAR,
    NEAR_SPACE,
    OPENERS,
    PLUS,
    QUOTES,
    Endings,
    Place,
)
from memreader.extract.repair.words import NOT_A_VALUE, plain_value, unescape

Kind: TypeAlias = Literal["open", "close", "comma", "key", "value", "cut", "junk", "end"]

_BLANK = re.compile(r"[\s\ufeff\u200b-\u200f\u2060\u00ad]+")
_COLON = re.compile(rf"[*_]*{NEAR}(?:=>|[{COLONS}]{{1,2}})")
_VALUE_AHEAD = re.compile(
    rf"{NEAR}(?:[^\d\-{ANY_QUOTE}\[{{}}\],]{NEAR})?(?=[{ANY_QUOTE}\[{{\d\-])|{NEAR}(?=(?:true|false|null|None|True|False)\b)"
)
"""A value without a colon before it, or with another character in the colon's place."""
_LONGEST_NAME = 400
_REST_OF_NAME = re.compile(rf"([\w \-]{{1,40}})[{ANY_QUOTE}]{NEAR}[:\uff1a]")
_BARE_NAME = re.compile(rf"([^{ANY_QUOTE}\n:\uff1a,{{}}\[\]]{{1,60}}?)[{ANY_QUOTE}*_]{{0,3}}{NEAR}(?:=>|[{COLONS}])")
_WORD = re.compile(r"[^\W_]{1,60}|.", re.DOTALL)
_PLAIN_STRING = re.compile(r'"([^"\\\x00-\x1f]*)"')
_WHOLE_STRING = re.compile(r'"([^"\\]*(?:\\.[^"\\]*)*)"', re.DOTALL)
_CONTROL = re.compile(r"[\x00-\x1f]")
_NOT_A_NAME = re.compile(rf"{NEAR}[}}\],{{\[:]")
_PREFIX = re.compile(
    rf"[^\W\d]{{1,2}}(?=[\"'][^\s:,}}\]])|[^\s\d{ANY_QUOTE},:\uff1a=\[\]{{}}]{{1,2}}{NEAR}(?=[{{\[]{NEAR}[{ANY_QUOTE}{{\[]|\"[^:\"]{{0,200}}\"{NEAR}[,\]}}])"
    rf"|[\"']{NEAR}(?=[{{\[]{NEAR}\")"
)
"""What stands before a value and isn't part of it: Python's r and b, a stray character."""
_KEY_IN_STRING = re.compile(r"\s*(\w[\w \-]{0,59}?)[^\w\s:\uff1a]?\s*[:\uff1a]\s*")
_PLAIN = re.compile(r"-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null")
_AFTER_PLAIN = re.compile(r"[\s,}\]]|\\[nrt]")
_THOUSANDS = re.compile(r"[+-]?\d{1,3}(?:,\d{3})+(?:\.\d+)?(?=\s{0,99}(?:,\s{0,99}[\"'}]|[}\n]))")
_BARE_STOPS = re.compile(rf"[{COMMAS}}}\]\uff5d\uff3d)\n\"']")
_BULLETS = re.compile(r"[*_\u2022\-]{1,3}(?=[ \t]*[\"'*_\w])[ \t]*")
_ELLIPSIS = re.compile(r"(?:\.{3,}|\u2026+)")


@dataclass(frozen=True, slots=True)
class Token:
    """One token: what it is, its value, and where it stops.

    `exact` is false where the text isn't JSON as it stands; `lost` then says what of the meaning is a guess or gone.
    """

    kind: Kind
    value: Any
    start: int
    end: int
    exact: bool = True
    lost: str = ""


def quoted(text: str, *, most: int = 40) -> str:
    """Return the text for a message: on one line, in quotes, cut to `most` characters."""
    line = " ".join(text[: most * 4].split())
    return f'"{line if len(line) <= most and len(text) <= most * 4 else line[: most - 1] + "…"}"'


class Lexer:
    """Reads the tokens of a text. Each is read once per place and remembered.

    Args:
        literal: The text is JSON but for its missing end: no quote is doubted.
    """

    def __init__(self, text: str, *, literal: bool = False) -> None:
        self.text = text
        self._literal = literal
        self.size = len(text)
        self._seen: dict[tuple[int, Place], Token] = {}
        self._endless: dict[tuple[Place, str], int] = {}
        self._last_quote = text.rfind('"')
        self._last_comment_end = text.rfind("*/")
        self._endings = Endings(text, literal=literal)

    def token(self, at: int, place: Place) -> Token:
        """Return the token at or after `at`."""
        known = self._seen.get((at, place))
        if known is None:
            known = self._seen[at, place] = self._read(at, place)
        return known

    def _read(self, at: int, place: Place) -> Token:
        text = self.text
        start, exact = self._skip(at)
        if start >= self.size:
            return Token("end", None, start, start, exact)
        char = text[start]
        if char in OPENERS:
            return Token("open", OPENERS[char], start, start + 1, exact and char in "{[")
        if char in CLOSERS:
            return Token("close", CLOSERS[char], start, start + 1, exact and char in "}]")
        if char in COMMAS:
            return Token("comma", None, start, start + 1, exact and char == ",")
        if place == "key" and (bullet := _BULLETS.match(text, start)):
            start, exact = bullet.end(), False
        if not self._literal and (prefix := _PREFIX.match(text, start)):
            start, exact = prefix.end(), False
            if text[start] in OPENERS:
                return Token("open", OPENERS[text[start]], start, start + 1, False)
        if text[start] in QUOTES:
            found = self._key(start) if place == "key" else self._string(start, place)
            if place == "item" and found.kind == "value" and (colon := _COLON.match(text, found.end)):
                found = Token("key", found.value, start, colon.end(), False, found.lost)
        elif dots := _ELLIPSIS.match(text, start):
            return Token("junk", None, start, dots.end(), False, "what an ellipsis stands for")
        else:
            found = self._bare_name(start) if place == "key" else self._bare(start, place)
        return found if exact else Token(found.kind, found.value, found.start, found.end, False, found.lost)

    def _skip(self, at: int) -> tuple[int, bool]:
        """Return where the next token starts, and whether only JSON's own blanks were passed."""
        text, exact = self.text, True
        while at < self.size:
            char = text[at]
            if char in " \n\r\t":
                at += 1
            elif blank := _BLANK.match(text, at):
                at, exact = blank.end(), False
            elif char == "#" or text.startswith("//", at):
                line = text.find("\n", at)
                at, exact = (self.size if line < 0 else line), False
            elif text.startswith("/*", at) and at < self._last_comment_end:
                at, exact = text.index("*/", at + 2) + 2 if at + 2 <= self._last_comment_end else at + 3, False
            elif char == "\\" and text[at + 1 : at + 2] in ("n", "t", "r", "\n", "\r"):
                at, exact = at + 2, False
            else:
                break
        return at, exact

    def _key(self, start: int) -> Token:
        """Read a quoted name and its colon; what has no colon is a value, for the caller to make sense of."""
        if self._literal:
            return self._literal_key(start)
        text, closers = self.text, QUOTES[self.text[start]]
        stop, limit = start + 1, min(self.size, start + _LONGEST_NAME)
        while stop < limit and text[stop] not in closers and text[stop] != "\u201d":
            stop += 2 if text[stop] == "\\" else 1
        is_odd = text[start] != '"' and self._last_quote > start
        is_last = stop >= self.size or (self.size - stop <= 100 and not text[stop + 1 :].strip())
        if (is_odd and (is_last or stop >= limit)) or (not is_last and _NOT_A_NAME.match(text, start + 1)):
            return Token("junk", text[start], start, start + 1, False, f"{quoted(text[start])} where a name should be")
        if is_last:
            return Token("cut", text[start + 1 :], start, self.size, text[start] == '"')
        inside = text[start + 1 : min(stop, limit)]
        if (early := _KEY_IN_STRING.match(inside)) and not _COLON.match(text, stop + 1):
            # The quote that would end it opens the value: the name's own closing quote is missing.
            return Token(
                "key", early[1], start, start + 1 + early.end(), False, f"where the name {quoted(early[1])} ends"
            )
        if stop >= limit:
            return self._string(start, "value")
        return self._named(start, stop)

    def _named(self, start: int, stop: int) -> Token:
        """Read on behind the closing quote of a name."""
        text = self.text
        name, exact, lost = self._content(text[start + 1 : stop], text[start] == '"' and text[stop] == '"')
        name = name if exact else _CONTROL.sub("", name.replace("\\", ""))
        if colon := _COLON.match(text, stop + 1):
            is_plain = text[colon.end() - 1] == ":" and "*" not in colon[0]
            return Token("key", name, start, colon.end(), exact and is_plain, lost)
        if rest := _REST_OF_NAME.match(text, stop + 1):
            return Token("key", name + rest[1], start, rest.end(), False, f"which quotes end {quoted(name + rest[1])}")
        if (value := _VALUE_AHEAD.match(text, stop + 1)) and stop - start <= 61:
            lost = lost or ("" if value[0].strip() == "" else f"what stands between {quoted(name)} and its value")
            return Token("key", name, start, value.end(), False, lost)
        return Token("value", name, start, stop + 1, exact, lost)

    def _literal_key(self, start: int) -> Token:
        whole = _WHOLE_STRING.match(self.text, start)
        if whole is None:
            return Token("cut", self.text[start + 1 :], start, self.size, self.text[start] == '"')
        name, is_plain, _ = self._content(whole[1], True)
        stop = whole.end()
        ahead, exact = self._skip(stop)
        if ahead >= self.size:
            return Token("cut", name, start, self.size, exact)
        is_key = self.text[ahead] == ":"
        return Token("key" if is_key else "value", name, start, ahead + is_key, exact and is_key and is_plain)

    def _bare_name(self, start: int) -> Token:
        text = self.text
        if (plain := _PLAIN.match(text, start)) and _AFTER_PLAIN.match(text, plain.end()):
            return Token("value", plain_value(plain[0]), start, plain.end())
        match = _BARE_NAME.match(text, start)
        if match:
            lost = f"where the name {quoted(match[1])} starts" if set(match[0]) & set(ANY_QUOTE) else ""
            return Token("key", match[1].strip(" *_"), start, match.end(), False, lost)
        word = _WORD.match(text, start)
        assert word is not None
        return Token("junk", word[0], start, word.end(), False, f"{quoted(word[0])} where a name should be")

    def _string(self, start: int, place: Place) -> Token:
        text = self.text
        quote = text[start]
        if text.startswith(quote * 3, start) and quote in "\"'":
            stop = text.find(quote * 3, start + 3)
            if stop > 0:
                return Token("value", text[start + 3 : stop], start, stop + 3, False)
        if (plain := _PLAIN_STRING.match(text, start)) and self._endings.ends(plain.end(), place, plain=False):
            return self._joined(Token("value", plain[1], start, plain.end()), place)
        return self._joined(self._guessed(start, place), place)

    def _joined(self, token: Token, place: Place) -> Token:
        """Take a string that is continued by `+ "..."` together with what continues it."""
        parts = [token]
        while parts[-1].kind == "value" and (plus := PLUS.match(self.text, parts[-1].end)):
            parts.append(self._guessed(plus.end(), place))
        if len(parts) == 1:
            return token
        return Token(parts[-1].kind, "".join(str(part.value) for part in parts), token.start, parts[-1].end, False)

    def _is_endless(self, start: int, place: Place) -> bool:
        return start >= self._endless.get((place, self.text[start]), self.size + 1)

    def _guessed(self, start: int, place: Place) -> Token:
        """Read a string whose end is not where JSON would have it."""
        text, quote = self.text, self.text[start]
        inner = 0
        for mark in () if self._is_endless(start, place) else self._marks(quote, start + 1):
            stop = mark.start()
            if mark[0][0] == "\\":
                continue
            if self._endings.ends(stop + 1, place, plain=not inner):
                first, last = start + 1, stop
                if inner == 1 and quote == '"':
                    # One quote too many, right beside another: a slip of the pen.
                    first, last = first + (text[first] == quote), last - (text[first] != quote == text[last - 1])
                value, exact, lost = self._content(text[first:last], quote == '"' and mark[0] == '"')
                lost = lost or (f"which quotes end {quoted(value)}" if inner else "")
                return Token("value", value, start, stop + 1, exact and not inner, lost)
            if (cut := self._endings.before_key(start, stop)) is not None:
                value = self._content(text[start + 1 : cut], False)[0]
                return Token(
                    "value", value, start, cut, False, f"where {quoted(value)} ends: its closing quote is missing"
                )
            inner += 1
        if inner or quote != '"':
            self._endless[place, quote] = min(self._endless.get((place, quote), start), start)
        if quote != '"' and self._last_quote > start:
            return Token("junk", quote, start, start + 1, False, f"{quoted(quote)} where a value should be")
        return Token("cut", text[start + 1 :], start, self.size, not inner and quote == '"')

    def _marks(self, quote: str, at: int) -> Any:
        return re.compile(rf"\\.|[{re.escape(QUOTES[quote])}]", re.DOTALL).finditer(self.text, at)

    def _content(self, raw: str, plain_quotes: bool) -> tuple[str, bool, str]:
        """Return what a string between quotes says, whether it was JSON, and what was guessed."""
        value, is_known = unescape(raw) if "\\" in raw else (raw, True)
        lost = "" if is_known else f"what the backslashes in {quoted(raw)} mean"
        if _CONTROL.search(raw):
            return value, False, lost or f"whether the line breaks or tabs in {quoted(raw)} were meant"
        return value, is_known and plain_quotes, lost

    def _bare(self, start: int, place: Place) -> Token:
        """Read a value without quotes: a number, a literal, or words whose opening quote is missing."""
        text = self.text
        if plain := _PLAIN.match(text, start):
            stop = plain.end()
            if stop >= self.size:
                kind: Kind = "value" if plain[0][0] in "tfn" else "cut"
                return Token(kind, plain_value(plain[0]) if kind == "value" else plain[0], start, stop)
            if _AFTER_PLAIN.match(text, stop) and not (place == "value" and _THOUSANDS.match(text, start)):
                value = plain_value(plain[0])
                return Token("value", value, start, stop, value is not None or plain[0] == "null")
        if place == "value" and (number := _THOUSANDS.match(text, start)):
            return Token("value", plain_value(number[0].replace(",", "")), start, number.end(), False)
        stop, skip = self._bare_end(start, place)
        words = text[start:stop].strip(" \t\r*\\")
        if stop >= self.size and text[start:].strip():
            exact = any(word.startswith(words) for word in ("true", "false", "null")) or words == "-"
            exact = exact or bool(re.fullmatch(r"-?\d+(\.\d*)?([eE][+-]?\d*)?", words))
            return Token("cut", words, start, self.size, exact)
        if not re.search(r"\w", words):
            return Token("junk", words, start, max(stop, start + 1), False, f"{quoted(words)} where a value should be")
        value = plain_value(words)
        if value is NOT_A_VALUE:
            return Token("value", words, start, stop + skip, False, f"where {quoted(words)} starts: it has no quotes")
        return Token("value", value, start, stop + skip, False)

    def _bare_end(self, start: int, place: Place) -> tuple[int, int]:
        """Return where words without an opening quote end, and how many characters after them belong to them."""
        text = self.text
        for mark in _BARE_STOPS.finditer(text, start):
            at, char = mark.start(), mark[0]
            if char in "\"'":
                if (at > start or char == '"') and self._endings.ends(at + 1, place, plain=False):
                    return at, 1
                if (before := self._endings.before_key(start, at)) is not None:
                    return before, 0
            elif char in COMMAS:
                if place == "item" or self._endings.follows_comma(at + 1, place, ascii_comma=char in ",;"):
                    return at, 0
            elif char == "\n":
                ahead = NEAR_SPACE.match(text, at)
                assert ahead is not None
                if ahead.end() >= self.size or text[ahead.end()] in "}]" or KEY_AHEAD.match(text, ahead.end()):
                    return at, 0
            elif self._endings.closes(at):
                return at, 0
        return self.size, 0
