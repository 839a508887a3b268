"""One memory that two sources say, each in its own words: without one of them, only the words of the other are left."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fine_replies import memory as told
from fine_replies import reply, shown
from left_behind import left_of
from memreader import Memory
from memreader.embedding import MiniLMEmbedder
from memreader.testing import FunctionChatModel

NOTE = "The user is fond of mountain hikes near Zyxquorble."
SAID = "User enjoys hiking in the mountains of Vrenkoldia."
DOCUMENT, MESSAGE = f"{NOTE} Docsprunk.", f"{SAID} Plunkwimble."
OF_DOCUMENT, OF_MESSAGE = {"zyxquorble", "docsprunk"}, {"vrenkoldia", "plunkwimble"}
Answer = Callable[[list[dict[str, Any]]], str]


def reading(keep: str) -> Answer:
    """A model that makes one memory of each source, and holds all of them to be the same."""

    def answer(messages: list[dict[str, Any]]) -> str:
        prompt = messages[-1]["content"]
        if "# Pairs" in prompt:
            pairs = [line for line in prompt[prompt.index("# Pairs") :].splitlines() if line[:1].isdigit()]
            return json.dumps({str(n): {"action": "merge", "keep": keep, "reason": "same"} for n in range(len(pairs))})
        seen = shown(messages)
        words = NOTE if "Zyxquorble" in seen.new_words else SAID
        name = "Zyxquorble" if words == NOTE else "Vrenkoldia"
        return reply(told(words, [line.number for line in seen.new], entities=[name]), summary=words)

    return answer


def add(store: Memory, source: str, file: Path) -> None:
    if source == "document":
        file.write_text(DOCUMENT, encoding="utf-8")
        store.add(file, user_id="ana", at="2024-01-01", reconcile="model")
    else:
        message = {"role": "user", "content": MESSAGE, "id": "m1", "chat_time": "2024-02-01"}
        store.add([message], user_id="ana", session_id="s", reconcile="model")


def delete(store: Memory, source: str, file: Path) -> None:
    given: dict[str, Any] = {"document": file} if source == "document" else {"message_id": "m1"}
    report = store.delete_by_source(user_id="ana", **given)
    assert report.ids
    assert report.purge.complete


def statements(store: Memory) -> list[dict[str, Any]]:
    """What is known of the memories that a model made, but for when and in which version."""
    items = [
        item
        for item in store.get_all(user_id="ana", filter={"status": {"$ne": "deleted"}})
        if item.metadata.evolve_from
    ]
    passing = {"created_at", "updated_at", "version", "history"}
    return [item.model_dump(exclude={"metadata": passing}) for item in items]


def evidence(store: Memory) -> list[Any]:
    """Terms, traits and names of all items."""
    with store._store._database.reading() as db:
        query = (
            "SELECT item_id, term_ids, term_counts, embedding FROM items JOIN evidence ON item = id ORDER BY item_id"
        )
        rows = list(db.execute(query))
        names = list(
            db.execute(
                "SELECT key, item_id FROM mentions JOIN entities ON entities.id = entity, items "
                "WHERE items.id = item ORDER BY 1, 2"
            )
        )
        keys = list(db.execute("SELECT key, item_id FROM statement_keys JOIN items ON items.id = item ORDER BY 1, 2"))
    return [rows, names, keys]


@pytest.mark.parametrize("keep", ["new", "old"])
@pytest.mark.parametrize("order", [("document", "message"), ("message", "document")], ids="-".join)
@pytest.mark.parametrize("doomed", ["document", "message"])
def test_no_word_that_only_a_deleted_source_said_is_left(
    minilm: MiniLMEmbedder, tmp_path: Path, order: tuple[str, str], keep: str, doomed: str
) -> None:
    file, secret = tmp_path / "notes.txt", OF_DOCUMENT if doomed == "document" else OF_MESSAGE
    stays = next(source for source in order if source != doomed)
    how: dict[str, Any] = {"embedder": minilm, "llm": FunctionChatModel(reading(keep))}
    with Memory.open(tmp_path / "mem", **how) as store:
        for source in order:
            add(store, source, file)
        (one,) = [item for item in store.get_all(user_id="ana") if item.metadata.evolve_from]
        assert {source.type for source in one.metadata.sources} == {"chat", "doc"}
        assert left_of(store.folder, secret) == secret
        delete(store, doomed, file)

        assert left_of(store.folder, secret) == set()
        store.dump(tmp_path / "dumped", user_id="ana")
        store.admin.export(tmp_path / "all.zip")
        with zipfile.ZipFile(tmp_path / "all.zip") as archive:
            held = "".join(archive.read(name).decode("utf-8", "replace") for name in archive.namelist())
        held += (tmp_path / "dumped" / "textual_memory.json").read_text(encoding="utf-8")
        versions = [
            version for item in store.get_all(user_id="ana") for version in store.history(item.id, user_id="ana")
        ]
        held += repr(versions) + repr(store.graph.entities(user_id="ana"))
        assert not [word for word in secret if word in held.lower()]
        for word in secret:
            assert not [
                hit
                for hit in store.search(word, user_id="ana", threshold=0, top_k=9)
                if word in hit.item.memory.lower()
            ]
        found, known = statements(store), evidence(store)
    with Memory.open(tmp_path / "other", **how) as never:
        add(never, stays, file)
        assert found == statements(never)
        assert known == evidence(never)
