"""The review queue: what waits is found by nothing, what is approved stands, what is rejected stays away."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path
from typing import Any

import pytest

from memreader import Memory, ReadOptions, TextualMemoryItem, lifetimes
from memreader.errors import InputError, StoreClosedError
from memreader.reviewing import health, low_confidence
from memreader.testing import HashEmbedder
from stored import assert_citations
from token_vectors import TOKENS, kept, same
from whole_memory import everything

CHAT = [
    {"role": "user", "content": "I moved to Lisbon in May.", "message_id": "m1"},
    {"role": "assistant", "content": "How do you like Lisbon?", "message_id": "m2"},
    {"role": "user", "content": "I was diagnosed with asthma in Lisbon.", "message_id": "m3"},
]
ASTHMA = "user: I was diagnosed with asthma in Lisbon."


def item(item_id: str, text: str, **more: Any) -> TextualMemoryItem:
    return TextualMemoryItem(id=item_id, memory=text, metadata={"entities": ["Ana"], **more})


def words(memory: Memory, **more: Any) -> list[str]:
    return [one.memory for one in memory.get_all(user_id="ana", **more)]


def found(memory: Memory, query: str = "Lisbon", **more: Any) -> list[str]:
    return [hit.item.memory for hit in memory.search(query, user_id="ana", threshold=0, top_k=50, **more)]


def waiting(memory: Memory) -> list[str]:
    return [one.memory for one in memory.review.pending(user_id="ana")]


def test_what_waits_is_kept_and_found_by_nothing(memory: Memory) -> None:
    report = memory.add(CHAT, user_id="ana", session_id="s", review=True)
    assert report.pending == report.added == report.ids
    assert len(report.ids) == 3
    assert found(memory) == words(memory) == []
    for chosen in ({"status": "pending"}, {"status": {"$ne": "activated"}}, {"valid_until": None}):
        assert found(memory, filter=chosen) == []
    assert found(memory, as_of="2099-01-01") == []
    assert memory.context("Lisbon", user_id="ana", threshold=0) == ""
    assert len(words(memory, filter={"status": "pending"})) == 3
    assert words(memory, filter={"status": {"$ne": "activated"}}) == words(memory, filter={"valid_until": None}) == []
    assert waiting(memory) == [one.memory for one in memory.review.pending(user_id="ana", limit=3)]
    assert memory.get(report.ids[0], user_id="ana") is not None
    assert memory.admin.stats("ana").by_status == {"pending": 3}
    assert memory.review.pending(user_id="ben") == []


def test_the_queue_comes_in_pages_oldest_first(memory: Memory) -> None:
    ids = memory.add(CHAT, user_id="ana", review=True).ids
    pages = [memory.review.pending(user_id="ana", limit=2, offset=start) for start in (0, 2, 4)]
    assert [[one.id for one in page] for page in pages] == [ids[:2], ids[2:], []]
    with pytest.raises(ValueError, match="limit"):
        memory.review.pending(user_id="ana", limit=-1)


def test_a_predicate_is_asked_about_each_item(memory: Memory) -> None:
    report = memory.add(CHAT, user_id="ana", review=health())
    assert report.pending == [report.ids[2]]
    assert waiting(memory) == [ASTHMA]
    assert len(found(memory)) == 2


def test_a_statement_that_nobody_is_sure_of_waits(memory: Memory) -> None:
    memory.add(
        [item("1", "Ana rows.", confidence=0.3), item("2", "Ben sails.")], user_id="ana", review=low_confidence()
    )
    assert (waiting(memory), words(memory)) == (["Ana rows."], ["Ben sails."])


def test_of_a_long_message_no_part_is_shown_while_one_waits() -> None:
    with Memory.in_memory(
        embedder=HashEmbedder(), read_options=ReadOptions(window_tokens=40, window_overlap=10)
    ) as memory:
        long = "The garden is green and wide. " * 12 + "I was diagnosed with asthma. " * 12
        talk = [{"role": "user", "content": long}, {"role": "assistant", "content": "Why?"}]
        report = memory.add(talk, user_id="ana", session_id="s", review=health())
        assert 0 < len(report.pending) < len(report.ids) - 1
        assert [message.content for _, message in memory._store.said_before("ana", "s", 9, limit=9)] == ["Why?"]


def test_a_memory_can_be_opened_with_a_default_that_a_call_overrides() -> None:
    with Memory.in_memory(embedder=HashEmbedder(), review=True) as memory:
        assert memory.add("one", user_id="ana").pending
        assert memory.add("two", user_id="ana", review=False).pending == []
        assert memory.scoped(user_id="ana").add("three").pending
        assert waiting(memory) == ["user: one", "user: three"]
    with pytest.raises(TypeError, match="review"):
        Memory.in_memory(embedder=HashEmbedder(), review="all")


def test_a_second_add_says_what_still_waits_and_a_reread_releases_nothing(memory: Memory) -> None:
    first = memory.add(CHAT, user_id="ana", session_id="s", review=True)
    again = memory.add(CHAT, user_id="ana", session_id="s", review=False)
    assert (again.added, again.pending) == ([], first.ids)
    assert found(memory) == []
    memory.add(item("x", "Ana rides a bicycle."), user_id="ana", review=True)
    memory.add(item("x", "Ana rides a horse."), user_id="ana", review=False)
    assert waiting(memory)[-1] == "Ana rides a horse."


def test_what_is_approved_is_found_like_what_was_added(memory: Memory) -> None:
    ids = memory.add(CHAT, user_id="ana", session_id="s", review=True).ids
    report = memory.review.approve(ids[:2], user_id="ana")
    assert (report.ids, report.decisions) == (ids[:2], [])
    assert len(found(memory)) == len(words(memory)) == 2
    assert memory.review.approve([*ids, "unknown"], user_id="ana").ids == [ids[2]]
    assert memory.review.approve(ids, user_id="ana").ids == []
    assert ASTHMA in found(memory)
    events = [(one.version, one.event, one.cause) for one in memory.history(ids[2], user_id="ana")]
    assert events == [(1, "add", "add"), (2, "update", "approved")]
    assert_citations(memory)


def test_nobody_decides_about_anothers(memory: Memory) -> None:
    ids = memory.add(CHAT, user_id="ana", review=True).ids
    assert memory.review.approve(ids, user_id="ben").ids == memory.review.reject(ids, user_id="ben") == []
    assert len(waiting(memory)) == 3


def test_what_stands_is_neither_approved_nor_rejected(memory: Memory) -> None:
    ids = memory.add(CHAT, user_id="ana").ids
    assert memory.review.approve(ids, user_id="ana").ids == memory.review.reject(ids, user_id="ana") == []
    assert len(words(memory)) == 3
    assert [one.version for one in memory.history(ids[0], user_id="ana")] == [1]


def test_an_approved_statement_is_reconciled_with_what_stands(memory: Memory) -> None:
    old = item("acme", "Ana works at Acme.", memory_time="2022-01-01")
    new = item("globex", "Ana works at Globex.", memory_time="2024-01-01")
    memory.add(old, user_id="ana")
    report = memory.add([new, item("same", "ana works at ACME", memory_time="2022-01-01")], user_id="ana", review=True)
    assert report.decisions == []
    assert words(memory) == ["Ana works at Acme."]
    decided = memory.review.approve(["same", "globex"], user_id="ana").decisions
    assert [(one.item_id, one.action, one.other) for one in decided] == [
        ("same", "merge", "acme"),
        ("globex", "supersede", "acme"),
    ]
    assert words(memory) == ["Ana works at Globex."]


def test_what_waits_supersedes_and_repeats_nothing_of_what_comes(memory: Memory) -> None:
    memory.add(item("globex", "Ana works at Globex.", memory_time="2024-01-01"), user_id="ana", review=True)
    report = memory.add(item("acme", "Ana works at Acme.", memory_time="2022-01-01"), user_id="ana")
    assert report.decisions == []
    assert words(memory) == ["Ana works at Acme."]
    memory.review.approve("globex", user_id="ana")
    assert words(memory) == ["Ana works at Globex."]


def test_the_graph_knows_nothing_of_what_waits(memory: Memory) -> None:
    text = "Robert, a.k.a. Bob, hired Ben."
    memory.add(item("1", text, entities=["ROBERT", "Ben", "Bob"]), user_id="ana", review=True)
    graph = memory.graph
    assert graph.entities(user_id="ana") == graph.relations(user_id="ana") == []
    assert graph.mentions("Bob", user_id="ana") == graph.neighbours("Ben", user_id="ana") == []
    memory.add(item("2", "Robert met Bob.", entities=["Robert", "Bob"]), user_id="ana")
    assert [(one.name, one.items) for one in graph.entities(user_id="ana")] == [("Bob", 1), ("Robert", 1)]
    memory.review.approve("1", user_id="ana")
    assert [(one.name, one.items) for one in graph.entities(user_id="ana")] == [("Robert", 2), ("Ben", 1)]
    assert graph.mentions("Ben", user_id="ana") == ["1"]


def test_the_words_of_a_waiting_turn_stand_in_no_context(memory: Memory) -> None:
    talk = [
        {"role": "user", "content": "Shall we paint the kitchen green?", "message_id": "a"},
        {"role": "assistant", "content": "Yes.", "message_id": "b"},
    ]
    ids = memory.add(talk, user_id="ana", session_id="s", review=lambda one: "kitchen" in one.memory).ids
    assert "kitchen" not in memory.context("Yes", user_id="ana", threshold=0)
    assert memory._store.said_before("ana", "s", 9, limit=9)[0][1].content == "Yes."
    memory.review.approve(ids[0], user_id="ana")
    assert "kitchen" in memory.context("Yes", user_id="ana", threshold=0)


def test_rejected_words_are_gone_and_stay_away(memory: Memory) -> None:
    ids = memory.add(CHAT, user_id="ana", session_id="s", review=health()).ids
    assert memory.review.reject(ids, user_id="ana") == [ids[2]]
    assert "asthma" not in str(everything(memory))
    again = memory.add([*CHAT, {"role": "user", "content": "Bye.", "message_id": "m4"}], user_id="ana", session_id="s")
    assert [(one.text, one.reason, one.locator) for one in again.dropped] == [(ASTHMA, "rejected before", ids[2])]
    assert "asthma" not in str(everything(memory))
    assert found(memory, "asthma")[:1] != [ASTHMA]
    assert [one.metadata.sources[0].index for one in memory.get_all(user_id="ana")] == [0, 1, 3]
    events = [(one.event, one.cause, one.item) for one in memory.history(ids[2], user_id="ana")]
    assert events == [("add", "add", None), ("delete", "rejected", None)]


@pytest.mark.parametrize("text", ["I was diagnosed with ASTHMA, in Lisbon!", "Ｉ  was diagnosed with asthma in Lisbon"])
def test_rejected_words_are_known_in_any_spelling_and_session(memory: Memory, text: str) -> None:
    (rejected,) = memory.add(CHAT[2:], user_id="ana", review=True).ids
    memory.review.reject(rejected, user_id="ana")
    report = memory.add(text, user_id="ana", session_id="t")
    assert (report.ids, [one.reason for one in report.dropped]) == ([], ["rejected before"])
    assert "asthma" not in str(everything(memory)).lower()
    assert memory.add("I was diagnosed with asthma in Porto.", user_id="ana").added
    assert memory.add(text, user_id="ben").added, "another user has rejected nothing"


def test_a_rejected_statement_comes_back_under_no_id(memory: Memory) -> None:
    memory.add(item("1", "Ana has asthma."), user_id="ana", review=True)
    memory.review.reject("1", user_id="ana")
    for again in (item("1", "Ana has asthma"), item("2", "ana has asthma."), item("3", "Ana has asthma.")):
        assert [one.reason for one in memory.add(again, user_id="ana").dropped] == ["rejected before"]
    assert words(memory) == waiting(memory) == []
    assert memory.review.unreject("ANA has asthma", user_id="ana")
    assert not memory.review.unreject("ANA has asthma", user_id="ana")
    assert memory.add(item("2", "Ana has asthma."), user_id="ana").added == ["2"]


def test_words_that_stood_before_they_were_rejected_stay(memory: Memory) -> None:
    first = item("1", "Ana has asthma.")
    memory.add(first, user_id="ana")
    memory.add(item("2", "Ana has asthma."), user_id="ana", review=True, reconcile=False)
    memory.review.reject("2", user_id="ana")
    assert words(memory) == ["Ana has asthma."]
    assert memory.add(first, user_id="ana").existing == ["1"]


def test_a_rejected_turn_stays_silent_when_it_is_edited_into(memory: Memory) -> None:
    (rejected,) = memory.add(CHAT[2:], user_id="ana", session_id="s", review=True).ids
    memory.review.reject(rejected, user_id="ana")
    told = {"role": "user", "content": "Nothing.", "message_id": "m9"}
    memory.add([told], user_id="ana", session_id="s")
    report = memory.add([told | {"content": CHAT[2]["content"]}], user_id="ana", session_id="s")
    assert [one.reason for one in report.dropped] == ["rejected before"]
    assert len(report.replaced) == 1
    assert "asthma" not in str(everything(memory))


def test_a_rejected_document_is_read_again_in_vain(memory: Memory, tmp_path: Path) -> None:
    path = tmp_path / "note.txt"
    path.write_text("Ana has asthma, says the doctor.", encoding="utf-8")
    memory.review.reject(memory.add(path, user_id="ana", review=True).ids, user_id="ana")
    assert [one.reason for one in memory.add(path, user_id="ana").dropped] == ["rejected before"]
    assert "asthma" not in str(everything(memory))


def test_no_word_of_what_was_rejected_is_in_the_file(tmp_path: Path) -> None:
    with Memory.open(tmp_path / "mem", embedder=HashEmbedder()) as memory:
        memory.review.reject(memory.add("The password is xyzzyqux.", user_id="ana", review=True).ids, user_id="ana")
        assert memory.admin.purge().complete
        memory.add("The password is xyzzyqux.", user_id="ana")
    for path in (tmp_path / "mem").iterdir():
        assert not path.is_file() or b"xyzzyqux" not in path.read_bytes()


def test_deleting_is_not_rejecting(memory: Memory) -> None:
    ids = memory.add(CHAT, user_id="ana", review=True).ids
    assert memory.delete(ids, user_id="ana") == ids
    assert waiting(memory) == []
    assert memory.add(CHAT, user_id="ana").added == ids
    assert len(words(memory)) == 3


def test_deleting_everything_forgets_what_was_rejected(memory: Memory) -> None:
    memory.review.reject(memory.add(CHAT, user_id="ana", review=True).ids, user_id="ana")
    memory.delete_all(user_id="ana")
    assert len(memory.add(CHAT, user_id="ana").added) == 3


def test_an_update_changes_words_and_never_the_wait(memory: Memory) -> None:
    memory.add(item("1", "Ana has asthma.", entities=["Ana"]), user_id="ana", review=True)
    memory.add(item("2", "Ben rows."), user_id="ana")
    assert memory.update("1", "Ana has a cold.", user_id="ana").metadata.status == "pending"
    assert waiting(memory) == ["Ana has a cold."]
    assert memory.restore("1", 1, user_id="ana").metadata.status == "pending"
    assert words(memory) == ["Ben rows."]
    for item_id, status in (("1", "activated"), ("1", "archived"), ("2", "pending")):
        with pytest.raises(InputError, match="approve"):
            memory.update(item_id, {"status": status}, user_id="ana")
    memory.review.approve("1", user_id="ana")
    assert memory.restore("1", 2, user_id="ana").metadata.status == "activated"
    assert [one.name for one in memory.graph.entities(user_id="ana")] == ["Ana"]


def test_a_version_under_review_does_not_take_away_the_one_that_stands(memory: Memory) -> None:
    memory.add(item("1", "Ana rows."), user_id="ana")
    report = memory.add(item("1", "Ana sails."), user_id="ana", review=True)
    assert (report.ids, [one.locator for one in report.dropped]) == ([], ["1"])
    assert words(memory) == ["Ana rows."]
    assert memory.add(item("1", "Ana rows."), user_id="ana", review=True).existing == ["1"]


def test_waiting_and_rejected_go_along_into_an_archive(memory: Memory, tmp_path: Path) -> None:
    memory.add(item("1", "Robert, a.k.a. Bob, hired Ben.", entities=["Robert", "Bob"]), user_id="ana", review=True)
    memory.review.reject(memory.add(CHAT, user_id="ana", session_id="s", review=True).ids, user_id="ana")
    memory.add(CHAT[:1], user_id="ben")
    assert memory.admin.export(tmp_path / "a.zip").counts["rejected"] == 3
    with Memory.in_memory(embedder=HashEmbedder()) as other:
        other.admin.import_(tmp_path / "a.zip")
        assert waiting(other) == ["Robert, a.k.a. Bob, hired Ben."]
        assert found(other) == words(other) == other.graph.entities(user_id="ana") == []
        assert {one.reason for one in other.add(CHAT, user_id="ana").dropped} == {"rejected before"}
        other.admin.export(tmp_path / "b.zip")
        other.review.approve("1", user_id="ana")
        assert [one.name for one in other.graph.entities(user_id="ana")] == ["Robert"]
    with Memory.in_memory(embedder=HashEmbedder()) as third:
        third.admin.import_(tmp_path / "b.zip", user_id=None)
        assert third.add(CHAT, user_id="ana").ids == []


def test_a_dump_keeps_what_waits_waiting(memory: Memory, tmp_path: Path) -> None:
    memory.add(item("1", "Ana rows."), user_id="ana", review=True)
    memory.dump(tmp_path, user_id="ana")
    with Memory.in_memory(embedder=HashEmbedder()) as other:
        other.load(tmp_path, user_id="ana")
        assert (words(other), waiting(other)) == ([], ["Ana rows."])


def test_many_who_approve_at_once_approve_each_item_once(tmp_path: Path) -> None:
    with Memory.open(tmp_path, embedder=HashEmbedder()) as memory:
        ids = memory.add([f"Fact {number}." for number in range(20)], user_id="ana", review=True).ids
        done: list[list[str]] = []

        def work() -> None:
            done.append([one for item_id in ids for one in memory.review.approve(item_id, user_id="ana").ids])

        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sorted(one for part in done for one in part) == sorted(ids)
        assert {len(memory.history(one, user_id="ana")) for one in ids} == {2}


def test_two_stores_on_one_folder_see_each_others_decisions(tmp_path: Path) -> None:
    with Memory.open(tmp_path, embedder=HashEmbedder()) as memory:
        ids = memory.add(CHAT, user_id="ana", review=True).ids
        assert found(memory) == []
        memory.review.approve(ids[0], user_id="ana")
        assert len(found(memory)) == 1
        memory._store._indexes.resident.clear()
        assert len(found(memory)) == 1


def test_turns_are_not_encoded_beside_those_that_wait_or_were_rejected() -> None:
    with Memory.in_memory(embedder=TOKENS) as plain, Memory.in_memory(embedder=TOKENS) as memory:
        plain.add(CHAT[:2], user_id="ana", session_id="s")
        alone = kept(plain, "ana")
        waits = memory.add(CHAT, user_id="ana", session_id="s", review=health()).pending
        assert same(alone, {words: one for words, one in kept(memory, "ana").items() if words != ASTHMA})
        memory.review.reject(waits, user_id="ana")
        memory.add(CHAT, user_id="ana", session_id="t")
        assert same(alone, kept(memory, "ana"))


def test_every_verb_has_its_twins(memory: Memory) -> None:
    scoped = memory.scoped(user_id="ana")
    ids = scoped.add(CHAT, review=True).ids
    assert [one.id for one in scoped.review.pending(limit=1)] == ids[:1]
    assert scoped.review.approve(ids[0]).ids == ids[:1]
    assert scoped.review.reject(ids[1]) == ids[1:2]
    assert scoped.review.unreject("assistant: How do you like Lisbon?")

    async def twins() -> None:
        assert len(await memory.review.apending(user_id="ana")) == 1
        assert await memory.review.areject("x", user_id="ana") == []
        assert (await memory.review.aapprove(ids[2], user_id="ana")).ids == ids[2:]
        assert not await memory.review.aunreject("x", user_id="ana")
        assert await scoped.review.apending() == await scoped.review.areject("x") == []
        assert (await scoped.review.aapprove("x")).ids == []
        assert not await scoped.review.aunreject("x")

    asyncio.run(twins())
    memory.close()
    with pytest.raises(StoreClosedError):
        _ = memory.review


def test_what_expires_while_it_waits_is_neither_shown_nor_approved(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    report = memory.add(["I am in Rome."], user_id="ana", review=True, ttl=60)
    soon = lifetimes.now() + 120
    monkeypatch.setattr(lifetimes, "clock", lambda: soon)
    assert memory.review.pending(user_id="ana") == []
    assert memory.review.approve(report.pending, user_id="ana").ids == []
    assert memory.purge_expired().ids == {"ana": report.pending}
