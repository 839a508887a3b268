"""Damaged JSON read to its likeliest meaning: one walk over the tokens, a stack instead of recursion, linear.

Where a token doesn't fit, a few edits are tried on a bare copy of the stack (close what is open, open what is missing,
leave the token out, take back the bracket before, ...), and the one that lets most of the following tokens fit is
made; of equal ones the first. Whole containers that are in order are read by `json` itself.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any

from memreader.extract.repair.edits import (
    CONSUMING,
    NO_KEY,
    Frame,
    Shape,
    after,
    edited,
    edits,
    is_nested,
    is_stray,
    place_of,
    unquoted_end,
)
from memreader.extract.repair.endings import CLOSERS, COMMAS, KEY_AHEAD
from memreader.extract.repair.tokens import Lexer, Token, quoted

MAX_DEPTH = 200
"""Containers in one another; deeper answers are refused, so that who reads the value can recurse."""
LOOK_AHEAD = 48
"""Tokens that must fit after an edit for it to count as perfect."""
PERFECT = LOOK_AHEAD + 10
_ALL_LOOKS = 60_000
_LONG = 10_000
"""A list in which a fault is known so far behind its start is read element by element at once."""
_MOST_LOSSES = 20
_CLOSERS_ONLY = re.compile(r"[}\])\uff5d\uff3d\u3011\s]{1,999}")
_JOINT = re.compile(r"[ \n\r\t]*,[ \n\r\t]*(?=\{)")
_SPACE = re.compile(r"\s*")


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
        self._frames: list[Frame] = []
        self._root: Any = None
        self._closed: Any = None
        self._exact, self._cut = not implied, False
        self._left_open = 0
        self._edited_at, self._edits_here = -1, 0
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
                self._frames.append(Frame(self._root, comma=True))
                self._lose(f"which bracket is wrong before {quoted(self.text[at : at + 200])}")
        hidden = len(self._losses) - _MOST_LOSSES
        lost = self._losses[:_MOST_LOSSES] + ([f"and {hidden} more"] if hidden > 0 else [])
        return Mended(self._root, at, self._exact, self._cut, tuple(lost), self._left_open)

    def _next(self, at: int) -> int:
        """Take one token, or make one edit; return where the next starts."""
        frame = self._frames[-1]
        shape = frame.shape
        token = self._lexer.token(at, place_of(shape))
        if token.kind == "junk" and token.value is None:
            self._lose(token.lost)
            return token.end
        if token.kind in ("end", "cut"):
            self._stop(token)
            return token.end
        if after(shape, token) is None:
            return self._edit(token)
        if not token.exact:
            self._exact = False
        if token.lost:
            self._lose(token.lost)
        if token.kind == "comma":
            if frame.comma or not frame.container:
                self._lose("what may be missing beside a comma")
            frame.comma = True
            return token.end
        if token.kind == "close":
            self._exact = self._exact and not frame.comma
            self._close()
            return token.end
        if shape != "V" and frame.container and not frame.comma:
            self._exact = False
            if shape == "L" and token.kind == "value" and is_stray(frame.container[-1], token):
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
            # An error costs in itself: it counts the lines before it.
            self._decodes -= error.pos - start + 20 + error.pos // 200
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
        self._frames.append(Frame(new))

    def _close(self) -> None:
        frame = self._frames.pop()
        if frame.key is not NO_KEY:
            self._lose(f"the value of {quoted(str(frame.key))}")
        self._closed = frame.container

    def _lose(self, what: str) -> None:
        self._exact = False
        if what:
            self._losses.append(what)

    # Where a token doesn't fit.

    def _edit(self, token: Token) -> int:
        self._exact = False
        self._edits_here = self._edits_here + 1 if token.start == self._edited_at else 0
        self._edited_at = token.start
        if self._edits_here > MAX_DEPTH:
            return self._make("skip", token)
        shape = "".join(frame.shape for frame in self._frames)
        best, best_score = "", -1
        for name in edits(self._frames, self._closed, token, self._lexer):
            changed = edited(shape, name, token)
            if changed is None or (name == "reopen" and self._closed is None):
                continue
            if self._looks <= 0:
                best = name
                break
            score = self._score(changed, token.end if name in CONSUMING else token.start)
            if score > best_score:
                best, best_score = name, score
        return self._make(best or "skip", token)

    def _score(self, shape: Shape, at: int) -> int:
        """Return how many tokens from `at` on fit a stack of that shape; `PERFECT` if they do to the end."""
        for count in range(LOOK_AHEAD):
            self._looks -= 1
            if not shape:
                return self._score_end(count, at)
            token = self._lexer.token(at, place_of(shape[-1]))
            if token.kind in ("end", "cut"):
                return count + (5 if self.truncated else 0)
            if token.kind == "junk" and token.value is None:
                at = token.end
                continue
            changed = after(shape[-1], token)
            if changed is None:
                return count
            shape = shape[:-1] + changed
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
            written = self.text[token.start : token.end]
            self._lose(token.lost or f"{quoted(written)}, which stands where it has no meaning")
            return token.end
        self._losses.append(f"which bracket is wrong at {quoted(self.text[token.start : token.start + 200])}")
        if name in ("close", "swap"):
            self._close_edited(frame, is_close=name == "close")
            return token.end if name == "swap" else token.start
        if name in ("list", "empty"):
            self._open("[" if name == "list" else token.value)
            if name == "empty":
                self._close()
            return token.end
        if name == "revalue":
            frame.key = frame.last_key
            self._lose(f"{quoted(str(frame.container[frame.key]))}, a second value of {quoted(str(frame.key))}")
        elif name == "drop key":
            self._lose(f"the value of {quoted(str(frame.key))}")
            frame.key = NO_KEY
        elif name == "object":
            self._open("{")
        elif name == "reopen":
            self._frames.append(Frame(self._closed, comma=True))
            if isinstance(self._closed, dict):
                self._frames[-1].last_key = next(reversed(self._closed), NO_KEY)
        elif name == "wrap":
            frame.container[frame.last_key] = wrapped = [frame.container[frame.last_key]]
            self._frames.append(Frame(wrapped, comma=True))
        elif name in ("recast", "unopen"):
            self._undo_open(recast=name == "recast")
        self._closed = None
        return token.start

    def _close_edited(self, frame: Frame, *, is_close: bool) -> None:
        self._close()
        inner = frame.container
        if is_close and isinstance(inner, list) and is_nested(inner):
            # `[["a"]` with one bracket missing has one bracket too many.
            inner[-1:] = inner[-1]

    def _undo_open(self, *, recast: bool) -> None:
        """Take back the bracket just opened, or make it the other one."""
        frame = self._frames.pop()
        if recast:
            other: Any = {} if isinstance(frame.container, list) else []
            self._replace(frame.container, other)
            self._frames.append(Frame(other, comma=frame.comma, is_recast=True))
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
        text, is_whole = self._unquoted_end(token)
        if text is not None:
            self._exact = False
        if text is not None and is_whole:
            if frame.shape != "D":
                frame.put(text)
            self._losses.append(f"where {quoted(text)} ends: its closing quote is missing")
            self._frames.clear()
            return
        self._cut = True
        self._left_open = len(self._frames)
        if token.kind == "cut":
            self._losses.append(f"what is cut off at the end: {quoted(str(token.value))}")
        elif frame.key is not NO_KEY:
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

    def _unquoted_end(self, token: Token) -> tuple[str | None, bool]:
        """Return the last string as it would be without its closing quote, and whether that is likely."""
        if token.kind != "cut" or self.truncated or self.text[token.start] not in "\"'\u201c":
            return None, False
        return unquoted_end(str(token.value), self._frames) or (None, False)
