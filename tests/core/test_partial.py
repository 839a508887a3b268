"""Memories that a model made without title, names or time: kept, marked, counted, listed, and asked about once more."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from command_line import CommandLine
from fine_replies import Shown, chat_of, memory, reply, shown
from memreader import Memory, MemReader
from memreader.embedding import MiniLMEmbedder
from memreader.errors import ModelRequiredError
from memreader.extract.schema import read_fields
from memreader.items import TextualMemoryItem, TextualMemoryMetadata
from memreader.lacking import FIELD_OF, MISSING, completed, filled_by, lacking, marks
from memreader.patching import patched
from memreader.testing import FunctionChatModel, HashEmbedder
from openai_server import Answer, OpenAIServer

OTTER, HERON = "The otter lives in Porto.", "The heron sleeps."
Fields = dict[str, Any]


class Filling:
    """A model that reads lines as memories with the fields given, and answers what is missing; it keeps what it saw."""

    def __init__(self, **said: Any) -> None:
        self.said = said
        """Of every memory beside its words and lines."""
        self.given: dict[str, Fields] = {}
        """Words of a memory -> fields."""
        self.asked: list[dict[str, list[str]]] = []
        """Words -> what was asked for, call by call."""
        self.answer: str | BaseException | None = None
        """In place of what is given."""
        self.meanwhile: Callable[[], object] = lambda: None

    def __call__(self, messages: list[dict[str, Any]]) -> str:
        prompt = messages[-1]["content"]
        if '"missing"' not in prompt:
            return self._read(shown(messages))
        rows = re.findall(r'^(\d+): (\{"note".*)$', re.split("# Notes\n|# 笔记\n", prompt)[-1], re.M)
        notes = [json.loads(row) for _, row in rows]
        self.asked.append({note["note"]: note["missing"] for note in notes})
        self.meanwhile()
        if isinstance(self.answer, BaseException):
            raise self.answer
        if self.answer is not None:
            return self.answer
        return json.dumps({str(place): self.given.get(note["note"], {}) for place, note in enumerate(notes)})

    def _read(self, seen: Shown) -> str:
        said = [{"value": line.words, "lines": [line.number], **self.said} for line in seen.new]
        return reply(*said)


def opened(model: Filling) -> Memory:
    return Memory.in_memory(llm=FunctionChatModel(model), embedder=HashEmbedder())


def made(store: Memory, **chosen: Any) -> list[TextualMemoryItem]:
    return [item for item in store.get_all(user_id="ana", **chosen) if item.metadata.evolve_from]


def unsaid(**fields: Any) -> tuple[str, ...]:
    found = read_fields([{"value": "Ana likes tea.", **fields}])
    assert found is not None
    return found.memories[0].unsaid


def test_a_whole_answer_makes_no_memory_partial() -> None:
    with opened(Filling(key="Otter", entities=["Porto"], time=None)) as store:
        report = store.add(chat_of(OTTER, HERON), user_id="ana")
        assert report.partial == []
        assert {item.metadata.partial for item in store.get_all(user_id="ana")} == {False}
        assert store.admin.stats().partial == 0


def test_a_memory_without_its_fields_is_stored_all_the_same_and_says_what_is_missing() -> None:
    with opened(Filling()) as store:
        report = store.add(chat_of(OTTER, time=None), user_id="ana", metadata={"topic": "pets"})
        (item,) = made(store)
        assert report.partial == [item.id]
        assert set(report.partial) < set(report.added)
        assert item.metadata.partial
        assert item.metadata.info == {"topic": "pets", "missing": ["key", "entities", "time"]}
        # A stand-in: whoever shows keys finds one.
        assert item.metadata.key == OTTER.removesuffix(".")
        assert made(store, filter={"partial": True}) == [item]
        assert made(store, filter={"partial": False}) == []
        assert (store.admin.stats().partial, store.admin.stats("ana").partial, store.admin.stats("ben").partial) == (
            1,
            1,
            0,
        )


def test_a_time_that_its_source_tells_is_not_missing() -> None:
    with opened(Filling(key="Otter", entities=[])) as store:
        store.add(chat_of(OTTER), user_id="ana")
        (item,) = made(store)
        assert (item.metadata.memory_time, item.metadata.partial) == ("2023-05-08T10:00:00", False)


@pytest.mark.parametrize("time", ["last spring", 5.5, ["2023"], "5/2023"])
def test_a_time_that_cannot_be_placed_is_missing_where_nobody_said_when(time: Any) -> None:
    with opened(Filling(key="Otter", entities=[], time=time)) as store:
        store.add(chat_of(OTTER, time=None), user_id="ana")
        assert lacking(made(store)[0].metadata) == ("time",)


def test_that_no_time_was_said_is_an_answer() -> None:
    reader = MemReader(llm=FunctionChatModel(Filling(key="Otter", entities=[], time=None)), embedder=HashEmbedder())
    (item,) = reader.read(OTTER, type="doc", as_text=True, user_id="ana").items
    assert (item.metadata.memory_time, item.metadata.partial) == (None, False)


@pytest.mark.parametrize(
    ("fields", "missing"),
    [
        ({"key": "Tea", "entities": ["Ana"], "time": "2023-05-08"}, ()),
        ({"key": "Tea", "entities": [], "time": None}, ()),
        ({"key": "Tea", "entities": None, "time": "unknown"}, ()),
        ({"title": "Tea", "实体": [], "when": ""}, ()),
        ({"entities": [], "time": None}, ("key",)),
        ({"key": " ", "entities": [], "time": None}, ("key",)),
        ({"key": None, "time": None}, ("key", "entities")),
        ({"key": "Tea", "entities": 5, "time": None}, ("entities",)),
        ({"key": "Tea", "entities": [None, 3.5e300], "time": {}}, ("entities",)),
        ({"key": "Tea", "entities": [], "time": True}, ("time",)),
        ({}, ("key", "entities", "time")),
    ],
)
def test_a_field_is_unsaid_if_the_answer_lacks_it_or_it_says_nothing_that_can_be_read(
    fields: Fields, missing: tuple[str, ...]
) -> None:
    assert unsaid(**fields) == missing


def test_whom_relations_name_is_not_missing() -> None:
    with opened(Filling(key="Otter", relations=[["the otter", "lives in", "Porto"]])) as store:
        store.add(chat_of(OTTER), user_id="ana")
        (item,) = made(store)
        assert (item.metadata.partial, item.metadata.entities) == (False, ["the otter", "Porto"])


def test_the_same_fact_said_twice_in_one_reply_has_what_either_has() -> None:
    twice = [
        {"value": OTTER, "lines": [1], "time": None},
        memory(OTTER, [1], key="Otter", entities=["Porto"]),
    ]
    model = FunctionChatModel(lambda _: reply(*twice))
    with Memory.in_memory(llm=model, embedder=HashEmbedder()) as store:
        store.add(chat_of(OTTER), user_id="ana")
        (item,) = made(store)
        assert (item.metadata.key, item.metadata.entities, item.metadata.partial) == ("Otter", ["Porto"], False)


def test_just_the_missing_fields_are_asked_for_and_the_words_and_ids_stay() -> None:
    model = Filling(time=None)
    model.given = {OTTER: {"key": "Otter's home", "entities": ["Porto"]}, HERON: {"key": "Heron", "entities": []}}
    with opened(model) as store:
        report = store.add(chat_of(OTTER, HERON), user_id="ana", session_id="s")
        before = made(store)
        assert report.partial == [item.id for item in before]
        filled = store.refine(user_id="ana", partial=True)
        assert model.asked == [{OTTER: ["key", "entities"], HERON: ["key", "entities"]}]
        assert (filled.usage.calls, filled.partial, filled.failures) == (1, [], [])
        assert filled.completed == report.partial
        after = made(store)
        assert [item.id for item in after] == [item.id for item in before]
        assert [item.memory for item in after] == [OTTER, HERON]
        assert [item.metadata.key for item in after] == ["Otter's home", "Heron"]
        assert [item.metadata.entities for item in after] == [["Porto"], []]
        assert [(item.metadata.partial, item.metadata.info, item.metadata.version) for item in after] == [
            (False, {}, 2)
        ] * 2
        assert [entity.name for entity in store.graph.entities(user_id="ana")] == ["Porto"]
        assert [step.event for step in store.history(before[0].id, user_id="ana")] == ["add", "update"]
        assert store.search(OTTER, user_id="ana", top_k=1)[0].similarity == pytest.approx(1, abs=1e-3)
        assert store.refine(user_id="ana", partial=True).usage.calls == 0
        assert store.admin.stats().partial == 0


@pytest.mark.parametrize("time", ["some day", "2023-05", "2023-W19", None, 2023])
def test_what_the_model_does_not_give_stays_missing_and_can_be_asked_for_later(time: Any) -> None:
    model = Filling()
    model.given = {OTTER: {"key": "Home", "entities": None, "time": time}}
    with opened(model) as store:
        store.add(chat_of(OTTER, time=None), user_id="ana")
        report = store.refine(user_id="ana", partial=True)
        (item,) = made(store)
        assert (report.completed, report.partial) == ([item.id], [item.id])
        assert lacking(item.metadata) == ("entities", "time")
        model.given = {OTTER: {"key": "Other", "entities": ["Porto"], "time": "2023-05-08"}}
        store.refine(user_id="ana", partial=True)
        (item,) = made(store)
        assert model.asked[1] == {OTTER: ["entities", "time"]}
        assert (item.metadata.key, item.metadata.memory_time, item.metadata.partial) == ("Home", "2023-05-08", False)


@pytest.mark.parametrize("answer", [ConnectionError("down"), "I can't.", '{"0": "no"', "[]"])
def test_a_failed_call_is_a_failure_changes_nothing_and_can_be_repeated(answer: Any) -> None:
    model = Filling(time=None)
    model.answer = answer
    with opened(model) as store:
        store.add(chat_of(OTTER), user_id="ana")
        before = made(store)
        report = store.refine(user_id="ana", partial=True)
        assert [failure.locator for failure in report.failures] == ["partial"]
        assert (report.completed, report.partial) == ([], [before[0].id])
        assert made(store) == before
        model.answer, model.given = None, {OTTER: {"key": "Home", "entities": ["Porto"]}}
        assert store.refine(user_id="ana", partial=True).completed == [before[0].id]


def test_one_call_asks_about_twenty_memories_of_a_session_and_about_each_once() -> None:
    model = Filling(key="A room", time=None)
    words = [f"The room number {number} is painted in colour {number * 7}." for number in range(45)]
    with opened(model) as store:
        store.add(chat_of(*words), user_id="ana", session_id="one")
        store.add(chat_of(OTTER), user_id="ana", session_id="two")
        told: list[tuple[str, int, int]] = []
        report = store.refine(user_id="ana", partial=True, progress=lambda *step: told.append(step))
        assert sorted(len(call) for call in model.asked) == [1, 5, 20, 20]
        assert len({note for call in model.asked for note in call}) == 46
        assert (len(report.partial), report.usage.calls) == (46, 4)
        assert told == [("complete", done, 4) for done in range(1, 5)]


def test_only_what_was_chosen_is_asked_about() -> None:
    model = Filling(time=None)
    with opened(model) as store:
        store.add(chat_of(OTTER), user_id="ana", session_id="one")
        store.add(chat_of(HERON), user_id="ana", session_id="two")
        first, second = made(store)
        store.refine(user_id="ana", session_id="two", partial=True)
        store.refine(user_id="ana", ids=[first.id], partial=True)
        store.refine(user_id="ana", limit=1, partial=True)
        store.scoped(user_id="ana", session_id="two").refine(partial=True)
        store.refine(user_id="ben", partial=True)
        store.refine(user_id="ana")
        assert [list(call) for call in model.asked] == [[HERON], [OTTER], [OTTER], [HERON]]
        store.update(second.id, {"status": "archived"}, user_id="ana")
        store.refine(partial=True)
        assert list(model.asked[-1]) == [OTTER]


def test_what_somebody_changed_meanwhile_stays_as_they_made_it() -> None:
    model = Filling(time=None)
    model.given = {OTTER: {"key": "Home", "entities": []}}
    with opened(model) as store:
        store.add(chat_of(OTTER), user_id="ana")
        (item,) = made(store)
        model.meanwhile = lambda: store.update(item.id, {"key": "Mine"}, user_id="ana")
        report = store.refine(user_id="ana", partial=True)
        after = store.get(item.id, user_id="ana")
        assert after is not None
        assert (after.metadata.key, after.metadata.version, lacking(after.metadata)) == ("Mine", 2, ("entities",))
        assert (report.completed, report.partial) == ([], [item.id])


def test_without_a_model_what_is_partial_cannot_be_asked_about(tmp_path: Path) -> None:
    with Memory.open(tmp_path, llm=FunctionChatModel(Filling()), embedder=HashEmbedder()) as store:
        store.add(chat_of(OTTER), user_id="ana")
    with Memory.open(tmp_path, embedder=HashEmbedder()) as store, pytest.raises(ModelRequiredError):
        store.refine(user_id="ana", partial=True)


def test_what_the_user_gives_is_missing_no_longer_and_comes_back_with_an_earlier_version() -> None:
    with opened(Filling(time=None)) as store:
        store.add(chat_of(OTTER), user_id="ana")
        (item,) = made(store)
        keyed = store.update(item.id, {"key": "Home", "info": {"mine": 1}}, user_id="ana")
        assert keyed.metadata.info == {"mine": 1, "missing": ["entities"]}
        whole = store.update(item.id, {"entities": ["Porto", "Otter"]}, user_id="ana")
        assert (whole.metadata.partial, whole.metadata.info) == (False, {"mine": 1})
        assert lacking(store.restore(item.id, 1, user_id="ana").metadata) == ("key", "entities")
        assert not store.restore(item.id, 3, user_id="ana").metadata.partial
        assert not store.update(item.id, {"partial": False}, user_id="ana").metadata.partial


async def test_the_async_twin_does_the_same() -> None:
    model = Filling(time=None)
    model.given = {OTTER: {"key": "Home", "entities": []}}
    async with opened(model) as store:
        await store.aadd(chat_of(OTTER), user_id="ana")
        assert len((await store.arefine(user_id="ana", partial=True)).completed) == 1


def test_a_chinese_memory_is_asked_about_in_chinese() -> None:
    words = "我上个星期搬到了成都，住在锦江区。"
    model = Filling(time=None)
    model.given = {words: {"key": "搬家", "entities": ["成都", "锦江区"]}}
    with opened(model) as store:
        store.add(chat_of(words, name="安娜"), user_id="ana")
        (item,) = made(store)
        model.given[item.memory] = model.given[words]
        store.refine(user_id="ana", partial=True)
        assert made(store)[0].metadata.entities == ["成都", "锦江区"]


known = st.builds(
    TextualMemoryMetadata,
    key=st.sampled_from([None, "Tea", "Otter"]),
    entities=st.lists(st.sampled_from(["Ana", "Ben"]), max_size=2),
    memory_time=st.sampled_from([None, "2023-05-08"]),
    partial=st.booleans(),
    info=st.dictionaries(
        st.sampled_from(["topic", "missing"]), st.sampled_from([["key"], ["time", "entities", "else"], "x", []])
    ),
)


@given(known, st.sets(st.sampled_from(MISSING)))
def test_what_is_given_is_missing_no_longer_and_nothing_else_changes(
    before: TextualMemoryMetadata, names: set[str]
) -> None:
    values: Fields = {"key": "New", "entities": ["Cy"], "memory_time": "2024-01-01"}
    fields = {FIELD_OF[name]: values[FIELD_OF[name]] for name in MISSING if name in names}
    item = TextualMemoryItem(memory="x", metadata=before)
    for after in (patched(item, completed(before, fields)).metadata, patched(item, fields).metadata):
        left = [name for name in lacking(before) if name not in names]
        assert list(lacking(after)) == left
        assert after.partial == bool(left) or not lacking(before)
        assert {k: v for k, v in after.info.items() if k != "missing"} == {
            k: v for k, v in before.info.items() if k != "missing"
        }


@given(known, known)
def test_found_again_a_memory_lacks_only_what_both_lack(one: TextualMemoryMetadata, two: TextualMemoryMetadata) -> None:
    after = one.model_copy(update=filled_by(one, two))
    assert set(lacking(after)) == set(lacking(one)) & set(lacking(two))


@given(st.dictionaries(st.text(), st.integers()), st.lists(st.sampled_from(MISSING), unique=True))
def test_marks_can_be_taken_away_again(info: dict[str, int], missing: list[str]) -> None:
    marked = marks(info, missing)
    assert marks(marked["info"], []) == marks(info, [])


class TestCommandLine:
    """`list --partial`, `refine --partial`, and what is told of them."""

    def test_partial_memories_are_told_listed_and_completed(
        self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, minilm: MiniLMEmbedder
    ) -> None:
        monkeypatch.chdir(tmp_path)
        monkeypatch.setattr("memreader.cli.opening.embedder_called", lambda _: minilm)
        cli = CommandLine(monkeypatch, tmp_path / "store")
        model = Filling(time=None)
        Path("chat.json").write_text(json.dumps(chat_of(OTTER)), encoding="utf-8")
        with OpenAIServer() as server:
            server.reply = lambda request: Answer(model(request.body["messages"]))
            at = ["--model", "m", "--base-url", server.url]
            added = cli.fine("add", "chat.json", "--mode", "fine", *at)
            assert "1 partial" in added.out
            assert "memreader list --partial" in added.err
            listed = cli.fine("list", "--partial", "--json").json
            assert [(item["memory"], item["metadata"]["info"]["missing"]) for item in listed] == [
                (OTTER, ["key", "entities"])
            ]
            assert cli.fine("stats", "--json").json["partial"] == 1
            model.given = {OTTER: {"key": "Home", "entities": []}}
            assert cli.fine("refine", *at).out == "nothing is raw\n"
            report = cli.fine("refine", "--partial", "--json", *at).json
            assert (report["completed"], report["partial"]) == ([listed[0]["id"]], [])
            assert cli.fine("list", "--partial", "--json").json == []
            assert cli.fine("list", "--partial", "--archived", "--json").json == []
