"""The law of the review queue: what waits, or was rejected, changes no answer, and what is approved was as if added."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from memreader import Memory, TextualMemoryItem
from memreader.testing import HashEmbedder
from token_vectors import TOKENS

NAMES = ("Ana", "Bob", "Robert", "Lisbon", "Acme")
TEXTS = (
    "Ana works at Acme.", "Ana works at Globex.", "ana works at ACME!", "Bob lives in Lisbon.", "Bob lives in Porto.",
    "Robert, a.k.a. Bob, hired Ana.", "Lisbon is warm in May.", "What is Acme?", "Yes.", "Ana met Robert in Lisbon.",
)  # fmt: skip
QUESTIONS = ("Where does Ana work?", "Lisbon", "Who hired Ana in May 2024?", "Yes", "zebra crossing")
STEP = st.fixed_dictionaries(
    {
        "text": st.sampled_from(TEXTS),
        "kind": st.sampled_from(["turn", "turn", "statement"]),
        "session": st.sampled_from(["s", "t", None]),
        "names": st.lists(st.sampled_from(NAMES), max_size=2, unique=True),
        "day": st.integers(1, 28),
        "agent": st.sampled_from([None, "g"]),
        "clear": st.booleans(),
        "waits": st.booleans(),
    }
)


def take(memory: Memory, number: int, step: dict[str, Any], *, review: bool) -> list[str]:
    """Add what a step says, under an id of its own, and search now and then: indexes are made or brought forward."""
    time = f"2024-05-{step['day']:02}"
    labels = {"session_id": step["session"], "agent_id": step["agent"]}
    given: Any
    if step["kind"] == "turn":
        name = next(iter(step["names"]), None)
        given = [{"role": "user", "name": name, "content": step["text"], "message_id": f"m{number}", "chat_time": time}]
    else:
        metadata = {"entities": step["names"], "memory_time": time}
        given = TextualMemoryItem(id=f"i{number}", memory=step["text"], metadata=metadata)
    ids = memory.add(given, user_id="ana", review=review, **labels).ids
    if step["clear"]:
        memory._store._indexes.resident.clear()
    else:
        memory.search("Lisbon", user_id="ana")
    return ids


def known(item: TextualMemoryItem) -> dict[str, Any]:
    """What is told of an item but for moments, its version, and the place of its message in the session."""
    data = item.model_dump(exclude={"metadata": {"created_at", "updated_at", "version", "embedding"}})
    for source in data["metadata"]["sources"]:
        source.pop("index", None)
    return data


def answers(memory: Memory) -> dict[str, Any]:
    """All that a user sees; a sum of float32 depends in its last digits on how many rows a block has."""
    hits = {
        (question, threshold, session): [
            (known(hit.item), round(hit.score, 5), {name: round(part, 5) for name, part in hit.parts.items()})
            for hit in memory.search(question, user_id="ana", top_k=20, threshold=threshold, session_id=session)
        ]
        for question in QUESTIONS
        for threshold in (None, 0)
        for session in (None, "s")
    }
    graph = memory.graph
    return {
        "hits": hits,
        "as of": [known(hit.item) for hit in memory.search("Ana", user_id="ana", as_of="2024-05-15", threshold=0)],
        "all": [known(one) for one in memory.get_all(user_id="ana")],
        "ended": [known(one) for one in memory.get_all(user_id="ana", filter={"status": "archived"})],
        "filtered": [known(one) for one in memory.get_all(user_id="ana", filter={"status": {"$ne": "deleted"}})],
        "context": memory.context("Lisbon", user_id="ana", threshold=0),
        "entities": graph.entities(user_id="ana"),
        "relations": graph.relations(user_id="ana"),
        "neighbours": [graph.neighbours(name, user_id="ana", hops=2) for name in NAMES],
        "mentions": [graph.mentions(name, user_id="ana") for name in NAMES],
        "suggestions": graph.suggestions(user_id="ana"),
        "quality": graph.quality(user_id="ana"),
    }


@settings(max_examples=25)
@given(steps=st.lists(STEP, min_size=2, max_size=7), late=st.booleans(), ending=st.sampled_from(["wait", "reject"]))
def test_what_waits_or_is_rejected_changes_no_answer(steps: list[dict[str, Any]], late: bool, ending: str) -> None:
    embedder = TOKENS if late else HashEmbedder()
    with Memory.in_memory(embedder=embedder) as plain, Memory.in_memory(embedder=embedder) as memory:
        texts = {step["text"] for step in steps if step["waits"]}
        waits: list[str] = []
        for number, step in enumerate(steps):
            # What was rejected stays away by its words: they are said by none of the others here.
            if ending == "reject" and not step["waits"] and step["text"] in texts:
                continue
            ids = take(memory, number, step, review=step["waits"])
            if step["waits"]:
                waits += ids
            else:
                take(plain, number, step, review=False)
        if ending == "reject":
            assert memory.review.reject(waits, user_id="ana") == waits
        else:
            assert {one.id for one in memory.review.pending(user_id="ana")} == set(waits)
        assert answers(memory) == answers(plain)
        memory._store._indexes.resident.clear()
        assert answers(memory) == answers(plain)


@settings(max_examples=20)
@given(steps=st.lists(STEP, min_size=1, max_size=7))
def test_what_is_approved_in_the_order_of_its_add_is_as_if_it_was_added(steps: list[dict[str, Any]]) -> None:
    steps = [step | {"agent": None, "kind": "statement", "session": None} for step in steps]
    with Memory.in_memory(embedder=HashEmbedder()) as plain, Memory.in_memory(embedder=HashEmbedder()) as memory:
        waits = [one for number, step in enumerate(steps) for one in take(memory, number, step, review=True)]
        for number, step in enumerate(steps):
            take(plain, number, step, review=False)
        assert memory.review.approve(waits, user_id="ana").ids == waits
        mine, theirs = answers(memory), answers(plain)
        for answer in (mine, theirs):
            answer.pop("hits"), answer.pop("context"), answer.pop("quality")
        assert mine == theirs
