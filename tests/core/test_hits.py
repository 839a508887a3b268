"""What a list of hits promises: distinct words, scores of their own, a floor that knows chance."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from memreader import FileInput, Memory, MiniLMEmbedder
from memreader.testing import HashEmbedder

FACTS = [
    "My wife Ingrid plays the cello.",
    "We drive an old Volvo estate.",
    "I work as a nurse at the children's hospital.",
    "My daughter Freya turned seven last week.",
    "We moved to Aarhus in 2019.",
    "Got it, thanks!",
]


def test_the_repeats_of_a_question_come_after_its_answer(memory: Memory) -> None:
    memory.add("My wife Ingrid plays the cello.", user_id="ana")
    for day in range(1, 7):
        question = {"role": "user", "content": "What does my wife play?", "chat_time": f"2025-01-0{day}"}
        memory.add([question], user_id="ana", session_id=f"s{day}")
    hits = memory.search("What does my wife play?", user_id="ana", top_k=2)
    assert [hit.item.memory for hit in hits] == [
        "user: What does my wife play?",
        "user: My wife Ingrid plays the cello.",
    ]


@pytest.mark.parametrize("top_k", [1, 3, 8, 12, 20])
def test_above_the_floor_there_are_k_hits_if_k_exist_repeats_last(memory: Memory, top_k: int) -> None:
    memory.add([f"note number {n} about tea" for n in range(6)] * 2, user_id="ana")
    hits = memory.search("note about tea", user_id="ana", top_k=top_k)
    assert len(hits) == len({hit.item.id for hit in hits}) == min(top_k, 12)
    assert len({hit.item.memory for hit in hits[:6]}) == min(top_k, 6)


def test_the_same_words_on_three_days_are_all_found(memory: Memory) -> None:
    for day in range(1, 4):
        run = {"role": "user", "content": "I went running today", "chat_time": f"2025-01-0{day}"}
        memory.add([run], user_id="ana", session_id=f"s{day}")
    hits = memory.search("running", user_id="ana", top_k=3)
    assert sorted(hit.item.metadata.memory_time or "" for hit in hits) == ["2025-01-01", "2025-01-02", "2025-01-03"]


def test_scores_never_rise_along_the_hits_and_lie_between_0_and_1(minilm: MiniLMEmbedder) -> None:
    with Memory.in_memory(embedder=minilm) as memory:
        memory.add(FACTS, user_id="ana")
        for query in ("What car do we drive?", "Where do we live?", "thanks"):
            scores = [hit.score for hit in memory.search(query, user_id="ana", top_k=6, threshold=0)]
            assert scores == sorted(scores, reverse=True)
            assert all(0 <= score <= 1 for score in scores)


def test_a_hit_is_scored_by_its_own_evidence_not_by_the_best_of_another(minilm: MiniLMEmbedder) -> None:
    with Memory.in_memory(embedder=minilm) as memory:
        memory.add(FACTS, user_id="ana")
        first, *others = memory.search("Which instrument does my wife play?", user_id="ana", top_k=6)
        assert "cello" in first.item.memory
        assert all(other.score < first.score / 2 for other in others)


@pytest.mark.parametrize(
    ("query", "word"),
    [("What car do we drive?", "Volvo"), ("What is my job?", "nurse"), ("How old is my daughter?", "Freya")],
)
def test_everyday_questions_in_other_words_are_not_refused(minilm: MiniLMEmbedder, query: str, word: str) -> None:
    with Memory.in_memory(embedder=minilm) as memory:
        memory.add(FACTS, user_id="ana")
        assert word in memory.search(query, user_id="ana")[0].item.memory


@pytest.mark.parametrize(
    "query", ["What is the boiling point of tungsten?", "Which enzyme unwinds DNA?", "compile clang"]
)
def test_what_has_nothing_to_do_with_the_memories_finds_nothing(minilm: MiniLMEmbedder, query: str) -> None:
    with Memory.in_memory(embedder=minilm) as memory:
        memory.add(FACTS, user_id="ana")
        assert memory.search(query, user_id="ana") == []


def test_a_light_verb_alone_is_no_evidence(minilm: MiniLMEmbedder) -> None:
    with Memory.in_memory(embedder=minilm) as memory:
        memory.add(["Got it, thanks!", "I usually wake up at five."], user_id="ana")
        assert "five" in memory.search("When do I get up?", user_id="ana")[0].item.memory


@pytest.mark.parametrize("query", ["我的猫叫什么？", "猫叫什么？", "我有猫吗？", "我的猫叫什么名字？", "猫"])
def test_a_short_chinese_question_is_found_by_its_characters(minilm: MiniLMEmbedder, query: str) -> None:
    with Memory.in_memory(embedder=minilm) as memory:
        memory.add(["我养了一只橘猫，名字叫年糕。", "周末我们去爬山。", "I drive a Volvo."], user_id="mei")
        assert "年糕" in memory.search(query, user_id="mei")[0].item.memory


@pytest.mark.parametrize(
    ("given", "error", "named"),
    [
        ({"query": None}, TypeError, "query must be a string"),
        ({"top_k": "3"}, TypeError, "top_k must be a whole number"),
        ({"top_k": 2.5}, TypeError, "top_k must be a whole number"),
        ({"recall": "all"}, ValueError, "recall must be"),
        ({"recall": "session"}, ValueError, "session_id"),
    ],
)
def test_an_impossible_search_says_what_is_wrong(
    memory: Memory, given: dict[str, Any], error: type[Exception], named: str
) -> None:
    memory.add("I like tea", user_id="ana")
    with pytest.raises(error, match=named):
        memory.search(**{"query": "tea", "user_id": "ana", **given})


def test_what_is_no_embedder_is_refused_by_name() -> None:
    with pytest.raises(TypeError, match=r"got str.*as_embedder"):
        Memory.in_memory(embedder="minilm")


def test_what_has_no_words_is_reported_as_dropped(memory: Memory) -> None:
    picture = {"role": "user", "content": [{"type": "image_url", "image_url": {"url": "https://example.org/a.png"}}]}
    report = memory.add([picture, "", "Hello."], user_id="ana")
    assert [(dropped.text, dropped.locator) for dropped in report.dropped] == [
        ("https://example.org/a.png", "[0]"),
        ("", "[1]"),
    ]
    address = memory.add("https://example.org/a.pdf", user_id="ana", type="doc")
    assert (address.added, [dropped.text for dropped in address.dropped]) == ([], ["https://example.org/a.pdf"])


def test_the_bytes_of_a_file_can_be_added_with_a_name(memory: Memory) -> None:
    memory.add(FileInput("note.txt", data=b"The boiler is serviced in October."), user_id="ana")
    assert memory.get_all(user_id="ana")[0].metadata.sources[0].doc_path == "note.txt"


def test_a_source_names_its_session(memory: Memory) -> None:
    memory.add("I like tea", user_id="ana", session_id="s1")
    assert memory.get_all(user_id="ana")[0].metadata.sources[0].session_id == "s1"


def test_a_memory_closes_itself_in_an_async_with() -> None:
    async def talk() -> int:
        async with Memory.in_memory(embedder=HashEmbedder()) as memory:
            return len((await memory.aadd("I like tea", user_id="ana")).added)

    assert asyncio.run(talk()) == 1
