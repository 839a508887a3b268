"""Single fields of a model's answer, read from whatever form they came in; what can't be understood is empty."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, TypeGuard

from memreader.text import clean

MAX_NAMES = 100
"""Tags, entities or relations of one memory; the rest is left out."""
MAX_NAME_CHARS = 200
MAX_KEY_CHARS = 200
MAX_LINES = 1000
"""Line numbers of one memory."""
_MAX_LINE_NUMBER = 10**6
_MAX_NUMBERS_CHARS = 10_000
_BORDERS = re.compile(r"[\s_\-]+")
_COMMAS = re.compile(r"[,，、;；\n]")
_NUMBERS = re.compile(r"(?<!\d)(\d{1,7})(?!\d)(?:\s{0,3}(?:-|–|—|~|～|至|到|to)\s{0,3}(\d{1,7})(?!\d))?")
_LINE_HEAD = re.compile(r"\s*\[(\d{1,7})\]")
_LINE_WORDS = re.compile(r"\b(?:lines?|rows?|nos?|l(?=\d)|and|to)|[第行至到和与]", re.IGNORECASE)
_NO_TIME = frozenset({"", "none", "null", "unknown", "n/a", "na", "notsaid", "未知", "无", "没说"})
_NAME_FIELDS = ("name", "entity", "text", "value", "tag", "名称")
_ENDS = (
    ("subject", "head", "source", "from", "主语"),
    ("predicate", "relation", "relationship", "type", "关系"),
    ("object", "tail", "target", "to", "宾语"),
)


def normal(name: object) -> str:
    """Return a name without what spellings differ in: case, width, spaces, underscores and hyphens.

    >>> normal("Memory_List"), normal("memory list")
    ('memorylist', 'memorylist')
    """
    return _BORDERS.sub("", unicodedata.normalize("NFKC", str(name)[:100]).casefold())


class Fields:
    """An object's fields, found by any spelling of their names; of two spellings the first that isn't null counts."""

    def __init__(self, fields: Mapping[Any, Any]) -> None:
        self._held: dict[str, Any] = {}
        for name, held in fields.items():
            spelled = normal(name)
            if self._held.get(spelled) is None:
                self._held[spelled] = held

    def has(self, *names: str) -> bool:
        """Whether there is a field with one of these names (as `normal` spells them), even if it is null."""
        return any(name in self._held for name in names)

    def get(self, *names: str) -> Any:
        """Return the first of these fields that isn't null, None if there is none."""
        return next(self.held(*names), None)

    def held(self, *names: str) -> Iterator[Any]:
        """Yield these fields, in the order of the names, without null ones."""
        return (held for name in names if (held := self._held.get(name)) is not None)


def read_text(value: object, max_chars: int) -> str | None:
    """Return a text without spaces around it, cut at `max_chars`; None if it is none, or has no words."""
    return clean(value[: 2 * max_chars]).strip()[:max_chars].strip() or None if isinstance(value, str) else None


def read_tags(value: object) -> tuple[str, ...]:
    """Return tags from a list, or from a text with commas between them, each once and without `#`."""
    return _distinct(tag.lstrip("#＃").strip() for tag in _names(value))


def read_names(value: object) -> tuple[str, ...]:
    """Return names from a list of names or of objects with a name, or a text with commas between them, each once."""
    return _distinct(_names(value))


def read_lines(value: object) -> tuple[int, ...]:
    """Return line numbers from numbers and texts, each once; a range stands for all in it.

    >>> read_lines([1, "3-5", "[9]"]), read_lines("lines 2, 4"), read_lines(True)
    ((1, 3, 4, 5, 9), (2, 4), ())
    """
    entries = value if _is_list(value) else [value]
    numbers = (number for entry in entries[:MAX_LINES] for number in _numbers(entry))
    # Bounded before they are told apart: one short text may stand for millions.
    return tuple(islice(dict.fromkeys(islice(numbers, 10 * MAX_LINES)), MAX_LINES))


def _numbers(entry: object) -> Iterator[int]:
    if isinstance(entry, bool):
        return
    if isinstance(entry, int | float):
        if 0 <= entry <= _MAX_LINE_NUMBER and entry == int(entry):
            yield int(entry)
    elif isinstance(entry, str):
        text = unicodedata.normalize("NFKC", entry[:_MAX_NUMBERS_CHARS])
        if any(letter.isalpha() for letter in _LINE_WORDS.sub("", text)):
            # A whole line, quoted: the other numbers in it are its words.
            head = _LINE_HEAD.match(text)
            text = head[1] if head else ""
        for match in _NUMBERS.finditer(text):
            first, last = int(match[1]), int(match[2] or match[1])
            yield first
            yield from range(first + 1, last + 1) if last > first else (last,)


def read_relations(value: object) -> tuple[tuple[str, str, str], ...]:
    """Return (subject, predicate, object) from a list of triples or of objects, or from one; each once."""
    if isinstance(value, Mapping) or (
        _is_list(value) and len(value) == 3 and all(isinstance(one, str) for one in value)
    ):
        value = [value]
    if not _is_list(value):
        return ()
    triples = (_triple(one) for one in value[:MAX_NAMES])
    return tuple(dict.fromkeys(triple for triple in triples if triple))


def _triple(value: object) -> tuple[str, str, str] | None:
    if isinstance(value, Mapping):
        fields = Fields(value)
        value = [fields.get(*names) for names in _ENDS]
    if not _is_list(value) or len(value) != 3:
        return None
    head, relation, tail = (_name(one) for one in value)
    return (head, relation, tail) if head and relation and tail else None


def read_time(value: object) -> str | None:
    """Return a time as it was written, None if nothing was said."""
    text = str(value) if isinstance(value, int) and not isinstance(value, bool) and 0 < value < 10_000 else value
    said = read_text(text, MAX_NAME_CHARS)
    return None if said is None or normal(said) in _NO_TIME else said


def says_nothing(value: object) -> bool:
    """Return whether a value says that there is nothing: null, an empty list, or a word for it.

    >>> says_nothing([]), says_nothing("N/A"), says_nothing(5)
    (True, True, False)
    """
    return value is None or value in ([], {}, ()) or (isinstance(value, str) and normal(value.strip()) in _NO_TIME)


def _names(value: object) -> Iterator[str]:
    if isinstance(value, str):
        value = _COMMAS.split(value[: MAX_NAMES * MAX_NAME_CHARS])
    elif isinstance(value, Mapping):
        name = Fields(value).get(*_NAME_FIELDS)
        value = [name] if isinstance(name, str) else list(value)
    if _is_list(value):
        yield from (name for one in value[: 10 * MAX_NAMES] if (name := _name(one)))


def _name(value: object) -> str | None:
    if isinstance(value, Mapping):
        value = Fields(value).get(*_NAME_FIELDS)
    if isinstance(value, int | float) and not isinstance(value, bool):
        value = str(value) if abs(value) < 1e15 else None
    text = read_text(value, MAX_NAME_CHARS)
    return " ".join(text.split()) if text else None


def _distinct(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(islice(dict.fromkeys(name for name in names if name), MAX_NAMES))


def _is_list(value: object) -> TypeGuard[Sequence[Any]]:
    return isinstance(value, Sequence) and not isinstance(value, str | bytes)
