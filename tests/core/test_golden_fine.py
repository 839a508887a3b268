"""The memories that a model makes of six conversations, to the letter: read, stored, and refined after a failure."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from fine_replies import Changing
from fine_talks import TALKS
from memreader import Memory, MemReader, ReadOptions
from memreader.items import TextualMemoryItem
from memreader.options import ModelOptions
from memreader.testing import FunctionChatModel, HashEmbedder

GOLDEN = Path(__file__).parent / "golden" / "fine"
SMALL = ReadOptions(window_tokens=80, window_overlap=30)


def shown(item: TextualMemoryItem) -> dict[str, Any]:
    """What does not depend on the moment of reading."""
    kept = item.to_dict(with_embedding=False)
    for name in ("created_at", "updated_at", "user_id", "session_id", "confidence", "status", "type", "expires_at"):
        del kept["metadata"][name]
    if kept["metadata"]["lifetime"] == "long":
        del kept["metadata"]["lifetime"]
    kept["metadata"] = {key: value for key, value in kept["metadata"].items() if value not in (None, [], {}, "", False)}
    kept["metadata"]["sources"] = [
        f"{said.index} {said.name or ''}/{said.role} {said.chat_time} {said.start}:{said.end} {said.content}"
        for said in item.metadata.sources
    ]
    return kept


def told(report: Any) -> dict[str, Any]:
    """Failures and what was dropped."""
    return {name: [asdict(one) for one in getattr(report, name)] for name in ("failures", "dropped")}


def readings_of(name: str) -> dict[str, Any]:
    """What reading the conversation, and adding and refining it, gives."""
    talk, script = TALKS[name], Changing(TALKS[name].script())
    data, settings = [dict(message) for message in talk.messages], ModelOptions(attempts=1)
    model, scope = FunctionChatModel(script), {"user_id": "u", "session_id": name}
    reader = MemReader(llm=model, embedder=HashEmbedder(), options=SMALL, model_options=settings)
    read = reader.read(data, **scope, tags=["t"], metadata={"project": "p"})
    with Memory.in_memory(llm=model, embedder=HashEmbedder(), read_options=SMALL, model_options=settings) as memory:
        added = memory.add(data, **scope)
        before = {item.id for item in memory.get_all(user_id="u")}
        stored = [shown(item) for item in memory.get_all(user_id="u")]
        script.script = talk.script(mended=True)
        refined = memory.refine(user_id="u")
        later = [shown(item) for item in memory.get_all(user_id="u") if item.id not in before]
    return {
        "read": [shown(item) for item in read.items],
        "of reading": {**told(read), "calls": read.usage.calls},
        "stored": stored,
        "of adding": {**told(added), "calls": added.usage.calls, "refined": added.refined, "left": added.left},
        "stored later": later,
        "of refining": {**told(refined), "calls": refined.usage.calls, "left": refined.left},
    }


@pytest.mark.parametrize("name", TALKS)
def test_memories_are_the_golden_ones(name: str) -> None:
    found = json.dumps(readings_of(name), ensure_ascii=False, indent=1)
    assert found + "\n" == (GOLDEN / f"{name}.json").read_text(encoding="utf-8")


def test_each_conversation_has_its_golden_file_and_several_windows() -> None:
    assert {path.stem for path in GOLDEN.glob("*.json")} == set(TALKS)
    for name in TALKS:
        golden = json.loads((GOLDEN / f"{name}.json").read_text(encoding="utf-8"))
        assert golden["of reading"]["calls"] > 1
        assert bool(golden["of reading"]["failures"]) == bool(TALKS[name].failing or TALKS[name].cut)
