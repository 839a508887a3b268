"""Where a string of damaged JSON ends: at which quote, bracket or comma, going by what follows it.

Every look ahead is bounded, or over blanks that no other look passes again.
"""

from __future__ import annotations

import re
from typing import Literal, TypeAlias

Place: TypeAlias = Literal["key", "value", "item"]
"""Where a token stands: before a colon, after one, or in a list."""

QUOTES = {
    '"': '"', "'": "'", "`": "`", "\u201c": "\u201d\u201c\"", "\u201d": "\u201d\"", "\u2018": "\u2019\u2018'",
    "\u201e": "\u201c\u201d\"", "\u300c": "\u300d", "\u300e": "\u300f", "\uff02": "\uff02",
}  # fmt: skip
"""What may close a string, by what opened it."""
OPENERS = {"{": "{", "[": "[", "\uff5b": "{", "\uff3b": "[", "\u3010": "[", "(": "["}
CLOSERS = {"}": "{", "]": "[", "\uff5d": "{", "\uff3d": "[", "\u3011": "[", ")": "["}
"""Which kind of container a bracket opens or closes."""
COMMAS = ",;\uff0c\uff1b\u3001"
COLONS = ":\uff1a="

ANY_QUOTE = "\"'`\u201c\u201d\u201e\u2018\u2019\u300c\u300d\u300e\u300f\uff02"
NEAR = r"[\s\ufeff\u200b-\u200f\u2060]{0,99}"
SPACE = re.compile(r"(?:[\s\ufeff\u200b-\u200f\u2060]+|\\[nrt](?=[\s\"}\]\\]))*")
NEAR_SPACE = re.compile(NEAR)
_NAME = rf"[^{ANY_QUOTE}\n\\:\uff1a,{{}}\[\]]{{1,60}}"
KEY_AHEAD = re.compile(rf"[*_\-\u2022 ]{{0,4}}(?:[uUbB]?[{ANY_QUOTE}]{_NAME}[{ANY_QUOTE}][*_]*{NEAR}[{COLONS}])")
"""A quoted name and a colon."""
_KEY_LIKE = re.compile(
    rf"[{ANY_QUOTE}]{_NAME}[{ANY_QUOTE}]{NEAR}(?:\w?{NEAR}[{ANY_QUOTE}\[{{]|[\d\-]|true|false|null)"
    rf"|[{ANY_QUOTE}][\w ]{{1,60}}[:\uff1a]|\w[\w ]{{0,60}}[{ANY_QUOTE}]{NEAR}[:\uff1a]"
)
"""A name with its colon or one of its quotes missing."""
_BARE_KEY = re.compile(rf"([^\W\d][\w\-]{{0,60}}){NEAR}[:\uff1a]")
_STYLE = re.compile(r"[{,]\s{0,99}[^\W\d][\w\-]{0,60}\s{0,9}[:\uff1a]")
_ITEM_AHEAD = re.compile(rf"[{ANY_QUOTE}{{\[(\-]|\d|true\b|false\b|null\b|None\b|True\b|False\b|\.\.\.|\u2026")
_QUOTED_ITEM = re.compile(rf"[{ANY_QUOTE}][^{ANY_QUOTE}\n]{{1,200}}[{ANY_QUOTE}]{NEAR}[,\]]")
_REST_OF_LIST = re.compile(r'(?:"[^"\n]{1,99}"\s{0,9},\s{0,9}){0,5}"[^"\n]{1,99}"\s{0,9}\]')
_CLOSE_RUN = re.compile(r"[}\]\uff5d\uff3d\s]{1,99}")
_STRONG_END = re.compile(
    rf"{NEAR}(?:,{NEAR}[{ANY_QUOTE}]{_NAME}[{ANY_QUOTE}]{NEAR}[:\uff1a]"
    rf"|[}}\]]{NEAR}(?:[,}}\]]|\Z))"
)
_STRONG_ITEM = re.compile(rf"{NEAR}(?:,{NEAR}[{ANY_QUOTE}]|\]{NEAR}[,}}\]])")
_COMMENT_END = re.compile(r"[ \t]*(?://|#)[^\"\n]{0,200}(?:\n|\Z)|\s{0,99}/\*[^*\n]{0,200}\*/")
PLUS = re.compile(rf"{NEAR}\+{NEAR}(?=[\"'`])")


class Endings:
    """Tells where the strings of a text end.

    Args:
        literal: The text is taken for JSON whose end is missing: no quote is doubted.
    """

    def __init__(self, text: str, *, literal: bool) -> None:
        self.text = text
        self.size = len(text)
        self._literal = literal
        self._bare_style = bool(_STYLE.search(text[:2000]))
        self._names: set[str] | None = None

    def before_key(self, start: int, stop: int) -> int | None:
        """Return where a string should have ended, if the quote at `stop` opens the name of the next field."""
        text = self.text
        if not KEY_AHEAD.match(text, stop):
            return None
        at = stop
        while at > start + 1 and text[at - 1].isspace():
            at -= 1
        if text[at - 1] in COMMAS:
            at -= 1
        elif "\n" not in text[at:stop]:
            return None
        while at > start + 1 and text[at - 1].isspace():
            at -= 1
        return at if at > start else None

    def ends(self, at: int, place: Place, *, plain: bool) -> bool:
        """Tell whether a quote before `at` ends a string. `plain`: no other quote was passed in it."""
        text = self.text
        space = SPACE.match(text, at)
        assert space is not None
        ahead = space.end()
        if ahead >= self.size or self._literal:
            return True
        char = text[ahead]
        if char in CLOSERS:
            return self.closes(ahead)
        if char in COMMAS:
            return self.follows_comma(ahead + 1, place, ascii_comma=char in ",;")
        if place == "item" and char in COLONS and char != "=":
            return True
        if KEY_AHEAD.match(text, ahead) or _COMMENT_END.match(text, at) or PLUS.match(text, at):
            return True
        if place == "item" and (char in "{[" or _QUOTED_ITEM.match(text, ahead)):
            return True
        if char == "`" and text.startswith("```", ahead):
            return True
        strong = _STRONG_END if place == "value" else _STRONG_ITEM
        return plain and bool(strong.match(text, ahead + 1))

    def closes(self, at: int) -> bool:
        """Tell whether a closing bracket after a quote closes a container: else it belongs to the text."""
        run = _CLOSE_RUN.match(self.text, at)
        after = run.end() if run else at + 1
        if after >= self.size or "\n" in self.text[at:after]:
            return True
        char = self.text[after]
        return (
            char in COMMAS
            or char in QUOTES
            or char in OPENERS
            or '"' not in self.text[after : after + 200].split("\n")[0]
        )

    def follows_comma(self, at: int, place: Place, *, ascii_comma: bool) -> bool:
        """Tell whether what is at `at`, behind a comma, is another field or element, and not more of a text."""
        text = self.text
        space = SPACE.match(text, at)
        assert space is not None
        ahead = space.end()
        if ahead >= self.size:
            return ascii_comma
        if KEY_AHEAD.match(text, ahead) or _KEY_LIKE.match(text, ahead):
            return True
        if text[ahead] in "}]{," or text.startswith(("//", "/*"), ahead):
            return ascii_comma
        if place == "value" and _REST_OF_LIST.match(text, ahead):
            return True
        if bare := _BARE_KEY.match(text, ahead):
            return self._bare_style or bare[1] in self._known_names()
        return place == "item" and ascii_comma and bool(_ITEM_AHEAD.match(text, ahead))

    def _known_names(self) -> set[str]:
        if self._names is None:
            self._names = set(re.findall(r'"(\w{1,60})"\s{0,9}:', self.text))
        return self._names
