"""Contexts: every turn is encoded with the two before and the one after it, however it came."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memreader.memory import Memory
from memreader.options import ReadOptions
from memreader.testing import HashEmbedder, HashTokenEmbedder
from memreader.types import Framed, TokenVectors
from token_vectors import TOKENS, kept, same

WORDS = [f"Turn {name} is here." for name in ("one", "two", "three", "four", "five", "six", "seven")]


def chat(words: Sequence[str], first: int = 0) -> list[dict[str, Any]]:
    return [{"role": "user", "content": text, "id": f"m{n}"} for n, text in enumerate(words, first)]


def expected(words: Sequence[str]) -> dict[str, TokenVectors]:
    """The definition."""
    lines = [f"user: {text}" for text in words]
    framed = [
        Framed(line, tuple(lines[max(0, n - 2) : n]), lines[n + 1] if n + 1 < len(lines) else "")
        for n, line in enumerate(lines)
    ]
    return dict(zip(lines, TOKENS.embed_tokens(framed), strict=True))


@pytest.fixture
def memory() -> Iterator[Memory]:
    with Memory.in_memory(embedder=TOKENS) as memory:
        yield memory


@given(st.sets(st.integers(1, 6)))
@settings(max_examples=12, deadline=None)
def test_the_vectors_are_the_same_whether_turns_come_at_once_or_one_by_one(cuts: set[int]) -> None:
    with Memory.in_memory(embedder=TOKENS) as memory:
        for start, stop in pairwise([0, *sorted(cuts), len(WORDS)]):
            memory.add(chat(WORDS[start:stop], start), user_id="ana", session_id="s")
        assert same(kept(memory, "ana"), expected(WORDS))


def test_a_resent_and_grown_chat_is_encoded_as_if_sent_once(memory: Memory) -> None:
    for size in (2, 3, 7):
        memory.add(chat(WORDS[:size]), user_id="ana", session_id="s")
    assert same(kept(memory, "ana"), expected(WORDS))


def test_the_last_turn_is_encoded_again_when_the_next_comes(memory: Memory) -> None:
    memory.add(chat(WORDS[:2]), user_id="ana", session_id="s")
    before = kept(memory, "ana")
    memory.add(chat(WORDS[2:3], 2), user_id="ana", session_id="s")
    after = kept(memory, "ana")
    first, last = f"user: {WORDS[0]}", f"user: {WORDS[1]}"
    assert same({first: before[first]}, {first: after[first]})
    assert not same({last: before[last]}, {last: after[last]})


def test_other_sessions_and_other_users_are_no_context(memory: Memory) -> None:
    memory.add(chat(WORDS[:3]), user_id="ben", session_id="s")
    memory.add(chat(WORDS[3:5]), user_id="ana", session_id="other")
    memory.add(chat(WORDS[5:]), user_id="ana", session_id="s")
    assert same(kept(memory, "ana"), expected(WORDS[3:5]) | expected(WORDS[5:]))


def test_messages_that_are_not_read_are_no_context(memory: Memory) -> None:
    told = chat(WORDS[:4])
    told.insert(2, {"role": "system", "content": "You are a helpful assistant.", "id": "sys"})
    memory.add(told, user_id="ana", session_id="s")
    assert same(kept(memory, "ana"), expected(WORDS[:4]))


def test_an_edited_turn_is_encoded_in_its_place_and_so_are_those_around_it(memory: Memory) -> None:
    memory.add(chat(WORDS), user_id="ana", session_id="s")
    words = [*WORDS]
    words[3] = "Quite another sentence."
    memory.add(chat(words)[3:4], user_id="ana", session_id="s")
    assert same(kept(memory, "ana"), expected(words))


def test_a_deleted_turn_that_is_added_again_is_encoded_in_its_place(memory: Memory) -> None:
    memory.add(chat(WORDS), user_id="ana", session_id="s")
    memory.delete_by_source(user_id="ana", message_id="m2")
    memory.delete_by_source(user_id="ana", message_id="m3")
    memory.add(chat(WORDS)[2:4], user_id="ana", session_id="s")
    memory.admin.encode()
    assert same(kept(memory, "ana"), expected(WORDS))


def test_new_words_of_an_item_are_encoded_in_its_place(memory: Memory) -> None:
    ids = memory.add(chat(WORDS[:3]), user_id="ana", session_id="s").ids
    memory.update(ids[1], {"memory": "Other words."}, user_id="ana")
    framed = Framed("Other words.", (f"user: {WORDS[0]}",), f"user: {WORDS[2]}")
    (tokens,) = TOKENS.embed_tokens([framed])
    assert same({"x": kept(memory, "ana")["Other words."]}, {"x": tokens})


def test_a_patch_of_anything_else_leaves_the_vectors(memory: Memory) -> None:
    ids = memory.add(chat(WORDS[:3]), user_id="ana", session_id="s").ids
    memory.update(ids[1], {"tags": ["mode:fast", "new"]}, user_id="ana")
    assert same(kept(memory, "ana"), expected(WORDS[:3]))


def test_a_memory_of_the_callers_is_encoded_alone(memory: Memory) -> None:
    memory.add(chat(WORDS[:2]), user_id="ana", session_id="s")
    memory.add({"memory": "Ana lives in Lisbon."}, user_id="ana", session_id="s")
    memory.add(chat(WORDS[2:3], 2), user_id="ana", session_id="s")
    (alone,) = TOKENS.embed_tokens([Framed("Ana lives in Lisbon.")])
    assert same(kept(memory, "ana"), expected(WORDS[:3]) | {"Ana lives in Lisbon.": alone})


def test_windows_get_no_token_vectors() -> None:
    with Memory.in_memory(embedder=TOKENS, read_options=ReadOptions(unit="window")) as memory:
        memory.add(chat(WORDS), user_id="ana", session_id="s")
        assert not kept(memory, "ana")
        assert memory.search("Turn three", user_id="ana")


def test_encode_gives_token_vectors_to_what_has_none_and_says_how_many(memory: Memory) -> None:
    with Memory.open(memory.folder, embedder=HashEmbedder()) as plain:
        plain.add(chat(WORDS), user_id="ana", session_id="s")
        plain.add({"memory": "A note."}, user_id="ben")
    assert not kept(memory, "ana")
    assert memory.search("Turn three", user_id="ana")
    steps: list[tuple[str, int, int]] = []
    assert memory.admin.encode(progress=lambda *step: steps.append(step)).items == len(WORDS) + 1
    assert steps[-1] == ("encode", 8, 8)
    assert same(kept(memory, "ana"), expected(WORDS))
    assert memory.admin.encode().items == 0


def test_an_interrupted_encode_goes_on(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    with Memory.open(memory.folder, embedder=HashEmbedder()) as plain:
        plain.add(chat(WORDS), user_id="ana", session_id="s")
        plain.add(chat(WORDS), user_id="ben", session_id="s")

    def stop(_stage: str, _done: int, _total: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        memory.admin.encode(progress=stop)
    assert memory.admin.encode().items == len(WORDS)
    assert same(kept(memory, "ben"), expected(WORDS))


def test_an_import_is_found_without_token_vectors_and_encoded_on_demand(memory: Memory, tmp_path: Any) -> None:
    memory.add(chat(WORDS), user_id="ana", session_id="s")
    memory.admin.export(tmp_path / "all.zip")
    with Memory.in_memory(embedder=TOKENS) as other:
        other.admin.import_(tmp_path / "all.zip")
        assert not kept(other, "ana")
        assert other.search("Turn three", user_id="ana")
        other.admin.encode()
        assert same(kept(other, "ana"), expected(WORDS))


def test_loaded_items_are_encoded_with_each_other(memory: Memory, tmp_path: Any) -> None:
    memory.add(chat(WORDS), user_id="ana", session_id="s")
    memory.admin.dump(tmp_path)
    with Memory.in_memory(embedder=TOKENS) as other:
        other.admin.load(tmp_path)
        assert same(kept(other, "ana"), expected(WORDS))


def test_a_reindexing_leaves_the_token_vectors(memory: Memory) -> None:
    memory.add(chat(WORDS), user_id="ana", session_id="s")
    memory.admin.reindex(HashTokenEmbedder(dimension=64))
    assert same(kept(memory, "ana"), expected(WORDS))
    memory.add(chat(["Eight."], 7), user_id="ana", session_id="s")
    assert same(kept(memory, "ana"), expected([*WORDS, "Eight."]))


def test_an_admin_that_reindexed_loads_with_token_vectors(memory: Memory, tmp_path: Any) -> None:
    memory.add(chat(WORDS), user_id="ana", session_id="s")
    admin = memory.admin
    admin.dump(tmp_path)
    admin.reindex(HashTokenEmbedder(dimension=64))
    memory.delete_all(user_id="ana")
    admin.load(tmp_path)
    assert same(kept(memory, "ana"), expected(WORDS))


def test_after_a_reindexing_for_an_embedder_without_them_none_are_made(memory: Memory) -> None:
    memory.add(chat(WORDS), user_id="ana", session_id="s")
    memory.admin.reindex(HashEmbedder())
    memory.add(chat(["Eight."], 7), user_id="ana", session_id="s")
    assert same(kept(memory, "ana"), expected(WORDS))
    assert memory.search("Turn three", user_id="ana")
