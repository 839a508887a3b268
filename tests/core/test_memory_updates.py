"""Updates: new words are found and old ones aren't, an item keeps its id and place, and no change is lost."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from memreader.errors import InputError, InvalidVectorsError, ItemNotFoundError
from memreader.items import TextualMemoryItem, TextualMemoryMetadata
from memreader.memory import Memory
from memreader.records import Version
from memreader.testing import HashEmbedder
from memreader.types import Vectors


@pytest.fixture
def tea(memory: Memory) -> str:
    """The id of an item about tea, between two others of the same user, and beside one of another."""
    ids = memory.add(["The roof leaks.", "I like tea.", "My cat is called Biscuit."], user_id="ana").added
    memory.add("I like tea.", user_id="ben")
    return ids[1]


def words(memory: Memory, user_id: str = "ana") -> list[str]:
    return [item.memory for item in memory.get_all(user_id=user_id)]


def best(memory: Memory, query: str) -> str | None:
    hits = memory.search(query, user_id="ana", top_k=1)
    return hits[0].item.memory if hits else None


def steps(versions: list[Version]) -> list[tuple[str, int, str | None]]:
    return [(one.event, one.version, one.item.memory if one.item else None) for one in versions]


@pytest.mark.parametrize(
    "patch",
    [
        "Coffee keeps me awake.",
        {"memory": "Coffee keeps me awake."},
        TextualMemoryItem(memory="Coffee keeps me awake."),
    ],
    ids=["text", "dict", "item"],
)
def test_the_new_words_are_found_and_the_old_ones_are_not(memory: Memory, tea: str, patch: Any) -> None:
    assert best(memory, "Who likes tea?") == "user: I like tea."
    changed = memory.update(tea, patch, user_id="ana")
    assert changed.memory == best(memory, "What about coffee?") == "Coffee keeps me awake."
    assert memory.search("tea", user_id="ana") == []
    (hit,) = [hit for hit in memory.search("coffee", user_id="ana", top_k=9, threshold=0) if hit.item.id == tea]
    vector = HashEmbedder().embed([changed.memory])[0]
    assert hit.similarity == pytest.approx(float(vector @ HashEmbedder().embed_query("coffee")), abs=1e-6)


def test_it_keeps_its_id_and_its_place(memory: Memory, tea: str) -> None:
    before = memory.get_all(user_id="ana")
    changed = memory.update(tea, {"memory": "Coffee keeps me awake.", "tags": ["drink"]}, user_id="ana")
    assert memory.get_all(user_id="ana") == [before[0], changed, before[2]]
    assert memory.get(tea, user_id="ana") == changed
    assert changed.metadata.sources == before[1].metadata.sources
    assert (changed.metadata.created_at, changed.metadata.version) == (before[1].metadata.created_at, 2)
    assert changed.metadata.updated_at >= before[1].metadata.updated_at
    assert words(memory, "ben") == ["user: I like tea."]


def test_of_the_metadata_what_is_given_changes(memory: Memory, tea: str) -> None:
    memory.update(tea, {"metadata": {"tags": ["drink"], "info": {"cups": 2}}}, user_id="ana")
    changed = memory.update(tea, {"confidence": 0.5, "info": {"sugar": True}}, user_id="ana")
    metadata = changed.metadata
    assert (metadata.tags, metadata.info, metadata.confidence) == (["drink"], {"sugar": True}, 0.5)
    assert (metadata.version, changed.memory) == (3, "user: I like tea.")
    assert best(memory, "Who likes tea?") == "user: I like tea."
    assert [item.id for item in memory.get_all(user_id="ana", filter={"sugar": True})] == [tea]
    assert memory.search("tea", user_id="ana", filter={"tags": "mode:fast"}) == []


class Counting(HashEmbedder):
    """Counts the texts that it embeds."""

    __slots__ = ()
    texts: list[str] = []  # noqa: RUF012

    def embed(self, texts: Any) -> Vectors:
        self.texts.extend(texts)
        return HashEmbedder.embed(self, texts)


def test_only_other_words_are_embedded_anew() -> None:
    with Memory.in_memory(embedder=Counting()) as memory:
        (tea,) = memory.add("I like tea.", user_id="ana").added
        Counting.texts.clear()
        memory.update(tea, {"tags": ["drink"]}, user_id="ana")
        memory.update(tea, {"memory": "user: I like tea.", "tags": []}, user_id="ana")
        assert Counting.texts == []
        memory.update(tea, "I like coffee.", user_id="ana")
        assert Counting.texts == ["I like coffee."]


@pytest.mark.parametrize(
    "patch", ["user: I like tea.", {}, {"metadata": {}}, {"version": 7, "updated_at": "2020-01-01"}]
)
def test_no_change_is_no_version(memory: Memory, tea: str, patch: Any) -> None:
    before = memory.get(tea, user_id="ana")
    assert memory.update(tea, patch, user_id="ana") == before == memory.get(tea, user_id="ana")
    assert steps(memory.history(tea, user_id="ana")) == [("add", 1, "user: I like tea.")]


def test_an_item_that_was_read_can_be_changed_and_given_back(memory: Memory, tea: str) -> None:
    item = memory.get(tea, user_id="ana")
    assert item is not None
    item.memory = "I like coffee."
    item.metadata.tags.append("drink")
    changed = memory.update(tea, item, user_id="ana")
    assert (changed.memory, changed.metadata.tags[-1], changed.metadata.version) == ("I like coffee.", "drink", 2)


def test_every_version_is_in_the_history(memory: Memory, tea: str) -> None:
    first = memory.get(tea, user_id="ana")
    second = memory.update(tea, "I like coffee.", user_id="ana")
    third = memory.update(tea, {"tags": ["drink"]}, user_id="ana")
    versions = memory.history(tea, user_id="ana")
    assert [version.item for version in versions] == [first, second, third]
    assert [(version.event, version.version) for version in versions] == [("add", 1), ("update", 2), ("update", 3)]
    assert versions[-1].at == third.metadata.updated_at


def test_a_deletion_ends_the_history_and_takes_the_words(memory: Memory, tea: str) -> None:
    memory.update(tea, "I like coffee.", user_id="ana")
    memory.delete(tea, user_id="ana")
    versions = memory.history(tea, user_id="ana")
    assert steps(versions) == [("add", 1, None), ("update", 2, None), ("delete", 2, None)]
    assert versions[-1].cause == "delete"
    memory.add(["The roof leaks.", "I like tea.", "My cat is called Biscuit."], user_id="ana")
    assert steps(memory.history(tea, user_id="ana"))[2:] == [("delete", 2, None), ("add", 1, "user: I like tea.")]
    memory.update(tea, "I like juice.", user_id="ana")
    assert steps(memory.history(tea, user_id="ana"))[3:] == [
        ("add", 1, "user: I like tea."),
        ("update", 2, "I like juice."),
    ]


def test_an_update_outlives_the_chat_being_sent_again(memory: Memory, tea: str) -> None:
    changed = memory.update(tea, "I like coffee.", user_id="ana")
    chat = ["The roof leaks.", "I like tea.", "My cat is called Biscuit."]
    assert memory.add([*chat, "It rains."], user_id="ana").existing[1] == tea
    assert memory.get(tea, user_id="ana") == changed


@pytest.mark.parametrize("patch", [{"colour": "red"}, {"id": "x"}, {"user_id": "ben"}, "", {"confidence": 9}, 7])
def test_what_cannot_be_is_refused_and_nothing_changes(memory: Memory, tea: str, patch: Any) -> None:
    before = memory.get_all(user_id="ana")
    with pytest.raises(InputError):
        memory.update(tea, patch, user_id="ana")
    assert memory.get_all(user_id="ana") == before
    assert len(memory.history(tea, user_id="ana")) == 1


@pytest.mark.parametrize("item_id", ["nothing", "", "\ud800", "a\0b", None, 7])
def test_what_is_not_there_is_not_updated(memory: Memory, item_id: Any) -> None:
    with pytest.raises(ItemNotFoundError) as caught:
        memory.update(item_id, "x", user_id="ana")
    assert isinstance(caught.value, LookupError)


def test_a_deleted_item_is_not_updated(memory: Memory, tea: str) -> None:
    memory.delete(tea, user_id="ana")
    with pytest.raises(ItemNotFoundError):
        memory.update(tea, "x", user_id="ana")


def test_another_users_item_is_not_there(memory: Memory, tea: str) -> None:
    with pytest.raises(ItemNotFoundError):
        memory.update(tea, "x", user_id="ben")
    assert memory.update(tea, "mine", user_id="ana").memory == "mine"


def test_a_new_label_counts_at_once(memory: Memory, tea: str) -> None:
    assert memory.search("tea", user_id="ana", agent_id="bot") == []
    memory.update(tea, {"agent_id": "bot", "session_id": "s", "visibility": "session"}, user_id="ana")
    assert len(memory.search("tea", user_id="ana", agent_id="bot", session_id="s")) == 1
    assert memory.search("tea", user_id="ana") == []


@pytest.mark.parametrize("status", ["archived", "deleted"])
def test_what_is_archived_is_kept_and_not_found(memory: Memory, tea: str, status: str) -> None:
    memory.update(tea, {"status": status}, user_id="ana")
    assert memory.search("tea", user_id="ana", threshold=0, top_k=9)[0].item.id != tea
    assert tea not in [hit.item.id for hit in memory.search("tea", user_id="ana", threshold=0, top_k=9)]
    assert memory.get(tea, user_id="ana") is not None
    assert len(words(memory)) == 3
    memory.update(tea, {"status": "activated"}, user_id="ana")
    assert best(memory, "Who likes tea?") == "user: I like tea."


def test_the_graph_follows(memory: Memory, tea: str) -> None:
    memory.update(tea, {"entities": ["Earl Grey", "Ana"]}, user_id="ana")
    assert memory.graph.mentions("earl grey", user_id="ana") == [tea]
    memory.update(tea, {"entities": ["Ana", "Assam"]}, user_id="ana")
    assert [entity.name for entity in memory.graph.entities(user_id="ana")] == ["Ana", "Assam", "Biscuit"]
    assert memory.graph.mentions("Earl Grey", user_id="ana") == []
    memory.update(tea, "Ana likes Assam best.", user_id="ana")
    assert memory.graph.mentions("assam", user_id="ana") == [tea]


def test_threads_that_update_one_item_lose_no_update(memory: Memory, tea: str) -> None:
    begin = threading.Barrier(6)

    def work(worker: int) -> None:
        begin.wait()
        for number in range(8):
            memory.update(tea, {"memory": f"worker {worker} says {number}"}, user_id="ana")

    with ThreadPoolExecutor(6) as pool:
        for future in [pool.submit(work, worker) for worker in range(6)]:
            future.result()
    versions = memory.history(tea, user_id="ana")
    assert [version.version for version in versions] == list(range(1, 50))
    said = [version.item.memory for version in versions[1:] if version.item]
    assert sorted(said) == sorted(f"worker {worker} says {number}" for worker in range(6) for number in range(8))
    assert best(memory, said[-1]) == said[-1]


def test_two_that_change_different_fields_keep_both(memory: Memory, tea: str) -> None:
    fields: list[Callable[[int], dict[str, Any]]] = [lambda n: {"tags": [f"t{n}"]}, lambda n: {"info": {"n": n}}]
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(lambda make: [memory.update(tea, make(n), user_id="ana") for n in range(15)], fields))
    item = memory.get(tea, user_id="ana")
    assert item is not None
    assert (item.metadata.tags, item.metadata.info, item.metadata.version) == (["t14"], {"n": 14}, 31)


class Meanwhile(HashEmbedder):
    """Does something once, while words about coffee are embedded."""

    __slots__ = ()
    todo: list[Callable[[], object]] = []  # noqa: RUF012

    def embed(self, texts: Any) -> Vectors:
        while "coffee" in texts[0] and self.todo:
            self.todo.pop()()
        return HashEmbedder.embed(self, texts)


def test_a_change_in_the_middle_of_an_update_is_kept() -> None:
    with Memory.in_memory(embedder=Meanwhile()) as memory:
        (tea,) = memory.add("I like tea.", user_id="ana").added
        Meanwhile.todo.append(lambda: memory.update(tea, {"tags": ["drink"]}, user_id="ana"))
        changed = memory.update(tea, "I like coffee.", user_id="ana")
        assert (changed.memory, changed.metadata.tags, changed.metadata.version) == ("I like coffee.", ["drink"], 3)
        assert memory.get(tea, user_id="ana") == changed
        Meanwhile.todo.append(lambda: memory.delete(tea, user_id="ana"))
        with pytest.raises(ItemNotFoundError):
            memory.update(tea, "I like coffee a lot.", user_id="ana")
        assert memory.get_all(user_id="ana") == []


def test_an_item_that_is_deleted_while_it_is_updated_stays_deleted(memory: Memory, tea: str) -> None:
    done = threading.Event()

    def update() -> None:
        number = 0
        while not done.is_set():
            memory.update(tea, f"number {number}", user_id="ana")
            number += 1

    with ThreadPoolExecutor(1) as pool:
        updating = pool.submit(update)
        memory.delete(tea, user_id="ana")
        with pytest.raises(ItemNotFoundError):
            updating.result(timeout=30)
        done.set()
    assert memory.get(tea, user_id="ana") is None
    assert {version.item for version in memory.history(tea, user_id="ana")} == {None}


class Broken(HashEmbedder):
    """Gives something that is no vector for words about coffee, and nothing for words about juice."""

    __slots__ = ()

    def embed(self, texts: Any) -> Vectors:
        if "juice" in texts[0]:
            raise RuntimeError("no juice")
        vectors = HashEmbedder.embed(self, texts)
        return np.full_like(vectors, np.nan) if "coffee" in texts[0] else vectors


def test_words_that_cannot_be_embedded_change_nothing() -> None:
    with Memory.in_memory(embedder=Broken()) as memory:
        (tea,) = memory.add("I like tea.", user_id="ana").added
        for drink, problem in (("coffee", "not finite"), ("juice", "stays as it was")):
            with pytest.raises(InvalidVectorsError, match=problem):
                memory.update(tea, f"I like {drink}.", user_id="ana")
        assert words(memory) == ["user: I like tea."]


def test_an_update_survives_closing(tmp_path: Path) -> None:
    with Memory.open(tmp_path, embedder=HashEmbedder()) as memory:
        (tea,) = memory.add("I like tea.", user_id="ana").added
        changed = memory.update(tea, "I like coffee.", user_id="ana")
    with Memory.open(tmp_path, embedder=HashEmbedder()) as memory:
        assert memory.get(tea, user_id="ana") == changed
        assert memory.history(tea, user_id="ana")[1].item == changed
        assert best(memory, "coffee") == "I like coffee."


def test_a_metadata_object_is_a_patch_too(memory: Memory, tea: str) -> None:
    patch = TextualMemoryItem(memory="I like tea a lot.", metadata=TextualMemoryMetadata(tags=["drink"]))
    changed = memory.update(tea, patch, user_id="ana")
    assert (changed.metadata.tags, changed.metadata.source) == (["drink"], "conversation")


def test_a_search_during_updates_never_pairs_old_similarity_with_new_words(memory: Memory) -> None:
    """Two texts without a common word take turns in one item: who finds the one asked for finds it with cosine 1."""
    texts = ("alpha beta gamma delta", "north south east west")
    (item_id,) = memory.add([{"memory": texts[0]}], user_id="ana").added
    over = threading.Event()

    def change() -> None:
        number = 0
        while not over.is_set():
            number += 1
            memory.update(item_id, texts[number % 2], user_id="ana")

    with ThreadPoolExecutor(1) as pool:
        changing = pool.submit(change)
        try:
            for number in range(400):
                for hit in memory.search(texts[number % 2], user_id="ana", threshold=0):
                    same = hit.item.memory == texts[number % 2]
                    assert hit.similarity == pytest.approx(1 if same else 0, abs=0.5), (number, hit)
        finally:
            over.set()
        changing.result()
