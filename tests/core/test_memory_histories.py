"""Long random histories of adding, editing, deleting and reopening, against what must be there after each step."""

from __future__ import annotations

import random
import tempfile
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from memreader.memory import Memory
from memreader.options import ReadOptions
from memreader.testing import HashEmbedder

EMBEDDER = HashEmbedder(dimension=16)
seeds = st.integers(0, 2**32)
WORDS = ["yes", "no thanks", "I like tea a lot, really I do. ", "I moved to Lisbon. It is sunny. "]


def grow(chat: list[dict[str, Any]], chance: random.Random) -> None:
    for _ in range(chance.randint(0, 3)):
        message: dict[str, Any] = {"role": chance.choice(["user", "assistant"]), "content": chance.choice(WORDS)}
        if chance.random() < 0.5:
            message["id"] = f"m{len(chat)}"
        chat.append(message)


def edit(chat: list[dict[str, Any]], chance: random.Random) -> None:
    known = [message for message in chat if "id" in message]
    if known:
        chance.choice(known)["content"] = f"edited {chance.randint(0, 999)}"


@settings(max_examples=settings().max_examples // 12)
@given(seeds)
def test_turns_are_there_at_their_place_unless_they_were_deleted(seed: int) -> None:
    chance = random.Random(seed)
    chats: dict[tuple[str, str], list[dict[str, Any]]] = {}
    deleted: set[tuple[str, str, int | None]] = set()
    with tempfile.TemporaryDirectory() as folder:
        memories = [Memory.open(folder, embedder=EMBEDDER) for _ in range(2)]
        for _ in range(25):
            memory, key = chance.choice(memories), (chance.choice(["ana", "ben"]), chance.choice(["s", "t"]))
            user, session = key
            chat, step = chats.setdefault(key, []), chance.random()
            if step < 0.65:
                (grow if step < 0.45 else edit)(chat, chance)
                memory.add([dict(message) for message in chat], user_id=user, session_id=session)
                deleted = {one for one in deleted if one[:2] != key}
            elif step < 0.85:
                items = memory.get_all(user_id=user, session_id=session)
                for item in chance.sample(items, min(len(items), 2)):
                    assert memory.delete(item.id, user_id=user) == [item.id]
                    deleted.add((user, session, item.metadata.sources[0].index))
            elif step < 0.95:
                memory.search("tea", user_id=user)
            else:
                memories.remove(memory)
                memory.close()
                memories.append(Memory.open(folder, embedder=EMBEDDER))
            assert_turns(chance.choice(memories), chats, deleted)
        for memory in memories:
            memory.close()


def assert_turns(
    memory: Memory, chats: dict[tuple[str, str], list[dict[str, Any]]], deleted: set[tuple[str, str, int | None]]
) -> None:
    for (user, session), chat in chats.items():
        items = memory.get_all(user_id=user, session_id=session)
        cited = [(item.metadata.sources[0].index, item.metadata.sources[0].content) for item in items]
        kept = [(at, one["content"]) for at, one in enumerate(chat) if (user, session, at) not in deleted]
        assert sorted(cited, key=str) == sorted(kept, key=str)
        hits = memory.search("tea", user_id=user, session_id=session, recall="session", top_k=999, threshold=0)
        assert {hit.item.memory for hit in hits} == {item.memory for item in items}


@settings(max_examples=settings().max_examples // 10)
@given(
    seeds,
    st.sampled_from(
        [
            ReadOptions(unit="window", window_tokens=40, window_overlap=15),
            ReadOptions(unit="window", group_size=4, group_overlap=1),
            ReadOptions(unit="window", strategy="session", chunk_session=3, session_overlap=1),
            ReadOptions(unit="window", strategy="length", content_length=40),
        ]
    ),
)
def test_every_word_of_a_resent_chat_is_in_some_window_and_no_stale_one(seed: int, options: ReadOptions) -> None:
    chance = random.Random(seed)
    chat: list[dict[str, Any]] = []
    with Memory.in_memory(embedder=EMBEDDER, read_options=options) as memory:
        for _ in range(12):
            items = memory.get_all(user_id="ana")
            step = chance.random()
            if step < 0.75 or not items:
                (grow if step < 0.5 else edit)(chat, chance)
            else:
                memory.delete([item.id for item in chance.sample(items, min(2, len(items)))], user_id="ana")
            memory.add([dict(message) for message in chat], user_id="ana", session_id="s")
            assert_windows(memory, chat)
            again = memory.add([dict(message) for message in chat], user_id="ana", session_id="s")
            assert (again.added, again.replaced) == ([], [])
            assert set(again.ids) == {item.id for item in memory.get_all(user_id="ana")}


def assert_windows(memory: Memory, chat: list[dict[str, Any]]) -> None:
    covered: dict[int, set[int]] = {at: set() for at in range(len(chat))}
    for item in memory.get_all(user_id="ana"):
        for source in item.metadata.sources:
            assert source.index is not None
            assert source.content == chat[source.index]["content"][source.start : source.end]
            assert source.content in item.memory
            covered[source.index].update(range(source.start or 0, source.end or 0))
    for at, message in enumerate(chat):
        assert covered[at] >= set(range(len(message["content"].rstrip())))
