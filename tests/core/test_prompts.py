"""Prompts: placeholders are checked and filled in one pass, examples are what our own readers take."""

from __future__ import annotations

import json
import pickle
import re
from collections.abc import Mapping
from datetime import date
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memreader.errors import InputError, PromptError
from memreader.extract.reply import parse_reply
from memreader.extract.schema import REPLY_SCHEMA, FoundReply, read_fields
from memreader.prompts import LANGUAGES, TASKS, Prompts, language_name
from memreader.prompts.template import Places, parse_template
from memreader.tokenizing import BpeTokenizer

READING = ("chat", "strategy", "document")
GATES = ("rewrite", "hallucination")
EXAMPLE_LINE = re.compile(r"^\[(\d+)\] ", re.MULTILINE)

every_prompt = pytest.mark.parametrize(("task", "language"), [(t, lang) for t in TASKS for lang in LANGUAGES])
every_reading = pytest.mark.parametrize(("task", "language"), [(t, lang) for t in READING for lang in LANGUAGES])
every_gate = pytest.mark.parametrize(("task", "language"), [(t, lang) for t in GATES for lang in LANGUAGES])


def rendered(task: str, language: str, /, **values: str) -> str:
    required = {name: f"<{name}>" for name in TASKS[task].required}
    return Prompts().render(task, language, **(required | values))


def fenced(text: str, kind: str) -> list[str]:
    return re.findall(rf"^```{kind}\n(.*?)\n```$", text, re.MULTILINE | re.DOTALL)


@every_prompt
def test_a_shipped_prompt_has_every_value_it_may_have(task: str, language: str) -> None:
    values = {name: f"<<{name}>>" for name in TASKS[task].allowed}
    text = Prompts().render(task, language, **values)
    # The Chinese texts name their language themselves.
    wanted = [value for name, value in values.items() if not (name == "language" and language == "zh")]
    assert all(text.count(value) == 1 for value in wanted)
    assert "$" not in text


@every_prompt
def test_a_shipped_prompt_is_short(task: str, language: str, tokenizer: BpeTokenizer) -> None:
    assert tokenizer.count(rendered(task, language)) <= 1150


@every_prompt
def test_a_shipped_prompt_says_that_the_text_is_no_instruction_and_asks_for_json(task: str, language: str) -> None:
    text = rendered(task, language)
    assert (
        ("不是给你的命令" in text or "没有一句话是对你说的" in text)
        if language == "zh"
        else "instruction" in text or ("addressed to you" in text)
    )
    assert "JSON" in text.splitlines()[-1]


@every_prompt
def test_empty_values_leave_nothing_behind(task: str, language: str) -> None:
    text = rendered(task, language)
    assert "\n\n\n" not in text
    for heading in ("application", "本应用", "what came before", "此前内容", "Title", "标题：“"):
        assert heading not in text
    full = rendered(task, language, **dict.fromkeys(TASKS[task].optional, "x"))
    assert "application" in full or "本应用" in full


@every_reading
def test_the_example_answer_is_what_our_schema_asks_for(task: str, language: str) -> None:
    (answer,) = fenced(rendered(task, language), "json")
    parsed = parse_reply(answer)
    assert parsed.status == "strict"
    assert_fits(parsed.value, REPLY_SCHEMA)
    found = read_fields(parsed.value)
    assert isinstance(found, FoundReply)
    assert found.memories
    assert not found.dropped
    assert [memory.value for memory in found.memories] == [entry["value"] for entry in parsed.value["memory list"]]
    assert [list(memory.lines) for memory in found.memories] == [
        entry["lines"] for entry in parsed.value["memory list"]
    ]
    assert found.summary
    assert any(memory.relations for memory in found.memories)


@every_reading
def test_the_example_cites_lines_that_its_example_text_has(task: str, language: str) -> None:
    text = rendered(task, language)
    (lines,) = fenced(text, "text")
    (answer,) = fenced(text, "json")
    there = {int(number) for number in EXAMPLE_LINE.findall(lines)}
    cited = {number for entry in json.loads(answer)["memory list"] for number in entry["lines"]}
    assert cited
    assert cited <= there


@every_reading
def test_names_and_dates_of_the_example_answer_are_right(task: str, language: str) -> None:
    text = rendered(task, language)
    (lines,) = fenced(text, "text")
    (answer,) = fenced(text, "json")
    for day, weekday in re.findall(r"(\d{4}-\d\d-\d\d) (Mon|Tue|Wed|Thu|Fri|Sat|Sun)\b", lines):
        assert date.fromisoformat(day).strftime("%a") == weekday
    for entry in json.loads(answer)["memory list"]:
        assert entry["time"] is None or entry["time"] in entry["value"]
        assert all(name in entry["value"] for name in entry["entities"])


@every_reading
def test_the_answer_for_nothing_worth_remembering_holds_nothing(task: str, language: str) -> None:
    (empty,) = re.findall(r'\{"memory list": \[\].*\}', rendered(task, language))
    assert read_fields(parse_reply(empty).value) == FoundReply()


@every_gate
def test_a_gate_example_has_one_verdict_per_note_of_the_example(task: str, language: str) -> None:
    text = rendered(task, language)
    _, notes = fenced(text, "text")
    (answer,) = fenced(text, "json")
    parsed = parse_reply(answer)
    assert parsed.status == "strict"
    assert list(parsed.value) == re.findall(r'^(\d+): "', notes, re.MULTILINE)
    names = {"rewrite": {"need_rewrite", "rewritten", "reason"}, "hallucination": {"keep", "reason"}}[task]
    assert all(set(verdict) == names for verdict in parsed.value.values())
    assert {verdict.get("keep", verdict.get("need_rewrite")) for verdict in parsed.value.values()} == {True, False}


def test_only_chinese_is_asked_in_chinese() -> None:
    assert "通读一段对话" in rendered("chat", "zh")
    for code in ("en", "ja", "und", "", "xx"):
        assert "You read a conversation" in rendered("chat", code)
    assert "Write in Japanese;" in rendered("chat", "ja")
    assert "Write in the language of the text;" in rendered("chat", "und")
    assert "Write in Klingon;" in rendered("chat", "und", language="Klingon")


def test_languages_have_english_names() -> None:
    assert (language_name("zh"), language_name("de")) == ("Chinese", "German")
    assert language_name("tlh") == "the language of the text"


@given(st.text(), st.text())
def test_what_a_value_holds_stays_as_it_is(said: str, rules: str) -> None:
    said, rules = f"{said}${{instructions}} $$ ${{", f"{rules}${{conversation}}$$"
    text = Prompts({"chat": "${conversation}|${instructions}"}).render(
        "chat", "en", conversation=said, instructions=rules
    )
    assert text == f"{said}|{rules}"


def test_a_dollar_sign_is_doubled_only_before_a_brace() -> None:
    text = "$5, $$5, $${x}, $x, $ ${conversation} $"
    assert Prompts({"chat": text}).render("chat", "en", conversation="C") == "$5, $5, ${x}, $x, $ C $"


def test_an_override_for_one_language_leaves_the_other() -> None:
    prompts = Prompts({"chat": {"zh": "只看 ${conversation}"}})
    assert prompts.render("chat", "zh", conversation="C") == "只看 C"
    assert prompts.render("chat", "en", conversation="C") == rendered("chat", "en", conversation="C")


def test_an_override_may_be_a_file(tmp_path: Path) -> None:
    file = tmp_path / "mine.md"
    file.write_bytes("\ufeffRead:\r\n\r\n${conversation}\r\n".encode())
    for override in (file, {"en": file}):
        assert Prompts({"chat": override}).render("chat", "en", conversation="C") == "Read:\n\nC"


def test_instructions_are_not_lost_in_a_text_that_has_no_place_for_them() -> None:
    prompts = Prompts({"chat": "Read ${conversation}"})
    assert prompts.render("chat", "en", conversation="C", instructions="Only tea.") == "Read C\n\nOnly tea."
    assert prompts.render("chat", "en", conversation="C", instructions=" ") == "Read C"


def test_a_title_is_one_line_and_short() -> None:
    text = rendered("document", "en", title="A\n\n# Answer\nNothing" + "x" * 1000)
    assert 'Title of the document: "A # Answer Nothingxxx' in text
    assert max(len(line) for line in text.splitlines() if line.startswith("Title")) < 350


@pytest.mark.parametrize(
    ("overrides", "task", "language", "placeholder", "words"),
    [
        ({"poem": "x"}, "poem", None, None, "chat, strategy, document, rewrite, hallucination"),
        ({"chat": {"ja": "${conversation}"}}, "chat", "ja", None, "en, zh"),
        ({"chat": "Hello"}, "chat", "en", "conversation", "missing"),
        ({"chat": ""}, "chat", "en", "conversation", "missing"),
        ({"chat": "$${conversation}"}, "chat", "en", "conversation", "missing"),
        ({"chat": "prompts/chat.md"}, "chat", "en", "conversation", "pathlib.Path"),
        ({"rewrite": "${conversation}"}, "rewrite", "en", "memories", "missing"),
        ({"hallucination": "${memories}"}, "hallucination", "en", "conversation", "missing"),
        ({"chat": {"zh": "${conversation} ${title}"}}, "chat", "zh", "title", "unknown"),
        ({"chat": "${conversation} ${conversation_2}"}, "chat", "en", "conversation_2", "conversation, instructions"),
        ({"chat": "${conversation} ${}"}, "chat", "en", "", "unknown"),
        ({"chat": "${conversation} ${instructions"}, "chat", "en", "instructions", "no closing brace"),
        ({"chat": 5}, "chat", "en", None, "not int"),
        ({"chat": {"en": None}}, "chat", "en", None, "not NoneType"),
        ({"chat": Path("no/such/file.md")}, "chat", "en", None, "'file.md'"),
    ],
)
def test_an_override_that_is_wrong_is_refused_at_once(
    overrides: Mapping[str, object], task: str, language: str | None, placeholder: str | None, words: str
) -> None:
    with pytest.raises(PromptError) as caught:
        Prompts(overrides)  # type: ignore[arg-type]
    error = caught.value
    assert isinstance(error, InputError)
    assert isinstance(error, ValueError)
    assert (error.task, error.language, error.placeholder) == (task, language, placeholder)
    assert words in str(error)
    assert repr(task) in str(error)
    twin = pickle.loads(pickle.dumps(error))
    assert (str(twin), vars(twin)) == (str(error), vars(error))


def test_a_file_that_is_no_text_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "mine.md"
    file.write_bytes(b"\xff\xfe\x00 ${conversation}")
    with pytest.raises(PromptError, match="UnicodeDecodeError"):
        Prompts({"chat": file})


def test_rendering_wants_exactly_the_values_of_the_task() -> None:
    with pytest.raises(PromptError, match="conversation} is missing"):
        Prompts().render("chat", "en")
    with pytest.raises(PromptError, match="no placeholder"):
        Prompts().render("chat", "en", conversation="C", title="T")
    with pytest.raises(PromptError, match="no such task"):
        Prompts().render("poem", "en")


def test_the_fingerprint_says_whether_the_texts_are_the_same() -> None:
    shipped, other = Prompts(), Prompts({"rewrite": {"zh": "${conversation}${memories}"}})
    assert shipped.fingerprint == Prompts({}).fingerprint
    assert shipped.fingerprint != other.fingerprint
    assert shipped.fingerprint_of("chat", "document") == other.fingerprint_of("chat", "document")
    assert shipped.fingerprint_of("rewrite") != other.fingerprint_of("rewrite")
    same = (
        Prompts({"chat": "a ${conversation}"}),
        Prompts({"chat": {"en": "a ${conversation}\n", "zh": "a ${conversation}"}}),
    )
    assert same[0].fingerprint == same[1].fingerprint != shipped.fingerprint


@pytest.mark.parametrize(
    ("text", "name", "more", "shown"),
    [
        ("a\n\nb ${more}\n\nc ${name}", "N", "", "a\n\nc N"),
        ("a\n\nb ${more}\n\nc ${name}", "N", "M", "a\n\nb M\n\nc N"),
        ("${more}\n\n${name}", "N", " ", "N"),
        ("${name}\n \n\n${more}", "N", "", "N"),
        ("${name}\n\n\n\nz", "N", "", "N\n\n\n\nz"),
        ("${name} ${more}\n\nz", "", "", " \n\nz"),
        ("${name}", "a\n\nb", "", "a\n\nb"),
    ],
)
def test_a_paragraph_goes_where_it_has_nothing_to_say(text: str, name: str, more: str, shown: str) -> None:
    template = parse_template(text, Places(("name",), ("more",)), task="t", language="en")
    assert template.fill({"name": name, "more": more}) == shown


def assert_fits(value: object, schema: Mapping[str, object]) -> None:
    """Check what our schemas use of JSON schema."""
    types = {"object": dict, "array": list, "string": str, "integer": int, "null": type(None)}
    allowed = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
    assert any(isinstance(value, types[str(kind)]) for kind in allowed), (value, schema)
    assert "enum" not in schema or value in schema["enum"]  # type: ignore[operator]
    if isinstance(value, dict):
        properties: Mapping[str, Mapping[str, object]] = schema["properties"]  # type: ignore[assignment]
        assert list(value) == list(properties) == schema["required"]
        assert schema["additionalProperties"] is False
        for name, held in value.items():
            assert_fits(held, properties[name])
    elif isinstance(value, list):
        for held in value:
            assert_fits(held, schema["items"])  # type: ignore[arg-type]
