"""Damaged JSON read to its likeliest meaning: one walk over the tokens, a stack instead of recursion, linear.

Where a token doesn't fit, a few edits are tried on a bare copy of the stack (close what is open, open what is missing,
leave the token out, take back the bracket before, ...), and the one that lets most of the following tokens fit is
made; of equal ones the first. Whole containers that are in order are read by `json` itself.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any, TypeAlias

from memreader.extract.json_tokens import CLOSERS, COMMAS, KEY_AHEAD, Lexer, Place, Token, quoted

MAX_DEPTH = 200
"""Containers in one another; deeper answers are refused, so that who reads the value can recurse."""
LOOK_AHEAD = 48
"""Tokens that must fit after an edit for it to count as perfect."""
PERFECT = LOOK_AHEAD + 10
_ALL_LOOKS = 60_000
_LONG = 10_000
"""A list in which a fault is known so far behind its start is read element by element at once."""
_MOST_LOSSES = 20
_NO_KEY: Any = object()
_TAIL = re.compile(r"[}\]][}\]\s]{0,399}\Z")
_MOST_TAIL = 400
_CLOSERS_ONLY = re.compile(r"[}\])\uff5d\uff3d\u3011\s]{1,999}")
_JOINT = re.compile(r"[ \n\r\t]*,[ \n\r\t]*(?=\{)")
_SPACE = re.compile(r"\s*")

Shape: TypeAlias = str
"""A stack in letters, innermost last: D an object that waits for a name, V one that waits for a value, L a list."""


@dataclass(frozen=True, slots=True)
class Mended:
    """A value read from damaged text, where it ended, and how far it can be trusted."""

    value: Any
    end: int
    exact: bool
    """Whether nothing was guessed: the text is JSON, or the beginning of it."""
    cut: bool
    lost: tuple[str, ...] = ()
    open: int = 0
    """Containers that the cut left open."""


class TooDeepError(ValueError):
    """The text opens more than `MAX_DEPTH` containers in one another."""


@dataclass(slots=True)
class _Frame:
    container: Any
    key: Any = _NO_KEY
    last_key: Any = _NO_KEY
    comma: bool = False

    @property
    def shape(self) -> Shape:
        return "L" if isinstance(self.container, list) else "D" if self.key is _NO_KEY else "V"

    def put(self, value: Any) -> None:
        if isinstance(self.container, list):
            self.container.append(value)
        else:
            self.container[self.key] = value
            self.last_key, self.key = self.key, _NO_KEY
        self.comma = False


class Mender:
    """Reads one value from `text`.

    Args:
        text: Up to its end or that of the fence.
        decoder: Reads containers that are in order.
        truncated: The text is known to be cut at its end.
        literal: Take the text for JSON whose end is missing, and leave off where it isn't.
    """

    def __init__(self, text: str, decoder: json.JSONDecoder, *, truncated: bool = False, literal: bool = False) -> None:
        self.text = text
        self.truncated = truncated
        self._literal = literal
        self._decoder = decoder
        self._lexer = Lexer(text, literal=literal)
        self._decodes = 2 * len(text)
        self._looks = _ALL_LOOKS

    def mend(self, at: int, *, implied: bool = False, bad: int = 0) -> Mended:
        """Return the value that starts at `at`, which `json` doesn't read as it stands.

        Args:
            bad: Where `json` stumbled over it.
            implied: There is no bracket at `at`: the opening brace of an object is missing.

        Raises:
            TooDeepError: See there.
        """
        self._frames: list[_Frame] = []
        self._root: Any = None
        self._closed: Any = None
        self._exact, self._cut = not implied, False
        self._left_open = 0
        self._bad = bad
        self._losses: list[str] = []
        if implied:
            self._open("{")
        else:
            token = self._lexer.token(at, "item")
            self._exact = token.exact
            self._open(token.value)
            at = token.end
        while self._frames:
            at = self._next(at)
            if self._literal and not self._exact:
                break
            if not self._frames and not self._cut and self._goes_on(at):
                self._frames.append(_Frame(self._root, comma=True))
                self._exact = False
        hidden = len(self._losses) - _MOST_LOSSES
        lost = self._losses[:_MOST_LOSSES] + ([f"and {hidden} more"] if hidden > 0 else [])
        return Mended(self._root, at, self._exact, self._cut, tuple(lost), self._left_open)

    def _next(self, at: int) -> int:
        """Take one token, or make one edit; return where the next starts."""
        frame = self._frames[-1]
        shape = frame.shape
        token = self._lexer.token(at, _place(shape))
        if token.kind == "junk" and token.value is None:
            self._lose(token.lost)
            return token.end
        if token.kind in ("end", "cut"):
            self._stop(token)
            return token.end
        if _after(shape, token) is None:
            return self._edit(token)
        if not token.exact:
            self._exact = False
        if token.lost:
            self._lose(token.lost)
        if token.kind == "comma":
            self._exact = self._exact and not frame.comma and bool(frame.container)
            frame.comma = True
            return token.end
        if token.kind == "close":
            self._exact = self._exact and not frame.comma
            self._close()
            return token.end
        if shape != "V" and frame.container and not frame.comma:
            self._exact = False
            if shape == "L" and token.kind == "value" and _is_stray(frame.container[-1], token):
                return self._make("skip", token)
        self._closed = None
        if token.kind == "key":
            frame.key, frame.comma = token.value, False
        elif token.kind == "value":
            frame.put(token.value)
        elif decoded := self._decoded(token.start):
            frame.put(decoded[0])
            self._closed = decoded[0]
            return self._decoded_run(frame.container, decoded[1])
        else:
            self._open(token.value)
        return token.end

    def _decoded(self, start: int) -> tuple[Any, int] | None:
        """Return the container at `start` and its end, if it is in order and enough tries are left."""
        if self._decodes <= 0 or self.text[start] not in "{[":
            return None
        if self.text[start] == "[" and self._bad - start > _LONG:
            return None
        try:
            return self._decoder.raw_decode(self.text, start)
        except json.JSONDecodeError as error:
            self._decodes -= error.pos - start + 20
            self._bad = max(self._bad, error.pos)
        except RecursionError:
            self._decodes -= 10_000
        return None

    def _decoded_run(self, container: Any, at: int) -> int:
        """Take the objects that follow in a list as long as they are in order; return where that ends."""
        while isinstance(container, list) and (joint := _JOINT.match(self.text, at)):
            decoded = self._decoded(joint.end())
            if decoded is None:
                break
            self._closed, at = decoded
            container.append(self._closed)
        return at

    def _open(self, kind: str) -> None:
        if len(self._frames) >= MAX_DEPTH:
            raise TooDeepError(f"nested deeper than {MAX_DEPTH}")
        new: Any = {} if kind == "{" else []
        if self._frames:
            self._frames[-1].put(new)
        else:
            self._root = new
        self._frames.append(_Frame(new))

    def _close(self) -> None:
        frame = self._frames.pop()
        if frame.key is not _NO_KEY:
            self._lose(f"the value of {quoted(str(frame.key))}")
        self._closed = frame.container

    def _lose(self, what: str) -> None:
        self._exact = False
        if what:
            self._losses.append(what)

    # Where a token doesn't fit.

    def _edit(self, token: Token) -> int:
        self._exact = False
        shape = "".join(frame.shape for frame in self._frames)
        best, best_score = "", -1
        for name in self._edits(shape, token):
            changed = _edited(shape, name, token)
            if changed is None or (name == "reopen" and self._closed is None):
                continue
            if self._looks <= 0:
                best = name
                break
            after = token.end if name in ("skip", "swap", "list") else token.start
            score = self._score(changed, after)
            if score > best_score:
                best, best_score = name, score
        return self._make(best or "skip", token)

    def _edits(self, shape: Shape, token: Token) -> list[str]:
        """Return the edits worth trying, likeliest first."""
        frame = self._frames[-1]
        empty = not frame.container
        if shape[-1] == "V":
            return ["drop key", "list", "skip"] if token.kind == "close" else ["drop key", "skip"]
        if token.kind == "close":
            return ["close", "swap", "skip"]
        if token.kind == "junk":
            return ["skip"]
        if shape[-1] == "D":
            if empty:
                return ["skip", "recast", "unopen"] if token.kind == "open" else ["recast", "unopen", "skip"]
            wrap = ["wrap"] if self._is_like_last(frame, token) else []
            if token.kind != "open":
                return [*wrap, "skip"]
            name = self._lexer.token(token.end, "key")
            if not frame.comma and not isinstance(frame.container[frame.last_key], dict | list):
                return ["revalue", "skip", "close"]
            is_new = name.value in frame.container or len(self._frames) == 1
            return ["close", *wrap, "reopen", "skip"] if is_new else ["skip", "close", *wrap, "reopen"]
        if empty:
            return ["recast", "object", "unopen"]
        last = frame.container[-1]
        if not isinstance(last, dict):
            return ["close", "object", "skip"]
        if self._closed is last and token.value not in last and token.value != next(iter(frame.container[0]), None):
            return ["reopen", "object", "close"]
        return ["object", "close", "reopen"]

    def _is_like_last(self, frame: _Frame, token: Token) -> bool:
        """Tell whether the token may be the second element of a list of which the field's value is the first."""
        last = frame.container.get(frame.last_key, token)
        if token.kind == "open":
            return isinstance(last, dict if token.value == "{" else list)
        return type(last) is type(token.value) and not isinstance(last, dict | list)

    def _score(self, shape: Shape, at: int) -> int:
        """Return how many tokens from `at` on fit a stack of that shape; `PERFECT` if they do to the end."""
        for count in range(LOOK_AHEAD):
            self._looks -= 1
            if not shape:
                return self._score_end(count, at)
            token = self._lexer.token(at, _place(shape[-1]))
            if token.kind in ("end", "cut"):
                return count + (5 if self.truncated else 0)
            if token.kind == "junk" and token.value is None:
                at = token.end
                continue
            after = _after(shape[-1], token)
            if after is None:
                return count
            shape = shape[:-1] + after
            at = token.end
        return LOOK_AHEAD

    def _score_end(self, count: int, at: int) -> int:
        """Return the score of a stack that is empty after `count` tokens: nothing should look like more of it."""
        rest = self._rest(at)
        char = self.text[rest : rest + 1]
        if char in CLOSERS:
            run = _CLOSERS_ONLY.match(self.text, rest)
            assert run is not None
            after = self.text[run.end() : run.end() + 1]
            return count if after and after in COMMAS else PERFECT - 1
        return count if char and char in COMMAS + ':"[{' else PERFECT

    def _rest(self, at: int) -> int:
        space = _SPACE.match(self.text, at)
        assert space is not None
        return space.end()

    def _goes_on(self, at: int) -> bool:
        """Tell whether the bracket that closed the root was one too many: more of its fields or elements follow."""
        rest = self._rest(at)
        comma = self.text[rest : rest + 1] == ","
        if not comma and not (isinstance(self._root, dict) and KEY_AHEAD.match(self.text, rest)):
            return False
        shape = "L" if isinstance(self._root, list) else "D"
        return self._looks > 0 and self._score(shape, rest + comma) > 3

    def _make(self, name: str, token: Token) -> int:
        """Make the edit; return where to go on."""
        frame = self._frames[-1]
        if name == "skip":
            if token.kind in ("value", "key", "junk"):
                self._lose(token.lost or f"{quoted(str(token.value))}, which stands where it has no meaning")
            return token.end
        if name in ("close", "swap"):
            self._close_edited(frame, is_close=name == "close")
            return token.end if name == "swap" else token.start
        if name == "list":
            self._open("[")
            return token.end
        if name == "revalue":
            frame.key = frame.last_key
            self._lose(f"{quoted(str(frame.container[frame.key]))}, a second value of {quoted(str(frame.key))}")
        elif name == "drop key":
            self._lose(f"the value of {quoted(str(frame.key))}")
            frame.key = _NO_KEY
        elif name == "object":
            self._open("{")
        elif name == "reopen":
            self._frames.append(_Frame(self._closed, comma=True))
            if isinstance(self._closed, dict):
                self._frames[-1].last_key = next(reversed(self._closed), _NO_KEY)
        elif name == "wrap":
            frame.container[frame.last_key] = wrapped = [frame.container[frame.last_key]]
            self._frames.append(_Frame(wrapped, comma=True))
        elif name in ("recast", "unopen"):
            self._undo_open(recast=name == "recast")
        self._closed = None
        return token.start

    def _close_edited(self, frame: _Frame, *, is_close: bool) -> None:
        self._close()
        inner = frame.container
        if is_close and isinstance(inner, list) and _is_nested(inner):
            # `[["a"]` with one bracket missing has one bracket too many.
            inner[-1:] = inner[-1]

    def _undo_open(self, *, recast: bool) -> None:
        """Take back the bracket just opened, or make it the other one."""
        frame = self._frames.pop()
        if recast:
            other: Any = {} if isinstance(frame.container, list) else []
            self._replace(frame.container, other)
            self._frames.append(_Frame(other, comma=frame.comma))
            return
        parent = self._frames[-1]
        if isinstance(parent.container, list):
            parent.container.pop()
        else:
            del parent.container[parent.last_key]
            parent.key = parent.last_key

    def _replace(self, old: Any, new: Any) -> None:
        """Put `new` where `old` was put last."""
        if not self._frames:
            self._root = new
            return
        parent = self._frames[-1]
        place = -1 if isinstance(parent.container, list) else parent.last_key
        assert parent.container[place] is old
        parent.container[place] = new

    # Where the text ends too early.

    def _stop(self, token: Token) -> None:
        """Close what is open at the end of the text, without what isn't complete."""
        if not token.exact:
            self._exact = False
        frame = self._frames[-1]
        if token.kind == "cut" and (text := self._unquoted_end(token)) is not None:
            self._exact = False
            if frame.shape != "D":
                frame.put(text)
            self._losses.append(f"where {quoted(text)} ends: its closing quote is missing")
            self._frames.clear()
            return
        self._cut = True
        self._left_open = len(self._frames)
        if token.kind == "cut":
            self._losses.append(f"what is cut off at the end: {quoted(str(token.value))}")
        elif frame.key is not _NO_KEY:
            self._losses.append(f"the value of {quoted(str(frame.key))}, cut off")
        else:
            self._losses.append("what may have followed the cut at the end")
        while self._frames:
            frame = self._frames.pop()
            if not frame.container and self._frames:
                parent = self._frames[-1]
                if isinstance(parent.container, list):
                    parent.container.pop()
                elif isinstance(frame.container, dict):
                    del parent.container[parent.last_key]

    def _unquoted_end(self, token: Token) -> str | None:
        """Return the last string of the text without the brackets it has swallowed, if they close all that is open."""
        if self.truncated or not isinstance(token.value, str) or self.text[token.start] not in "\"'\u201c":
            return None
        tail = _TAIL.search(token.value, max(0, len(token.value) - _MOST_TAIL))
        if not tail:
            return None
        places = [place for place in range(tail.start(), len(token.value)) if not token.value[place].isspace()]
        if len(places) < len(self._frames):
            return None
        places = places[len(places) - len(self._frames) :]
        wanted = ["[" if isinstance(frame.container, list) else "{" for frame in reversed(self._frames)]
        if [CLOSERS[token.value[place]] for place in places] != wanted:
            return None
        words = token.value[: places[0]].rstrip().rstrip('"\\')
        if words.count("{") > words.count("}") or words.count("[") > words.count("]"):
            # They may be the string's own: a guess either way, so it isn't kept, and not called a plain cut.
            self._exact = False
            return None
        return words


def _is_nested(container: list[Any]) -> bool:
    return bool(container) and isinstance(container[-1], list) and not any(isinstance(x, list) for x in container[:-1])


def _is_stray(before: Any, token: Token) -> bool:
    """Tell whether a value without a comma before it is a slip rather than an element."""
    return isinstance(before, dict | list) or (not token.exact and len(str(token.value)) <= 2)


def _place(shape: Shape) -> Place:
    return {"D": "key", "V": "value", "L": "item"}[shape[-1]]  # type: ignore[return-value]


def _after(shape: Shape, token: Token) -> Shape | None:
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


def _edited(shape: Shape, name: str, token: Token) -> Shape | None:
    """Return the stack's shape after an edit; None where it can't be made."""
    rest, top = shape[:-1], shape[-1]
    if name == "skip":
        return shape
    if name in ("close", "swap"):
        return rest if rest or name == "swap" else None
    if name == "revalue":
        return rest + "V"
    if name in ("drop key", "list"):
        return rest + ("D" if name == "drop key" else "DL")
    if name == "object":
        return shape + "D"
    if name == "wrap":
        return shape + "L"
    if name == "recast":
        return rest + ("L" if top == "D" else "D")
    if name == "unopen":
        return (rest[:-1] + ("L" if rest[-1] == "L" else "V")) if rest else None
    return shape + ("D" if token.kind == "key" else "L")
