"""Filters in SQL: the same items as a plain reading of the same filter, whatever the items and the filter hold."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, date, datetime
from importlib.resources import files
from typing import Any

import pytest
from hypothesis import given, note
from hypothesis import strategies as st

from filter_meaning import holds
from memreader.errors import FilterError
from memreader.filters import CHOICES, FIELDS, MAX_DEPTH, MAX_PARTS, SOURCE_FIELDS, parse_filter
from memreader.items import TextualMemoryItem
from memreader.stores.alias_filters import with_aliases
from memreader.stores.filter_sql import condition_sql, register
from memreader.stores.rows import as_json, kept_metadata

SCHEMA = (files("memreader.stores") / "schema.sql").read_text(encoding="utf-8")
INSERT = (
    "INSERT INTO items (user_id, item_id, seq, session_id, agent_id, status, visibility, source, memory, metadata) "
    "VALUES ('ana', ?, ?, ?, ?, ?, ?, ?, ?, ?)"
)


def database(*items: TextualMemoryItem) -> sqlite3.Connection:
    db = sqlite3.connect(":memory:")
    register(db)
    db.executescript(SCHEMA)
    for item in items:
        m = item.metadata
        labels = (m.session_id, m.agent_id, m.status, m.visibility, m.source)
        db.execute(INSERT, (item.id, 1, *labels, item.memory, as_json(kept_metadata(m))))
    return db


def found(db: sqlite3.Connection, where: Mapping[str, Any]) -> list[str]:
    parsed = parse_filter(where)
    sql, values = ("1", []) if parsed is None else condition_sql(parsed)
    rows = db.execute(f"SELECT item_id, {sql} FROM items ORDER BY id", values).fetchall()
    assert {match for _, match in rows} <= {0, 1}
    chosen = f"SELECT item_id FROM items WHERE (items.user_id = ?) AND ({sql}) ORDER BY id LIMIT ?"
    ids = [item_id for item_id, match in rows if match]
    assert [item_id for (item_id,) in db.execute(chosen, ("ana", *values, -1))] == ids
    return ids


def item(item_id: str = "a", memory: str = "likes tea", **metadata: Any) -> TextualMemoryItem:
    return TextualMemoryItem(id=item_id, memory=memory, metadata=metadata)


TEXTS = [
    "", "a", "A", "b", "tea", "green tea", "é", "e\u0301", "茶", "😀", "\uffff", "'", '"', "\\", "%", "_", "a%",
    "' OR 1=1 --", "$.info", "1", "true", "null", "[1]", "{}", "\n", "\x1f", "\x7f", "2023-05-08",
    "2023-05-08T00:00:00Z", "\\u0000",
]  # fmt: skip
KEYS = [
    "k", "a.b", "tags", "id", "info", "info.k", "", " ", "[0]", "$eq", 'q"uo', "it's", "back\\slash", "é", "😀", "a\nb",
    "metadata", "metadata.tags", "sources.page", "doc_path", "role", "key", "\\u0000", "#", "') OR 1=1 --", "?", ":k",
]  # fmt: skip
TIMES = [
    "2023-05-07", "2023-05-08", "2023-05-08T00:00:00", "2023-05-07T23:59:59.999999", "2023-05-08T23:59:59.999999",
    "2023-05-08T12:00:00", "2023-05-08T12:00:00Z", "2023-05-08T14:00:00+02:00", "2023-05-08T23:00:00-05:00",
    "2023-05-09T04:00:00+00:00", "2023-05-08T12:00:00.000001", "0001-01-01", "0001-01-01T00:00:00+14:00",
    "9999-12-31T23:59:59.999999", "9999-12-31T23:59:59.999999-12:00", "1970-01-01T00:00:00+00:00:01",
]  # fmt: skip
NUMBERS = [
    0,
    1,
    -1,
    7,
    2**53,
    2**53 + 1,
    2**63 - 1,
    -(2**63),
    0.0,
    -0.0,
    1.0,
    0.1,
    0.5,
    0.99,
    1e22,
    1e-320,
    2.0**53,
    2.0**63,
]

text = st.sampled_from(TEXTS) | st.text(st.sampled_from("aAb'\"\\%. é😀\x02"), max_size=4)
number = st.sampled_from(NUMBERS) | st.integers(-(2**63), 2**63 - 1) | st.floats(allow_nan=False, allow_infinity=False)
days = st.dates(date(2023, 5, 7), date(2023, 5, 9))
time_text = st.sampled_from(TIMES) | st.datetimes().map(datetime.isoformat)
key = st.just("k") | st.sampled_from(KEYS)
stored_text = text | st.sampled_from(["a\0b", "\0", "\0a", "tea\0", "\\\0"])
scalar = st.none() | st.booleans() | number | st.sampled_from([2**63, -(2**64), 10**30]) | stored_text | days
nested = scalar | st.lists(scalar, max_size=2) | st.dictionaries(text, scalar, max_size=2)
info = st.dictionaries(key | st.sampled_from(["\0", "k\0"]), scalar | st.lists(nested, max_size=4) | nested, max_size=4)
STORED = {
    "text": st.none() | stored_text, "list": st.lists(stored_text, max_size=3), "time": st.none() | time_text,
    "bool": st.booleans(), "number": st.none(),
}  # fmt: skip


page = st.none() | st.integers(1, 3) | st.sampled_from([7, 2**53 + 1, 2**63 - 1, 2**63, 10**30])
extra = st.dictionaries(st.sampled_from(["Role", "role\0", "doc_path.", "raw"]), nested, max_size=1)


@st.composite
def sources(draw: st.DrawFn) -> dict[str, Any]:
    source: dict[str, Any] = {"page": draw(page), "index": draw(page), "chat_time": draw(st.none() | time_text)}
    for name in ("role", "name", "message_id", "session_id", "doc_path", "content"):
        source[name] = draw(STORED["text"])
    given = draw(st.lists(st.sampled_from([*source, "type"]), unique=True))
    return draw(extra) | {
        name: draw(st.sampled_from(["chat", "doc"])) if name == "type" else source[name] for name in given
    }


@st.composite
def items(draw: st.DrawFn, item_id: str) -> TextualMemoryItem:
    metadata: dict[str, Any] = {"info": draw(info), "confidence": draw(st.sampled_from([0, 0.1, 0.5, 0.99, 1]))}
    metadata["version"] = draw(st.sampled_from([1, 2, 2**53 + 1]))
    metadata["sources"] = draw(st.lists(sources(), max_size=3))
    others = sorted({*FIELDS} - {"id", "memory", *metadata, *SOURCE_FIELDS})
    for name in draw(st.lists(st.sampled_from(others), unique=True)):
        options = st.sampled_from(CHOICES[name]) if name in CHOICES else STORED[FIELDS[name]]
        metadata[name] = draw(options)
        if metadata[name] is None and name in ("background", "created_at", "updated_at"):
            del metadata[name]
    return item(item_id, draw(stored_text.filter(str.strip)), **metadata)


ASKED = {
    "text": text, "list": text, "time": time_text | days | st.datetimes() | st.datetimes(timezones=st.just(UTC)),
    "number": number, "bool": st.booleans(), "info": st.booleans() | number | text | days | st.datetimes(),
}  # fmt: skip
ORDER = ["$gt", "$gte", "$lt", "$lte"]


own_key = key.filter(lambda name: name not in {*FIELDS, "info", "$eq", "metadata.tags", "doc_path"})


@st.composite
def conditions(draw: st.DrawFn) -> dict[str, Any]:
    name = draw(
        st.sampled_from(sorted(FIELDS)) | st.sampled_from(sorted(SOURCE_FIELDS)) | own_key | key.map("info.{}".format)
    )
    kind = FIELDS.get(name, "info")
    value = st.sampled_from(CHOICES[name]) if kind == "choice" else ASKED[kind]
    operators = ["$eq", "$ne", "$in", "$nin", ""]
    operators += ORDER if kind in ("text", "time", "number", "info") else []
    operators += ["$contains"] if kind in ("text", "choice", "list", "info") else []
    operator = draw(st.sampled_from(operators))
    if operator in ("$in", "$nin"):
        return {name: {operator: draw(st.lists(st.none() | value, max_size=4))}}
    if operator in ORDER:
        return {name: {operator: draw(value.filter(lambda one: not isinstance(one, bool)))}}
    asked = draw(value if operator == "$contains" else st.none() | value)
    return {name: {operator: asked}} if operator else {name: asked}


def around(part: st.SearchStrategy[dict[str, Any]]) -> st.SearchStrategy[dict[str, Any]]:
    parts = st.lists(part, min_size=1, max_size=3)
    return (
        st.fixed_dictionaries({"$and": parts})
        | st.fixed_dictionaries({"$or": parts})
        | st.fixed_dictionaries({"$not": part})
        | st.builds(lambda one, other: one | other, part, part)
    )


filters = st.recursive(conditions(), around, max_leaves=6)


WHEN = "memory_time"
PATH = "sources.doc_path"
TWO = [{"type": "doc", "doc_path": "a.pdf", "page": 1}, {"type": "doc", "doc_path": "b.pdf", "page": 2}]
EXAMPLES: list[tuple[dict[str, Any], dict[str, Any], bool]] = [
    ({"tags": ["home", "tea"]}, {"tags": "tea"}, True),
    ({"tags": ["home", "tea"]}, {"tags": {"$contains": "te"}}, False),
    ({"tags": ["home", "tea"]}, {"tags": {"$ne": "tea"}}, False),
    ({"tags": ["home", "tea"]}, {"tags": {"$nin": ["x"]}}, True),
    ({"tags": []}, {"tags": None}, True),
    ({"tags": ["home"]}, {"tags": {"$ne": None}}, True),
    ({}, {"topic": {"$ne": "tea"}}, True),
    ({}, {"topic": None}, True),
    ({"info": {"topic": None}}, {"topic": None}, True),
    ({"info": {"topic": []}}, {"topic": None}, False),
    ({"info": {"topic": [1, None]}}, {"topic": None}, True),
    ({}, {"topic": {"$in": []}}, False),
    ({}, {"topic": {"$nin": []}}, True),
    ({"info": {"n": 1}}, {"n": 1.0}, True),
    ({"info": {"n": True}}, {"n": 1}, False),
    ({"info": {"n": 1}}, {"n": True}, False),
    ({"info": {"n": "1"}}, {"n": 1}, False),
    ({"info": {"n": "10"}}, {"n": {"$gt": 9}}, False),
    ({"info": {"n": 10}}, {"n": {"$lt": "a"}}, False),
    ({"info": {"n": [1, 10]}}, {"n": {"$gt": 9}}, True),
    ({"info": {"n": [1, 10]}}, {"n": {"$gt": 2, "$lt": 9}}, True),
    ({"info": {"n": {"m": 1}}}, {"n": {"$ne": None}}, True),
    ({"info": {"n": {"m": 1}}}, {"n.m": 1}, False),
    ({"info": {"n": [[1]]}}, {"n": 1}, False),
    ({"info": {"n": "green tea"}}, {"n": {"$contains": "tea"}}, True),
    ({"info": {"n": "green tea"}}, {"n": {"$contains": "Tea"}}, False),
    ({"info": {"n": ["green tea"]}}, {"n": {"$contains": "tea"}}, False),
    ({"info": {"n": [True]}}, {"n": {"$contains": True}}, True),
    ({"info": {"n": "a"}}, {"n": {"$lt": "b", "$gt": "Z"}}, True),
    ({"info": {"when": datetime(2023, 5, 8, tzinfo=UTC)}}, {"when": datetime(2023, 5, 8, tzinfo=UTC)}, True),
    ({"info": {"tags": "x"}}, {"tags": "x"}, False),
    ({"info": {"tags": "x"}}, {"info.tags": "x"}, True),
    ({"info": {"a.b": "x"}}, {"a.b": "x"}, True),
    ({"info": {"info.a": "x"}}, {"info.info.a": "x"}, True),
    ({}, {"confidence": {"$gte": 0.99}}, True),
    ({}, {"confidence": {"$gt": 0.99}}, False),
    ({}, {"is_fast": False, "partial": False, "version": 1, "background": "", "status": "activated"}, True),
    ({}, {"memory_type": "LongTermMemory", "visibility": {"$contains": "priv"}}, True),
    ({}, {"type": None, "source": None, "session_id": None, "key": None}, True),
    ({"sources": TWO}, {PATH: "b.pdf"}, True),
    ({"sources": TWO}, {PATH: {"$ne": "b.pdf"}}, False),
    ({"sources": TWO}, {PATH: {"$nin": ["c.pdf", None]}}, True),
    ({"sources": TWO}, {PATH: None}, False),
    ({"sources": TWO}, {PATH: {"$contains": ".pdf"}}, True),
    ({"sources": TWO}, {PATH: {"$contains": ".PDF"}}, False),
    ({"sources": TWO}, {PATH: {"$gt": "a.pdf"}}, True),
    ({"sources": TWO}, {PATH: "a.pdf", "sources.page": 2}, True),
    ({"sources": TWO}, {"sources.page": {"$gt": 1, "$lt": 2}}, True),
    ({"sources": TWO}, {"sources.page": {"$gt": 2}}, False),
    ({"sources": TWO}, {"sources.index": None, "sources.role": {"$ne": "user"}}, True),
    ({"sources": TWO}, {"sources.type": "chat"}, False),
    ({"sources": TWO}, {"info.sources.page": 2}, False),
    ({"sources": [{"role": "user"}, {"doc_path": "x"}]}, {"sources.role": None}, False),
    ({"sources": [{}]}, {"sources.type": "chat"}, True),
    ({"sources": [{}]}, {"sources.type": {"$ne": "chat"}}, False),
    ({"sources": [{}]}, {"sources.type": None}, False),
    ({"sources": [{}, {"type": "doc"}]}, {"$and": [{"sources.type": "chat"}, {"sources.type": "doc"}]}, True),
    ({"sources": [{}]}, {PATH: None, "sources.page": None, "sources.chat_time": None}, True),
    ({"sources": [{"doc_path": ""}]}, {PATH: None}, False),
    ({"sources": []}, {"sources.type": None, PATH: None}, True),
    ({}, {"sources.type": {"$ne": "chat"}, PATH: {"$nin": ["x"]}}, True),
    ({}, {"sources.type": "chat"}, False),
    ({}, {PATH: {"$in": []}}, False),
    ({}, {PATH: {"$contains": ""}}, False),
    ({"info": {"sources.page": 2}}, {"sources.page": 2}, False),
    ({"sources": [{"raw": {"doc_path": "x"}}]}, {PATH: "x"}, False),
    ({"sources": [{"chat_time": "2023-05-08T12:00:00"}]}, {"sources.chat_time": "2023-05-08"}, True),
    ({"sources": [{"chat_time": "2023-05-08T12:00:00"}]}, {"sources.chat_time": {"$gt": "2023-05-08"}}, False),
    ({"sources": [{"chat_time": "2023-05-08T23:00:00-05:00"}]}, {"sources.chat_time": "2023-05-09T04:00:00Z"}, True),
    ({"sources": [{}, {"chat_time": "2023-05-09"}]}, {"$not": {"sources.chat_time": {"$lt": "2023-05-09"}}}, True),
    ({}, {"memory": {"$contains": "tea"}, "id": "a"}, True),
    ({}, {"memory": {"$contains": ""}}, True),
    ({}, {WHEN: {"$gt": "0001-01-01"}}, False),
    ({}, {"$not": {WHEN: {"$gt": "0001-01-01"}}}, True),
    ({}, {WHEN: None}, True),
    ({WHEN: "2023-05-08T12:00:00"}, {WHEN: "2023-05-08"}, True),
    ({WHEN: "2023-05-08T12:00:00"}, {WHEN: {"$gt": "2023-05-08"}}, False),
    ({WHEN: "2023-05-08T12:00:00"}, {WHEN: {"$lte": "2023-05-08"}}, True),
    ({WHEN: "2023-05-09"}, {WHEN: {"$lte": "2023-05-08"}}, False),
    ({WHEN: "2023-05-09"}, {WHEN: {"$gt": date(2023, 5, 8)}}, True),
    ({WHEN: "2023-05-08"}, {WHEN: {"$gte": "2023-05-08"}}, True),
    ({WHEN: "2023-05-08"}, {WHEN: {"$lt": "2023-05-08"}}, False),
    ({WHEN: "2023-05-08"}, {WHEN: "2023-05-08T00:00"}, True),
    ({WHEN: "2023-05-08T23:00:00-05:00"}, {WHEN: "2023-05-08"}, True),
    ({WHEN: "2023-05-08T23:00:00-05:00"}, {WHEN: {"$gt": "2023-05-08T22:59:59"}}, True),
    ({WHEN: "2023-05-08T23:00:00-05:00"}, {WHEN: "2023-05-09T04:00:00Z"}, True),
    ({WHEN: "2023-05-08T23:00:00"}, {WHEN: "2023-05-08T23:00:00Z"}, True),
    ({WHEN: "2023-05-08T23:00:00"}, {WHEN: {"$in": ["2023-05-07", datetime(2023, 5, 8, 23)]}}, True),
]


@pytest.mark.parametrize(("metadata", "where", "match"), EXAMPLES)
def test_what_filters_mean_in_examples(metadata: dict[str, Any], where: dict[str, Any], match: bool) -> None:
    one = item(**metadata)
    assert holds(where, one) is match
    assert found(database(one), where) == (["a"] if match else [])


HOSTILE = ["'", '"', "x' OR 1=1 --", "'); DROP TABLE items; --", "$.info", "?", ":k", "%", "\\u0000", "]", "k\\", '"]']


@pytest.mark.parametrize("hostile", HOSTILE)
@pytest.mark.parametrize("operator", ["$eq", "$ne", "$in", "$nin", "$gt", "$lte", "$contains"])
def test_names_and_values_never_get_into_the_sql(hostile: str, operator: str) -> None:
    def asked(text: str) -> dict[str, Any]:
        value = [text, text + "2"] if operator in ("$in", "$nin") else text
        return {
            f"info.{text}": {operator: value}, "memory": {operator: value}, PATH: {operator: value},
            "$not": {f"info.{text}": text},
        }  # fmt: skip

    def sql(text: str) -> str:
        parsed = parse_filter(asked(text))
        assert parsed is not None
        return condition_sql(parsed)[0]

    assert sql(hostile) == sql("harmless")
    db = database(item("a", info={hostile: [hostile]}), item("b", hostile + " tea", sources=[{"doc_path": hostile}]))
    assert found(db, {PATH: {"$in": [hostile, "other"]}}) == found(db, {PATH: hostile}) == ["b"]
    assert found(db, {f"info.{hostile}": hostile}) == ["a"]
    assert found(db, {"memory": {"$contains": hostile}}) == ["b"]
    assert found(db, {"$or": [asked(hostile), {}]}) == ["a", "b"]


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("k", [f"x{n}" for n in range(100_000)]), ("k", list(range(100_000))), ("k", [n / 7 for n in range(100_000)]),
        ("tags", [f"x{n}" for n in range(100_000)]), ("id", [f"x{n}" for n in range(100_000)]),
        ("version", list(range(1, 100_001))), ("memory_time", [date.fromordinal(n + 1) for n in range(100_000)]),
        ("memory_time", [datetime.fromtimestamp(n, UTC) for n in range(100_000)]),
        (PATH, [f"x{n}" for n in range(100_000)]), ("sources.page", list(range(1, 100_001))),
    ],
    ids=lambda _: "",
)  # fmt: skip
def test_a_hundred_thousand_values_are_asked_at_once(name: str, values: list[Any]) -> None:
    held: dict[str, Any] = {"k": {"info": {"k": values[7]}}, "tags": {"tags": [values[7]]}}.get(name, {name: values[7]})
    if name in SOURCE_FIELDS:
        held = {"sources": [{}, {name.removeprefix("sources."): values[7]}]}
    one = item(values[7]) if name == "id" else item("a", **held)
    db = database(one, item("other", info={"k": None}, version=200_000))
    assert found(db, {name: {"$in": values}}) == [one.id]
    assert found(db, {name: {"$nin": values}}) == ["other"]


MOMENTS = [*TIMES[:2], *TIMES[5:8], "2023-05-09T00:00:00Z"]
"""At least two days, two clock times and two instants: what takes the most SQL."""


def widest(depth: int, leaf: dict[str, Any]) -> dict[str, Any]:
    return {"$and" if depth % 2 else "$or": [widest(depth - 1, leaf)] * 2} if depth else leaf


@pytest.mark.parametrize(
    "where",
    [
        {"$or": [{"k": {"$in": [1, 2.5, "a", "b", True, None]}}] * MAX_PARTS},
        {"$and": [{"k": {"$ne": 0}}] * MAX_PARTS},
        {str(n): None for n in range(MAX_PARTS)},
        widest(7, {"k": {"$in": [1, "a", None, 2.5]}}),
        widest(4, {"k": {"$nin": [0, "a"]}}),
        {"k": {"$nin": [0, "a", None]}},
        {"$or": [{"sources.chat_time": {"$in": [None, *MOMENTS]}}] * MAX_PARTS},
        {"$and": [{PATH: {"$nin": ["a", "b", None]}}] * MAX_PARTS},
        widest(7, {"sources.chat_time": {"$in": [None, *MOMENTS]}}),
        widest(4, {"sources.chat_time": {"$nin": [None, *MOMENTS]}}),
        widest(7, {"sources.type": {"$in": ["chat", "doc", None]}}),
        {"$or": [{"entities": {"$in": ["a", "b", None]}}] * MAX_PARTS},
        {"$and": [{"entities": {"$nin": ["a", "b", None]}}] * MAX_PARTS},
        widest(7, {"entities": {"$in": ["a", "b", None]}}),
        widest(4, {"entities": {"$nin": ["a", "b", None]}}),
    ],
    ids=lambda _: "",
)  # fmt: skip
def test_the_largest_filters_are_not_too_large_for_sqlite(where: dict[str, Any]) -> None:
    db = database(item(info={"k": [1, "b"]}))
    pair = "INSERT INTO aliases (user_id, key, entity, origin) VALUES ('ana', 'a', 'other', 'user')"
    db.execute(pair)
    for _ in range(MAX_DEPTH):
        parsed = parse_filter(where)
        assert parsed is not None
        parsed = with_aliases(db, "ana", parsed)
        sql, values = condition_sql(parsed)
        # Within other queries too.
        inner = f"SELECT id FROM items WHERE id IN (SELECT id FROM items WHERE (items.user_id = ?) AND ({sql}))"
        db.execute(f"SELECT count(*) FROM items JOIN ({inner}) USING (id)", ("ana", *values)).fetchone()
        where = {"$and": [{"k": {"$nin": [2, "a", None]}}, {"$or": [{"k": {"$nin": [1]}}, where]}]}
        with suppress(FilterError):
            parse_filter(where)
            continue
        break
    else:
        pytest.fail("no filter was too deep")


def test_a_text_with_a_nul_is_not_cut_off_there() -> None:
    info = {"k": ["tea\0s"], "tea\0": 1, "\\u0000": "\\u0000"}
    source = {"doc_path": "tea\0s", "page\0": 7, "content": "\0"}
    db = database(item("a", "tea\0s", tags=["tea\0s"], key="tea\0", info=info, sources=[source, {"page": 2}]))
    assert found(db, {"sources.page": 7}) == []
    assert found(db, {"sources.page": 2, PATH: {"$contains": "s"}}) == ["a"]
    for name in ("memory", "tags", "key", "k", PATH):
        assert found(db, {name: "tea"}) == []
        assert found(db, {name: {"$ne": "tea"}}) == ["a"]
    assert found(db, {"tea": 1}) == []
    assert found(db, {"\\u0000": "\\u0000", "memory": {"$contains": "s"}}) == ["a"]


def test_a_time_that_can_not_be_read_is_in_no_range() -> None:
    db = database(item())
    for written in ('"soon"', "7", "null", '""', "[]", '{"a":1}', "1e999", '"9999-99-99T00:00:00+99:99"'):
        db.execute("UPDATE items SET metadata = ?", (f'{{"memory_time":{written}}}',))
        assert found(db, {"memory_time": {"$gt": "0001-01-01"}}) == []
        assert found(db, {"memory_time": {"$nin": ["0001-01-01", "2023-05-08T00:00Z"]}}) == ["a"]
        db.execute("UPDATE items SET metadata = ?", (f'{{"sources":[{{"chat_time":{written}}}]}}',))
        assert found(db, {"sources.chat_time": {"$gt": "0001-01-01"}}) == []
        assert found(db, {"sources.chat_time": {"$nin": ["0001-01-01", "2023-05-08T00:00Z"]}}) == ["a"]


@pytest.mark.parametrize("value", [None, 7, 0.5, b"2023", "", "2023", "x", "2023-05-08T25:00", "2023-05-08 😀"])
@pytest.mark.parametrize("function", ["memreader_clock", "memreader_instant"])
def test_the_functions_give_null_for_what_is_no_time(function: str, value: Any) -> None:
    assert database().execute(f"SELECT {function}(?)", (value,)).fetchone() == (None,)


@given(st.tuples(*(items(name) for name in ("a", "b", "1", "tea"))), st.lists(filters, min_size=1, max_size=8))
def test_sql_finds_exactly_what_the_filter_means_and_not_finds_exactly_the_rest(
    stored: tuple[TextualMemoryItem, ...], asked: list[dict[str, Any]]
) -> None:
    db = database(*stored)
    for where in asked:
        note(repr(where))
        meant = [one.id for one in stored if holds(where, one)]
        assert found(db, where) == meant
        assert found(db, {"$not": where}) == [one.id for one in stored if one.id not in meant]
