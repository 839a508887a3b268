"""Names that nobody gave: turns, windows, documents and statements know whom and what they mention."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memreader import Memory, MemReader, ReadOptions, TextualMemoryItem
from memreader.graph.found import _NO_PROSE, MASK, masked
from memreader.graph.mentions import mentioned_in
from memreader.items import SourceMessage
from memreader.patching import patched
from memreader.testing import FunctionChatModel, HashEmbedder

TALK = [
    {"role": "participant", "name": "Ana", "content": "Ana speaking. I met Leo in Lisbon.", "message_id": "1"},
    {"role": "participant", "name": "Ben", "content": "Thanks, Ana! 王老师在北京。", "message_id": "2"},
]


def known(memory: Memory, user: str = "u") -> dict[str, int]:
    return {entity.name: entity.items for entity in memory.graph.entities(user_id=user)}


def test_turns_mention_whom_they_name_and_not_who_speaks(memory: Memory) -> None:
    memory.add(TALK, user_id="u")
    assert [item.metadata.entities for item in memory.get_all(user_id="u")] == [
        ["Leo", "Lisbon"],
        ["Ana", "王老师", "北京"],
    ]
    assert known(memory) == {"Ana": 1, "Leo": 1, "Lisbon": 1, "北京": 1, "王老师": 1}
    memory.delete_by_source(user_id="u", message_id="2")
    assert known(memory) == {"Leo": 1, "Lisbon": 1}


def test_a_window_mentions_what_its_turns_do() -> None:
    reader = MemReader(embedder=HashEmbedder(), options=ReadOptions(unit="window"))
    (item,) = reader.read(TALK, user_id="u").items
    assert item.metadata.entities == ["Leo", "Lisbon", "Ana", "王老师", "北京"]


def test_a_document_mentions_names_in_its_pieces(memory: Memory) -> None:
    memory.add("The pump in Lisbon was built by Maria Silva.", type="doc", as_text=True, user_id="u")
    assert known(memory) == {"Lisbon": 1, "Maria Silva": 1}


def test_what_the_caller_gave_wins_and_what_he_left_out_is_found(memory: Memory) -> None:
    memory.add({"memory": "Leo lives in Porto.", "metadata": {"entities": ["harbour"]}}, user_id="u")
    memory.add({"memory": "Nora lives in Porto."}, user_id="u")
    assert known(memory) == {"Nora": 1, "Porto": 1, "harbour": 1}


def test_what_only_matters_in_its_session_mentions_nobody(memory: Memory) -> None:
    memory.add({"memory": "Leo waits outside.", "metadata": {"info": {"lifetime": "short"}}}, user_id="u")
    assert known(memory) == {}


@pytest.mark.parametrize(("lifetime", "names"), [("long", ["Leo", "Porto"]), ("short", [])])
def test_a_models_statement_without_entities_gets_those_of_its_words(lifetime: str, names: list[str]) -> None:
    fact = {"value": "Leo waits in Porto.", "key": "Leo", "memory_type": "UserMemory", "lines": [1]}
    reply = json.dumps({"memory list": [{**fact, "lifetime": lifetime}], "summary": ""})
    model = FunctionChatModel(lambda _: reply)
    read = MemReader(llm=model, embedder=HashEmbedder()).read("Leo waits in Porto.", user_id="u", mode="fine")
    assert [item.metadata.entities for item in read.items if not item.metadata.is_fast] == [names]


def test_other_words_mention_others_unless_the_caller_said_whom() -> None:
    said = SourceMessage(name="Ana", content="I moved to Porto.")
    turn = TextualMemoryItem(
        memory="Ana: I moved to Porto.", metadata={"sources": [said], "entities": ["Porto"], "is_fast": True}
    )
    assert patched(turn, "Ana: I moved to Lisbon.").metadata.entities == ["Lisbon"]
    assert patched(turn, {"tags": ["x"]}).metadata.entities == ["Porto"]
    assert patched(turn, {"memory": "Ana: I moved to Lisbon.", "entities": ["a"]}).metadata.entities == ["a"]
    given = TextualMemoryItem(memory="Leo lives in Porto.", metadata={"entities": ["harbour"]})
    assert patched(given, "Leo lives in Lisbon.").metadata.entities == ["harbour"]
    passing = TextualMemoryItem(memory="Leo waits.", metadata={"info": {"lifetime": "short"}})
    assert patched(passing, "Nora waits in Porto.").metadata.entities == []


def test_the_same_item_added_again_is_the_same(memory: Memory) -> None:
    item = {"id": "a", "memory": "Leo lives in Porto."}
    assert memory.add(item, user_id="u").added == ["a"]
    assert memory.add(item, user_id="u").existing == ["a"]


def test_a_name_is_mentioned_once_in_its_first_spelling() -> None:
    assert mentioned_in("In Lisbon. LISBON is big, and Lisbon's old; I like lisbon and Lisbon.") == ("Lisbon",)


@given(
    st.lists(
        st.sampled_from("` ``` @ # < > / \\ _ { } ; [image x] () . www. http://a A b \n def import:".split(" "))
        | st.characters(),
        max_size=30,
    ).map("".join)
)
def test_texts_that_are_passed_over_hold_nothing_but_prose(text: str) -> None:
    assert masked(text) == _NO_PROSE.sub(lambda match: MASK * len(match[0]), text)


PEOPLE = ("Leo", "Nora", "Otto", "Ines", "Hugo")


def told(number: int) -> tuple[str, str]:
    """Two people whom a turn or statement names."""
    return PEOPLE[number % 5], PEOPLE[(number + 1 + number // 5 % 4) % 5]


def reply(messages: list[dict[str, Any]]) -> str:
    """A statement about the two people of the turn in the prompt, with a relation between them."""
    words = messages[-1]["content"].rpartition("number ")[2]
    number = int(words.partition(",")[0])
    one, other = told(number)
    fact = {"value": f"Number {number}: {one} knows {other}.", "key": "k", "memory_type": "UserMemory", "lines": [1]}
    fact |= {"entities": [one, other], "relations": [[one, "knows", other]]}
    return json.dumps({"memory list": [fact], "summary": ""})


@pytest.mark.parametrize("each", [10, pytest.param(200, marks=pytest.mark.long)], ids=["short", "long"])
def test_twenty_threads_that_add_turns_and_statements_make_each_entity_once(
    each: int, make_store: Callable[[], Memory]
) -> None:
    with make_store() as memory:
        begin = threading.Barrier(20)

        def work(worker: int) -> None:
            begin.wait()
            for place in range(each):
                number = worker * each + place
                one, other = told(number)
                words = f"As number {number}, I think that {one} knows {other}."
                message = {"role": "user", "content": words, "message_id": f"m{number}"}
                report = memory.add(
                    message, user_id="u", session_id=f"s{number}", mode="fine" if number % 2 else "fast"
                )
                assert not report.failures

        with ThreadPoolExecutor(20) as pool:
            for done in [pool.submit(work, worker) for worker in range(20)]:
                done.result()
        total = 20 * each
        numbers = [*range(total), *range(1, total, 2)]
        wanted = {name: sum(name in told(number) for number in numbers) for name in PEOPLE}
        assert known(memory) == wanted
        relations = memory.graph.relations(user_id="u")
        assert sorted((one.head, one.tail) for one in relations) == sorted(map(told, range(1, total, 2)))
        for name in PEOPLE:
            assert len(memory.graph.mentions(name, user_id="u")) == wanted[name]


@pytest.fixture
def make_store(tmp_path: Any) -> Callable[[], Memory]:
    model = FunctionChatModel(reply)
    return lambda: Memory.open(tmp_path / "mem", llm=model, embedder=HashEmbedder(dimension=16))
