"""What expires: it is never shown from that moment on, is there until it is purged, and holds nothing else back."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clocks import DAY, Clock
from fine_replies import answering, reply
from fine_replies import memory as made
from memreader import Memory, ReadOptions, TextualMemoryItem, lifetimes
from memreader.errors import InputError
from memreader.lifetimes import second_of
from memreader.reindexing import facts_of
from memreader.stores import Store
from memreader.testing import FunctionChatModel, HashEmbedder
from stored import said, table

START = int(datetime(2026, 12, 1, 8, tzinfo=UTC).timestamp())
HOUR = 3600.0


def iso(second: float) -> str:
    return datetime.fromtimestamp(second, UTC).isoformat()


def item(item_id: str, text: str, **metadata: Any) -> TextualMemoryItem:
    return TextualMemoryItem(id=item_id, memory=text, metadata=metadata)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(lifetimes, "clock", clock)
    return clock


@pytest.fixture
def memory(tmp_path: Path, clock: Clock) -> Iterator[Memory]:
    with Memory.open(tmp_path / "mem", embedder=HashEmbedder()) as memory:
        yield memory


def listed(memory: Memory, **more: Any) -> list[str]:
    return [one.memory for one in memory.get_all(user_id="ana", **more)]


def found(memory: Memory, query: str = "tea", **more: Any) -> set[str]:
    return {hit.item.memory for hit in memory.search(query, user_id="ana", threshold=0, top_k=99, **more)}


# Hypothesis: whatever expires when, and whenever somebody looks.


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.one_of(st.none(), st.integers(1, 9)), max_size=8),
    st.lists(st.tuples(st.integers(0, 7), st.one_of(st.none(), st.integers(-2, 12))), max_size=3),
    st.lists(st.floats(0, 13), min_size=1, max_size=4),
)
def test_what_is_shown_is_what_expires_later(
    ends: list[int | None], changes: list[tuple[int, int | None]], looks: list[float]
) -> None:
    clock = Clock(at=START)
    with pytest.MonkeyPatch.context() as patch, Memory.in_memory(embedder=HashEmbedder()) as memory:
        patch.setattr(lifetimes, "clock", clock)
        expires = dict(enumerate(ends))
        for number, end in expires.items():
            until = None if end is None else iso(START + end)
            one = item(f"i{number}", f"Tea of kind {number}.", expires_at=until)
            memory.add([one], user_id="ana", reconcile=False)
        found(memory)  # The index is there before what changes.
        for number, end in changes:
            if number in expires:
                expires[number] = end
                until = None if end is None else iso(START + end)
                memory.update(f"i{number}", {"expires_at": until}, user_id="ana")
        for look in [*looks, min(looks)]:
            clock.at = START + look
            living = {f"i{n}" for n, end in expires.items() if end is None or START + end > clock.at}
            where = {"id": {"$in": [f"i{n}" for n in range(5)]}}
            for limit in ({}, {"filter": where}, {"filter": {"status": "activated"}}):
                kept = living if limit.get("filter") is not where else living & set(where["id"]["$in"])
                hits = memory.search("tea", user_id="ana", threshold=0, top_k=99, **limit)
                assert {hit.item.id for hit in hits} == kept
                assert {one.id for one in memory.get_all(user_id="ana", **limit)} == kept
            assert len(memory.get_by_ids([f"i{n}" for n in expires], user_id="ana")) == len(expires)
        gone = memory.purge_expired("ana")
        dead = {f"i{n}" for n, end in expires.items() if end is not None and START + end <= clock.at}
        assert set(gone.ids.get("ana", ())) == dead
        assert table(memory, "SELECT count(*) FROM items WHERE expires <= ?", clock.at) == [(0,)]


def test_a_turn_with_a_ttl_goes_out_of_sight_and_stays_until_it_is_purged(memory: Memory, clock: Clock) -> None:
    (one,) = memory.add("I drink green tea.", user_id="ana", ttl=timedelta(days=7)).added
    memory.add("I like black tea.", user_id="ana")
    clock.ahead = 7 * DAY - 60
    assert len(listed(memory)) == 2
    clock.ahead = 7 * DAY + 60
    assert listed(memory) == ["user: I like black tea."]
    assert found(memory) == {"user: I like black tea."}
    assert "green" not in memory.context("tea", user_id="ana", threshold=0)
    assert memory.search("tea", user_id="ana", threshold=0, as_of="2100-01-01")[0].item.id != one
    kept = memory.get(one, user_id="ana")
    assert kept is not None
    assert kept.metadata.expires_at is not None
    assert memory.history(one, user_id="ana")[-1].item == kept


def test_the_words_of_an_expired_turn_stand_in_no_context(memory: Memory, clock: Clock) -> None:
    memory.add([said("Which tea is the best?", "q")], user_id="ana", session_id="s", ttl=HOUR)
    memory.add([said("The green one is.", "a")], user_id="ana", session_id="s")
    block = memory.context("the green one", user_id="ana", threshold=0, top_k=1)
    assert "Which tea" in block
    clock.ahead = 2 * HOUR
    block = memory.context("the green one", user_id="ana", threshold=0, top_k=1)
    assert "green one" in block
    assert "Which tea" not in block


def test_what_is_purged_is_deleted_with_its_words(memory: Memory, clock: Clock) -> None:
    (one,) = memory.add("My code word is Rosebud.", user_id="ana", ttl=HOUR).added
    memory.add("I like tea.", user_id="ana")
    steps: list[tuple[str, int, int]] = []
    assert memory.purge_expired().count == 0
    clock.ahead = 2 * HOUR
    report = memory.purge_expired("ana", progress=lambda *step: steps.append(step))
    assert (report.ids, report.messages, report.documents, report.count) == ({"ana": [one]}, 1, 0, 1)
    assert report.purge.complete
    assert steps == [("expire", 1, 1)]
    assert memory.get(one, user_id="ana") is None
    assert [(step.event, step.cause, step.item) for step in memory.history(one, user_id="ana")] == [
        ("add", "add", None),
        ("delete", "expired", None),
    ]
    assert b"Rosebud" not in b"".join(file.read_bytes() for file in memory.folder.rglob("*") if file.is_file())
    assert memory.purge_expired().ids == {}
    assert memory.add("My code word is Rosebud.", user_id="ana").added == [one]


def test_only_the_user_asked_for_is_purged(memory: Memory, clock: Clock) -> None:
    for user in ("ana", "ben"):
        memory.add("I drink tea.", user_id=user, ttl=HOUR)
    clock.ahead = 2 * HOUR
    assert list(memory.scoped(user_id="ana").purge_expired().ids) == ["ana"]
    assert list(asyncio.run(memory.apurge_expired()).ids) == ["ben"]
    assert list(asyncio.run(memory.scoped(user_id="ana").apurge_expired()).ids) == []


def test_many_are_purged_in_portions(memory: Memory, clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("memreader.stores.writing.PORTION", 3)
    memory.add([said(f"Tea number {n}.", f"m{n}") for n in range(8)], user_id="ana", ttl=HOUR)
    clock.ahead = 2 * HOUR
    steps: list[tuple[str, int, int]] = []
    assert memory.purge_expired(progress=lambda *step: steps.append(step)).count == 8
    assert [done for _, done, _ in steps] == [3, 6, 8]


def test_the_same_again_is_known_while_it_is_there_whatever_its_ttl(memory: Memory, clock: Clock) -> None:
    (one,) = memory.add([said("I drink tea.", "m1")], user_id="ana", ttl=HOUR).added
    again = memory.add([said("I drink tea.", "m1")], user_id="ana", ttl=90 * HOUR)
    assert (again.added, again.existing) == ([], [one])
    clock.ahead = 2 * HOUR
    assert memory.add([said("I drink tea.", "m1")], user_id="ana").added == []
    assert listed(memory) == []
    memory.purge_expired()
    assert memory.add([said("I drink tea.", "m1")], user_id="ana").added == [one]


def test_an_item_that_is_given_again_after_it_expired_is_new(memory: Memory, clock: Clock) -> None:
    given = {"memory": "Ana is in Rome.", "metadata": {"entities": ["Ana"]}}
    (one,) = memory.add([given], user_id="ana", ttl=HOUR).added
    assert memory.add([given], user_id="ana", ttl=HOUR).added == []
    clock.ahead = 2 * HOUR
    again = memory.add([given], user_id="ana", ttl=HOUR)
    assert (again.added, again.replaced) == ([one], [one])
    assert listed(memory) == ["Ana is in Rome."]
    assert memory.graph.entities(user_id="ana")[0].name == "Ana"
    assert [step.event for step in memory.history(one, user_id="ana")] == ["add", "delete", "add"]


def test_an_item_takes_the_end_of_the_call_unless_it_has_its_own(memory: Memory, clock: Clock) -> None:
    own = iso(int(clock()) + 90 * DAY)
    memory.add([item("a", "Tea."), item("b", "Milk.", expires_at=own)], user_id="ana", ttl=DAY)
    ends = [one.metadata.expires_at for one in memory.get_all(user_id="ana")]
    assert ends[1] == own
    assert abs((second_of(ends[0]) or 0) - clock() - DAY) < 5


@pytest.mark.parametrize("how", [{"expires_at": "2020-01-01"}, {"ttl": 0}, {"ttl": 5, "expires_at": "2100-01-01"}])
def test_nothing_is_stored_whose_life_makes_no_sense(memory: Memory, how: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"past|ttl"):
        memory.add("I drink tea.", user_id="ana", **how)
    with pytest.raises(InputError, match=r"expired already .*nothing was stored") as caught:
        memory.add([item("a", "Tea."), item("b", "Milk.", expires_at="2020-01-01")], user_id="ana")
    assert caught.value.locator == "[1]"
    assert memory.admin.stats().items == memory.admin.stats().messages == 0


def test_an_end_can_be_moved_and_taken_away(memory: Memory, clock: Clock) -> None:
    (one,) = memory.add("I drink tea.", user_id="ana", ttl=HOUR).added
    clock.ahead = 2 * HOUR
    assert memory.update(one, {"expires_at": None}, user_id="ana").metadata.expires_at is None
    assert found(memory) == {"user: I drink tea."}
    assert memory.purge_expired().count == 0
    memory.update(one, {"expires_at": iso(clock())}, user_id="ana")
    clock.ahead += 2
    assert found(memory) == set()
    assert memory.restore(one, 2, user_id="ana").metadata.expires_at is None
    assert found(memory) == {"user: I drink tea."}


def test_filters_ask_for_ends_and_lifetimes(memory: Memory, clock: Clock) -> None:
    memory.add("I drink tea.", user_id="ana", ttl=HOUR)
    memory.add("I eat bread.", user_id="ana", session_id="s", lifetime="session")
    memory.add("I like cake.", user_id="ana")
    soon = {"expires_at": {"$lte": iso(clock() + DAY)}}
    assert listed(memory, filter=soon) == ["user: I drink tea."]
    assert listed(memory, filter={"expires_at": None}) == ["user: I like cake."]
    assert listed(memory, filter={"lifetime": "session"}) == ["user: I eat bread."]
    assert len(listed(memory, filter={"lifetime": "long"})) == 2


# Sessions.


def test_a_session_item_is_its_sessions_alone_and_lives_a_week(memory: Memory, clock: Clock) -> None:
    (one,) = memory.add("I want tables about tea.", user_id="ana", session_id="s", lifetime="session").added
    known = memory.get(one, user_id="ana")
    assert known is not None
    metadata = known.metadata
    assert (metadata.lifetime, metadata.visibility) == ("session", "session")
    assert (second_of(metadata.expires_at) or 0) - datetime.fromisoformat(metadata.created_at).timestamp() == 7 * DAY
    assert found(memory) == found(memory, session_id="t") == set()
    assert found(memory, session_id="s") == {known.memory}
    clock.ahead = 7 * DAY + 5
    assert found(memory, session_id="s") == set()


def test_how_long_a_session_lives_is_an_option_and_a_ttl_counts_more(tmp_path: Path, clock: Clock) -> None:
    options = ReadOptions(session_ttl_hours=2)
    with Memory.open(tmp_path, embedder=HashEmbedder(), read_options=options) as memory:
        how: dict[str, Any] = {"user_id": "ana", "session_id": "s", "lifetime": "session"}
        memory.add("I drink tea.", **how)
        memory.add([item("a", "Tea is hot.")], **how)
        memory.add("I like cake.", ttl=5 * HOUR, **how)
        clock.ahead = 3 * HOUR
        assert listed(memory) == ["user: I like cake."]


def test_a_session_item_needs_a_session(memory: Memory) -> None:
    for data in ("I drink tea.", [item("a", "Tea.")], [item("b", "Milk.", session_id="s"), item("c", "Tea.")]):
        with pytest.raises(ValueError, match=r"give session_id, or keep it with lifetime 'long'"):
            memory.add(data, user_id="ana", lifetime="session")
    with pytest.raises(ValueError, match="'long' or 'session'"):
        memory.add("I drink tea.", user_id="ana", lifetime="short")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="give session_id"):
        memory.add([item("a", "Tea.", lifetime="session")], user_id="ana")
    assert memory.admin.stats().items == 0
    memory.add([item("b", "Milk.", session_id="s", lifetime="session")], user_id="ana")
    assert found(memory, "milk", session_id="s") == {"Milk."}


def test_another_lifetime_brings_what_belongs_to_it(memory: Memory, clock: Clock) -> None:
    (one,) = memory.add("I drink tea.", user_id="ana", session_id="s").added
    short = memory.update(one, {"lifetime": "session"}, user_id="ana").metadata
    assert short.visibility == "session"
    assert abs((second_of(short.expires_at) or 0) - clock() - 7 * DAY) < 5
    long = memory.update(one, {"lifetime": "long"}, user_id="ana").metadata
    assert (long.visibility, long.expires_at) == ("private", None)
    kept = memory.update(one, {"lifetime": "session", "expires_at": None}, user_id="ana").metadata
    assert (kept.visibility, kept.expires_at) == ("session", None)
    (bare,) = memory.add("I eat bread.", user_id="ana").added
    with pytest.raises(InputError, match="session_id"):
        memory.update(bare, {"lifetime": "session"}, user_id="ana")


# What a model makes.


def test_what_a_model_takes_for_short_lived_is_a_session_item_and_else_stays_long(clock: Clock) -> None:
    model = FunctionChatModel(answering(otherwise=reply(made("Ana wants tables.", [1], lifetime="short"))))
    with Memory.in_memory(llm=model, embedder=HashEmbedder()) as memory:
        memory.add([said("I want tables.", "m1")], user_id="ana", session_id="s")
        memory.add([said("I want tables.", "m1")], user_id="ben")
        (ana,) = memory.get_all(user_id="ana", filter={"memory": "Ana wants tables."})
        (ben,) = memory.get_all(user_id="ben", filter={"memory": "Ana wants tables."})
        assert (ana.metadata.lifetime, ana.metadata.visibility, ana.metadata.info) == ("session", "session", {})
        assert (second_of(ana.metadata.expires_at) or 0) - clock() > 7 * DAY - 60
        assert (ben.metadata.lifetime, ben.metadata.visibility, ben.metadata.expires_at) == ("long", "private", None)
        clock.ahead = 8 * DAY
        assert listed(memory) == ["user: I want tables."]
        assert memory.purge_expired().count == 1
        # Its turn stays, and isn't read again.
        assert memory.refine(user_id="ana").added == []


def test_what_a_model_makes_lives_no_longer_than_what_it_is_made_of(clock: Clock) -> None:
    model = FunctionChatModel(answering(otherwise=reply(made("Ana drinks tea.", [1]))))
    with Memory.in_memory(llm=model, embedder=HashEmbedder()) as memory:
        memory.add([said("I drink tea.", "m1")], user_id="ana", ttl=HOUR)
        memory.add([said("I eat bread.", "m2")], user_id="ben", session_id="s", lifetime="session")
        raw, fine = memory.get_all(user_id="ana")
        assert fine.metadata.evolve_from == [raw.id]
        assert fine.metadata.expires_at == raw.metadata.expires_at is not None
        assert {one.metadata.lifetime for one in memory.get_all(user_id="ben")} == {"session"}
        assert {one.metadata.visibility for one in memory.get_all(user_id="ben")} == {"session"}


def test_a_model_is_shown_nothing_that_has_expired(clock: Clock) -> None:
    model = FunctionChatModel(answering(otherwise=reply()))
    with Memory.in_memory(llm=model, embedder=HashEmbedder()) as memory:
        memory.add([said("My code word is Rosebud.", "m1")], user_id="ana", session_id="s", ttl=HOUR, mode="fast")
        memory.add([said("I drink tea.", "m2")], user_id="ana", session_id="s", mode="fast")
        clock.ahead = 2 * HOUR
        report = memory.refine(user_id="ana", gates=("hallucination",))
        assert len(report.refined) == 1
        asked = [str(messages) for messages in model.prompts]
        assert asked
        assert not [prompt for prompt in asked if "Rosebud" in prompt]


# Beside other statements.

LISBON = item("lisbon", "Ana lives in Lisbon.", memory_time="2022-01-01", entities=["Ana"])
PARIS = item("paris", "Ana lives in Paris.", memory_time="2024-01-01", entities=["Ana"])
AGAIN = item("again", "ana lives in lisbon", memory_time="2023-01-01", entities=["Ana"])


def test_what_has_expired_supersedes_nothing_new(memory: Memory, clock: Clock) -> None:
    memory.add([PARIS], user_id="ana", ttl=HOUR)
    clock.ahead = 2 * HOUR
    report = memory.add([LISBON], user_id="ana")
    assert (report.added, report.decisions) == (["lisbon"], [])
    assert listed(memory) == ["Ana lives in Lisbon."]
    memory.purge_expired()
    assert listed(memory) == ["Ana lives in Lisbon."]


def test_what_has_expired_is_not_repeated_by_what_is_new(memory: Memory, clock: Clock) -> None:
    memory.add([LISBON], user_id="ana", ttl=HOUR)
    clock.ahead = 2 * HOUR
    assert memory.add([AGAIN], user_id="ana").decisions == []
    assert listed(memory) == ["ana lives in lisbon"]


def test_what_was_superseded_by_what_expired_stands_again_when_that_is_purged(memory: Memory, clock: Clock) -> None:
    memory.add([LISBON], user_id="ana")
    (decided,) = memory.add([PARIS], user_id="ana", ttl=HOUR).decisions
    assert decided.action == "supersede"
    clock.ahead = 2 * HOUR
    assert listed(memory) == []
    memory.purge_expired()
    (one,) = memory.get_all(user_id="ana")
    assert (one.id, one.metadata.status, one.metadata.valid_until) == ("lisbon", "activated", None)
    assert found(memory, "Lisbon") == {"Ana lives in Lisbon."}


@pytest.mark.parametrize("first_is_short", [True, False])
@pytest.mark.parametrize("words", ["Ana lives in Lisbon.", "ana lives in lisbon"])
def test_of_two_that_say_the_same_the_one_that_lives_longer_stands(
    memory: Memory, clock: Clock, first_is_short: bool, words: str
) -> None:
    again = AGAIN.model_copy(update={"memory": words})
    memory.add([LISBON], user_id="ana", ttl=HOUR if first_is_short else None)
    report = memory.add([again], user_id="ana", ttl=None if first_is_short else HOUR)
    assert [one.action for one in report.decisions] == ["merge"]
    assert len(listed(memory)) == 1
    clock.ahead = 2 * HOUR
    stands = words if first_is_short else LISBON.memory
    assert listed(memory) == [stands]
    memory.purge_expired()
    assert listed(memory) == [stands]
    assert memory.admin.stats("ana").items == 1


# Wherever else a memory goes.


def test_ends_go_with_an_export_a_dump_and_a_load(memory: Memory, clock: Clock, tmp_path: Path) -> None:
    memory.add("I drink tea.", user_id="ana", ttl=HOUR)
    memory.add("I like cake.", user_id="ana")
    ends = [one.metadata.expires_at for one in memory.get_all(user_id="ana")]
    clock.ahead = 2 * HOUR
    memory.admin.export(tmp_path / "all.zip")
    memory.dump(tmp_path / "dumped", user_id="ana")
    for take in ("import", "load"):
        with Memory.open(tmp_path / take, embedder=HashEmbedder()) as other:
            if take == "import":
                other.admin.import_(tmp_path / "all.zip")
            else:
                other.load(tmp_path / "dumped", user_id="ana")
            assert listed(other) == ["user: I like cake."]
            assert found(other) == {"user: I like cake."}
            clock.ahead = 0
            assert [one.metadata.expires_at for one in other.get_all(user_id="ana")] == ends
            clock.ahead = 2 * HOUR
            assert other.purge_expired().count == 1


def test_a_store_of_the_last_version_has_nothing_that_expires(tmp_path: Path, clock: Clock) -> None:
    with Memory.open(tmp_path, embedder=HashEmbedder()) as memory:
        memory.add("I drink tea.", user_id="ana")
    with closing(sqlite3.connect(tmp_path / "memory.db", isolation_level=None)) as db:
        for statement in (
            "DROP INDEX items_expiring",
            "DROP INDEX items_activated",
            "DROP INDEX items_pending",
            "ALTER TABLE items DROP COLUMN expires",
            *(f"DROP TABLE {name}" for name in ("feedback", "withheld", "rejected")),
        ):
            db.execute(statement)
        db.execute("PRAGMA user_version = 5")
    with Memory.open(tmp_path, embedder=HashEmbedder()) as memory:
        clock.ahead = 9999 * DAY
        assert found(memory) == {"user: I drink tea."}
        assert table(memory, "SELECT expires FROM items") == [(None,)]
        memory.update(memory.get_all(user_id="ana")[0].id, {"expires_at": iso(clock() - DAY)}, user_id="ana")
        assert found(memory) == set()


def test_a_checkpoint_knows_what_expires(tmp_path: Path, clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    embedder = HashEmbedder()
    for opening in range(2):
        held = Store.open(tmp_path, facts_of(embedder), checkpoint_above=0)
        with Memory.open(tmp_path, embedder=embedder) as memory:
            if opening == 0:
                memory.add("I drink tea.", user_id="ana", ttl=HOUR)
                memory.add("I like cake.", user_id="ana")
            found(memory)
            held.close()
            clock.ahead = 2 * HOUR if opening else 0
            if opening:
                assert found(memory) == {"user: I like cake."}
    assert list((tmp_path / "indexes").glob("*.ckpt"))


def test_what_repeats_a_statement_stands_for_it_when_that_is_made_to_expire(memory: Memory, clock: Clock) -> None:
    memory.add([LISBON], user_id="ana")
    memory.add([AGAIN], user_id="ana")
    (front,) = memory.get_all(user_id="ana")
    memory.update(front.id, {"expires_at": iso(clock() + HOUR)}, user_id="ana")
    clock.ahead = 2 * HOUR
    assert listed(memory) == []
    assert memory.purge_expired().ids == {"ana": [front.id]}
    (heir,) = memory.get_all(user_id="ana")
    assert {heir.id, front.id} == {"lisbon", "again"}
    assert memory.get(front.id, user_id="ana") is None


def test_several_may_purge_at_once(memory: Memory, clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("memreader.stores.writing.PORTION", 2)
    memory.add([said(f"Tea number {n}.", f"m{n}") for n in range(30)], user_id="ana", ttl=HOUR)
    memory.add("I like cake.", user_id="ana")
    clock.ahead = 2 * HOUR
    with ThreadPoolExecutor(4) as pool:
        reports = list(pool.map(lambda _: memory.purge_expired(), range(4)))
    gone = [item_id for report in reports for item_id in report.ids.get("ana", ())]
    assert (len(gone), len(set(gone))) == (30, 30)
    assert listed(memory) == ["user: I like cake."]


def test_a_longer_life_is_not_cut_by_a_purge_that_was_under_way(memory: Memory, clock: Clock) -> None:
    one, other = memory.add([said(f"Tea number {n}.", f"m{n}") for n in range(2)], user_id="ana", ttl=HOUR).added
    clock.ahead = 2 * HOUR
    assert memory._store.expired(clock()) == {"ana": 2}
    memory.update(one, {"expires_at": None}, user_id="ana")
    assert memory.purge_expired().ids == {"ana": [other]}
