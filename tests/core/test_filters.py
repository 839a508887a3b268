"""Filters: what can be said, what it becomes, and what is refused in words that help."""

from __future__ import annotations

import enum
import pickle
from collections.abc import Iterator, Mapping
from contextlib import suppress
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memreader.errors import FilterError, InputError
from memreader.filters import (
    CHOICES,
    DAY,
    FIELDS,
    MAX_DEPTH,
    MAX_NESTING,
    MAX_PARTS,
    NOT_ASKABLE,
    SOURCE_FIELDS,
    AllOf,
    AnyOf,
    Condition,
    Filter,
    Moment,
    clock,
    instant,
    nesting,
    parse_filter,
)
from memreader.items import SourceMessage, TextualMemoryMetadata

NOON = datetime(2023, 5, 8, 12)


class Word(str, enum.Enum):  # noqa: UP042 - the older kind, whose str() is not its value
    RED = "red"
    TAGS = "tags"
    NOT = "$not"
    AFTER = "$gt"


def info(key: str, *values: Any, operator: str = "$in", negated: bool = False) -> Condition:
    return Condition(key, "info", operator, values, negated)


def refused(given: Any) -> FilterError:
    with pytest.raises(FilterError) as caught:
        parse_filter(given)
    return caught.value


def moment(value: Any) -> Moment:
    parsed = parse_filter({"memory_time": value})
    assert isinstance(parsed, Condition)
    (found,) = parsed.values
    assert isinstance(found, Moment)
    return found


def test_every_field_of_the_metadata_can_be_asked_about_or_is_named_as_one_that_can_not() -> None:
    assert {*FIELDS, *NOT_ASKABLE} - {*SOURCE_FIELDS} == {"id", "memory", *TextualMemoryMetadata.model_fields}
    of_sources = {f"sources.{name}" for name in SourceMessage.model_fields}
    assert of_sources - {*SOURCE_FIELDS} == {f"sources.{name}" for name in ("content", "time_inferred", "start", "end")}
    assert SOURCE_FIELDS.items() <= FIELDS.items()
    assert CHOICES["sources.type"] == ("chat", "doc")
    assert set(CHOICES) == {name for name, kind in FIELDS.items() if kind == "choice"}


@pytest.mark.parametrize("nothing", [None, {}, {"$and": [{}]}, {"$not": {"$not": {}}}])
def test_a_filter_that_asks_for_nothing_is_none(nothing: Any) -> None:
    assert parse_filter(nothing) is None


@pytest.mark.parametrize(
    ("given", "parsed"),
    [
        ({"topic": "tea"}, info("topic", "tea")),
        ({"topic": {"$eq": "tea"}}, info("topic", "tea")),
        ({"topic": {"$ne": "tea"}}, info("topic", "tea", negated=True)),
        ({"topic": {"$nin": ["tea", 1, None]}}, info("topic", "tea", 1, None, negated=True)),
        ({"$not": {"topic": {"$ne": "tea"}}}, info("topic", "tea")),
        ({"$not": {"topic": {"$gt": 3}}}, info("topic", 3, operator="$gt", negated=True)),
        ({"a": 1, "b": 2}, AllOf((info("a", 1), info("b", 2)))),
        ({"$and": [{"a": 1}, {"$and": [{"b": 2}, {"c": 3}]}]}, AllOf((info("a", 1), info("b", 2), info("c", 3)))),
        ({"$or": [{"a": 1}, {"$or": [{"b": 2}, {"c": 3}]}]}, AnyOf((info("a", 1), info("b", 2), info("c", 3)))),
        ({"$not": {"a": 1, "b": 2}}, AnyOf((info("a", 1, negated=True), info("b", 2, negated=True)))),
        ({"$not": {"$or": [{"a": 1}, {"b": 2}]}}, AllOf((info("a", 1, negated=True), info("b", 2, negated=True)))),
        ({"$not": {}}, AnyOf(())),
        (
            {"a": {"$gt": 1, "$lte": 2.5}},
            AllOf((info("a", 1, operator="$gt"), info("a", 2.5, operator="$lte"))),
        ),
        ({"info.tags": "x"}, info("tags", "x")),
        ({"info.info.a.b": "x"}, info("info.a.b", "x")),
        ({"info.": 1}, info("", 1)),
        ({"info.metadata.tags": "x"}, info("metadata.tags", "x")),
        ({"info.sources.page": "x"}, info("sources.page", "x")),
        ({"info.sources.content": "x"}, info("sources.content", "x")),
        ({"info.doc_path": "x"}, info("doc_path", "x")),
        ({"metadata": "x"}, info("metadata", "x")),
        ({"role": "cook", "page": "left"}, AllOf((info("role", "cook"), info("page", "left")))),
        ({"name": "Ana", "index": "A"}, AllOf((info("name", "Ana"), info("index", "A")))),
        ({"sources.page": {"$gt": 3}}, Condition("sources.page", "number", "$gt", (3,))),
        ({"sources.type": {"$ne": "doc"}}, Condition("sources.type", "choice", "$in", ("doc",), negated=True)),
        ({"": 1}, info("", 1)),
        ({"info.$gt": 1}, info("$gt", 1)),
        ({"a.b": 1}, info("a.b", 1)),
        ({"tags": None}, Condition("tags", "list", "$in", (None,))),
        ({"topic": Word.RED}, info("topic", "red")),
        ({Word.NOT: {Word.TAGS: "a"}}, Condition("tags", "list", "$in", ("a",), negated=True)),
        ({Word.RED: {Word.AFTER: 1}}, info("red", 1, operator="$gt")),
        ({"when": date(2023, 5, 8)}, info("when", "2023-05-08")),
        ({"when": {"$gt": NOON.replace(tzinfo=UTC)}}, info("when", "2023-05-08T12:00:00Z", operator="$gt")),
        ({"a": {"$in": ()}}, info("a")),
        ({"a": {"$in": {7}}}, info("a", 7)),
        ({"a": np.float64(0.5)}, info("a", 0.5)),
    ],
)  # fmt: skip
def test_a_filter_becomes_its_simplest_form(given: Any, parsed: Filter) -> None:
    found = parse_filter(given)
    assert found == parsed
    if isinstance(found, Condition):
        assert isinstance(parsed, Condition)
        assert [type(value) for value in found.values] == [type(value) for value in parsed.values]


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ([], "a filter is a dict like {'tags': 'home'}, got list"),
        ({1: 2}, "a field's name is a text, got int"),
        ({"$an": []}, "Allowed here: $and, $or, $not. Did you mean '$and'?"),
        ({"$AND": []}, "Did you mean '$and'?"),
        ({"$gt": 3}, "write {'FIELD': {'$gt': ...}}"),
        ({"$foo": 3}, "'info.$foo'"),
        ({"$and": []}, "filter['$and']: $and needs a list of at least one filter, got an empty one."),
        ({"$or": {"a": 1}}, "got dict"),
        ({"$or": [{"a": 1}, {"$not": [1]}]}, "filter['$or'][1]['$not']: a filter is a dict"),
        ({"a": {"$greater": 1}}, "unknown operator '$greater'"),
        ({"$or": [{"a": {"gt": 1}}]}, "filter['$or'][0]['a']: unknown operator 'gt'"),
        ({"a": {"gt": 1}}, "Did you mean '$gt'?"),
        ({"a": {"$regex": "x"}}, "Allowed here: $eq, $ne, $in, $nin, $gt, $gte, $lt, $lte, $contains."),
        ({"a": {1: 1}}, "unknown operator int"),
        ({"a": {"b": {"c": 1}}}, "dicts are not compared"),
        ({"a": {"$eq": {"b": 1}}}, "got dict"),
        ({"a": {"$not": {"$gt": 1}}}, "$not goes around whole filters"),
        ({"a": {}}, "an empty dict compares nothing"),
        ({"a": [1]}, "use $in or $contains"),
        ({"a": {"$eq": [1]}}, "filter['a']['$eq']: $eq needs a text"),
        ({"a": {"$in": "tea"}}, "$in needs a list, got str"),
        ({"a": {"$in": {"b": 1}}}, "$in needs a list, got dict"),
        ({"a": {"$nin": [[1]]}}, "got list"),
        ({"a": {"$gt": None}}, "got NoneType"),
        ({"a": {"$lt": True}}, "$lt needs a text, a number, a date or a datetime, got bool"),
        ({"a": {"$contains": None}}, "got NoneType"),
        ({"a": b"x"}, "(or True, False, None), got bytes"),
        ({"a": Decimal(1)}, "got Decimal"),
        ({"a": np.int64(1)}, "got int64"),
        ({"a": time(1)}, "got time"),
        ({"a": object()}, "got object"),
        ({"a": float("nan")}, "NaN"),
        ({"a": {"$in": [1, float("-inf")]}}, "infinity"),
        ({"a": 2**63}, "beyond 64 bit"),
        ({"version": -(2**63) - 1}, "beyond 64 bit"),
        ({"a": "half \ud800"}, "lone surrogate"),
        ({"a\ud800": 1}, "lone surrogate"),
        ({"memory": {"$contains": "a\0b"}}, "NUL"),
        ({"info.a\0": 1}, "NUL"),
        ({"tags": {"$gt": "a"}}, "$gt can't be asked of a list field"),
        ({"status": {"$lt": "a"}}, "$lt can't be asked of a choice field"),
        ({"is_fast": {"$gte": True}}, "$gte can't be asked of a bool field"),
        ({"memory_time": {"$contains": "2023"}}, "$contains can't be asked of a time field"),
        ({"confidence": {"$contains": 1}}, "$contains can't be asked of a number field"),
        ({"id": 7}, "$eq needs a text (or None), got int"),
        ({"tags": 7}, "$eq needs a text (or None), got int"),
        ({"key": NOON}, "got datetime"),
        ({"confidence": "high"}, "$eq needs a number (or None), got str"),
        ({"version": True}, "got bool"),
        ({"is_fast": 1}, "$eq needs True or False (or None), got int"),
        ({"status": "archive"}, "Did you mean 'archived'?"),
        ({"memory_type": {"$in": ["UserMemory", "usermemory"]}}, "Did you mean 'UserMemory'?"),
        ({"source": "report.pdf"}, "a key of info with this name is 'info.source'"),
        ({"history": "x"}, "'info.history'"),
        ({"sources": "x"}, "like 'sources.doc_path'; the key of info with that name is 'info.sources'"),
        ({"sources.content": "x"}, "the key of info with that name is 'info.sources.content'"),
        ({"sources.docpath": "x"}, "Did you mean 'sources.doc_path'?"),
        ({"sources.": "x"}, "Allowed here: sources.type, sources.role"),
        ({"sources.type": "document"}, "Allowed here: chat, doc."),
        ({"sources.role": {"$eq": 1}}, "got int"),
        ({"sources.page": "3"}, "$eq needs a number (or None), got str"),
        ({"sources.index": {"$contains": 3}}, "$contains can't be asked of a number field"),
        ({"sources.chat_time": {"$gt": "soon"}}, "not an ISO 8601 time"),
        ({"doc_path": "a.pdf"}, "write 'sources.doc_path', or 'info.doc_path' for a key of info"),
        ({"$not": {"message_id": "m1"}}, "filter['$not']['message_id']: message_id is a field of sources"),
        ({"chat_time": {"$gt": "2023"}}, "write 'sources.chat_time', or 'info.chat_time'"),
        ({"metadata.tags": "x"}, "write 'tags'; a key of info that is called so is 'info.metadata.tags'"),
        ({"metadata.topic": "x"}, "write 'info.topic'; a key of info that is called so is 'info.metadata.topic'"),
        ({"metadata.info.topic": "x"}, "write 'info.topic'; a key of info that is called so is 'info.metadata.info."),
        ({"metadata.sources.page": 1}, "write 'sources.page'; a key"),
        ({"metadata.doc_path": "x"}, "write 'sources.doc_path', or 'info.doc_path' for a key of info"),
        ({"metadata.sources.pages": 1}, "Did you mean 'sources.page'?"),
        ({"metadata.history": "x"}, "history can't be asked about"),
        ({"metadata.role": "x"}, "write 'info.role'; a key"),
        ({"metadata.": "x"}, "write 'info.'; a key"),
        ({"memory_time": 1683547200}, "a date, a datetime or an ISO 8601 text (or None), got int"),
        ({"memory_time": True}, "got bool"),
        ({"memory_time": {"$gt": "yesterday"}}, "filter['memory_time']['$gt']: not an ISO 8601 time"),
        ({"created_at": "2023-13-01"}, "'2023-13-01'"),
        ({"updated_at": "２０２３-05-08"}, "not an ISO 8601 time"),
        ({"updated_at": "2023-05-08\ud800"}, "not an ISO 8601 time"),
        ({"updated_at": ""}, "YYYY-MM-DD or YYYY-MM-DDTHH:MM:SS"),
    ],
)  # fmt: skip
def test_what_makes_no_sense_is_refused_with_the_place_and_the_remedy(given: Any, words: str) -> None:
    assert words in str(refused(given))


def test_a_refusal_carries_its_data_and_survives_a_process_border() -> None:
    error = refused({"$or": [{"tags": "a"}, {"status": "activ"}]})
    assert isinstance(error, InputError)
    assert (error.locator, error.given, error.near) == ("['$or'][1]['status']", "activ", "activated")
    assert error.allowed == CHOICES["status"]
    twin = pickle.loads(pickle.dumps(error))
    assert (str(twin), vars(twin)) == (str(error), vars(error))


@pytest.mark.parametrize(
    "given",
    [
        {"x" * 10**7: b""},
        {"$" + "x" * 10**7: 1},
        {"status": "a" * 10**7},
        {"a": {"b" * 10**7: 1}},
        {"sources." + "x" * 10**7: 1},
        {"metadata." * 10**6: 1},
    ],
)
def test_a_refusal_stays_short_and_quick_however_long_the_names_are(given: Any) -> None:
    assert len(str(refused(given))) < 500


def loop() -> dict[str, Any]:
    around: dict[str, Any] = {}
    around["$not"] = around
    return around


def fanned_loop() -> dict[str, Any]:
    around: list[Any] = []
    around += [{"$and": around}] * 10
    return {"$or": around}


def deep(depth: int) -> dict[str, Any]:
    where: dict[str, Any] = {"a": 1}
    for _ in range(depth):
        where = {"$not": where, "b": 2}
    return where


class Endless(Mapping[str, Any]):
    def __getitem__(self, key: str) -> Any:
        return 1

    def __iter__(self) -> Iterator[str]:
        return iter(lambda: "a", None)

    def __len__(self) -> int:
        return 1


@pytest.mark.parametrize(
    "given",
    [
        loop(), fanned_loop(), deep(MAX_DEPTH + 1), deep(200_000), Endless(),
        {"$or": [{"a": 1}] * (MAX_PARTS + 1)}, {str(n): n for n in range(MAX_PARTS + 1)}, {"$or": [{}] * 10**6},
        {"a": {"$in": ["x" * 10**6] * 60}}, {"a": {"$in": range(10**9)}}, {"a": {"$in": [None] * 3_000_000}},
    ],
    ids=lambda _: "",
)  # fmt: skip
def test_a_filter_that_never_ends_or_is_too_large_is_refused(given: Any) -> None:
    assert len(str(refused(given))) < 4000


def test_a_filter_may_be_as_large_as_is_said() -> None:
    assert parse_filter(deep(MAX_DEPTH)) is not None
    parsed = parse_filter({"$or": [{"a": 1}] * MAX_PARTS})
    assert isinstance(parsed, AnyOf)
    assert len(parsed.parts) == MAX_PARTS
    parsed = parse_filter({"a": {"$in": list(range(1_000_000))}})
    assert isinstance(parsed, Condition)
    assert len(parsed.values) == 1_000_000


def test_nesting_counts_what_a_parser_keeps_on_its_stack() -> None:
    leaf, other = info("a", 1), info("b", 1, negated=True)
    assert (nesting(leaf), nesting(other)) == (0, 2)
    assert nesting(AllOf((leaf, AnyOf((leaf, leaf))))) == nesting(AllOf((AnyOf((leaf, leaf)), leaf))) == 4
    assert nesting(AnyOf(())) == 0
    wide: dict[str, Any] = {"a": 1}
    for depth in range(6):
        wide = {"$and" if depth % 2 else "$or": [wide, wide]}
    parsed = parse_filter(wide)
    assert parsed is not None
    assert 6 < nesting(parsed) <= MAX_NESTING
    for depth in range(25):
        wide = {"$and" if depth % 2 else "$or": [wide, {"a": depth}]}
    assert "within each other" in str(refused(wide))


def test_a_bare_date_is_a_day_and_a_time_is_a_point() -> None:
    day = moment("2023-05-08")
    assert day == moment("20230508") == moment(date(2023, 5, 8)) == Moment(day.first, day.first + DAY - 1, zoned=False)
    assert moment(NOON) == moment("2023-05-08T12:00") == Moment(day.first + DAY // 2, day.first + DAY // 2, zoned=False)


def test_a_zone_makes_it_an_instant() -> None:
    noon = clock(NOON)
    for asked in ("2023-05-08T12:00Z", "2023-05-08T14:00+02:00", NOON.replace(tzinfo=UTC)):
        assert moment(asked) == Moment(noon, noon, zoned=True)
    for asked in ("0001-01-01T00:00+14:00", "9999-12-31T23:59:59.999999-12:00"):
        assert moment(asked).zoned


@given(st.datetimes(timezones=st.just(UTC)), st.integers(-23 * 60, 23 * 60))
def test_the_clock_and_the_instant_are_whole_microseconds(at: datetime, minutes: int) -> None:
    written = at.replace(tzinfo=timezone(timedelta(minutes=minutes)))
    since = at.replace(tzinfo=None) - datetime.min
    assert clock(written) == since // timedelta(microseconds=1) + DAY
    assert instant(written) == clock(written) - minutes * 60_000_000
    assert instant(at) == instant(at.replace(tzinfo=None)) == clock(at)


words = st.sampled_from(["$and", "$or", "$not", "$in", "$nin", "$eq", "$gt", "$contains", "tags", "memory_time", "a"])
scalars = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(st.characters(codec=None))
    | st.dates()
    | st.binary()
)
anything = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(words | st.text() | st.integers(), inner, max_size=3),
    max_leaves=15,
)


@given(anything)
def test_anything_at_all_is_a_filter_or_is_refused_as_one(where: Any) -> None:
    with suppress(FilterError):
        parse_filter(where)
