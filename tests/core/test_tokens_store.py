"""Token vectors in the store: of one model, and gone with the words that they were made with."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from left_behind import everything_in
from memreader.embedding import MiniLMEmbedder
from memreader.errors import LateInteractionOffError
from memreader.memory import Memory
from memreader.records import Batch
from memreader.testing import HashEmbedder, HashTokenEmbedder
from token_vectors import TOKENS, kept, same

OTHER = HashTokenEmbedder(trace=0.5)
CHAT = [{"role": "user", "content": f"Turn number {n} is here.", "id": f"m{n}"} for n in range(8)]


@pytest.fixture
def memory() -> Iterator[Memory]:
    with Memory.in_memory(embedder=TOKENS) as memory:
        memory.add(CHAT, user_id="ana", session_id="s")
        memory.add(CHAT, user_id="ben", session_id="s")
        yield memory


def test_they_come_back_as_they_were_given(memory: Memory) -> None:
    part = memory._store.tokens.since("ana", TOKENS.token_fingerprint, 0, limit=3, at_most=100)
    assert part is not None
    assert (len(part.found), part.more, part.count) == (3, True, 8)
    rest = memory._store.tokens.since("ana", TOKENS.token_fingerprint, part.seq, limit=100, at_most=100)
    assert rest is not None
    assert len(part.found + rest.found) == 8
    keys = [key for key, _ in part.found]
    again = memory._store.tokens.of("ana", TOKENS.token_fingerprint, keys)
    assert again == {key: (one.pieces.tobytes(), one.vectors.tobytes()) for key, one in part.found}
    assert memory._store.tokens.of("ben", TOKENS.token_fingerprint, keys) == {}


def test_beyond_the_bound_nothing_is_read(memory: Memory) -> None:
    part = memory._store.tokens.since("ana", TOKENS.token_fingerprint, 0, limit=100, at_most=7)
    assert part is not None
    assert (part.found, part.count) == ([], 8)


def test_those_of_another_model_are_not_mixed_in(memory: Memory) -> None:
    before = kept(memory, "ana")
    with Memory.open(memory.folder, embedder=OTHER) as other:
        other.add({"role": "user", "content": "Another model."}, user_id="ana", session_id="s")
        assert other.search("Another model", user_id="ana")
        assert not kept(other, "ana", OTHER.token_fingerprint)
    assert same(kept(memory, "ana"), before)


def test_encode_with_another_model_replaces_all(memory: Memory) -> None:
    before = kept(memory, "ana")
    with Memory.open(memory.folder, embedder=OTHER) as other:
        assert other.admin.encode().items == 16
        after = kept(other, "ana", OTHER.token_fingerprint)
    assert after.keys() == before.keys()
    assert not same(after, before)
    assert not kept(memory, "ana")
    assert memory.search("Turn number 3", user_id="ana")


def test_encode_without_late_interaction_says_what_to_do(memory: Memory) -> None:
    with (
        Memory.open(memory.folder, embedder=HashEmbedder()) as plain,
        pytest.raises(LateInteractionOffError, match="late_interaction=True"),
    ):
        plain.admin.encode()


def test_with_a_deleted_turn_go_the_vectors_made_with_it(memory: Memory) -> None:
    memory.delete_by_source(user_id="ana", message_id="m3")
    gone = {text for text in (item.memory for item in memory.get_all(user_id="ana")) if text not in kept(memory, "ana")}
    assert gone == {f"user: Turn number {n} is here." for n in (2, 4, 5)}
    assert len(kept(memory, "ben")) == 8
    memory.admin.encode()
    assert len(kept(memory, "ana")) == 7


def test_with_several_deleted_turns_go_the_vectors_around_each(memory: Memory) -> None:
    ids = {item.memory: item.id for item in memory.get_all(user_id="ana")}
    memory.delete([ids[f"user: Turn number {n} is here."] for n in (0, 1, 6)], user_id="ana")
    assert set(kept(memory, "ana")) == {f"user: Turn number {n} is here." for n in (4,)}


def test_an_edited_turn_takes_the_vectors_with_its_old_words_along(memory: Memory) -> None:
    with Memory.open(memory.folder, embedder=TOKENS, late_interaction=False) as plain:
        plain.add({"role": "user", "content": "Quite another.", "id": "m3"}, user_id="ana", session_id="s")
    assert set(kept(memory, "ana")) == {f"user: Turn number {n} is here." for n in (0, 1, 6, 7)}


def test_no_vector_of_what_was_deleted_is_left_in_any_file(tmp_path: Path) -> None:
    with Memory.open(tmp_path, embedder=TOKENS) as memory:
        ids = memory.add(CHAT, user_id="ana", session_id="s").ids
        note = memory.add({"memory": "A wistful wombat wanders."}, user_id="ana").ids
        blobs = {text: one.vectors.tobytes() for text, one in kept(memory, "ana").items()}
        assert all(blob in everything_in(tmp_path) for blob in blobs.values())
        memory.delete([ids[3], *note], user_id="ana")
        memory.admin.purge()
        left = {text for text, blob in blobs.items() if blob in everything_in(tmp_path)}
        assert left == {f"user: Turn number {n} is here." for n in (0, 1, 6, 7)}
        memory.update(ids[7], {"memory": "Other words."}, user_id="ana")
        memory.admin.purge()
        assert blobs["user: Turn number 7 is here."] not in everything_in(tmp_path)
        memory.delete_all(user_id="ana")
        memory.admin.purge()
        assert not any(blob in everything_in(tmp_path) for blob in blobs.values())


def test_a_batch_made_with_what_is_no_longer_said_is_written_without_vectors(memory: Memory) -> None:
    item = memory.get_all(user_id="ana")[0]
    tokens = kept(memory, "ana")[item.memory]
    changed = replace(tokens, vectors=-tokens.vectors)
    (key, message), *_ = memory._store.said_before("ana", "s", 99, limit=1)
    batch = Batch(
        "ana",
        tokens=((item.id, item.memory, changed),),
        token_model=TOKENS.token_fingerprint,
        heard=((key, message.content),),
    )
    stale = replace(batch, heard=((key, "what it said before"),))
    of_other_words = replace(batch, tokens=((item.id, "other words", changed),))
    of_nobody = replace(batch, token_model=None)
    for wrong in (stale, of_other_words, of_nobody):
        memory._store.write(wrong)
        assert same({"x": kept(memory, "ana")[item.memory]}, {"x": tokens})
    memory._store.write(batch)
    assert same({"x": kept(memory, "ana")[item.memory]}, {"x": changed})


def test_the_embedded_model_gives_them_beside_another_embedder(minilm: MiniLMEmbedder) -> None:
    with Memory.in_memory(embedder=HashEmbedder(), late_interaction=True) as memory:
        memory.add(CHAT[:2], user_id="ana", session_id="s")
        assert len(kept(memory, "ana", minilm.token_fingerprint)) == 2
        assert memory.search("Turn number 1", user_id="ana")[0].parts["late"] != 0
