"""Fields of a model's answer: every usual spelling is understood, one bad entry costs no other, nothing is invented."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memreader.extract.field_values import MAX_LINES, MAX_NAMES, read_lines
from memreader.extract.schema import MAX_MEMORIES, MAX_VALUE_CHARS, REPLY_SCHEMA, FoundMemory, FoundReply, read_fields
from memreader.text import clean

FULL = {
    "key": "Tea",
    "memory_type": "UserMemory",
    "value": "Ana likes tea.",
    "tags": ["taste"],
    "lines": [1, 3],
    "entities": ["Ana"],
    "relations": [["Ana", "likes", "tea"]],
    "time": "2023-05-08",
    "lifetime": "short",
}
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=12),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(
                ["memory list", "memory", "value", "text", "content", "role", "0", "1", "data", "tags", "lines"]
            )
            | st.text(max_size=6),
            inner,
            max_size=5,
        )
    ),
    max_leaves=25,
)


def values(answer: object) -> list[str]:
    found = read_fields(answer)
    assert found is not None
    return [memory.value for memory in found.memories]


def only(**fields: object) -> FoundMemory:
    found = read_fields({"memory list": [{"value": "Ana likes tea."} | fields]})
    assert found is not None
    (memory,) = found.memories
    return memory


def strings(answer: Any) -> Iterator[str]:
    if isinstance(answer, str):
        yield answer
    elif isinstance(answer, dict | list):
        for inner in answer.values() if isinstance(answer, dict) else answer:
            yield from strings(inner)


def reasons(answer: object) -> list[tuple[str | None, str]]:
    found = read_fields(answer)
    assert found is not None
    return [(dropped.locator, dropped.reason) for dropped in found.dropped]


def test_an_answer_as_it_was_asked_for_is_read_whole() -> None:
    assert read_fields({"memory list": [FULL], "summary": "About tea."}) == FoundReply(
        memories=(
            FoundMemory(
                value="Ana likes tea.",
                key="Tea",
                memory_type="UserMemory",
                tags=("taste",),
                lines=(1, 3),
                entities=("Ana",),
                relations=(("Ana", "likes", "tea"),),
                time="2023-05-08",
                lifetime="short",
            ),
        ),
        summary="About tea.",
    )


@pytest.mark.parametrize(
    "answer",
    [
        *({name: [FULL]} for name in ("memory list", "memory_list", "Memory List", "memoryList", "memories", "memory")),
        *({name: [FULL]} for name in ("items", "facts", "记忆列表", "data", "results")),
        {"memory list": FULL},
        {"memory list": {"0": FULL}},
        {"memory list": None, "memories": [FULL]},
        {"result": {"memory list": [FULL]}},
        {"data": {"result": {"memories": {"1": FULL}}}},
        [FULL],
        FULL,
        {"0": FULL},
        {"memory_1": FULL},
        {"Tea": FULL, "summary": ""},
    ],
)
def test_the_list_is_found_under_any_usual_name_or_none(answer: object) -> None:
    found = read_fields(answer)
    assert found is not None
    assert [memory.key for memory in found.memories] == ["Tea"]
    assert not found.dropped


@pytest.mark.parametrize("name", ["value", "memory", "content", "text", "statement", "VALUE", "内容", "记忆"])
def test_the_statement_is_found_under_any_usual_name(name: str) -> None:
    assert values({"memory list": [{name: " Ana likes tea.\n"}]}) == ["Ana likes tea."]


def test_the_statement_may_be_the_entry_itself() -> None:
    assert values({"memory list": ["Ana likes tea.", {"value": "Ben likes milk."}]}) == [
        "Ana likes tea.",
        "Ben likes milk.",
    ]
    assert values(["a fact", "another"]) == ["a fact", "another"]
    assert values({"0": "a fact", "1": "another"}) == ["a fact", "another"]


def test_words_count_more_than_a_name_before_them() -> None:
    assert values([{"value": None, "memory": "", "text": "Ana likes tea."}]) == ["Ana likes tea."]
    assert values([{"value": {"en": "x"}, "text": "Ana likes tea."}]) == ["Ana likes tea."]


@pytest.mark.parametrize(
    "answer",
    [
        {"memory list": None, "summary": ""},
        {"memory list": []},
        {"memories": {}},
        {"memory_list": "none"},
        {"memory": None},
        {"记忆列表": "无"},
        [],
    ],
)
def test_nothing_worth_remembering_is_an_answer(answer: object) -> None:
    assert read_fields(answer) == FoundReply()


@pytest.mark.parametrize(
    "answer",
    [
        None,
        True,
        7,
        0.5,
        "",
        "Sorry, I can't help with that.",
        '{"memory list": []}',
        b"[]",
        {},
        {"summary": "They talked."},
        {"error": {"code": 429, "text": "slow down"}},
        {"response": "I can't do that."},
        {"answer": None},
        {"data": []},
        {"memories": "I found nothing that is worth remembering."},
        {"text": "Sorry."},
        {"role": "assistant", "content": "Sorry.", "lines": []},
        {"choices": [{"message": {"role": "assistant", "content": "Sorry."}}]},
        [1, 2, 3],
        [None],
        [["a"]],
        [{"a": 1}],
        [{"role": "user", "content": "I like tea."}],
        {"memory list": [1, 2]},
        {"memory list": [{"key": "Tea"}]},
    ],
)
def test_what_has_no_shape_of_an_answer_is_none(answer: object) -> None:
    assert read_fields(answer) is None


def test_one_bad_entry_costs_no_other_and_is_named() -> None:
    answer = {
        "memory list": [
            7,
            {"value": "a"},
            {"value": "  "},
            {"value": 42},
            None,
            {"value": ["x"], "key": "Tea"},
            ["b"],
            {"key": "Tea"},
            {"value": "N/A"},
            {"role": "user", "content": "hi"},
            "",
            True,
            "c",
        ]
    }
    assert values(answer) == ["a", "c"]
    assert reasons(answer) == [
        ("[0]", "not a memory but a number"),
        ("[2]", "the value is empty"),
        ("[3]", "the value is not text but a number"),
        ("[4]", "not a memory but null"),
        ("[5]", "the value is not text but a list"),
        ("[6]", "not a memory but a list"),
        ("[7]", "an object without a value"),
        ("[8]", "the value says nothing"),
        ("[9]", "a message, not a memory"),
        ("[10]", "the value is empty"),
        ("[11]", "not a memory but a yes or no"),
    ]
    found = read_fields(answer)
    assert found is not None
    assert [dropped.text for dropped in found.dropped][4:9] == ["Tea", "", "Tea", "N/A", "hi"]


def test_an_absurd_length_is_dropped_with_its_reason() -> None:
    long, fits = "x" * (MAX_VALUE_CHARS + 1), "y" * MAX_VALUE_CHARS
    assert values([long, fits]) == [fits]
    assert reasons([long, fits]) == [("[0]", "the value has 10001 characters, more than 10000")]
    many = [f"fact {number}" for number in range(MAX_MEMORIES + 5)]
    assert values(many) == many[:MAX_MEMORIES]
    assert reasons(many) == [("[1000]", "5 memories after the first 1000 of one answer")]


def test_a_value_is_free_of_what_can_not_be_stored() -> None:
    assert values(["a\x00b\ud800c\r\nd"]) == ["abc\nd"]
    assert reasons(["ok", "\x00\ufeff"]) == [("[1]", "the value is empty")]
    memory = only(key="k\x00", tags=["t\x00"], time="2023\x00")
    assert (memory.key, memory.tags, memory.time) == ("k", ("t",), "2023")


def test_a_missing_or_empty_key_is_left_to_the_caller() -> None:
    assert only().key is None
    assert [only(key=key).key for key in (None, "", " \n", 5, ["Tea"], "x" * 300)] == [None] * 5 + ["x" * 200]
    assert (only(title="Tea").key, only(标题="茶").key) == ("Tea", "茶")


def test_only_two_types_are_known() -> None:
    user = ("UserMemory", "usermemory", "User Memory", "user_memory", "user", "用户记忆")
    assert {only(memory_type=kind).memory_type for kind in user} == {"UserMemory"}
    other = ("LongTermMemory", "long-term", "Banana", "ToolSchemaMemory", "", None, 5, ["UserMemory"])
    assert {only(memory_type=kind).memory_type for kind in other} == {"LongTermMemory"}
    assert only(type="UserMemory", memory_type=None).memory_type == "UserMemory"


@pytest.mark.parametrize(
    ("tags", "read"),
    [
        (["tea", "taste"], ("tea", "taste")),
        ("tea, taste", ("tea", "taste")),
        ("茶、口味，饮料；早餐;x", ("茶", "口味", "饮料", "早餐", "x")),
        ("#tea, #taste", ("tea", "taste")),
        (["tea", " tea ", "#tea", "", None, {}, 2023], ("tea", "2023")),
        ([{"name": "tea"}, {"tag": "taste"}], ("tea", "taste")),
        (["green tea, hot"], ("green tea, hot",)),
        ("", ()),
        (None, ()),
        (7, ()),
        (True, ()),
    ],
)
def test_tags_come_as_a_list_or_with_commas(tags: object, read: tuple[str, ...]) -> None:
    assert only(tags=tags).tags == read


@pytest.mark.parametrize(
    ("lines", "read"),
    [
        ([1, 3], (1, 3)),
        (["1", "[3]", " 4 "], (1, 3, 4)),
        (3, (3,)),
        (3.0, (3,)),
        ("3", (3,)),
        ("[3]", (3,)),
        ("3-5", (3, 4, 5)),
        (["3–5", "7~8", "10至11", "[13-14]"], (3, 4, 5, 7, 8, 10, 11, 13, 14)),
        ("lines 3, 4", (3, 4)),
        ("Line 3 and line 4", (3, 4)),
        ("L3-L4", (3, 4)),
        ("第3行、第５行", (3, 5)),
        ("5-3", (5, 3)),
        ([3, 3, "3"], (3,)),
        ([[1, 2]], ()),
        ([0, 99], (0, 99)),
        ("[3] Ana (user, 2023-05-08 Mon 13:56): I have 2 cats", (3,)),
        ("Ana has 2 cats", ()),
        ([-1, 2.5, float("inf"), True, None, {}, 10**9], ()),
        ("", ()),
        (None, ()),
    ],
)
def test_line_numbers_come_in_any_form(lines: object, read: tuple[int, ...]) -> None:
    assert only(lines=lines).lines == read


def test_a_range_without_end_is_bounded() -> None:
    began = time.process_time()
    assert read_lines("1-9999999") == tuple(range(1, MAX_LINES + 1))
    assert len(read_lines(["1-999,1-999"] * 100_000)) == 999
    assert len(read_lines([f"{number}-9999999" for number in range(1000)])) == MAX_LINES
    assert read_lines("1" * 100_000) == ()
    assert time.process_time() - began < 1


def test_of_two_spellings_of_a_field_the_one_that_says_something_counts() -> None:
    assert values([{"value": "a", "Value": None}]) == ["a"]
    assert values([{"Value": None, "value": "a"}]) == ["a"]
    assert values([{"value": "a", "VALUE": "b"}]) == ["a"]


def test_entities_come_as_names_or_objects() -> None:
    assert only(entities=["Ana", {"name": "Ben", "type": "person"}, {"entity": "Lisbon"}, "", 5, None]).entities == (
        "Ana", "Ben", "Lisbon", "5",
    )  # fmt: skip
    assert only(entities="Ana、Ben").entities == ("Ana", "Ben")
    assert only(entities={"Ana": "person", "Lisbon": "place"}).entities == ("Ana", "Lisbon")
    assert only(entities=[" Ana\n Lopez ", "Ana Lopez"]).entities == ("Ana Lopez",)
    assert only(entities=None).entities == ()


def test_relations_come_as_triples_or_objects() -> None:
    triple = ("Ana", "lives in", "Lisbon")
    for relations in (
        [list(triple)],
        list(triple),
        [triple, list(triple)],
        [{"subject": "Ana", "predicate": "lives in", "object": "Lisbon"}],
        [{"head": "Ana", "relation": "lives in", "tail": "Lisbon"}],
        {"source": "Ana", "type": "lives in", "target": "Lisbon"},
        [["Ana"], ["a", "b", "c", "d"], ["Ana", "", "x"], ["Ana", None, "x"], "Ana lives", 5, None, {}, list(triple)],
    ):
        assert only(relations=relations).relations == (triple,)
    assert only(relations="Ana lives in Lisbon").relations == ()
    assert only(relations=[["Ana", "is", 40]]).relations == (("Ana", "is", "40"),)


def test_a_time_is_kept_as_it_was_written() -> None:
    said = ("2023-05-08", " next Friday ", "去年夏天", 2023)
    assert [only(time=one).time for one in said] == ["2023-05-08", "next Friday", "去年夏天", "2023"]
    nothing = (None, "", "null", "None", "N/A", "unknown", "未知", True, [], 10**9)
    assert {only(time=one).time for one in nothing} == {None}


def test_a_lifetime_is_long_unless_it_is_said_to_be_short() -> None:
    assert {only(lifetime=one).lifetime for one in ("short", "Short", "short-term", "短期")} == {"short"}
    assert {only(lifetime=one).lifetime for one in ("long", "", None, "forever", 1)} == {"long"}


def test_a_summary_is_text_or_nothing() -> None:
    for summary, read in (("They met.", "They met."), (None, ""), (["a"], ""), (" ", ""), ("z" * 20_000, "z" * 10_000)):
        found = read_fields({"memory list": [], "summary": summary})
        assert found is not None
        assert found.summary == read
    wrapped = read_fields({"data": {"memory list": ["a"], "摘要": "他们见了面。"}})
    assert wrapped is not None
    assert wrapped.summary == "他们见了面。"


@given(JSON)
def test_whatever_an_answer_is_the_fields_are_well_formed(answer: Any) -> None:
    before = json.dumps(answer)
    found = read_fields(answer)
    assert json.dumps(answer) == before
    said = {clean(text).strip() for text in strings(answer)}
    for memory in found.memories if found is not None else ():
        assert memory.value == memory.value.strip() != ""
        assert memory.value in said
        assert memory.memory_type in {"UserMemory", "LongTermMemory"}
        assert memory.lifetime in {"short", "long"}
        assert memory.key is None or memory.key.strip()
        assert len(set(memory.tags)) == len(memory.tags) <= MAX_NAMES
        assert all(number >= 0 for number in memory.lines)
        assert all(len(triple) == 3 and all(triple) for triple in memory.relations)


@given(st.lists(JSON, max_size=8))
def test_every_entry_of_a_list_is_a_memory_or_dropped(entries: list[Any]) -> None:
    found = read_fields({"memory list": [{"value": "first"}, *entries, {"value": "last"}]})
    assert found is not None
    assert len(found.memories) + len(found.dropped) == len(entries) + 2
    assert (found.memories[0].value, found.memories[-1].value) == ("first", "last")
    assert all(dropped.reason and dropped.locator for dropped in found.dropped)


def test_a_huge_answer_takes_linear_time() -> None:
    def took_s(size: int) -> float:
        answers: list[object] = [
            {f"k{number}": number for number in range(size)},
            {str(number): {"value": "x"} for number in range(size)},
            [{f"k{number}": "x" for number in range(size)} | {"value": "x"}],
            [{"value": "x", "tags": "a," * size, "lines": "1-9 " * size, "entities": ["e"] * size}],
        ]
        began = time.process_time()
        for answer in answers:
            read_fields(answer)
        return time.process_time() - began

    took_s(1000)
    assert took_s(40_000) <= 40 * max(took_s(4_000), 0.005)


def test_a_deep_answer_is_no_answer_and_does_no_harm() -> None:
    deep: Any = {"value": "bottom"}
    for _ in range(50_000):
        deep = {"data": deep}
    assert read_fields(deep) is None
    assert values({"memory list": [{"value": "a", "tags": deep}, "b"]}) == ["a", "b"]


def test_the_schema_is_one_that_strict_endpoints_take() -> None:
    def objects(schema: Any) -> list[dict[str, Any]]:
        if isinstance(schema, dict):
            return [schema] * (schema.get("type") == "object") + [o for part in schema.values() for o in objects(part)]
        return [o for part in schema for o in objects(part)] if isinstance(schema, list) else []

    found = objects(json.loads(json.dumps(REPLY_SCHEMA)))
    assert len(found) == 2
    for one in found:
        assert one["additionalProperties"] is False
        assert one["required"] == list(one["properties"])
    assert list(found[1]["properties"]) == list(FULL)
    assert found[1]["properties"]["time"] == {"type": ["string", "null"]}
