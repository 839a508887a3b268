"""Stored memories through gates: reworded in place or archived, each version judged once, in doubt left as it is."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

import pytest

from fine_replies import chat_of, memory, reply, shown
from memreader import Memory, ReadOptions
from memreader.errors import ModelRequiredError
from memreader.items import TextualMemoryItem
from memreader.options import Gate
from memreader.testing import FunctionChatModel, HashEmbedder
from memreader.types import Dropped
from whole_memory import everything

OTTER, HERON, FERRET = "He likes tea.", "My heron lives there.", "My ferret sleeps."
BOTH: tuple[Gate, ...] = ("rewrite", "hallucination")
Verdicts = dict[str, Any]


class Judge:
    """A model for gates: answers by the words of each note, and keeps what it was asked about."""

    def __init__(self, rewrite: Verdicts | None = None, hallucination: Verdicts | None = None) -> None:
        self._said = {"rewrite": rewrite or {}, "hallucination": hallucination or {}}
        self.asked: list[tuple[str, list[str]]] = []
        self.meanwhile: Callable[[], object] = lambda: None
        """Called before an answer."""
        self.answer: str | None = None
        """In place of verdicts."""

    def __call__(self, messages: list[dict[str, Any]]) -> str:
        prompt = messages[-1]["content"]
        gate = "rewrite" if "need_rewrite" in prompt else "hallucination"
        notes = [json.loads(note) for _, note in re.findall(r'^(\d+): (".*")$', prompt.rpartition("# Text")[2], re.M)]
        self.asked.append((gate, notes))
        self.meanwhile()
        said = self._said[gate]
        if self.answer is not None:
            return self.answer
        return json.dumps({str(place): self._verdict(gate, said.get(note)) for place, note in enumerate(notes)})

    def _verdict(self, gate: str, said: Any) -> dict[str, Any]:
        if gate == "rewrite":
            return {"need_rewrite": said is not None, "rewritten": said or "", "reason": "who?"}
        return {"keep": said is None, "reason": said or "said so"}


def opened(judge: Judge, script: Any = None, **options: Any) -> Memory:
    """A memory whose statements are what was said."""

    def as_said(messages: list[dict[str, Any]]) -> str:
        return reply(*[memory(line.words, [line.number], entities=["Ana"]) for line in shown(messages).new])

    given: dict[str, Any] = {"embedder": HashEmbedder(), "read_options": ReadOptions(), **options}
    return Memory.in_memory(llm=FunctionChatModel(script or as_said), general_llm=FunctionChatModel(judge), **given)


def statements(store: Memory, **labels: Any) -> list[TextualMemoryItem]:
    return [item for item in store.get_all(user_id="ana", **labels) if item.metadata.evolve_from]


def words(store: Memory) -> list[str]:
    return [item.memory for item in statements(store) if item.metadata.status == "activated"]


def test_a_memory_is_reworded_in_place() -> None:
    new = "Ben (the otter) likes tea."
    judge = Judge({OTTER: new})
    with opened(judge) as store:
        store.add(chat_of(OTTER, HERON), user_id="ana", session_id="s")
        before, other = statements(store)
        report = store.refine(user_id="ana", gates=("rewrite",))
        assert (report.rewritten, report.archived, report.dropped) == ([before.id], [], [])
        assert report.usage.calls == 1
        after, same = statements(store)
        assert same == other
        assert (after.id, after.memory, after.metadata.version) == (before.id, new, 2)
        assert after.metadata.key == new.removesuffix(".")
        for name in ("sources", "evolve_from", "memory_type", "session_id", "entities", "created_at", "info"):
            assert getattr(after.metadata, name) == getattr(before.metadata, name)
        history = store.history(before.id, user_id="ana")
        assert [(step.event, step.item and step.item.memory) for step in history] == [("add", OTTER), ("update", new)]
        assert history[1].at == after.metadata.updated_at
        (hit,) = store.search(new, user_id="ana", top_k=1)
        assert hit.item.id == before.id
        assert hit.similarity == pytest.approx(1, abs=1e-4)


def test_a_memory_that_nobody_said_is_archived_with_the_reason() -> None:
    judge = Judge(hallucination={OTTER: "nobody said tea"})
    with opened(judge) as store:
        store.add(chat_of(OTTER, HERON), user_id="ana")
        gone, _ = statements(store)
        report = store.refine(user_id="ana", gates=("hallucination",))
        assert (report.archived, report.rewritten) == ([gone.id], [])
        assert report.dropped == [Dropped(OTTER, "hallucination: nobody said tea", gone.id)]
        after = store.get(gone.id, user_id="ana")
        assert after is not None
        assert (after.memory, after.metadata.status, after.metadata.version) == (OTTER, "archived", 2)
        assert gone.id not in [hit.item.id for hit in store.search(OTTER, user_id="ana", threshold=0, top_k=9)]
        # What was said is found again, now that nothing stands above it.
        assert store.search(OTTER, user_id="ana", top_k=1)[0].item.id == gone.metadata.evolve_from[0]
        assert store.refine(user_id="ana").usage.calls == 0


def test_gates_follow_each_other_and_the_second_judges_what_the_first_made() -> None:
    judge = Judge({OTTER: "Ben likes tea."}, {"Ben likes tea.": "no Ben"})
    with opened(judge) as store:
        store.add(chat_of(OTTER, HERON), user_id="ana")
        report = store.refine(user_id="ana", gates=BOTH)
        assert judge.asked == [("rewrite", [OTTER, HERON]), ("hallucination", ["Ben likes tea.", HERON])]
        assert report.rewritten == report.archived
        assert words(store) == [HERON]


def test_each_version_is_judged_once() -> None:
    judge = Judge({OTTER: "Ben likes tea."}, {FERRET: "not said"})
    with opened(judge) as store:
        store.add(chat_of(OTTER, HERON, FERRET), user_id="ana")
        assert store.refine(user_id="ana", gates=BOTH).usage.calls == 2
        before = store.get_all(user_id="ana")
        assert store.refine(user_id="ana", gates=BOTH).usage.calls == 0
        assert store.get_all(user_id="ana") == before
        (item_id,) = [item.id for item in statements(store) if item.memory == HERON]
        store.update(item_id, "My heron lives here.", user_id="ana")
        assert store.refine(user_id="ana", gates=BOTH).usage.calls == 2
        assert judge.asked[-2:] == [("rewrite", ["My heron lives here."]), ("hallucination", ["My heron lives here."])]


def test_a_deleted_memory_that_comes_back_was_not_judged() -> None:
    judge = Judge()
    with opened(judge) as store:
        store.add(chat_of(OTTER), user_id="ana")
        store.refine(user_id="ana", gates=("rewrite",))
        store.delete([item.id for item in store.get_all(user_id="ana")], user_id="ana")
        assert everything(store, ("ana",))["ledger"] == []
        store.add(chat_of(OTTER), user_id="ana")
        assert words(store) == [OTTER]
        assert store.refine(user_id="ana", gates=("rewrite",)).usage.calls == 1


@pytest.mark.parametrize("answer", ["", "none of them", "[]", "{}", '{"0": {"keep": "maybe"}}', '{"0": 3, "1": null}'])
def test_what_can_not_be_read_as_a_verdict_changes_nothing_and_is_asked_again(answer: str) -> None:
    judge = Judge({OTTER: "Ben likes tea."}, {HERON: "not said"})
    judge.answer = answer
    with opened(judge) as store:
        store.add(chat_of(OTTER, HERON), user_id="ana")
        before = store.get_all(user_id="ana")
        report = store.refine(user_id="ana", gates=BOTH)
        assert (report.rewritten, report.archived, report.dropped) == ([], [], [])
        assert store.get_all(user_id="ana") == before
        judge.answer = None
        report = store.refine(user_id="ana", gates=BOTH)
        assert (len(report.rewritten), len(report.archived)) == (1, 1)


def test_a_verdict_about_one_memory_counts_if_the_others_have_none() -> None:
    judge = Judge()
    judge.answer = json.dumps({"1": {"keep": False, "reason": "not said"}})
    with opened(judge) as store:
        store.add(chat_of(OTTER, HERON, FERRET), user_id="ana")
        store.refine(user_id="ana", gates=("hallucination",))
        assert words(store) == [OTTER, FERRET]
        judge.answer = None
        store.refine(user_id="ana", gates=("hallucination",))
        assert judge.asked[-1] == ("hallucination", [OTTER, FERRET])


@pytest.mark.parametrize("gate", BOTH)
def test_a_memory_that_was_changed_meanwhile_stays_as_it_is_and_is_judged_later(gate: Gate) -> None:
    judge = Judge({OTTER: "Ben likes tea.", HERON: "A heron."}, {OTTER: "not said", HERON: "not said"})
    with opened(judge) as store:
        store.add(chat_of(OTTER, HERON), user_id="ana")
        first, second = statements(store)
        judge.meanwhile = lambda: store.update(first.id, "He likes coffee.", user_id="ana")
        report = store.refine(user_id="ana", gates=(gate,))
        assert [*report.rewritten, *report.archived] == [second.id]
        assert report.dropped == ([Dropped(HERON, f"{gate}: not said", second.id)] if report.archived else [])
        assert statements(store)[0].memory == "He likes coffee."
        judge.meanwhile = lambda: None
        store.refine(user_id="ana", gates=(gate,))
        assert judge.asked[-1] == (gate, ["He likes coffee."])


def test_a_memory_that_was_deleted_meanwhile_stays_away() -> None:
    judge = Judge({OTTER: "Ben likes tea."})
    with opened(judge) as store:
        store.add(chat_of(OTTER), user_id="ana")
        (item,) = statements(store)
        judge.meanwhile = lambda: store.delete(item.id, user_id="ana")
        report = store.refine(user_id="ana", gates=("rewrite",))
        assert (report.rewritten, statements(store)) == ([], [])


class NoBen(HashEmbedder):
    """Can't embed what names Ben."""

    __slots__ = ()

    def embed(self, texts: Any) -> Any:
        if any("Ben" in text for text in texts):
            raise ValueError("too long")
        return super().embed(texts)


def test_new_words_that_can_not_be_embedded_are_told_and_asked_about_again() -> None:
    judge = Judge({OTTER: "Ben likes tea."})
    with opened(judge, embedder=NoBen()) as store:
        store.add(chat_of(OTTER, HERON), user_id="ana")
        for asked in ([OTTER, HERON], [OTTER]):
            report = store.refine(user_id="ana", gates=("rewrite",))
            assert judge.asked[-1] == ("rewrite", asked)
            assert report.rewritten == []
            assert [failure.kind for failure in report.failures] == ["ValueError"]
        assert words(store) == [OTTER, HERON]


def test_only_statements_that_cite_something_are_judged() -> None:
    judge = Judge()
    with opened(judge) as store:
        store.add("I said so.", user_id="ana", mode="fast")
        store.add({"memory": "Ana likes tea."}, user_id="ana", mode="fast")
        store.add(chat_of(OTTER), user_id="ben")
        store.refine(user_id="ana", limit=0, gates=BOTH)
        assert judge.asked == []


def test_what_is_judged_can_be_chosen_by_label_and_id() -> None:
    judge = Judge()
    with opened(judge) as store:
        for session, line in (("one", OTTER), ("two", HERON), ("two", FERRET)):
            store.add(chat_of(line), user_id="ana", session_id=session)
        store.refine(user_id="ana", session_id="one", gates=("rewrite",))
        assert judge.asked == [("rewrite", [OTTER])]
        chosen = next(item for item in statements(store) if item.memory == FERRET)
        store.refine(user_id="ana", ids=[chosen.id], gates=("rewrite",))
        assert judge.asked[1:] == [("rewrite", [FERRET])]
        store.refine(user_id="ana", gates=("rewrite",))
        assert judge.asked[2:] == [("rewrite", [HERON])]


def test_the_memories_of_one_session_are_judged_ten_at_a_time_with_what_they_cite() -> None:
    judge = Judge()
    lines = [f"My otter number {n} lives in room {n}." for n in range(12)]
    told: list[tuple[str, int, int]] = []
    with opened(judge) as store:
        store.add(chat_of(*lines), user_id="ana", session_id="one")
        store.add(chat_of(HERON), user_id="ana", session_id="two")
        store.refine(user_id="ana", gates=("rewrite",), progress=lambda *step: told.append(step))
        assert sorted(len(notes) for _, notes in judge.asked) == [1, 2, 10]
        assert told == [("rewrite", 1, 3), ("rewrite", 2, 3), ("rewrite", 3, 3)]
        prompts = [str(messages) for messages in store.reader.distiller.models.general_llm.prompts]  # type: ignore[union-attr]
        assert all(
            all(note in prompt.rpartition("# Text")[2].partition("# Notes")[0] for note in notes)
            for prompt, (_, notes) in zip(prompts, judge.asked, strict=True)
        )


def test_the_budget_counts_for_gates_too() -> None:
    judge = Judge()
    with opened(judge) as store:
        store.add(chat_of(OTTER), user_id="ana", session_id="one")
        store.add(chat_of(HERON), user_id="ana", session_id="two")
        report = store.refine(user_id="ana", gates=("rewrite",), max_calls=1)
        assert (report.usage.calls, len(judge.asked)) == (1, 1)
        assert store.refine(user_id="ana", gates=("rewrite",)).usage.calls == 1
        assert len({notes[0] for _, notes in judge.asked}) == 2


def test_gates_need_a_model_where_there_is_something_to_judge() -> None:
    judge = Judge()
    with opened(judge) as store:
        store.add(chat_of(OTTER), user_id="ana")
        with Memory.open(store.folder, embedder=HashEmbedder()) as without:
            with pytest.raises(ModelRequiredError):
                without.refine(user_id="ana", gates=("rewrite",))
            assert without.refine(user_id="ben", gates=BOTH).rewritten == []


def test_gates_in_the_options_judge_before_anything_is_stored() -> None:
    judge = Judge({OTTER: "Ben likes tea."}, {HERON: "not said"})
    with opened(judge, read_options=ReadOptions(gates=BOTH)) as store:
        report = store.add(chat_of(OTTER, HERON), user_id="ana")
        assert words(store) == ["Ben likes tea."]
        assert [dropped.reason for dropped in report.dropped] == ["hallucination: not said"]
        assert {item.metadata.version for item in statements(store)} == {1}


async def test_the_async_twin_does_the_same() -> None:
    judge = Judge({OTTER: "Ben likes tea."}, {HERON: "not said"})
    with opened(judge) as store:
        await store.aadd(chat_of(OTTER, HERON), user_id="ana")
        report = await store.arefine(user_id="ana", gates=BOTH)
        assert words(store) == ["Ben likes tea."]
        assert (len(report.rewritten), len(report.archived), report.usage.calls) == (1, 1, 2)
