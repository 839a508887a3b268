"""What may be wrong where a token of damaged JSON doesn't fit, and what the stack would be after each edit."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, TypeAlias

from memreader.extract.repair.endings import CLOSERS, Place
from memreader.extract.repair.tokens import Lexer, Token

NO_KEY: Any = object()
CONSUMING = frozenset({"skip", "swap", "list", "empty"})
"""Edits with which the token is used up; after the others it is read again."""
_TAIL = re.compile(r"[}\]][}\]\s]{0,399}\Z")
_MOST_TAIL = 400

Shape: TypeAlias = str
"""A stack in letters, innermost last: D an object that waits for a name, V one that waits for a value, L a list."""


@dataclass(slots=True)
class Frame:
    """A container that is being read: what waits for a value, and whether a comma was seen since the last."""

    container: Any
    key: Any = NO_KEY
    last_key: Any = NO_KEY
    comma: bool = False
    is_recast: bool = False
    """Its bracket was already taken for the other kind: not again."""

    @property
    def shape(self) -> Shape:
        """Its letter."""
        return "L" if isinstance(self.container, list) else "D" if self.key is NO_KEY else "V"

    def put(self, value: Any) -> None:
        """Add a value, under the name that waits for it if it is an object."""
        if isinstance(self.container, list):
            self.container.append(value)
        else:
            self.container[self.key] = value
            self.last_key, self.key = self.key, NO_KEY
        self.comma = False


def place_of(shape: Shape) -> Place:
    """Return where the next token stands, for a stack of that shape."""
    return {"D": "key", "V": "value", "L": "item"}[shape[-1]]  # type: ignore[return-value]


def after(shape: Shape, token: Token) -> Shape | None:
    """Return what the innermost container becomes with the token, and what it opens; None where it doesn't fit."""
    kind = token.kind
    if kind == "comma":
        return None if shape == "V" else shape
    if kind == "close":
        return "" if shape == ("D" if token.value == "{" else "L") else None
    if kind == "key":
        return "V" if shape == "D" else None
    if shape == "D" or kind not in ("open", "value"):
        return None
    rest = "L" if shape == "L" else "D"
    return rest if kind == "value" else rest + ("D" if token.value == "{" else "L")


def edited(shape: Shape, name: str, token: Token) -> Shape | None:
    """Return the stack's shape after an edit; None where it can't be made."""
    rest, top = shape[:-1], shape[-1]
    if name == "skip":
        return shape
    if name in ("close", "swap"):
        return rest if rest or name == "swap" else None
    if name == "revalue":
        return rest + "V"
    if name in ("drop key", "list", "empty"):
        return rest + ("DL" if name == "list" else "D")
    if name == "object":
        return shape + "D"
    if name == "wrap":
        return shape + "L"
    if name == "recast":
        return rest + ("L" if top == "D" else "D")
    if name == "unopen":
        return (rest[:-1] + ("L" if rest[-1] == "L" else "V")) if rest else None
    return shape + ("D" if token.kind == "key" else "L")


def edits(frames: list[Frame], closed: Any, token: Token, lexer: Lexer) -> list[str]:
    """Return the edits worth trying where `token` doesn't fit, likeliest first.

    Args:
        frames: The stack.
        closed: The container that was closed last, if nothing but a comma came since.
        token: What doesn't fit.
        lexer: Gives what follows it.
    """
    frame = frames[-1]
    empty = not frame.container
    recast = [] if frame.is_recast else ["recast"]
    if frame.shape == "V":
        return ["drop key", "empty", "list", "skip"] if token.kind == "close" else ["drop key", "skip"]
    if token.kind == "close":
        return ["close", "swap", "skip"]
    if token.kind == "junk":
        return ["skip"]
    if frame.shape == "D":
        if empty:
            return ["skip", *recast, "unopen"] if token.kind == "open" else [*recast, "unopen", "skip"]
        wrap = ["wrap"] if _is_like_last(frame, token) else []
        if token.kind != "open":
            return [*wrap, "skip"]
        name = lexer.token(token.end, "key")
        if not frame.comma and not isinstance(frame.container[frame.last_key], dict | list):
            return ["revalue", "skip", "close"]
        is_new = name.value in frame.container or len(frames) == 1
        return ["close", *wrap, "reopen", "skip"] if is_new else ["skip", "close", *wrap, "reopen"]
    if empty:
        return ["close", "object"] if frame.comma else [*recast, "object", "unopen"]
    last = frame.container[-1]
    if not isinstance(last, dict):
        return ["close", "object", "skip"]
    first = frame.container[0]
    begins = isinstance(first, dict) and token.value == next(iter(first), None)
    if closed is last and token.value not in last and not begins:
        return ["reopen", "object", "close"]
    return ["object", "close", "reopen"]


def _is_like_last(frame: Frame, token: Token) -> bool:
    """Tell whether the token may be the second element of a list of which the field's value is the first."""
    last = frame.container.get(frame.last_key, token)
    if token.kind == "open":
        return isinstance(last, dict if token.value == "{" else list)
    return type(last) is type(token.value) and not isinstance(last, dict | list)


def is_nested(container: list[Any]) -> bool:
    """Tell whether a list ends in its only inner list."""
    return bool(container) and isinstance(container[-1], list) and not any(isinstance(x, list) for x in container[:-1])


def is_stray(before: Any, token: Token) -> bool:
    """Tell whether a value without a comma before it is a slip rather than an element."""
    return isinstance(before, dict | list) or (not token.exact and len(str(token.value)) <= 2)


def unquoted_end(text: str, frames: list[Frame]) -> tuple[str, bool] | None:
    """Return the last string of a text without the brackets it has swallowed, if they close all that is open.

    The second is false where they may be the string's own.
    """
    tail = _TAIL.search(text, max(0, len(text) - _MOST_TAIL))
    places = [place for place in range(tail.start(), len(text)) if not text[place].isspace()] if tail else []
    if len(places) < len(frames):
        return None
    places = places[len(places) - len(frames) :]
    wanted = ["[" if isinstance(frame.container, list) else "{" for frame in reversed(frames)]
    if [CLOSERS[text[place]] for place in places] != wanted:
        return None
    words = text[: places[0]].rstrip().rstrip('"\\')
    return words, words.count("{") <= words.count("}") and words.count("[") <= words.count("]")
