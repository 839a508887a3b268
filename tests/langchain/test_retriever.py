"""MemReaderRetriever: LangChain's own suite, and everything a runnable is used for."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any
from uuid import UUID

import pytest
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.documents import Document
from langchain_core.load import dumpd
from langchain_core.output_parsers import StrOutputParser
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import ConfigurableField, RunnablePassthrough
from langchain_core.tools import create_retriever_tool
from langchain_tests.integration_tests import RetrieversIntegrationTests
from pydantic import ValidationError

from langchain_memreader import MemReaderRetriever
from memreader import Memory, MiniLMEmbedder

HERONS = [
    "Herons sleep standing in the reeds at night.",
    "At night the heron colony sleeps in tall trees.",
    "A heron that sleeps tucks its neck in.",
    "Young herons sleep in the nest until they fledge.",
    "Herons fish at dawn and sleep after noon.",
]
QUESTION = "Where do herons sleep?"


@pytest.fixture
def herons(memory: Memory) -> Memory:
    memory.add([{"role": "user", "content": words} for words in HERONS], user_id="ana", session_id="s")
    return memory


@pytest.fixture
def retriever(herons: Memory) -> MemReaderRetriever:
    return MemReaderRetriever(memory=herons, user_id="ana", k=2)


class TestLangChainsOwnSuite(RetrieversIntegrationTests):
    @pytest.fixture(autouse=True)
    def _filled(self, minilm: MiniLMEmbedder) -> Iterator[None]:
        with Memory.in_memory(embedder=minilm) as memory:
            memory.add([{"role": "user", "content": words} for words in HERONS], user_id="ana")
            self.memory = memory
            yield

    @property
    def retriever_constructor(self) -> type[BaseRetriever]:
        return MemReaderRetriever

    @property
    def retriever_constructor_params(self) -> dict[str, Any]:
        return {"memory": self.memory, "user_id": "ana"}

    @property
    def retriever_query_example(self) -> str:
        return QUESTION


async def test_k_and_threshold_can_be_given_per_call(retriever: MemReaderRetriever, way: Any) -> None:
    assert len(await way(retriever, "invoke", QUESTION)) == 2
    assert len(await way(retriever, "invoke", QUESTION, k=3)) == 3
    assert await way(retriever, "invoke", "gluon condensates", k=3) == []
    assert len(await way(retriever, "invoke", "gluon condensates", k=3, threshold=0)) == 3


async def test_a_filter_is_the_retrievers_or_the_calls(herons: Memory, way: Any) -> None:
    herons.add("A heron was seen at the pond.", user_id="ana", tags=["pond"])
    by_the_pond = MemReaderRetriever(memory=herons, user_id="ana", threshold=0, k=9, filter={"tags": "pond"})
    assert [each.page_content for each in await way(by_the_pond, "invoke", QUESTION)] == [
        "user: A heron was seen at the pond."
    ]
    others = await way(by_the_pond, "invoke", QUESTION, filter={"$not": {"tags": "pond"}})
    assert len(others) > 0
    assert all("pond" not in each.page_content for each in others)


async def test_k_filter_and_mode_together_can_be_given_to_the_async_call_too(herons: Memory) -> None:
    retriever = MemReaderRetriever(memory=herons, user_id="ana", session_id="s")
    given: dict[str, Any] = {"k": 3, "threshold": 0.0, "mode": "session", "filter": {"sources.index": {"$lt": 2}}}
    assert len(await retriever.ainvoke(QUESTION, k=3)) == 3
    assert await retriever.ainvoke(QUESTION, **given) == retriever.invoke(QUESTION, **given)
    assert len(retriever.invoke(QUESTION, **given)) == 2


async def test_the_mode_says_whether_other_sessions_are_looked_into(herons: Memory, way: Any) -> None:
    herons.add("A heron sleeps on the boat.", user_id="ana", session_id="t")
    for mode, call, found in (("session", None, 1), ("user", "session", 1), ("session", "user", 6), ("user", None, 6)):
        retriever = MemReaderRetriever(memory=herons, user_id="ana", session_id="t", mode=mode, k=9, threshold=0)
        given = {} if call is None else {"mode": call}
        assert len(await way(retriever, "invoke", QUESTION, **given)) == found


async def test_a_call_may_turn_the_threshold_of_the_retriever_off(herons: Memory, way: Any) -> None:
    strict = MemReaderRetriever(memory=herons, user_id="ana", threshold=1.0, k=5)
    assert len(await way(strict, "invoke", "gluon condensates")) == 0
    assert len(await way(strict, "invoke", "gluon condensates", threshold=0.0)) == 5


async def test_an_unknown_argument_is_refused_and_not_ignored(retriever: MemReaderRetriever, way: Any) -> None:
    with pytest.raises(TypeError, match="top_k"):
        await way(retriever, "invoke", QUESTION, top_k=3)


async def test_documents_come_best_first_with_the_words_and_where_they_are_from(
    retriever: MemReaderRetriever, way: Any
) -> None:
    documents = await way(retriever, "invoke", QUESTION, k=5)
    scores = [document.metadata["score"] for document in documents]
    assert scores == sorted(scores, reverse=True)
    best = documents[0]
    assert best.id == best.metadata["id"]
    assert best.metadata["session_id"] == "s"
    (source,) = best.metadata["sources"]
    assert best.page_content == f"user: {source['content']}"
    assert HERONS[source["index"]] == source["content"]
    assert -1 <= best.metadata["similarity"] <= 1
    assert best.metadata["parts"]


async def test_metadata_is_plain_json(memory: Memory, way: Any) -> None:
    memory.add("I keep bees.", user_id="ana", metadata={"nested": {"list": [1, None]}}, tags=["hobby"])
    (document,) = await way(MemReaderRetriever(memory=memory, user_id="ana"), "invoke", "bees")
    assert json.loads(json.dumps(document.metadata)) == document.metadata
    assert document.metadata["info"] == {"nested": {"list": [1, None]}}
    assert "hobby" in document.metadata["tags"]
    assert Document.model_validate_json(document.model_dump_json()) == document


async def test_other_users_memories_are_never_found(herons: Memory, way: Any) -> None:
    assert await way(MemReaderRetriever(memory=herons, user_id="bob", threshold=0), "invoke", QUESTION) == []


async def test_only_what_carries_the_agents_label_is_found(memory: Memory, way: Any) -> None:
    for agent in ("x", "y"):
        memory.add(f"Herons of {agent} sleep.", user_id="ana", agent_id=agent)
    found = await way(MemReaderRetriever(memory=memory, user_id="ana", agent_id="x"), "invoke", "herons")
    assert [document.metadata["agent_id"] for document in found] == ["x"]


async def test_batch_bind_and_with_config_keep_k(retriever: MemReaderRetriever, way: Any) -> None:
    questions = [QUESTION, "gluon condensates"]
    assert [len(found) for found in await way(retriever, "batch", questions, k=3)] == [3, 0]
    assert len(await way(retriever.bind(k=1), "invoke", QUESTION)) == 1
    assert len(await way(retriever.with_config(tags=["x"]), "invoke", QUESTION, k=4)) == 4
    knob = retriever.configurable_fields(k=ConfigurableField(id="how_many"))
    assert len(await way(knob, "invoke", QUESTION, {"configurable": {"how_many": 4}})) == 4


async def test_it_is_a_tool(retriever: MemReaderRetriever, way: Any) -> None:
    tool = create_retriever_tool(retriever, "search_memory", "Finds what was said.")
    assert "sleep" in await way(tool, "invoke", {"query": QUESTION})


async def test_it_stands_in_a_chain_of_runnables(retriever: MemReaderRetriever, model: Any, way: Any) -> None:
    prompt = ChatPromptTemplate.from_template("{context}\n\nQ: {question}")
    context = retriever | (lambda found: "\n".join(document.page_content for document in found))
    rag = {"context": context, "question": RunnablePassthrough()} | prompt | model | StrOutputParser()
    assert await way(rag, "invoke", QUESTION) == "Noted, thank you."
    assert model.last_prompt.count("sleep") == 3
    assert model.last_prompt.endswith(f"Q: {QUESTION}")


class Watching(BaseCallbackHandler):
    """Keeps the metadata that tracing gets."""

    def __init__(self) -> None:
        self.seen: list[dict[str, Any]] = []

    def on_retriever_start(
        self, serialized: Any, query: str, *, run_id: UUID, metadata: dict[str, Any] | None = None, **kwargs: Any
    ) -> None:
        self.seen.append(metadata or {})


async def test_tracing_is_told_the_names_of_store_and_model(retriever: MemReaderRetriever, way: Any) -> None:
    watching = Watching()
    await way(retriever, "invoke", QUESTION, {"callbacks": [watching]})
    (metadata,) = watching.seen
    assert metadata["ls_retriever_name"] == "memreader"
    assert metadata["ls_vector_store_provider"] == "memreader"
    assert metadata["ls_embedding_provider"] == "MiniLMEmbedder"
    assert metadata["ls_embedding_model"] == "all-MiniLM-L6-v2-int8"


@pytest.mark.parametrize(
    "wrong",
    [
        {"user_id": ""},
        {"user_id": "ana", "k": 0},
        {"user_id": "ana", "top_k": 3},
        {"user_id": "ana", "threshold": 2},
        {"user_id": "ana", "filter": {"tags": {"$near": 1}}},
        {"user_id": "ana", "mode": "everything"},
        {"user_id": "ana", "mode": "session"},
    ],
)
def test_a_setting_that_makes_no_sense_is_refused_at_once(memory: Memory, wrong: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        MemReaderRetriever(memory=memory, **wrong)


def test_neither_repr_nor_a_dump_shows_the_store(retriever: MemReaderRetriever) -> None:
    assert str(retriever.memory.folder) not in repr(retriever)
    assert "memory" not in retriever.model_dump()
    assert "<memreader" not in json.dumps(dumpd(retriever))
