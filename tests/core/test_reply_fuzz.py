"""Laws of reading damaged answers: cuts invent nothing, typos are never silent, no text crashes or takes long."""

from __future__ import annotations

import json
import random
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memreader.extract.reply import ParsedReply, parse_reply

ANSWER: dict[str, Any] = {
    "memory list": [
        {"key": "Tea", "value": 'Ana drinks tea ("green", {loose}) at 8:30.', "tags": ["tea", "habit"], "lines": [1]},
        {"key": "搬家", "value": "小安搬到利兹：两居室，“很亮”。", "tags": ["搬家"], "lines": [2, 3]},
        {"key": "Path", "value": "Notes are in C:\\new\\notes [old].", "tags": [], "lines": [4]},
        {"key": "狗", "value": "她的狗叫阿宝，五岁了。", "tags": ["狗", "家"], "lines": [5]},
        {"key": "Work", "value": "She's at the library, branch [North].", "tags": ["work"], "lines": [6, 12]},
        {"key": "Dutch", "value": "She learns Dutch.", "tags": ["plan"], "lines": [7]},
    ],
    "summary": "Ana, 小安.",
}
TEXTS = [json.dumps(ANSWER, ensure_ascii=False), json.dumps(ANSWER, indent=1)]
ALPHABET = "{}[]\",:\\' \n0-aZ中，"
PIECES = [
    "{", "}", "[", "]", '"', "'", ",", ":", "\\", " ", "\n", "0", "-1.5e3", "a", '"b":', "true", "NaN", "```",
    "```json\n", "/*", "*/", "//", "#", "...", "“", "”", "：", "，", '{"a": 1}', "(", ")", "+", '\\"', "\\u",
    "\\ud83d", "&quot;", "</think>", "<think>", "1e999", "`", '"""', "**", "\u200b", "｛", "】", "=>", 'u"', ";",
    "\ud800",
]  # fmt: skip


def is_prefix(part: Any, whole: Any) -> bool:
    if isinstance(part, dict) and isinstance(whole, dict):
        return all(key in whole and is_prefix(value, whole[key]) for key, value in part.items())
    if isinstance(part, list) and isinstance(whole, list):
        return len(part) <= len(whole) and all(map(is_prefix, part, whole))
    return type(part) is type(whole) and bool(part == whole)


def items_found(parsed: ParsedReply) -> int:
    value = parsed.value.get("memory list") if isinstance(parsed.value, dict) else parsed.value
    return sum(item in value for item in ANSWER["memory list"]) if isinstance(value, list) else 0


@pytest.mark.parametrize("truncated", [False, True])
@pytest.mark.parametrize("text", TEXTS)
def test_a_cut_anywhere_invents_nothing_and_keeps_what_was_complete(text: str, truncated: bool) -> None:
    for stop in range(1, len(text)):
        parsed = parse_reply(text[:stop], truncated=truncated)
        assert parsed.status == "truncated"
        assert is_prefix(parsed.value, ANSWER)
        begun = text[:stop].count('"key"')
        assert items_found(parsed) >= begun - 1
        assert parsed.lost


def test_a_typo_is_never_silent_and_costs_one_memory_at_most_nearly_always() -> None:
    chance = random.Random(3)
    tried = exact = most = 0
    while tried < 700:
        text = chance.choice(TEXTS)
        at, kind = chance.randrange(len(text)), chance.choice(("delete", "insert", "replace"))
        char = "" if kind == "delete" else chance.choice(ALPHABET)
        damaged = text[:at] + char + text[at + (kind != "insert") :]
        try:
            json.loads(damaged)
        except json.JSONDecodeError:
            tried += 1
        else:
            continue
        parsed = parse_reply(damaged)
        exact += parsed.value == ANSWER
        most += items_found(parsed) >= 5
        if parsed.value != ANSWER:
            assert parsed.status in ("repaired", "failed"), damaged
    assert exact / tried >= 0.45
    assert most / tried >= 0.95


@given(st.lists(st.sampled_from(PIECES), max_size=30).map("".join), st.booleans(), st.booleans())
def test_no_text_crashes_and_every_value_is_plain_json(text: str, is_field: bool, truncated: bool) -> None:
    parsed = parse_reply('{"a": ' + text if is_field else text, truncated=truncated)
    json.dumps(parsed.value, allow_nan=False, ensure_ascii=False).encode()
    assert parsed.status != "failed" or (parsed.value is None and parsed.lost)
    assert all(len(what) < 160 for what in parsed.lost)


WORDS = st.text(st.characters(codec="utf-8"), max_size=10)
LEAVES = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | WORDS
VALUES = st.recursive(
    LEAVES, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(WORDS, inner, max_size=4), max_leaves=12
)
OBJECTS = st.dictionaries(WORDS, VALUES, min_size=1, max_size=4)


@given(OBJECTS)
def test_valid_json_is_read_as_json_reads_it_in_any_wrapping(value: dict[str, Any]) -> None:
    text = json.dumps(value, ensure_ascii=False)
    for wrapped in (text, f"```json\n{text}\n```", f"\ufeff{text}\n"):
        assert parse_reply(wrapped) == ParsedReply(value, "strict")


@given(OBJECTS, st.booleans(), st.data())
def test_valid_json_cut_anywhere_holds_nothing_else(value: dict[str, Any], is_ascii: bool, data: st.DataObject) -> None:
    text = json.dumps(value, ensure_ascii=is_ascii)
    parsed = parse_reply(text[: data.draw(st.integers(1, len(text) - 1))], truncated=True)
    assert parsed.status == "truncated"
    assert is_prefix(parsed.value, value)


def cpu_seconds(text: str) -> float:
    start = time.process_time()
    parse_reply(text)
    return time.process_time() - start


@pytest.mark.parametrize(
    "pattern",
    [
        '{"a": |"b |', '|{"x" {y |', '{"a": "|\\|', "|```json\n{'a': 1\n```\n|", '{"a": [|},|', '{"a": |/*|',
        '{"a": "b"| |"c": 1}',
        '{"a": [|"b":|', "{\"a\": '|x' |", "[|...,|", '{"a": b|\n|x', '{"a": "b|,"|', '["a|"\n"b": |', '|{"a" |',
        "{|'a': 'b's', |", "|\\n|",
        '{"l": [|{"a": 1,}, |]}', '[|1, |', '|</think>|', '{"a": "b|"c|', '{"a": "|{]|',
    ],
)  # fmt: skip
def test_twice_the_text_takes_about_twice_the_time(pattern: str) -> None:
    head, piece, tail = pattern.split("|")
    count = 60_000 // len(piece)
    # Quadratic would be 16 times. Tried again: on a busy machine a thread's own time varies, too.
    for _ in range(5):
        small = min(cpu_seconds(head + piece * count + tail) for _ in range(2))
        large = min(cpu_seconds(head + piece * 4 * count + tail) for _ in range(2))
        if large <= 9 * small + 0.05:
            return
    assert large <= 9 * small + 0.05


ENTRIES = {"objects": json.dumps(ANSWER["memory list"][0]), "numbers": "12", "words": '"word"'}


@pytest.mark.parametrize("entry", ENTRIES.values(), ids=ENTRIES)
def test_a_trailing_comma_costs_a_few_readings_of_the_text(entry: str) -> None:
    valid = '{"memory list": [' + ", ".join([entry] * (1_000_000 // len(entry))) + "]}"

    def loads() -> float:
        start = time.process_time()
        json.loads(valid)
        return time.process_time() - start

    floor = min(loads() for _ in range(5))
    # Of short elements `json` makes little work, so that what isn't `json` weighs more.
    limit = 5 if len(entry) > 20 else 9
    assert min(cpu_seconds(valid[:-2] + ",]}") for _ in range(5)) <= limit * floor
