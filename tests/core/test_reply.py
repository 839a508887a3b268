"""Whatever a model answers, its JSON is read or honestly not, and what was guessed is said."""

from __future__ import annotations

import json
from typing import Any

import pytest

from memreader.extract.reply import MAX_CHARACTERS, ParsedReply, parse_reply

PET: dict[str, Any] = {"name": "Bo", "age": 5}
PETS: list[dict[str, Any]] = [{"name": "Bo", "age": 5}, {"name": "Mia", "age": 2}]

UNHARMED = [
    ("as it is", '{"name": "Bo", "age": 5}'),
    ("byte order mark", '\ufeff{"name": "Bo", "age": 5}\u200b'),
    ("fence", '```json\n{"name": "Bo", "age": 5}\n```'),
    ("fence without a name", '```\n{"name": "Bo", "age": 5}\n```'),
    ("tildes", '~~~\n{"name": "Bo", "age": 5}\n~~~\nThat is all.'),
    ("fence on one line", '```json {"name": "Bo", "age": 5} ```'),
    ("words around", 'Here is the pet:\n\n{"name": "Bo", "age": 5}\n\nAsk if {something} is [unclear]!'),
    ("brackets before", '[note] see [3]: {"name": "Bo", "age": 5}'),
    ("tags", '<json>{"name": "Bo", "age": 5}</json>'),
    ("assignment", 'pet = {"name": "Bo", "age": 5};'),
    ("thoughts", '<think>{"name": "?"} or {"age": 0}</think>{"name": "Bo", "age": 5}'),
    (
        "thoughts whose start is missing",
        'so {"name": "Mia", "age": 5}\n</think>\n```json\n{"name": "Bo", "age": 5}\n```',
    ),
    ("JSON in a JSON string", '"{\\"name\\": \\"Bo\\", \\"age\\": 5}"'),
]

MENDED = [
    ("trailing comma", '{"name": "Bo", "age": 5,}'),
    ("doubled comma", '{"name": "Bo",, "age": 5}'),
    ("missing comma", '{"name": "Bo" "age": 5}'),
    ("semicolon", '{"name": "Bo"; "age": 5}'),
    ("missing colon", '{"name" "Bo", "age" 5}'),
    ("doubled colon", '{"name":: "Bo", "age": 5}'),
    ("equals signs", '{"name" = "Bo", "age" => 5}'),
    ("Python", "{'name': 'Bo', 'age': +5}"),
    ("Python 2", "{u'name': u'Bo', u'age': 0x5}"),
    ("JavaScript", "return {name: 'Bo', age: 5};"),
    ("backticks", "{`name`: `Bo`, `age`: 5}"),
    ("words without quotes", "{name: Bo, age: 5}"),
    ("curly quotes", "{“name”: “Bo”, “age”: 5}"),
    ("German quotes", "{„name“: „Bo“, „age“: 5}"),
    ("Chinese punctuation", "｛“name”：「Bo」，“age”：5｝"),
    ("comments", '{"name": "Bo", // the dog\n # and\n /* its */ "age": 5}'),
    ("bullets", '{\n- "name": "Bo",\n- "age": 5\n}'),
    ("bold names", '{**"name"**: "Bo", **"age"**: 5}'),
    ("zero-width space inside", '{"name": "Bo",\u200b "age": 5}'),
    ("escaped quotes", '{\\"name\\": \\"Bo\\", \\"age\\": 5}'),
    ("escaped newlines", '{\\n"name": "Bo",\\n"age": 5\\n}'),
    ("HTML", "<pre>{&quot;name&quot;: &quot;Bo&quot;, &quot;age&quot;: 5}</pre>"),
    ("doubled braces", '{{"name": "Bo", "age": 5}}'),
    ("a brace too many", '{"name": "Bo", "age": 5}}'),
    ("a brace too early", '{"name": "Bo"}, "age": 5}'),
    ("missing opening brace", '"name": "Bo", "age": 5}'),
    ("no braces", '"age": 5, "name": "Bo"'),
    ("missing opening quote", '{"name": Bo", "age": 5}'),
    ("missing closing quote", '{"name": "Bo, "age": 5}'),
    ("missing closing quote at the end", '{"age": 5, "name": "Bo}'),
    ("missing opening quote of a name", '{"name": "Bo", age": 5}'),
    ("missing closing quote of a name", '{"name: "Bo", "age": 5}'),
    ("doubled quote", '{"name": "Bo"", "age": 5}'),
    ("triple quotes", '{"name": """Bo""", "age": 5}'),
    ("added strings", '{"name": "B" + "o", "age": 5}'),
    ("name without a value", '{"name": "Bo", "age": 5, "owner": }'),
    ("stray letter", '{"name": "Bo"x, "age": 5}'),
]

VALUES: list[tuple[str, str, Any]] = [
    ("a missing brace between objects", '[{"n": 1, "v": "a"}, {"n": 2, "v": "b", {"n": 3, "v": "c"}]', "123"),
    ("a missing bracket", '{"l": [{"k": 1}, {"k": 2}, "s": "x"}', {"l": [{"k": 1}, {"k": 2}], "s": "x"}),
    ("a missing opening bracket", '{"l": {"k": 1}, {"k": 2}], "s": "x"}', {"l": [{"k": 1}, {"k": 2}], "s": "x"}),
    ("a missing opening bracket of words", '{"l": "a", "b"], "n": 1}', {"l": ["a", "b"], "n": 1}),
    ("the wrong bracket", '{"l": [{"k": 1], {"k": 2}], "n": 1}', {"l": [{"k": 1}, {"k": 2}], "n": 1}),
    ("a bracket too many", '{"l": [[{"k": 1}, {"k": 2}], "n": 1}', {"l": [{"k": 1}, {"k": 2}], "n": 1}),
    ("a set", '{"l": {"a", "b"}, "n": 1}', {"l": ["a", "b"], "n": 1}),
    ("a tuple", '{"l": ("a", "b"), "n": 1}', {"l": ["a", "b"], "n": 1}),
    ("an ellipsis", '{"l": [1, 2, ...], "n": 1}', {"l": [1, 2], "n": 1}),
    ("literals", "{a: True, b: None, c: undefined, d: FALSE}", {"a": True, "b": None, "c": None, "d": False}),
    ("numbers", '{"a": 1,234, "b": 1_000, "c": .5, "d": 007}', {"a": 1234, "b": 1000, "c": 0.5, "d": 7}),
    ("not numbers", '{"a": NaN, "b": [-Infinity, 1e999]}', {"a": None, "b": [None, None]}),
    ("a date without quotes", '{"d": 2024-03-02, "n": 1}', {"d": "2024-03-02", "n": 1}),
    (
        "inner quotes",
        '{"a": "she said "yes", then "no", and left", "n": 1}',
        {"a": 'she said "yes", then "no", and left', "n": 1},
    ),
    ("Chinese inner quotes", '{"a": "他说"好"，就走了", "n": 1}', {"a": '他说"好"，就走了', "n": 1}),
    ("apostrophes", "{'a': 'Ana's cat', 'n': 'it's'}", {"a": "Ana's cat", "n": "it's"}),
    ("newlines in a string", '{"a": "one\ntwo\tthree"}', {"a": "one\ntwo\tthree"}),
    ("paths", r'{"a": "D:\Photos\new", "n": 1}', {"a": r"D:\Photos\new", "n": 1}),
    ("LaTeX", r'{"a": "\(y\) is \beta or \alpha"}', {"a": r"\(y\) is \beta or \alpha"}),
    ("hexadecimal escapes", r'{"a": "\x41\'s"}', {"a": "A's"}),
    ("half a character", r'{"a": "x \ud83d y", "\udc00": 1}', {"a": "x \ufffd y", "\ufffd": 1}),
    ("what looks like a comment", '{"a": "https://x.example/#y /* z */",}', {"a": "https://x.example/#y /* z */"}),
    ("full-width marks in a string", '{"a": "好：“是，”对吗？",}', {"a": "好：“是，”对吗？"}),
    ("joined emoji", '{"a": "👩‍🚀",}', {"a": "👩‍🚀"}),
    ("JSON lines", '{"n": 1}\n{"n": 2}\n', [{"n": 1}, {"n": 2}]),
]


@pytest.mark.parametrize(("what", "text"), UNHARMED, ids=[what for what, _ in UNHARMED])
def test_what_is_json_but_for_its_wrapping_is_strict(what: str, text: str) -> None:
    assert parse_reply(text) == ParsedReply(PET, "strict")


@pytest.mark.parametrize(("what", "text"), MENDED, ids=[what for what, _ in MENDED])
def test_damage_is_mended_and_marked(what: str, text: str) -> None:
    parsed = parse_reply(text)
    assert (parsed.value, parsed.status) == (PET, "repaired")


@pytest.mark.parametrize(("what", "text", "value"), VALUES, ids=[what for what, *_ in VALUES])
def test_damage_is_read_as_it_was_meant(what: str, text: str, value: Any) -> None:
    wanted = [{"n": n + 1, "v": "abc"[n]} for n in range(3)] if value == "123" else value
    parsed = parse_reply(text)
    assert parsed.value == wanted
    assert parsed.status == "repaired"


@pytest.mark.parametrize(
    "text",
    [
        "", " \n\t", "\ufeff", "I can't help with that.", "I can't [sorry], see [1] and [2, 3].", "No, {name}.",
        "抱歉【政策】，我不能{这样做}。", '<think>perhaps {"a": 1}? I should', "memory list:\n- key: tea", "]", "}{",
    ],
)  # fmt: skip
def test_a_refusal_or_a_blank_is_no_value(text: str) -> None:
    parsed = parse_reply(text)
    assert (parsed.value, parsed.status) == (None, "failed")
    assert parsed.lost


@pytest.mark.parametrize(("text", "value"), [("{}", {}), ("[]", []), ("null", None), ('"words"', "words")])
def test_an_empty_or_plain_value_is_one(text: str, value: Any) -> None:
    assert parse_reply(text) == ParsedReply(value, "strict")


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('{"name": "Bo", "age": 5', {"name": "Bo"}),
        ('{"name": "Bo", "age": 5, ', PET),
        ('{"name": "Bo", "age": 5, "owner', PET),
        ('{"name": "Bo", "age": 5, "owner"', PET),
        ('{"name": "Bo", "age": 5, "owner": ', PET),
        ('{"name": "Bo", "age": 5, "owner": "An', PET),
        ('{"name": "Bo", "age": 5, "owner": "An\\', PET),
        ('{"name": "Bo", "age": 5, "good": tru', PET),
        ('{"name": "Bo", "age": 5, "good": true', PET | {"good": True}),
        ('{"name": "Bo", "age": 5, "weight": -1.', PET),
        ('[{"name": "Bo", "age": 5}, {"name": "Mia", "age": 2}, {', PETS),
        ('[{"name": "Bo", "age": 5}, {"name": "Mia", "a', [PET, {"name": "Mia"}]),
        ('```json\n{"name": "Bo", "age": 5, "likes": ["tea", "w', PET | {"likes": ["tea"]}),
        ('```json\n{"name": "Bo", "age": 5,\n```', PET),
        ('{"name": "Bo", "age": 5, "note": "see [1] and {x", "l": [', PET | {"note": "see [1] and {x", "l": []}),
    ],
)
def test_of_a_cut_answer_what_is_complete_is_kept(text: str, value: Any) -> None:
    parsed = parse_reply(text)
    assert (parsed.value, parsed.status) == (value, "truncated")
    assert parsed.lost


def test_brackets_at_the_end_of_an_open_string_may_be_its_own() -> None:
    parsed = parse_reply('{"age": 5, "note": "like {x}')
    assert (parsed.value, parsed.status) == ({"age": 5}, "repaired")
    assert parsed.lost


def test_brackets_that_fit_neither_way_end_all_the_same() -> None:
    parsed = parse_reply('{"a": 1, "b": [`[\\" \\"NaN**"k": ]】"""')
    assert parsed.status in ("repaired", "failed")


def test_an_answer_known_to_be_cut_is_not_taken_for_badly_quoted() -> None:
    text = '{"age": 5, "name": "Bo}'
    assert parse_reply(text).value == PET
    assert parse_reply(text, truncated=True).value == {"age": 5}
    assert parse_reply('{"name": "Bo", "age": 5}', truncated=True).status == "strict"


@pytest.mark.parametrize(
    "text",
    [
        'Draft:\n```json\n{"name": "?", "age": 1}\n```\nFinal:\n```json\n{"name": "Bo", "age": 5}\n```',
        'Like {"name": "?"}.\n{"name": "Bo", "age": 5}',
        '{"name": "Bo", "age": 5}\nI left {"color": "brown"} out.',
        'Not {"name": "?", "age": 1, "x": 2} but\n```\n{"name": "Bo", "age": 5}\n```',
    ],
)
def test_of_several_values_one_is_chosen_and_the_others_are_named(text: str) -> None:
    parsed = parse_reply(text)
    assert (parsed.value, parsed.status) == (PET, "repaired")
    assert any("another value" in what for what in parsed.lost)


def test_of_several_answers_the_last_with_memories_is_chosen_and_never_two_glued() -> None:
    first, last = {"memories": [{"n": 1}]}, {"memories": [{"n": 2}], "summary": "s"}
    assert parse_reply(f"{json.dumps(first)}\n{json.dumps(last)}").value == last
    assert parse_reply(f'{json.dumps(last)} and {{"a": 1, "b": 2, "c": 3}}').value == last


def test_a_list_of_words_in_a_sentence_is_no_answer() -> None:
    assert parse_reply('I used ["a", "b"] there').status == "failed"
    assert parse_reply('The tags:\n["a", "b"]\nDone.').value == ["a", "b"]


def test_what_is_lost_is_told_in_few_words() -> None:
    parsed = parse_reply('{"name": "Bo", "age": 5, "owner": , "note": "' + "very " * 99)
    assert any("owner" in what for what in parsed.lost)
    assert any("very" in what for what in parsed.lost)
    assert all(len(what) < 140 for what in parsed.lost)
    assert len(parse_reply('{"a": [' + '{"b": }, ' * 500 + "]}").lost) <= 31


def test_an_answer_too_long_or_too_deep_is_refused() -> None:
    for text in ("x" * (MAX_CHARACTERS + 1), "[" * 100_000, '{"a":' * 100_000, "{" * 65_536, '[{"a":1,' * 50_000):
        parsed = parse_reply(text)
        assert (parsed.value, parsed.status) == (None, "failed")
        assert any("more than" in what or "deeper" in what for what in parsed.lost)


def test_a_number_of_many_digits_is_kept_or_named() -> None:
    assert parse_reply('{"id": 123456789012345678901234567890,}').value == {"id": 123456789012345678901234567890}
    parsed = parse_reply('{"id": ' + "9" * 5_000 + "}")
    assert (parsed.value, parsed.status) == ({"id": None}, "repaired")
    assert parsed.lost
