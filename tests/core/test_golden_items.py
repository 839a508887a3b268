"""The items that reading gives, to the letter: ids, words, times, tags, and what each cites."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from memreader import MemReader, ReadOptions
from memreader.items import TextualMemoryItem
from memreader.options import SIMPLE_STRUCT, STRATEGY_STRUCT
from memreader.testing import HashEmbedder

GOLDEN = Path(__file__).parent / "golden"
CHAT: list[dict[str, Any]] = [
    {"role": "system", "content": "You are a diary."},
    {"role": "user", "content": "I moved to Lisbon. My cat came too.", "chat_time": "1:56 pm on 8 May, 2023"},
    {"role": "assistant", "content": "How is she?"},
    {"role": "user", "content": "yes"},
    {"role": "user", "content": "yes", "message_id": "m-5"},
    {"role": "participant", "name": "王芳", "content": "下周三交报告。\n真忙！", "chat_time": "2023-06-01T09:00+08:00"},
    {"role": "user", "content": [{"type": "text", "text": "Look!"}, {"type": "image_url", "image_url": "https://e.org/a"}]},
    *({"role": "user" if n % 2 else "assistant", "content": f"Turn {n} of a longer talk."} for n in range(6)),
]  # fmt: skip
NOTE = (
    "# Boiler\n\nServiced in October.\n\n## Parts\n\n| part | year |\n|---|---|\n| valve | 2021 |\n\n每年十月检修。\n"
)
READINGS = {
    "turns": ReadOptions(unit="turn"),
    "windows": ReadOptions(unit="window", window_tokens=60, window_overlap=20),
    "simple_struct": SIMPLE_STRUCT,
    "strategy_struct": STRATEGY_STRUCT,
}


def shown(item: TextualMemoryItem) -> dict[str, Any]:
    """What does not depend on the moment of reading."""
    kept = item.to_dict(with_embedding=False)
    for name in ("created_at", "updated_at", "lifetime"):
        del kept["metadata"][name]
    kept["metadata"] = {key: value for key, value in kept["metadata"].items() if value not in (None, [], {}, "")}
    kept["metadata"]["sources"] = [
        {key: value for key, value in source.items() if value is not None} for source in kept["metadata"]["sources"]
    ]
    return kept


@pytest.mark.parametrize("name", READINGS)
def test_items_are_the_golden_ones(name: str) -> None:
    reader = MemReader(embedder=HashEmbedder(), options=READINGS[name])
    read = reader.read(CHAT, user_id="ana", session_id="s1", tags=["t"], metadata={"project": "p"})
    document = reader.read(NOTE, type="doc", as_text=True, user_id="ana", session_id="s1")
    found = json.dumps([shown(item) for item in [*read.items, *document.items]], ensure_ascii=False, indent=1)
    assert found + "\n" == (GOLDEN / f"items_{name}.json").read_text(encoding="utf-8")
