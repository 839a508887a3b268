"""MemReader: raw input in, cited and embedded items out; nothing stored, nothing of the caller's changed."""

from __future__ import annotations

import copy
import logging
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from memreader.errors import InputError, ModelRequiredError
from memreader.items import TextualMemoryItem
from memreader.options import SIMPLE_STRUCT, STRATEGY_STRUCT, ReadOptions
from memreader.ports import Vectors
from memreader.reader import MemReader
from memreader.testing import HashEmbedder

INFO = {"user_id": "u1", "session_id": "s1"}
CHAT = [
    {"role": "user", "content": "I moved to Lisbon. It is sunny.", "chat_time": "2024-05-01T10:00:00"},
    {"role": "assistant", "content": "How nice! Which district?"},
    {"role": "user", "content": "Alfama"},
]


@pytest.fixture(scope="module")
def reader() -> MemReader:
    return MemReader(embedder=HashEmbedder())


def user(text: str, **more: Any) -> dict[str, Any]:
    return {"role": "user", "content": text, **more}


class TestGetMemory:
    """The seed's entry, READING.md."""

    @pytest.mark.parametrize("scene_data", [[], (), "", None])
    def test_nothing_to_read_is_an_error(self, reader: MemReader, scene_data: Any) -> None:
        with pytest.raises(ValueError, match="scene_data is empty"):
            reader.get_memory(scene_data, "chat", INFO, mode="fast")

    @pytest.mark.parametrize(
        ("info", "named"),
        [
            (None, "info"),
            ([("user_id", "u1")], "info"),
            ({}, "user_id, session_id"),
            ({"user_id": "u1"}, "session_id"),
            ({"session_id": "s1"}, "user_id"),
            ({"user_id": "", "session_id": "s1"}, "user_id"),
            ({"user_id": "u1", "session_id": "  "}, "session_id"),
            ({"user_id": 7, "session_id": "s1"}, "user_id"),
            ({"user_id": None, "session_id": None}, "user_id, session_id"),
        ],
    )
    def test_info_without_both_labels_is_refused_and_the_missing_ones_are_named(
        self, reader: MemReader, info: Any, named: str
    ) -> None:
        with pytest.raises(ValueError, match=named):
            reader.get_memory([CHAT], "chat", info, mode="fast")

    @pytest.mark.parametrize(("name", "value"), [("type", "film"), ("mode", "slow"), ("mode", "")])
    def test_an_unknown_type_or_mode_is_refused_by_name(self, reader: MemReader, name: str, value: str) -> None:
        with pytest.raises(ValueError, match=name):
            reader.get_memory([CHAT], **{"info": INFO, "mode": "fast", name: value})  # type: ignore[arg-type]

    def test_fine_without_a_model_is_an_error_and_never_a_silent_fast(self, reader: MemReader) -> None:
        with pytest.raises(ModelRequiredError, match="mode='fast'"):
            reader.get_memory([CHAT], "chat", INFO, mode="fine")
        with pytest.raises(ModelRequiredError):
            reader.get_memory([CHAT], "chat", INFO)
        with pytest.raises(ModelRequiredError):
            reader.read(CHAT, mode="fine")

    def test_there_is_a_list_for_each_conversation_and_document_in_input_order(
        self, reader: MemReader, tmp_path: Path
    ) -> None:
        file = tmp_path / "note.txt"
        file.write_text("The key is under the mat.", encoding="utf-8")
        groups = reader.get_memory([[user("first")], file, [], [user("second")], file], info=INFO, mode="fast")
        assert [[item.memory for item in group] for group in groups] == [
            ["user: first\n"],
            ["The key is under the mat."],
            [],
            ["user: second\n"],
            ["The key is under the mat."],
        ]

    def test_strings_of_type_doc_are_documents(self, reader: MemReader) -> None:
        groups = reader.get_memory(["First text.", "Second text."], "doc", INFO, mode="fast")
        assert [group[0].metadata.sources[0].type for group in groups] == ["doc", "doc"]

    def test_a_window_holds_several_messages_and_all_their_sources(self, reader: MemReader) -> None:
        ((item,),) = reader.get_memory([CHAT], "chat", INFO, mode="fast")
        assert item.memory == (
            "user: [10:00 AM on 01 May, 2024]: I moved to Lisbon. It is sunny.\n"
            "assistant: [10:00 AM on 01 May, 2024]: How nice! Which district?\n"
            "user: [10:00 AM on 01 May, 2024]: Alfama\n"
        )
        assert [(s.role, s.content, s.index) for s in item.metadata.sources] == [
            ("user", CHAT[0]["content"], 0),
            ("assistant", CHAT[1]["content"], 1),
            ("user", "Alfama", 2),
        ]

    def test_a_time_that_nobody_gave_is_not_in_the_text(self, reader: MemReader) -> None:
        ((item,),) = reader.get_memory([[user("hello")]], "chat", INFO, mode="fast")
        assert item.memory == "user: hello\n"
        assert item.metadata.sources[0].time_inferred is True

    def test_the_labels_and_the_callers_own_are_in_every_item(self, reader: MemReader) -> None:
        chat = [user(f"Fact number {n}: " + "words " * 300) for n in range(8)]
        info = {**INFO, "agent_id": "a1", "plan": "gold", "custom_tags": ["travel"]}
        (items,) = reader.get_memory([chat], "chat", info, mode="fast", user_name="Ana", custom_tags=["home"])
        assert len(items) > 1
        for item in items:
            metadata = item.metadata
            assert (metadata.user_id, metadata.session_id, metadata.agent_id) == ("u1", "s1", "a1")
            assert metadata.info == {"plan": "gold", "user_name": "Ana"}
            assert metadata.tags == ["mode:fast", "travel", "home"]

    @pytest.mark.parametrize("tags", ["travel", ["travel"], ("travel",)])
    def test_one_tag_may_be_a_bare_string(self, reader: MemReader, tags: Any) -> None:
        ((item,),) = reader.get_memory([[user("x")]], info={**INFO, "custom_tags": tags}, mode="fast")
        assert item.metadata.tags == ["mode:fast", "travel"]

    def test_tags_and_metadata_of_a_conversation_reach_its_items_only(self, reader: MemReader) -> None:
        first = {"messages": [user("one")], "custom_tags": ["a"], "channel": "email"}
        (one,), (two,) = reader.get_memory([first, [user("two")]], info=INFO, mode="fast")
        assert (one.metadata.tags, one.metadata.info) == (["mode:fast", "a"], {"channel": "email"})
        assert (two.metadata.tags, two.metadata.info) == (["mode:fast"], {})

    def test_nothing_of_the_callers_is_changed(self, reader: MemReader, tmp_path: Path) -> None:
        file = tmp_path / "note.md"
        file.write_text("# Note\n\ntext", encoding="utf-8")
        scene = [CHAT, {"messages": [user("a")], "custom_tags": ["t"]}, file, [user([{"type": "text", "text": "b"}])]]
        info = {**INFO, "custom_tags": ["x"], "nested": {"deep": [1]}}
        before = copy.deepcopy((scene, info))
        reader.get_memory(scene, info=info, mode="fast")
        assert (scene, info) == before

    def test_the_vector_is_that_of_the_memory(self, reader: MemReader) -> None:
        ((item,),) = reader.get_memory([CHAT], "chat", INFO, mode="fast")
        np.testing.assert_allclose(item.metadata.embedding, HashEmbedder().embed([item.memory])[0], atol=1e-6)  # type: ignore[arg-type]

    def test_a_document_that_cannot_be_read_gives_an_empty_list_and_a_log_line(
        self, reader: MemReader, tmp_path: Path, caplog: pytest.LogCaptureFixture
    ) -> None:
        (tmp_path / "empty.txt").write_text(" \n", encoding="utf-8")
        with caplog.at_level(logging.WARNING):
            groups = reader.get_memory([tmp_path / "empty.txt", [user("hi")]], info=INFO, mode="fast")
        assert [len(group) for group in groups] == [0, 1]
        assert "no text" in caplog.text

    async def test_the_async_twin_gives_the_same(self, reader: MemReader) -> None:
        expected = reader.get_memory([CHAT, CHAT], "chat", INFO, mode="fast")
        found = await reader.aget_memory([CHAT, CHAT], "chat", INFO, mode="fast")
        assert [[i.id for i in group] for group in found] == [[i.id for i in group] for group in expected]


class TestFastRules:
    """READING.md, Fast."""

    @pytest.mark.parametrize(
        ("roles", "memory_type"),
        [
            (["user"], "UserMemory"),
            (["user", "user"], "UserMemory"),
            (["user", "assistant"], "LongTermMemory"),
            (["assistant"], "LongTermMemory"),
            (["participant"], "LongTermMemory"),
        ],
    )
    def test_what_only_users_said_is_user_memory(self, reader: MemReader, roles: list[str], memory_type: str) -> None:
        chat = [{"role": role, "content": "words", "name": "Ana"} for role in roles]
        ((item,),) = reader.get_memory([chat], info=INFO, mode="fast")
        assert item.metadata.memory_type == memory_type

    @pytest.mark.parametrize(
        ("content", "key"),
        [
            ("I moved to Lisbon. It is sunny.", "I moved to Lisbon"),
            ("Really? Yes", "Really"),
            ("Wow! Yes", "Wow"),
            ("我搬到上海了。真好", "我搬到上海了"),
            ("first line\nsecond line", "first line"),
            ("no end at all", "no end at all"),
            ("x" * 200, "x" * 80),
            ("  spaces first. Then", "spaces first"),
            ("Version 1.2 is out", "Version 1"),
        ],
    )
    def test_the_key_is_the_first_sentence_of_the_first_message(
        self, reader: MemReader, content: str, key: str
    ) -> None:
        ((item,),) = reader.get_memory([[user(content), user("Another. One.")]], info=INFO, mode="fast")
        assert item.metadata.key == key

    def test_an_item_says_how_it_was_made(self, reader: MemReader) -> None:
        metadata = reader.read(CHAT).items[0].metadata
        assert (metadata.is_fast, metadata.tags) == (True, ["mode:fast"])
        assert (metadata.type, metadata.status, metadata.confidence, metadata.source) == (
            "fact",
            "activated",
            0.99,
            "conversation",
        )
        assert metadata.memory_time == "2024-05-01T10:00:00"

    def test_a_document_item_names_its_file(self, reader: MemReader, tmp_path: Path) -> None:
        (tmp_path / "note.txt").write_text("The key is under the mat.", encoding="utf-8")
        metadata = reader.read(tmp_path / "note.txt").items[0].metadata
        assert metadata.source == "file"
        assert metadata.sources[0].doc_path == str(tmp_path / "note.txt")

    def test_read_makes_an_item_per_turn_unless_told_otherwise(self, reader: MemReader) -> None:
        assert [item.memory for item in reader.read(CHAT).items] == [
            "user: I moved to Lisbon. It is sunny.",
            "assistant: How nice! Which district?",
            "user: Alfama",
        ]
        windows = MemReader(embedder=HashEmbedder(), options=ReadOptions(unit="window"))
        turns = MemReader(embedder=HashEmbedder(), options=ReadOptions(unit="turn"))
        assert len(windows.read(CHAT).items) == 1
        assert len(turns.get_memory([CHAT], info=INFO, mode="fast")[0]) == 3

    def test_a_speakers_name_stands_in_place_of_the_role(self, reader: MemReader) -> None:
        (item,) = reader.read([user("hello", name="Ana")]).items
        assert item.memory == "Ana: hello"
        assert item.metadata.sources[0].name == "Ana"

    def test_system_and_tool_messages_are_counted_and_not_read(self, reader: MemReader) -> None:
        report = reader.read(
            [
                {"role": "system", "content": "You are helpful."},
                user("hi there"),
                {"role": "tool", "content": "42", "tool_call_id": "c1"},
                {
                    "role": "assistant",
                    "content": None,
                    "tool_calls": [{"id": "c1", "function": {"name": "f", "arguments": "{}"}}],
                },
            ]
        )
        assert [item.memory for item in report.items] == ["user: hi there"]
        assert report.items[0].metadata.sources[0].index == 1
        assert report.flags == {"context": 1, "tool_call": 1, "tool_result": 1}


class TestPresets:
    """The seeds' presets are options of one reader."""

    @pytest.mark.parametrize(
        ("count", "sizes"), [(10, [10]), (11, [10, 3]), (12, [10, 4]), (18, [10, 10]), (19, [10, 10, 3])]
    )
    def test_simple_struct_cuts_groups_of_ten_and_carries_two(self, count: int, sizes: list[int]) -> None:
        reader = MemReader(embedder=HashEmbedder(), options=SIMPLE_STRUCT)
        (items,) = reader.get_memory([[user(f"number {n}") for n in range(count)]], info=INFO, mode="fast")
        assert [len(item.metadata.sources) for item in items] == sizes
        assert [item.metadata.sources[0].index for item in items] == [8 * n for n in range(len(sizes))]

    def test_strategy_struct_cuts_by_characters_and_carries_the_last_message(self) -> None:
        reader = MemReader(embedder=HashEmbedder(), options=STRATEGY_STRUCT)
        (items,) = reader.get_memory([[user("x" * 500) for _ in range(6)]], info=INFO, mode="fast")
        assert [[s.index for s in item.metadata.sources] for item in items] == [[0, 1, 2], [2, 3, 4], [4, 5]]

    def test_strategy_struct_can_cut_by_messages(self) -> None:
        options = ReadOptions(unit="window", strategy="session", chunk_session=4, session_overlap=1)
        reader = MemReader(embedder=HashEmbedder(), options=options)
        (items,) = reader.get_memory([[user(f"number {n}") for n in range(7)]], info=INFO, mode="fast")
        assert [[s.index for s in item.metadata.sources] for item in items] == [[0, 1, 2, 3], [3, 4, 5, 6]]


def test_nothing_to_refine_is_an_empty_list_and_something_needs_a_model(reader: MemReader) -> None:
    assert reader.fine_transfer_simple_mem([]) == []
    with pytest.raises(ModelRequiredError):
        reader.fine_transfer_simple_mem(reader.read(CHAT).items, type="chat")


sentences = st.sampled_from(["I moved to Lisbon. ", "真的吗？", "word ", "\n\n", "🙂", "x" * 90 + " ", "Ça va? "])
contents = st.lists(sentences, max_size=40).map("".join)
roles = st.sampled_from(["user", "assistant", "system"])
chats = st.lists(st.builds(lambda role, content: {"role": role, "content": content}, roles, contents), max_size=6)


@example([{"role": "user", "content": "I moved to Lisbon. word " + "x" * 90 + " " + "x" * 90 + " "}], "turn", 30)
@given(chats, st.sampled_from(["turn", "window"]), st.integers(30, 90))
def test_every_readable_character_is_cited_and_every_citation_is_exact(
    chat: list[dict[str, Any]], unit: Any, window_tokens: int
) -> None:
    options = ReadOptions(unit=unit, window_tokens=window_tokens, window_overlap=10)
    reader = MemReader(embedder=HashEmbedder(), options=options)
    covered: dict[int, set[int]] = {}
    for item in reader.read(chat).items:
        for source in item.metadata.sources:
            content = chat[source.index]["content"]  # type: ignore[index]
            assert source.content == content[source.start : source.end]
            assert source.content in item.memory
            covered.setdefault(source.index or 0, set()).update(range(source.start or 0, source.end or 0))
    for place, message in enumerate(chat):
        if message["role"] != "system" and message["content"].strip():
            missing = set(range(len(message["content"]))) - covered.get(place, set())
            assert not "".join(message["content"][at] for at in missing).strip()
        else:
            assert place not in covered


@given(st.lists(sentences, max_size=200).map("".join), st.integers(12, 60))
def test_every_chunk_of_a_document_is_cited_by_its_span(text: str, chunk_tokens: int) -> None:
    reader = MemReader(embedder=HashEmbedder(), options=ReadOptions(chunk_tokens=chunk_tokens))
    covered: set[int] = set()
    report = reader.read([text], type="doc", as_text=True)
    for item in report.items:
        (source,) = item.metadata.sources
        assert item.memory == source.content == text[source.start : source.end]
        assert reader.tokenizer.count(item.memory) <= chunk_tokens
        covered.update(range(source.start or 0, source.end or 0))
    assert not "".join(c for at, c in enumerate(text) if at not in covered).strip()
    assert bool(report.items) == bool(text.strip())


def test_ids_are_the_same_in_every_run_and_differ_by_user_and_text(reader: MemReader) -> None:
    def ids(who: str | None) -> list[str]:
        return [item.id for item in reader.read(CHAT, user_id=who).items]

    assert ids("ana") == ids("ana")
    assert not set(ids("ana")) & set(ids("ben"))
    assert len(set(ids(None))) == 3


def test_the_same_words_in_two_conversations_are_two_items(reader: MemReader) -> None:
    report = reader.read([[user("hi"), user("yes")], [user("hello"), user("yes")]], user_id="ana")
    assert len({item.id for item in report.items}) == 4


class Refusing(HashEmbedder):
    """Refuses every batch in which a text holds "bad"."""

    def embed(self, texts: Sequence[str]) -> Vectors:
        if any("bad" in text for text in texts):
            raise ValueError("no embedding for this")
        return super().embed(texts)


def test_an_item_that_cannot_be_embedded_is_a_failure_and_the_others_are_there() -> None:
    report = MemReader(embedder=Refusing()).read([user("good"), user("bad"), user("fine")])
    assert [item.memory for item in report.items] == ["user: good", "user: fine"]
    assert [failure.kind for failure in report.failures] == ["ValueError"]


def test_an_unreadable_document_is_a_failure_that_names_it(reader: MemReader, tmp_path: Path) -> None:
    (tmp_path / "noise.bin").write_bytes(bytes(range(256)) * 8)
    report = reader.read([tmp_path / "noise.bin", "hello"])
    assert [len(group) for group in report.groups] == [0, 1]
    (failure,) = report.failures
    assert failure.kind.endswith("DocumentError")
    assert "noise.bin" in failure.reason


def test_a_path_that_does_not_exist_raises(reader: MemReader, tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="nowhere"):
        reader.read(tmp_path / "nowhere.txt")


@pytest.mark.parametrize("data", [7, None, [3.5], [[user("a"), 4]], {"no": "message"}, b"bytes", [user("a"), object()]])
def test_something_unreadable_is_an_error_and_never_skipped(reader: MemReader, data: Any) -> None:
    with pytest.raises(InputError):
        reader.read(data)


def test_an_item_of_the_callers_is_embedded_and_otherwise_kept(reader: MemReader) -> None:
    given_item = TextualMemoryItem(id="mine", memory="Ana likes tea.")
    (item,) = reader.read(given_item).items
    assert (item.id, item.memory) == ("mine", "Ana likes tea.")
    assert item.metadata.embedding is not None
    assert given_item.metadata.embedding is None


def test_the_time_of_the_call_is_that_of_messages_without_one(reader: MemReader) -> None:
    items = reader.read([user("a"), user("b", chat_time="2020-01-01")], at="2024-05-01T10:00:00").items
    assert [item.metadata.memory_time for item in items] == ["2024-05-01T10:00:00", "2020-01-01"]


def test_progress_counts_the_embedded_texts(reader: MemReader) -> None:
    steps: list[tuple[str, int, int]] = []
    report = reader.read([CHAT, CHAT], progress=lambda *step: steps.append(step))
    assert steps == [("embed", 3, 3)] * 2
    assert len(report.items) == 6


async def test_aread_gives_the_same(reader: MemReader) -> None:
    assert [i.id for i in (await reader.aread(CHAT, user_id="ana")).items] == [
        i.id for i in reader.read(CHAT, user_id="ana").items
    ]
