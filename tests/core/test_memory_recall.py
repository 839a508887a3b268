"""Search and context of a memory, end to end: what stands around a memory, rerankers, and both without a model."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from memreader import Memory, MiniLMEmbedder
from memreader.errors import InvalidScoresError
from memreader.testing import HashEmbedder

CHAT = [
    {"role": "participant", "name": "Ada", "content": "Who keeps the spare key of the boathouse?"},
    {"role": "participant", "name": "Bo", "content": "Auntie Lu does."},
    {"role": "participant", "name": "Ada", "content": "Fine. The tide turns at six, by the way."},
    {"role": "participant", "name": "Bo", "content": "Then we eat before."},
]


class Backwards:
    """Scores texts by their length, shortest best."""

    name = "backwards"

    def __init__(self, wrong: bool = False) -> None:
        self.wrong = wrong

    def rerank(self, query: str, texts: Sequence[str]) -> list[float]:
        return [-float(len(text)) for text in texts[self.wrong :]]


def test_a_short_answer_is_found_by_the_question_before_it(minilm: MiniLMEmbedder) -> None:
    with Memory.in_memory(embedder=minilm) as memory:
        memory.add(CHAT, user_id="ana", session_id="s", at="2025-03-01")
        found = [hit.item.memory for hit in memory.search("Who keeps the boathouse key?", user_id="ana", top_k=2)]
        assert "Bo: Auntie Lu does." in found


def test_the_speaker_that_a_question_names_is_preferred(minilm: MiniLMEmbedder) -> None:
    likes = [
        {"role": "participant", "name": name, "content": f"I like {what} for breakfast."}
        for name, what in (("Ada", "porridge"), ("Bo", "pancakes"))
    ]
    with Memory.in_memory(embedder=minilm) as memory:
        memory.add(likes, user_id="ana", session_id="s")
        for name, what in (("Ada", "porridge"), ("Bo", "pancakes")):
            (hit,) = memory.search(f"What does {name} like for breakfast?", user_id="ana", top_k=1)
            assert what in hit.item.memory
            assert hit.parts["speaker"] > 0


def test_the_parts_of_a_hit_say_what_its_place_is_made_of(minilm: MiniLMEmbedder) -> None:
    with Memory.in_memory(embedder=minilm) as memory:
        memory.add(CHAT, user_id="ana", session_id="s", at="2025-03-01")
        (hit,) = memory.search("When does the tide turn?", user_id="ana", top_k=1)
        named = {"words", "vectors", "late", "neighbours", "group", "manner", "asked"}
        assert named <= set(hit.parts)
        made_of = named | ({"late", "speaker", "date", "kind"} & set(hit.parts))
        assert hit.parts["fused"] == pytest.approx(sum(hit.parts[name] for name in made_of))


def test_the_context_holds_the_question_that_makes_an_answer_readable() -> None:
    with Memory.in_memory(embedder=HashEmbedder()) as memory:
        memory.add(CHAT, user_id="ana", session_id="s", at="2025-03-01")
        block = memory.context("Auntie Lu", user_id="ana", top_k=1, threshold=0)
        assert "[2025-03-01]\n- Ada: Who keeps the spare key of the boathouse?\n- Bo: Auntie Lu does.\n" in block


def test_the_neighbours_of_another_user_are_not_shown() -> None:
    with Memory.in_memory(embedder=HashEmbedder()) as memory:
        memory.add(CHAT[:1], user_id="ben", session_id="s", at="2025-03-01")
        memory.add(CHAT[1:], user_id="ana", session_id="s", at="2025-03-01")
        assert "boathouse" not in memory.context("Auntie Lu", user_id="ana", top_k=1, threshold=0)


def test_a_reranker_has_the_last_word(minilm: MiniLMEmbedder) -> None:
    with Memory.in_memory(embedder=minilm, reranker=Backwards()) as memory:
        memory.add(CHAT, user_id="ana", session_id="s")
        found = memory.search("Who keeps the boathouse key?", user_id="ana", top_k=2, threshold=0)
        assert [hit.item.memory for hit in found] == ["Bo: Auntie Lu does.", "Bo: Then we eat before."]
        assert found[0].parts["rerank"] > found[1].parts["rerank"]


def test_a_reranker_that_miscounts_is_named() -> None:
    with Memory.in_memory(embedder=HashEmbedder(), reranker=Backwards(wrong=True)) as memory:
        memory.add(CHAT, user_id="ana", session_id="s")
        with pytest.raises(InvalidScoresError, match="backwards"):
            memory.search("boathouse key", user_id="ana", threshold=0)
