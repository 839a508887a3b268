"""Faults that users of similar systems reported while reading, each as a law of ours through the public door.

One test (or group) per kind; what needs a language model to go wrong is not here.
"""

from __future__ import annotations

import base64
import re
from pathlib import Path
from typing import Any

import pytest

from memreader import Memory, MemReader, ReadOptions
from memreader.chunking import chunk
from memreader.errors import InputError
from memreader.testing import HashEmbedder
from memreader.tokenizing import load_tokenizer

CSV = b"city,since\nLisbon,May\n"
EMBEDDER = HashEmbedder()


def texts(memory: Memory) -> list[str]:
    return [item.memory for item in memory.get_all(user_id="ana")]


def test_a_plain_string_and_a_flat_list_are_read(memory: Memory) -> None:
    memory.add("I moved to Lisbon.", user_id="ana")
    memory.add([{"role": "user", "content": "I like it."}, "So does my cat."], user_id="ana")
    assert texts(memory) == ["user: I moved to Lisbon.", "user: I like it.", "user: So does my cat."]


@pytest.mark.parametrize("bad", [42, {"role": "user"}, {"content": object()}, b"bytes", {"rolle": "user"}])
def test_what_cannot_be_read_is_an_error_that_names_the_position(memory: Memory, bad: Any) -> None:
    with pytest.raises(InputError, match=r"\[1\]"):
        memory.add([{"role": "user", "content": "fine"}, bad], user_id="ana")
    assert texts(memory) == []


def file_message(text: str) -> dict[str, Any]:
    inline = "data:text/csv;base64," + base64.b64encode(CSV).decode()
    return {
        "role": "user",
        "content": [
            {"type": "text", "text": text},
            {"type": "file", "file": {"filename": "moves.csv", "file_data": inline}},
        ],
    }


def test_text_and_a_file_in_one_message_are_both_kept_and_the_text_is_the_files_context(memory: Memory) -> None:
    report = memory.add([file_message("Here is when I moved.")], user_id="ana")
    assert not report.failures
    words, file = memory.get_all(user_id="ana")
    assert words.memory == "user: Here is when I moved."
    assert "Lisbon,May" in file.memory
    assert file.metadata.info["context"] == "Here is when I moved."


def test_neither_file_name_nor_base64_enters_a_memory(memory: Memory) -> None:
    memory.add([file_message("Here is when I moved.")], user_id="ana")
    encoded = base64.b64encode(CSV).decode()
    for item in memory.get_all(user_id="ana"):
        assert "moves.csv" not in item.memory
        assert encoded not in item.model_dump_json()
    assert memory.get_all(user_id="ana")[1].metadata.sources[0].doc_path == "moves.csv"


def test_a_file_that_cannot_be_read_is_reported_its_words_stay_and_its_error_is_no_memory(memory: Memory) -> None:
    broken = file_message("See the attachment.")
    broken["content"][1]["file"]["file_data"] = (
        "data:application/pdf;base64," + base64.b64encode(b"%PDF-1.7 x").decode()
    )
    report = memory.add([broken], user_id="ana")
    assert [failure.kind for failure in report.failures] == ["DamagedDocumentError"]
    assert texts(memory) == ["user: See the attachment."]


def test_an_assistants_words_stay_the_assistants(memory: Memory) -> None:
    memory.add(
        [
            {"role": "user", "content": "My name is Ana, my son is Bo."},
            {"role": "assistant", "content": "I am Max, and I love sailing."},
        ],
        user_id="ana",
    )
    user, assistant = memory.get_all(user_id="ana")
    assert (user.metadata.memory_type, user.metadata.sources[0].role) == ("UserMemory", "user")
    assert (assistant.metadata.memory_type, assistant.metadata.sources[0].role) == ("LongTermMemory", "assistant")
    assert "Ana" in user.memory
    assert "Bo" in user.memory


@pytest.mark.parametrize("role", ["system", "developer", "tool", "function"])
def test_boot_prompts_and_tool_output_are_kept_but_not_read_as_memories(memory: Memory, role: str) -> None:
    report = memory.add(
        [{"role": role, "content": "You are a pirate.", "tool_call_id": "1", "name": "f"}, "Hello there."],
        user_id="ana",
    )
    assert texts(memory) == ["user: Hello there."]
    assert sum(report.flags.values()) == 1


def test_memories_are_in_the_language_of_the_input(memory: Memory) -> None:
    memory.add("我下周三要交项目报告", user_id="ana")
    memory.add("Je pars à Lyon demain.", user_id="ana")
    assert texts(memory) == ["user: 我下周三要交项目报告", "user: Je pars à Lyon demain."]


@pytest.mark.parametrize("kind", ["sentence", "character", "markdown", "simple"])
def test_long_text_keeps_its_order_and_its_urls_whole(kind: Any) -> None:
    url = "https://example.org/a/very/long/path?with=many&parameters=1.5&and=dots...#fragment"
    text = " ".join(f"Sentence number {i} mentions {url}{i} in passing." for i in range(300))
    chunks = chunk(text, kind=kind, max_tokens=200, overlap_tokens=40, tokenizer=load_tokenizer())
    assert [piece.start for piece in chunks] == sorted(piece.start for piece in chunks)
    for match in re.finditer(r"https://\S+", text):
        assert any(piece.start <= match.start() and match.end() <= piece.end for piece in chunks)


@pytest.mark.parametrize("unit", ["turn", "window"])
def test_tags_and_metadata_reach_every_item_in_every_unit(unit: Any, tmp_path: Path) -> None:
    note = tmp_path / "note.md"
    note.write_text("# Boiler\n\nServiced in October.\n", encoding="utf-8")
    with Memory.in_memory(embedder=EMBEDDER, read_options=ReadOptions(unit=unit)) as memory:
        memory.add([["Hello."], note], user_id="ana", tags=["home"], metadata={"project": "p1"})
        for item in memory.get_all(user_id="ana"):
            assert "home" in item.metadata.tags
            assert item.metadata.info["project"] == "p1"


class Fragile(HashEmbedder):
    """Refuses any batch with the word "poison"."""

    def embed(self, texts: Any) -> Any:
        if any("poison" in text for text in texts):
            raise ValueError("too long")
        return super().embed(texts)


def test_one_bad_item_fails_alone_is_reported_and_gets_another_chance() -> None:
    chat = [f"message {i}" for i in range(100)] + ["poison"] + [f"note {i}" for i in range(100)]
    with Memory.in_memory(embedder=Fragile()) as memory:
        report = memory.add(chat, user_id="ana")
        assert (len(report.added), len(report.failures)) == (200, 1)
        again = memory.add(chat, user_id="ana")
        assert (len(again.added), len(again.existing), len(again.failures)) == (0, 200, 1)


def test_the_event_time_of_imported_history_is_the_messages_time(memory: Memory) -> None:
    memory.add([{"role": "user", "content": "I met Bo yesterday.", "chat_time": "8 May 2023"}], user_id="ana")
    assert memory.get_all(user_id="ana")[0].metadata.memory_time == "2023-05-08"


@pytest.mark.parametrize("kind", ["sentence", "character", "markdown", "simple"])
def test_30000_chinese_characters_without_a_newline_become_many_chunks_cut_at_sentence_ends(kind: Any) -> None:
    text = "今天下午我们讨论了新的项目计划，大家都很满意。" * 1300
    chunks = chunk(text, kind=kind, max_tokens=512, overlap_tokens=0, tokenizer=load_tokenizer())
    assert len(chunks) > 30
    assert all(piece.token_count <= 512 for piece in chunks)
    if kind != "simple":
        assert all(piece.text.endswith("。") for piece in chunks)


@pytest.mark.parametrize("kind", ["sentence", "character", "markdown", "simple"])
@pytest.mark.parametrize("overlap", [0, 17, 64])
def test_every_chunk_is_its_own_span_whatever_the_overlap(kind: Any, overlap: int) -> None:
    text = "Same line.\r\n\r\nSame line. 同一行。😀 e\u0301tude\r\n" * 120
    for piece in chunk(text, kind=kind, max_tokens=80, overlap_tokens=overlap, tokenizer=load_tokenizer()):
        assert text[piece.start : piece.end] == piece.text


def test_a_comment_in_a_code_fence_is_no_heading() -> None:
    text = "# Guide\n\nIntro.\n\n```sh\n# not a heading\nmake demo\n```\n\n## Real\n\nText.\n"
    chunks = chunk(text, kind="markdown", max_tokens=512, overlap_tokens=0, tokenizer=load_tokenizer())
    assert {header for piece in chunks for header in piece.headers} == {"Guide", "Real"}


def test_windows_keep_roles_and_order_in_the_seeds_entry() -> None:
    groups = MemReader(embedder=EMBEDDER).get_memory(
        [[{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}], "a plain string"],
        type="chat",
        info={"user_id": "u", "session_id": "s"},
        mode="fast",
    )
    assert [[item.memory for item in group] for group in groups] == [
        ["user: a\nassistant: b\n"],
        ["user: a plain string\n"],
    ]
