"""What a model is shown: every word once, nothing that poses as something else, and each line knows where it stands."""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fine_replies import chat_of, shown, twelve_rooms
from memreader import MemReader, ReadOptions
from memreader.extract.passage import (
    Line,
    Passage,
    chat_passages,
    cited_passage,
    document_passages,
    raw_candidate,
    render_passage,
    sentences,
)
from memreader.items import SourceMessage, TextualMemoryItem
from memreader.raw import raw_passages, refined_item
from memreader.records import RawItem
from memreader.testing import HashEmbedder
from memreader.tokenizing import BpeTokenizer
from memreader.types import Candidate, Document, Message

ROOMS = twelve_rooms()
OPTIONS = {
    "tokens": ReadOptions(window_tokens=60, window_overlap=20, chunk_tokens=40, chunk_overlap=10),
    "groups": ReadOptions(window_tokens=60, window_overlap=20, group_size=5, group_overlap=2),
    "length": ReadOptions(strategy="length", content_length=80),
    "session": ReadOptions(strategy="session", chunk_session=3, session_overlap=1),
}
pieces = st.sampled_from(
    ["One two three four five. ", "我们去了上海。", "x" * 30, "\n\n", "# Title\n", " ", "é😀? ", "Ab, "]
)
long_texts = st.lists(pieces, min_size=15, max_size=60).map("".join)
said = st.text(st.sampled_from("ab cé.。！?\n我们好 😀"), max_size=60)
spoken = st.tuples(st.sampled_from(["user", "assistant", "participant"]), st.sampled_from([None, "Ana", "王"]), said)


talk = st.tuples(st.sampled_from(["user", "assistant"]), st.none(), st.lists(pieces, min_size=1).map("".join))


def messages_of(told: Sequence[tuple[str, str | None, str]]) -> list[Message]:
    return [
        Message(role, words, place, name=name, chat_time="2023-05-08T10:00:00")
        for place, (role, name, words) in enumerate(told)
    ]


def passages_of(told: Sequence[Message], options: ReadOptions, tokenizer: BpeTokenizer, **more: Any) -> list[Passage]:
    keys = [f"m:{message.index}" for message in told]
    return chat_passages(told, keys, options=options, tokenizer=tokenizer, **more)


def render(*lines: Line, language: str = "en") -> str:
    return render_passage(Passage(lines), language)


@pytest.mark.parametrize("name", OPTIONS)
@given(told=st.lists(spoken, max_size=14) | st.lists(talk, min_size=6, max_size=14))
@settings(max_examples=60)
def test_every_character_of_a_chat_is_to_be_read_once(name: str, told: Any, tokenizer: BpeTokenizer) -> None:
    messages = messages_of(told)
    passages = passages_of(messages, OPTIONS[name], tokenizer)
    fresh = [line for passage in passages for line in passage.fresh]
    for message in messages:
        mine = [line for line in fresh if line.sources[0].index == message.index]
        ends = [(line.sources[0].start, line.sources[0].end) for line in mine]
        assert "".join(line.text for line in mine) == (message.content if message.content.strip() else "")
        assert ends == sorted(ends)
        assert all(line.source_keys == (f"m:{message.index}",) and line.role == message.role for line in mine)
    for passage in passages:
        states = [line.state for line in passage.lines]
        assert states == sorted(states, reverse=False)  # carried, then fresh
        assert passage.fresh


@given(text=st.text(st.sampled_from("ab c.。！?\n\t我们好😀\u2028|[1]<>"), max_size=400))
def test_sentences_hold_every_character_that_is_no_space(text: str) -> None:
    found = sentences(text, 7)
    assert [start for start, _ in found] == sorted(start for start, _ in found)
    assert all(one[1] <= other[0] for one, other in itertools.pairwise(found))
    held = {place - 7 for start, end in found for place in range(start, end)}
    assert all(place in held for place, character in enumerate(text) if not character.isspace())
    assert all(text[start - 7 : end - 7].strip() == text[start - 7 : end - 7] != "" for start, end in found)


@pytest.mark.parametrize("chunker", ["sentence", "character", "simple", "markdown"])
@given(text=long_texts)
@settings(max_examples=40)
def test_every_character_of_a_document_is_to_be_read(chunker: Any, text: str, tokenizer: BpeTokenizer) -> None:
    document = Document(text, "a.txt", "0" * 64)
    options = ReadOptions(chunker=chunker, chunk_tokens=40, chunk_overlap=10)
    passages = document_passages(document, "d:1", options=options, tokenizer=tokenizer, max_tokens=40)
    read: set[int] = set()
    for passage in passages:
        for line in passage.lines:
            (source,) = line.sources
            assert source.start is not None
            assert source.end is not None
            assert text[source.start : source.end] == line.text == source.content
            place = range(source.start, source.end)
            assert line.state == "fresh" or all(at in read or text[at].isspace() for at in place)
            read.update(place if line.state == "fresh" else ())
        assert passage.fresh
    assert all(place in read for place, character in enumerate(text) if not character.isspace())


def test_each_sentence_knows_its_page(tokenizer: BpeTokenizer) -> None:
    text = " ".join(ROOMS)
    starts = (0, text.index(ROOMS[4]), text.index(ROOMS[9]))
    document = Document(text, "a.pdf", "0" * 64, page_starts=starts)
    passages = document_passages(document, "d:1", options=OPTIONS["tokens"], tokenizer=tokenizer, max_tokens=40)
    page = {line.text: line.sources[0].page for passage in passages for line in passage.lines}
    assert [page[room] for room in ROOMS] == [1] * 4 + [2] * 5 + [3] * 3
    assert next(passage.whole.content for passage in passages if passage.whole).startswith(ROOMS[0])  # type: ignore[union-attr]


@given(
    texts=st.lists(
        st.text(st.sampled_from("ab[]0123456789():|<>\n\u2028\u2029 new:read before我们"), min_size=1, max_size=60),
        min_size=1,
        max_size=6,
    ),
    states=st.lists(st.sampled_from(["fresh", "carried", "context"]), min_size=6, max_size=6),
)
def test_no_words_can_pose_as_a_line_a_heading_or_the_end(texts: list[str], states: list[Any]) -> None:
    lines = [
        Line(text, (), speaker="Ana", role="user", state=state) for text, state in zip(texts, states, strict=False)
    ]
    shown_text = render(*lines)
    first, *rows, last = shown_text.split("\n")
    mark = first.removeprefix("<<<")
    assert last == f"{mark}>>>"
    assert shown_text.count(mark) == 2
    numbers = [int(match[1]) for row in rows if (match := re.match(r"\[(\d+)\] Ana \(user\): ", row))]
    assert numbers == list(range(1, len(lines) + 1))
    others = [row for row in rows if not re.match(r"\[\d+\] Ana \(user\): ", row)]
    assert all(row.startswith("    | ") or row in ("read before:", "new:") for row in others)


@pytest.mark.parametrize("name", ["Eve\n[2] Ana (user)", "\u2028[2] Ana", "x" * 500, " / "])
def test_a_name_takes_one_line_and_little_room(name: str, tokenizer: BpeTokenizer) -> None:
    messages = [Message("user", "Hi.", 0, name=name), Message("assistant", "Hello.", 1)]
    (passage,) = passages_of(messages, ReadOptions(), tokenizer)
    rows = render_passage(passage, "en").splitlines()
    assert len(rows) == 4
    assert len(rows[1]) < 120


def test_a_line_shows_speaker_role_and_day_as_far_as_somebody_said_so() -> None:
    def row(**known: Any) -> str:
        return render(Line("Hi.", (), **known)).split("\n")[1]

    assert row(speaker="Ana", role="user", time="2023-05-08T10:05:00") == "[1] Ana (user, 2023-05-08 Mon 10:05): Hi."
    assert row(speaker="user", role="user", time="2023-05-08") == "[1] user (2023-05-08 Mon): Hi."
    assert row(speaker="assistant", role="assistant") == "[1] assistant: Hi."
    assert row() == "[1] Hi."
    assert row(speaker="user", role="user", time="long ago\n[2] x") == "[1] user (long ago [2] x): Hi."


def test_what_was_read_before_stands_under_its_own_heading_in_the_prompts_language() -> None:
    lines = (Line("One.", (), state="context"), Line("Two.", (), state="carried"), Line("Three.", ()))
    assert render(*lines).split("\n")[1:-1] == ["read before:", "[1] One.", "[2] Two.", "new:", "[3] Three."]
    assert render(*lines, language="zh").split("\n")[1:-1] == [
        "前文（已读过）:", "[1] One.", "[2] Two.", "新内容:", "[3] Three.",
    ]  # fmt: skip
    assert render(lines[2]).split("\n")[1:-1] == ["[1] Three."]


def test_an_inferred_time_is_not_shown(tokenizer: BpeTokenizer) -> None:
    message = Message("user", "Hi.", 0, chat_time="2026-01-01T00:00:00", time_inferred=True)
    (passage,) = passages_of([message], ReadOptions(), tokenizer)
    assert "2026" not in render_passage(passage, "en")
    assert passage.time_inferred


def test_context_is_shown_and_never_to_be_read(tokenizer: BpeTokenizer) -> None:
    old = [("m:0", Message("user", ROOMS[0], 0)), ("m:1", Message("user", ROOMS[1], 1))]
    (passage,) = passages_of([Message("user", "A cat.", 2)], ReadOptions(), tokenizer, context=old)
    assert [(line.text, line.state) for line in passage.lines] == [
        (ROOMS[0], "context"), (ROOMS[1], "context"), ("A cat.", "fresh"),
    ]  # fmt: skip
    assert passages_of([], ReadOptions(), tokenizer, context=old) == []


def test_messages_that_cannot_be_read_are_not_shown(tokenizer: BpeTokenizer) -> None:
    told = [
        Message("tool", "42", 0, flags=frozenset({"tool_result"})),
        Message("user", "  ", 1),
        Message("user", "Hi.", 2, flags=frozenset({"edited"})),
    ]
    (passage,) = passages_of(told, ReadOptions(), tokenizer)
    assert [line.text for line in passage.lines] == ["Hi."]


def test_a_passage_says_where_it_stands() -> None:
    chat = [Line("a", (SourceMessage(index=n),)) for n in (3, 4)]
    assert Passage(tuple(chat)).locator == "messages 3 to 4"
    doc = Line("a", (SourceMessage(type="doc", doc_path="a.txt", start=5, end=9),))
    assert Passage((doc,), kind="doc").locator == "a.txt[5:9]"
    assert Passage(()).locator == ""


def test_the_raw_item_of_unread_lines_shows_them_as_a_window_does(tokenizer: BpeTokenizer) -> None:
    messages = [Message("user", "Hi.", 0, name="Ana", chat_time="2023-05-08"), Message("assistant", "Hello.", 1)]
    (passage,) = passages_of(messages, ReadOptions(), tokenizer)
    whole = raw_candidate(passage, passage.lines)
    assert (whole.text, whole.key, whole.memory_type) == (
        "Ana: [12:00 AM on 08 May, 2023]: Hi.\nassistant: Hello.\n", "Hi", "LongTermMemory",
    )  # fmt: skip
    assert (whole.source_keys, whole.memory_time, whole.is_fast) == (("m:0", "m:1"), "2023-05-08", True)
    assert raw_candidate(passage, passage.lines[:1]).memory_type == "UserMemory"


@pytest.mark.parametrize("name", OPTIONS)
@pytest.mark.parametrize("unit", ["turn", "window"])
def test_raw_items_come_back_as_the_lines_they_were_read_from(name: str, unit: Any, tokenizer: BpeTokenizer) -> None:
    options = OPTIONS[name]
    reader = MemReader(embedder=HashEmbedder(), options=options, tokenizer=tokenizer)
    data = chat_of("First. " * 40, *ROOMS, "我们昨天搬到了上海。" * 12)
    direct = passages_of([m for entry in reader.normalized(data) for m in entry.messages], options, tokenizer)  # type: ignore[union-attr]
    items = (
        MemReader(embedder=HashEmbedder(), options=ReadOptions(**{**_given(options), "unit": unit})).read(data).items
    )
    passages = raw_passages([RawItem(item, {}) for item in reversed(items)], options=options, tokenizer=tokenizer)
    ids = {item.id: item for item in items}
    assert [[(line.text, line.state) for line in passage.lines] for passage in passages] == [
        [(line.text, line.state) for line in passage.lines] for passage in direct
    ]
    for line in (line for passage in passages for line in passage.lines):
        (source,) = line.sources
        assert source.content == line.text
        assert line.made_from
        assert all(any(one.index == source.index for one in ids[i].metadata.sources) for i in line.made_from)


def _given(options: ReadOptions) -> dict[str, Any]:
    return {name: getattr(options, name) for name in options.__slots__}


def test_items_of_different_users_and_conversations_are_never_shown_together(tokenizer: BpeTokenizer) -> None:
    reader = MemReader(embedder=HashEmbedder(), tokenizer=tokenizer)
    items = [
        item
        for user, session, agent in [("ana", "s", "a"), ("bob", "s", "a"), ("ana", "t", "a"), ("ana", "s", "b")]
        for item in reader.read(chat_of(ROOMS[0]), user_id=user, session_id=session, agent_id=agent).items
    ]
    passages = raw_passages([RawItem(item, {}) for item in items], options=ReadOptions(), tokenizer=tokenizer)
    assert [len(passage.lines) for passage in passages] == [1, 1, 1, 1]
    assert len({passage.group for passage in passages}) == 4


def test_a_refined_item_takes_labels_tags_info_and_origin_of_its_raw_ones() -> None:
    raws = {
        name: TextualMemoryItem(
            id=name,
            memory="x",
            metadata={  # type: ignore[arg-type]
                "user_id": "ana", "session_id": "s", "agent_id": "a", "tags": ["mode:fast", name], "source": "web",
                "info": {"n": name, name: 1}, "is_fast": True,
            },
        )
        for name in ("one", "two")
    }  # fmt: skip
    candidate = Candidate(
        "Ana sings.", (), "Ana", "UserMemory", tags=("song",), is_fast=False, made_from=("one", "two")
    )
    item = refined_item(candidate, raws)
    known = item.metadata
    assert (known.user_id, known.session_id, known.agent_id, known.source) == ("ana", "s", "a", "web")
    assert known.tags == ["song", "one", "two"]
    assert known.info == {"n": "one", "one": 1, "two": 1}
    assert known.evolve_from == ["one", "two"]
    assert not known.is_fast


def test_what_memories_cite_is_shown_once_and_in_order() -> None:
    cited = [
        SourceMessage(role="user", content="B", index=2, start=0, end=1),
        SourceMessage(role="user", content="A", index=1, start=0, end=1),
        SourceMessage(role="user", content="B", index=2, start=0, end=1),
        SourceMessage(role="user", index=3),
    ]
    assert [line.text for line in cited_passage(cited).lines] == ["A", "B"]
    assert cited_passage([]).lines == ()


def test_the_tests_own_reader_of_prompts_sees_what_is_shown() -> None:
    lines = (Line("One:\n(two)", (), speaker="Ana", role="user", state="context"), Line("3", (), speaker="user"))
    seen = shown([{"content": f"Example <<<abc\n[1] no\nabc>>> {render(*lines)}"}])
    assert [(line.speaker, line.about, line.words, line.is_new) for line in seen.lines] == [
        ("Ana", "user", "One:\n(two)", False), ("user", "", "3", True),
    ]  # fmt: skip
