"""Filters: which items, said as a dict of fields and operators; checked once, then a value.

    {"tags": "home"}                                        same as {"tags": {"$eq": "home"}}
    {"memory_time": {"$gte": "2023-05-01", "$lt": "2023-06-01"}, "status": "activated"}
    {"$or": [{"topic": {"$in": ["tea", "coffee"]}}, {"$not": {"info.score": {"$lt": 3}}}]}

Several keys, or several operators of one field, must all hold. Operators: $eq $ne $in $nin $gt $gte $lt $lte $contains;
around whole filters: $and $or (a list), $not (a dict). An empty filter holds for every item.

Fields. `id`, `memory` and the fields of `TextualMemoryMetadata` come first; any other name is a key of
`metadata.info`. `info.NAME` always is that key, even where NAME is a field's name; NAME is taken as it stands, dots
included. Of `sources` these: `sources.type`, `.role`, `.name`, `.message_id`, `.session_id`, `.doc_path`, `.chat_time`,
`.page` and `.index`; `history` and `embedding` can't be asked about. Refused, with what to write instead: every
`metadata.NAME`, any other `sources.NAME`, and `doc_path`, `message_id` and `chat_time` without `sources.` (but `role`,
`name`, `page` and `index` alone are keys of `info`).

Meaning.
- A list (`tags`, `entities`, `usage`, `evolve_from`, `evolve_to`, a list in `info`) is compared by its elements: it is
  enough that one of them matches. Dicts, and lists inside lists, match nothing.
- `entities` knows which names are one: a name that was merged with others, or that a memory states to be another's
  (see `Memory.graph`), matches items with any of these names, however they are spelled.
- A field of `sources` is compared in each source: it is enough that one of them matches, and two comparisons may match
  two of them. `None` matches where no source has it.
- `$ne`, `$nin` and `$not` are exact opposites: they hold where the field is missing, or of another type, too.
- `None` matches what is missing or null. A list field without elements (`tags` and its like) counts as missing.
- `$in: []` matches nothing, `$nin: []` everything.
- `$contains`: a list that has this element, or a text that has this text in it; upper and lower case differ.
- `$gt` and its like compare numbers with numbers, and texts with texts, by code point; other types never match.
  A bool is no number: True is not 1, while 1 is 1.0.
- A date or datetime asked of a key of `info` is compared as the text that `info` keeps of it.

Times (`memory_time`, `valid_until`, `expires_at`, `created_at`, `updated_at`, `sources.chat_time`) are given as ISO
8601 texts, dates or datetimes.
- A time without a zone is compared with the clock as the item has it written, whatever its zone; one with a zone is
  compared as an instant, and an item's time without a zone then counts as UTC.
- A bare date means the whole day: `$eq` on it, `$gt` after it, `$gte` from its start, `$lt` before it, `$lte` up to its
  end. An item whose time is a bare date counts as the start of that day.
- An item without the time matches no `$gt`, `$gte`, `$lt` or `$lte`.
"""

from __future__ import annotations

import dataclasses
import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Any, Literal, TypeAlias, get_args

from pydantic_core import to_jsonable_python

from memreader.errors import FilterError
from memreader.items import ItemType, MemoryType, Origin, SourceMessage, Status, Visibility
from memreader.lifetimes import Lifetime

Kind = Literal["text", "choice", "list", "time", "number", "bool", "info"]

CHOICES: Mapping[str, tuple[str, ...]] = {
    "memory_type": get_args(MemoryType),
    "type": get_args(ItemType),
    "status": get_args(Status),
    "source": get_args(Origin),
    "visibility": get_args(Visibility),
    "lifetime": get_args(Lifetime),
    "sources.type": get_args(SourceMessage.model_fields["type"].annotation),
}
SOURCE_FIELDS: Mapping[str, Kind] = {
    "sources.type": "choice",
    **dict.fromkeys((f"sources.{name}" for name in ("role", "name", "message_id", "session_id", "doc_path")), "text"),
    "sources.chat_time": "time",
    **dict.fromkeys(("sources.page", "sources.index"), "number"),
}
"""What can be asked about in `metadata.sources`."""
FIELDS: Mapping[str, Kind] = {
    **dict.fromkeys(("id", "memory", "user_id", "session_id", "agent_id", "key", "background"), "text"),
    **dict.fromkeys((name for name in CHOICES if name not in SOURCE_FIELDS), "choice"),
    **dict.fromkeys(("tags", "entities", "usage", "evolve_from", "evolve_to"), "list"),
    **dict.fromkeys(("memory_time", "valid_until", "expires_at", "created_at", "updated_at"), "time"),
    **dict.fromkeys(("confidence", "version"), "number"),
    **dict.fromkeys(("is_fast", "partial"), "bool"),
    **SOURCE_FIELDS,
}
"""What can be asked about, and what it holds; every other name is a key of `metadata.info`."""
NOT_ASKABLE = ("sources", "embedding", "history", "info")

MAX_DEPTH = 32
"""Of $and, $or and $not within each other."""
MAX_NESTING = 34
"""Of parentheses in SQL; see `nesting`."""
MAX_PARTS = 400
"""Conditions in one filter, and filters within it. SQLite's limit is 1,000, and a subquery after IN counts twice."""
MAX_CHARACTERS = 50_000_000
"""Of all names and values in one filter; every value counts for 20 more. SQLite takes no text of 1 GB."""
DAY = 86_400_000_000
"""Microseconds of a day."""

_LISTS = (list, tuple, set, frozenset)
_EQUALITY = ("$eq", "$ne", "$in", "$nin")
_ORDER = ("$gt", "$gte", "$lt", "$lte")
_OPERATORS = (*_EQUALITY, *_ORDER, "$contains")
_LOGIC = ("$and", "$or", "$not")
_RULES: Mapping[Kind, tuple[tuple[str, ...], tuple[type, ...], str]] = {
    "text": (_OPERATORS, (str,), "a text"),
    "choice": ((*_EQUALITY, "$contains"), (str,), "a text"),
    "list": ((*_EQUALITY, "$contains"), (str,), "a text"),
    "time": ((*_EQUALITY, *_ORDER), (str, date), "a date, a datetime or an ISO 8601 text"),
    "number": ((*_EQUALITY, *_ORDER), (int, float), "a number"),
    "bool": (_EQUALITY, (bool,), "True or False"),
    "info": (_OPERATORS, (str, int, float, bool, date), "a text, a number, a date or a datetime"),
}
"""Operators of each kind of field, types of the values asked for, and these in words."""
_ONLY_OF_SOURCES = ("doc_path", "message_id", "chat_time")
"""Asked for without `sources.` they are taken for a slip; its other names are likely ones for keys of info too."""
_UNSTORABLE = re.compile("[\0\ud800-\udfff]")
_DATE = re.compile(r"[0-9]{4}(-?)[0-9]{2}\1[0-9]{2}")
_MICROSECOND = timedelta(microseconds=1)


@dataclass(frozen=True, slots=True)
class Moment:
    """A time asked for: microseconds from `first` to `last`, both included; equal unless a whole day is meant."""

    first: int
    last: int
    zoned: bool
    """Whether they count the instant (UTC), or what a clock shows."""


Value: TypeAlias = str | int | float | bool | Moment | None


@dataclass(frozen=True, slots=True)
class Condition:
    """One field, or key of info, compared with values."""

    field: str
    kind: Kind
    operator: str
    """$in with any number of values; $contains, $gt, $gte, $lt or $lte with one."""
    values: tuple[Value, ...]
    negated: bool = False
    """Whether it holds exactly where it otherwise would not."""
    keys: tuple[str, ...] = dataclasses.field(default=(), repr=False)
    """Of `entities`: keys of the names that are one with a value, which a store knows; see `spelling.entity_key`."""


@dataclass(frozen=True, slots=True)
class AllOf:
    """Every part holds; an empty one always does."""

    parts: tuple[Filter, ...]


@dataclass(frozen=True, slots=True)
class AnyOf:
    """At least one part holds; an empty one never does."""

    parts: tuple[Filter, ...]


Filter: TypeAlias = Condition | AllOf | AnyOf


def parse_filter(given: Mapping[str, Any] | None) -> Filter | None:
    """Return the checked filter, or None where it asks for nothing; the module says how filters are written.

    It comes in its simplest form: $eq is $in with one value, negation is part of a condition, and no AllOf is directly
    in an AllOf, nor an AnyOf in an AnyOf.

    Raises:
        FilterError: An unknown operator, a value that the field can't have or that nothing stored can equal (NaN, a
            whole number beyond 64 bit, a NUL or half a character), or a filter that is too deep or too large.

    >>> parse_filter({"tags": {"$ne": "home"}})
    Condition(field='tags', kind='list', operator='$in', values=('home',), negated=True)
    """
    if given is None:
        return None
    parsed = _Reading().filter(given, "", 0, negated=False)
    if nesting(parsed) > MAX_NESTING:
        raise FilterError("too many of $and, $or and $not within each other")
    return None if parsed == AllOf(()) else parsed


def nesting(where: Filter) -> int:
    """Return how many places of the 100 on its stack SQLite's parser needs to get to the deepest condition.

    A parenthesis at the beginning takes one place, one after something else three: the deepest part is to come first.
    """
    if isinstance(where, Condition):
        return 2 if where.negated else 0
    depths = sorted((nesting(part) for part in where.parts), reverse=True)
    return max((depth + (3 if position else 1) for position, depth in enumerate(depths)), default=0)


def clock(time: datetime) -> int:
    """Return what the clock shows at `time`, whatever its zone, in microseconds."""
    seconds = time.toordinal() * 86_400 + time.hour * 3600 + time.minute * 60 + time.second
    return seconds * 1_000_000 + time.microsecond


def instant(time: datetime) -> int:
    """Return what a clock in UTC shows at `time`, in microseconds; no zone stands for UTC."""
    # In whole numbers, since shifting the datetime itself fails at both ends of the calendar.
    offset = time.utcoffset()
    return clock(time) if offset is None else clock(time) - offset // _MICROSECOND


class _Reading:
    """Reads one filter, counting what is in it."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self.characters = 0

    def filter(self, given: object, at: str, depth: int, *, negated: bool) -> Filter:
        if not isinstance(given, Mapping):
            raise FilterError(f"a filter is a dict like {{'tags': 'home'}}, got {_type(given)}", locator=at)
        if depth > MAX_DEPTH:
            raise FilterError(f"more than {MAX_DEPTH} of $and, $or and $not within each other", locator=at)
        if depth:
            self._count("filters within it", at)
        return _joined("$and", negated, [self._entry(_plain(name), given[name], at, depth, negated) for name in given])

    def _entry(self, name: object, value: object, at: str, depth: int, negated: bool) -> Filter:
        here = _below(at, name)
        if not isinstance(name, str):
            raise FilterError(f"a field's name is a text, got {_type(name)}", locator=at)
        if not name.startswith("$"):
            return self._field(name, value, here, negated)
        if name == "$not":
            return self.filter(value, here, depth + 1, negated=not negated)
        if name not in _LOGIC:
            problem = f"unknown operator {_name(name)}; a key of info with this name is {_name('info.' + name)}"
            if name in _OPERATORS:
                problem = f"{name} compares a field: write {{'FIELD': {{'{name}': ...}}}}"
            raise FilterError(problem, locator=at, given=name, allowed=_LOGIC)
        if not isinstance(value, list | tuple) or not value:
            got = "an empty one" if isinstance(value, list | tuple) else _type(value)
            raise FilterError(f"{name} needs a list of at least one filter, got {got}", locator=here)
        parts = enumerate(value)
        return _joined(
            name, negated, [self.filter(part, f"{here}[{n}]", depth + 1, negated=negated) for n, part in parts]
        )

    def _field(self, name: str, value: object, at: str, negated: bool) -> Filter:
        _check_name(name, at)
        kind = FIELDS.get(name, "info")
        field = self._text(name.removeprefix("info.") if kind == "info" else name, at)
        if isinstance(value, _LISTS):
            raise FilterError("a list is not compared as a whole: use $in or $contains", locator=at)
        if not isinstance(value, Mapping):
            return self._condition(field, kind, "$eq", value, at, negated)
        if not value:
            raise FilterError("an empty dict compares nothing: give an operator, or leave the field out", locator=at)
        parts = [self._operator(field, kind, _plain(word), value[word], at, negated) for word in value]
        return _joined("$and", negated, parts)

    def _operator(self, field: str, kind: Kind, operator: object, value: object, at: str, negated: bool) -> Filter:
        allowed = _RULES[kind][0]
        if operator in allowed:
            return self._condition(field, kind, str(operator), value, _below(at, operator), negated)
        if operator in _LOGIC:
            problem = f"{operator} goes around whole filters: {{'{operator}': ... {{'FIELD': ...}}}}"
        elif operator in _OPERATORS:
            problem = f"{operator} can't be asked of a {kind} field"
        else:
            problem = f"unknown operator {_name(operator)}: a dict here holds operators, dicts are not compared"
        raise FilterError(problem, locator=at, given=operator, allowed=allowed)

    def _condition(self, field: str, kind: Kind, operator: str, value: object, at: str, negated: bool) -> Condition:
        self._count("conditions", at)
        given = (value,)
        if operator in ("$in", "$nin"):
            if not isinstance(value, _LISTS):
                raise FilterError(f"{operator} needs a list, got {_type(value)}", locator=at)
            given = tuple(value)
        self._spend(20 * len(given), at)
        if operator not in _EQUALITY:
            return Condition(field, kind, operator, (self._value(kind, operator, value, at),), negated)
        values = tuple(None if each is None else self._value(kind, operator, each, at) for each in given)
        if kind == "choice":
            _check_choices(field, values, at)
        return Condition(field, kind, "$in", values, negated != (operator in ("$ne", "$nin")))

    def _value(self, kind: Kind, operator: str, value: object, at: str) -> Value:
        _, types, words = _RULES[kind]
        is_bool = isinstance(value, bool)
        if not isinstance(value, types) or (is_bool and (bool not in types or operator in _ORDER)):
            also = ["True", "False"] if kind == "info" and operator not in _ORDER else []
            also += ["None"] if operator in _EQUALITY else []
            extra = f" (or {', '.join(also)})" if also else ""
            raise FilterError(f"{operator} needs {words}{extra}, got {_type(value)}", locator=at)
        if kind == "time":
            return _moment(value, at)
        if isinstance(value, date):
            # As items keep it; that differs from isoformat().
            return str(to_jsonable_python(value))
        if isinstance(value, str):
            return self._text(value, at)
        return value if isinstance(value, bool) else _number(value, at)

    def _text(self, text: str, at: str) -> str:
        self._spend(len(text), at)
        if _UNSTORABLE.search(text):
            problem = "holds a NUL or half a character (a lone surrogate), which no filter can look for"
            raise FilterError(problem, locator=at)
        return str(_plain(text))

    def _spend(self, characters: int, at: str) -> None:
        self.characters += characters
        if self.characters > MAX_CHARACTERS:
            raise FilterError(f"more than {MAX_CHARACTERS} characters of names and values", locator=at)

    def _count(self, what: str, at: str) -> None:
        self.counts[what] += 1
        if self.counts[what] > MAX_PARTS:
            problem = f"one filter has more than {MAX_PARTS} {what}; $in takes any number of values"
            raise FilterError(problem, locator=at)


def _check_name(name: str, at: str) -> None:
    """Refuse a name that is no field, and more likely a slip than a key of info."""
    bare = name.removeprefix("metadata.")
    own = _name("info." + bare)
    if bare in NOT_ASKABLE:
        whole = " as a whole, only its fields, like 'sources.doc_path'" if bare == "sources" else ""
        raise FilterError(f"{bare} can't be asked about{whole}; the key of info with that name is {own}", locator=at)
    if bare.startswith("sources.") and bare not in SOURCE_FIELDS:
        problem = f"{_name(bare)} can't be asked about; the key of info with that name is {own}"
        raise FilterError(problem, locator=at, given=bare, allowed=tuple(SOURCE_FIELDS))
    if bare in _ONLY_OF_SOURCES:
        raise FilterError(
            f"{bare} is a field of sources: write 'sources.{bare}', or {own} for a key of info", locator=at
        )
    if bare != name:
        known = _name(bare) if bare in FIELDS or bare.startswith("info.") else own
        problem = f"no 'metadata.' comes before a name: write {known}"
        raise FilterError(f"{problem}; a key of info that is called so is {_name('info.' + name)}", locator=at)


def _number(value: Any, at: str) -> int | float:
    if isinstance(value, int):
        if not -(2**63) <= value < 2**63:
            raise FilterError("a whole number beyond 64 bit can't be compared; give it as a float", locator=at)
        return int(value)
    if not math.isfinite(value):
        raise FilterError("NaN and infinity can't be compared", locator=at)
    return float(value)


def _check_choices(field: str, values: Iterable[Value], at: str) -> None:
    for value in values:
        if value is not None and value not in CHOICES[field]:
            problem = f"{field} is never {_name(value)}; a key of info with this name is 'info.{field}'"
            raise FilterError(problem, locator=at, given=value, allowed=CHOICES[field])


def _moment(value: Any, at: str) -> Moment:
    """Return what is asked for by an ISO 8601 text, a date or a datetime."""
    if isinstance(value, str):
        try:
            value = date.fromisoformat(value) if _DATE.fullmatch(value) else datetime.fromisoformat(value)
        except ValueError as error:
            problem = f"not an ISO 8601 time (YYYY-MM-DD or YYYY-MM-DDTHH:MM:SS): {_name(value)}"
            raise FilterError(problem, locator=at) from error
    if isinstance(value, datetime):
        point = instant(value)
        return Moment(point, point, zoned=value.utcoffset() is not None)
    start = value.toordinal() * DAY
    return Moment(start, start + DAY - 1, zoned=False)


def _joined(word: str, negated: bool, parts: Sequence[Filter]) -> Filter:
    kind = AllOf if (word == "$and") is not negated else AnyOf
    flat = tuple(one for part in parts for one in (part.parts if isinstance(part, kind) else (part,)))
    return flat[0] if len(flat) == 1 else kind(flat)


def _plain(value: object) -> object:
    """Return a text as a plain str: of a str enum its value, which `str` does not always give."""
    return str.__str__(value) if isinstance(value, str) else value


def _below(at: str, name: object) -> str:
    return f"{at}[{_name(name)}]"


def _name(name: object) -> str:
    return repr(name[:40]) if isinstance(name, str) else _type(name)


def _type(value: object) -> str:
    return type(value).__name__
