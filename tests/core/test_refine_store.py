"""Refining over a store: several at once, changes in between, labels, and copies of the store."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import facts
from facts import assert_facts, be_busy, chat_of_facts, facts_in, finding, open_facts
from fine_replies import Changing, answering, chat_of, echoing, memory, reply, shown
from memreader import Memory, ReadOptions
from memreader.items import TextualMemoryItem
from memreader.patching import patched
from memreader.recall import term_counts
from memreader.records import Batch, ItemRecord
from memreader.testing import FunctionChatModel, HashEmbedder
from stored import assert_citations
from whole_memory import everything

SMALL = ReadOptions(window_tokens=90, window_overlap=30, chunk_tokens=50, chunk_overlap=0)


def opened(script: Any = echoing, **options: Any) -> Memory:
    given = {"embedder": HashEmbedder(), "read_options": SMALL, **options}
    return Memory.in_memory(llm=FunctionChatModel(script), **given)


def fine(store: Memory, **labels: Any) -> list[TextualMemoryItem]:
    return [item for item in store.get_all(user_id="ana", **labels) if item.metadata.evolve_from]


def one(store: Memory, item_id: str) -> TextualMemoryItem:
    item = store.get(item_id, user_id="ana")
    assert item is not None
    return item


@pytest.fixture
def busy(tmp_path: Path) -> Iterator[Callable[[int], subprocess.Popen[str]]]:
    """Starts other processes that are busy on the folder from the moment they hear a line."""
    started: list[subprocess.Popen[str]] = []

    def start(first: int) -> subprocess.Popen[str]:
        environment = {**os.environ, "PYTHONPATH": str(Path(facts.__file__).parent)}
        command = [sys.executable, facts.__file__, str(tmp_path), "busy", str(first)]
        started.append(
            subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment)
        )
        return started[-1]

    yield start
    for process in started:
        process.kill()
        process.communicate(timeout=60)


def assert_complete(store: Memory, added: set[int], deleted: set[int]) -> None:
    """After refining to the end, whatever was said and not deleted is there once and refined once."""
    report = store.refine(user_id="ana")
    assert (report.left, report.failures) == ([], [])
    left = added - deleted
    assert_facts(store, "ana", left)
    known = set(facts_in(fine(store)))
    assert left <= known <= added
    assert store.refine(user_id="ana").usage.calls == 0


@pytest.mark.parametrize("rounds", [6, pytest.param(30, marks=pytest.mark.long)])
def test_eight_threads_that_add_refine_and_delete_lose_nothing_and_make_nothing_twice(
    tmp_path: Path, rounds: int
) -> None:
    with open_facts(tmp_path) as store:
        assert_complete(store, *be_busy(store, 0, threads=8, rounds=rounds))


def test_two_processes_that_add_refine_and_delete_lose_nothing_and_make_nothing_twice(
    tmp_path: Path, busy: Callable[[int], subprocess.Popen[str]]
) -> None:
    with open_facts(tmp_path) as store:
        store.add(chat_of_facts(range(40)), user_id="ana", session_id="s", mode="fast")
        processes = [busy(1000), busy(2000)]
        for process in processes:
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
        for process in processes:
            assert process.stdin is not None
            process.stdin.write("go\n")
            process.stdin.flush()
        outputs = [process.communicate(timeout=120)[0] for process in processes]
        records = [json.loads(output) for output in outputs]
        added = set(range(40)).union(*(set(record[0]) for record in records))
        assert_complete(store, added, set().union(*(record[1] for record in records)))


def test_the_answers_of_many_at_once_are_written_once(tmp_path: Path) -> None:
    everyone = threading.Barrier(4)

    def together(messages: list[dict[str, Any]]) -> str:
        everyone.wait(60)
        return finding(messages)

    with open_facts(tmp_path, together) as store:
        store.add(chat_of_facts(range(3)), user_id="ana", session_id="s", mode="fast")
        with ThreadPoolExecutor(4) as pool:
            reports = list(pool.map(lambda _: store.refine(user_id="ana"), range(4)))
        assert_facts(store, "ana", range(3), refined=range(3))
        assert sorted(len(report.added) for report in reports) == [0, 0, 0, 3]
        kinds = [[failure.kind for failure in report.failures] for report in reports]
        assert sorted(kinds) == [[], ["ChangedMeanwhile"], ["ChangedMeanwhile"], ["ChangedMeanwhile"]]
        assert [report.left for report in reports] == [[]] * 4, "what others refined isn't left"


def test_a_change_that_meets_refining_keeps_the_links() -> None:
    with opened() as store:
        (item_id,) = store.add(chat_of("My otter lives here."), user_id="ana", mode="fast").added
        (old,) = store.get_by_ids([item_id], user_id="ana")
        store.refine(user_id="ana")
        (child,) = fine(store)
        # What another thread read before and writes only now.
        assert old is not None
        record = ItemRecord(patched(old, {"tags": ["mine"]}), None, term_counts(old.memory), base_version=1)
        store._store.write(Batch("ana", items=(record,)))
        item = one(store, item_id)
        assert (item.metadata.tags, item.metadata.evolve_to, item.metadata.is_fast) == (["mine"], [child.id], False)
        assert store.refine(user_id="ana").usage.calls == 0


def test_a_memory_found_again_in_another_call_rests_on_both() -> None:
    def cats(messages: list[dict[str, Any]]) -> str:
        return reply(*[memory("Cats purr.", [line.number]) for line in shown(messages).new if "Cats" in line.words])

    text = " ".join(["Cats purr.", *(f"House number {n} is blue and has {n} windows." for n in range(6)), "Cats purr."])
    with opened(cats) as store:
        count = len(store.add(text, type="doc", as_text=True, user_id="ana", mode="fast").added)
        reports = [store.refine(user_id="ana", limit=1) for _ in range(count)]
        (item,) = fine(store)
        assert sum(len(report.added) for report in reports) == 1
        assert sum(len(report.existing) for report in reports) == 1
        assert len(item.metadata.evolve_from) == len(item.metadata.sources) == 2
        for parent in item.metadata.evolve_from:
            assert one(store, parent).metadata.evolve_to == [item.id]
        assert_citations(store)


@pytest.mark.parametrize("label", ["agent_id", "session_id"])
@pytest.mark.parametrize("kind", ["chat", "doc"])
def test_what_is_read_under_two_labels_gives_memories_under_both(label: str, kind: str) -> None:
    how: dict[str, Any] = {"type": "doc", "as_text": True} if kind == "doc" else {}
    data: Any = "The otter lives here." if kind == "doc" else chat_of("The otter lives here.")
    with opened() as store:
        for value in ("one", "two"):
            store.add(data, user_id="ana", **{label: value}, **how)
        items = [item for value in ("one", "two") for item in fine(store, **{label: value})]
        assert len({item.id for item in items}) == 2
        for item in items:
            (parent,) = item.metadata.evolve_from
            assert one(store, parent).metadata.evolve_to == [item.id]
            assert getattr(one(store, parent).metadata, label) == getattr(item.metadata, label)


def test_without_keep_raw_what_was_refined_in_a_store_is_archived_and_the_rest_stays() -> None:
    with opened(only_animals, read_options=ReadOptions(keep_raw=False)) as store:
        ids = store.add(chat_of("My otter lives here.", "Hm, well."), user_id="ana", mode="fast").added
        store.refine(user_id="ana")
        assert [one(store, item_id).metadata.status for item_id in ids] == ["archived", "activated"]
        found = [hit.item.memory for hit in store.search("My otter lives here.", user_id="ana", threshold=0)]
        assert found == ["Said: My otter lives here.", "Ana: Hm, well."]


def test_a_window_of_which_only_a_part_could_be_read_stays_raw(tmp_path: Path) -> None:
    lamps = [f"Lamp number {n} hangs in house number {n}." for n in range(12)]
    script = Changing(answering(("house number 11", "no answer")))
    with Memory.open(tmp_path, embedder=HashEmbedder(), read_options=ReadOptions(unit="window")) as store:
        (item_id,) = store.add(chat_of(*lamps), user_id="ana", session_id="s").added
    model = FunctionChatModel(script)
    with Memory.open(tmp_path, embedder=HashEmbedder(), llm=model, read_options=SMALL) as store:
        first = store.refine(user_id="ana")
        assert (first.refined, first.left) == ([], [item_id])
        known = one(store, item_id).metadata
        assert known.is_fast
        assert known.evolve_to == first.added != []
        script.script = echoing
        second = store.refine(user_id="ana")
        assert (second.refined, second.left) == ([item_id], [])
        known = one(store, item_id).metadata
        assert (known.is_fast, known.evolve_to) == (False, [*first.added, *second.added])
        assert sorted(item.memory for item in fine(store)) == sorted(f"It is said: {lamp}" for lamp in lamps)
        assert_citations(store)


def half_refined(store: Memory) -> dict[str, list[str]]:
    """A store with items that gave a memory, that gave none, and that are raw still."""
    store.add(chat_of("My otter lives here.", "Hm, well."), user_id="ana", session_id="s")
    store.add(chat_of("My heron lives there."), user_id="ana", session_id="t", mode="fast")
    return {"raw": [raw.item.id for raw in store._store.raw("ana")], "made": [item.id for item in fine(store)]}


def only_animals(messages: list[dict[str, Any]]) -> str:
    seen = shown(messages)
    return reply(*[memory(f"Said: {line.words}", [line.number]) for line in seen.new if "lives" in line.words])


def test_a_copy_of_a_store_knows_what_was_refined(tmp_path: Path) -> None:
    with opened(only_animals) as store, opened(only_animals) as other:
        state = half_refined(store)
        assert (len(state["raw"]), len(state["made"])) == (1, 1)
        store.admin.export(tmp_path / "all.zip")
        other.admin.import_(tmp_path / "all.zip")
        assert everything(other, ("ana",)) == everything(store, ("ana",))
        assert [raw.item.id for raw in other._store.raw("ana")] == state["raw"]
        reports = [one.refine(user_id="ana") for one in (store, other)]
        assert reports[0] == reports[1]
        assert (reports[0].refined, reports[0].usage.calls) == (state["raw"], 1)


def test_a_dump_of_items_knows_which_are_raw(tmp_path: Path) -> None:
    with opened(only_animals) as store, opened(only_animals) as other:
        half_refined(store)
        store.dump(tmp_path, user_id="ana")
        other.load(tmp_path, user_id="ana")
        for before, after in zip(store.get_all(user_id="ana"), other.get_all(user_id="ana"), strict=True):
            for name in ("is_fast", "evolve_from", "evolve_to", "status", "sources"):
                assert getattr(before.metadata, name) == getattr(after.metadata, name)
        # That an item gave nothing is the store's own to know: it is read again, and gives nothing.
        report = other.refine(user_id="ana")
        assert (len(report.refined), len(report.added)) == (2, 1)
        assert other.refine(user_id="ana").usage.calls == 0


def test_what_was_read_and_gave_nothing_is_read_again_after_it_was_deleted_and_said_again() -> None:
    script = Changing(lambda _: reply())
    with opened(script) as store:
        first = store.add(chat_of("My otter lives here."), user_id="ana")
        assert (first.refined, first.usage.calls) == (first.added, 1)
        store.delete(first.added, user_id="ana")
        script.script = echoing
        again = store.add(chat_of("My otter lives here."), user_id="ana")
        assert again.usage.calls == 1
        assert len(fine(store)) == 1


def test_deleting_everything_leaves_nothing_that_knows_of_refining() -> None:
    with opened(only_animals) as store:
        half_refined(store)
        store.delete_all(user_id="ana")
        assert everything(store, ("ana",))["ledger"] == []
        assert store._store.raw("ana") == []


def test_a_reindexed_store_has_the_same_left_to_refine() -> None:
    with opened(only_animals) as store:
        state = half_refined(store)
        store.admin.reindex(HashEmbedder(dimension=64))
        assert [raw.item.id for raw in store._store.raw("ana")] == state["raw"]
        report = store.refine(user_id="ana")
        assert len(report.added) == 1
        assert store.search("Said: My heron lives there.", user_id="ana")[0].item.id == report.added[0]
