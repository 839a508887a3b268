"""The examples of the documents that asked for this product, verbatim but for their import lines."""

from __future__ import annotations

from memreader.compat import MemoryConfigFactory, MemoryFactory, MemReaderFactory
from memreader.items import TextualMemoryItem


def test_the_readers_fast_example() -> None:
    reader = MemReaderFactory.from_config({"backend": "simple_struct", "config": {}})

    # fmt: off
    groups = reader.get_memory(
        scene_data=[[                          # 一个"场景" = 一段对话
            {"role": "user", "content": "我下周三要交项目报告"},
            {"role": "assistant", "content": "建议你每天留 2 小时专注写"},
        ]],
        type="chat",
        info={"user_id": "u1", "session_id": "s1"},   # 两个字段必填
        mode="fast",
    )
    # fmt: on

    ((item,),) = groups
    assert isinstance(item, TextualMemoryItem)
    assert item.memory == "user: 我下周三要交项目报告\nassistant: 建议你每天留 2 小时专注写\n"
    assert item.metadata.memory_type == "LongTermMemory"
    assert [(s.type, s.role, s.content, s.index) for s in item.metadata.sources] == [
        ("chat", "user", "我下周三要交项目报告", 0),
        ("chat", "assistant", "建议你每天留 2 小时专注写", 1),
    ]
    assert item.metadata.tags == ["mode:fast"]
    assert (item.metadata.user_id, item.metadata.session_id) == ("u1", "s1")
    assert (item.metadata.key, item.metadata.status, item.metadata.confidence) == (
        "我下周三要交项目报告",
        "activated",
        0.99,
    )
    assert item.metadata.embedding is not None
    assert len(item.metadata.embedding) == 384


def test_the_general_text_memorys_example() -> None:
    # fmt: off
    config = MemoryConfigFactory(
        backend="general_text",
        config={
            "extractor_llm": { ... },
            "vector_db": { ... },
            "embedder": { ... },
        },
    )
    m = MemoryFactory.from_config(config)

    # Extract and add memories
    memories = m.extract([
        {"role": "user", "content": "I love tomatoes."},
        {"role": "assistant", "content": "Great! Tomatoes are delicious."},
    ])
    m.add(memories)

    # Search
    results = m.search("Tell me more about the user", top_k=2)

    # Delete
    memory_id = memories[0].id
    m.delete([memory_id])
    # fmt: on

    assert [memory.memory for memory in memories] == [
        "user: I love tomatoes.",
        "assistant: Great! Tomatoes are delicious.",
    ]
    assert {result.id for result in results} == {memory.id for memory in memories}
    assert m.get(memory_id) is None
    assert [item.id for item in m.get_all()] == [memories[1].id]
    assert m.get_by_ids([memories[1].id])[0].metadata.sources[0].content == "Great! Tomatoes are delicious."
    m.close()
