"""MemReaderNodeParser on documents: exact offsets, relations, ids, metadata, round trips."""

from __future__ import annotations

import asyncio
import copy
import json
import pickle
import threading
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from llama_index.core.callbacks import CallbackManager, CBEventType, LlamaDebugHandler
from llama_index.core.callbacks.base_handler import BaseCallbackHandler
from llama_index.core.node_parser import MarkdownNodeParser, TokenTextSplitter
from llama_index.core.schema import BaseNode, Document, ImageDocument, MetadataMode, NodeRelationship, TextNode
from pydantic import ValidationError

from llamaindex_memreader import MemReaderNodeParser
from memreader.tokenizing import load_tokenizer

SMALL = {"chunk_tokens": 24, "chunk_overlap": 8}
CHUNKERS = ["auto", "sentence", "character", "markdown", "simple"]


def described(nodes: Sequence[BaseNode]) -> list[dict[str, Any]]:
    return [node.to_dict() for node in nodes]


def spans(nodes: Sequence[BaseNode]) -> list[tuple[int, int]]:
    found = []
    for node in nodes:
        assert isinstance(node, TextNode)
        assert node.start_char_idx is not None
        assert node.end_char_idx is not None
        found.append((node.start_char_idx, node.end_char_idx))
    return found


def assert_exact(document: Document, nodes: Sequence[BaseNode]) -> None:
    """Every node is the cited piece of the document, in order, and no character but spaces is left out."""
    text = document.text
    covered = bytearray(len(text))
    for (start, end), node in zip(spans(nodes), nodes, strict=True):
        assert text[start:end] == node.get_content(MetadataMode.NONE)
        covered[start:end] = b"\1" * (end - start)
    assert spans(nodes) == sorted(spans(nodes))
    assert [c for c, seen in zip(text, covered, strict=True) if not seen and not c.isspace()] == []


@pytest.mark.parametrize("chunker", CHUNKERS)
def test_every_nodes_offsets_cut_out_its_own_text(document: Document, chunker: str) -> None:
    nodes = MemReaderNodeParser(chunker=chunker, **SMALL).get_nodes_from_documents([document])
    assert_exact(document, nodes)
    assert bool(nodes) == bool(document.text.strip())


@pytest.mark.parametrize("chunker", CHUNKERS)
def test_no_node_is_larger_than_its_limit_and_each_says_how_large_it_is(document: Document, chunker: str) -> None:
    tokenizer = load_tokenizer()
    for node in MemReaderNodeParser(chunker=chunker, **SMALL).get_nodes_from_documents([document]):
        count = tokenizer.count(node.get_content(MetadataMode.NONE))
        assert count == node.metadata["token_count"] <= SMALL["chunk_tokens"]


PIECES = st.sampled_from(
    ["yes. ", "no! ", "再见。", "\r\n", "\n\n", " ", "word", "# ", "| a ", "```\n", "👩‍👧", "e\u0301", "é"]
)


@given(
    st.lists(PIECES, max_size=60).map("".join),
    st.sampled_from(CHUNKERS),
    st.integers(8, 30),
    st.integers(0, 7),
)
@settings(deadline=None, max_examples=150)
def test_offsets_are_exact_on_any_text(text: str, chunker: Any, size: int, overlap: int) -> None:
    document = Document(text=text, id_="d")
    parser = MemReaderNodeParser(chunker=chunker, chunk_tokens=size, chunk_overlap=overlap)
    nodes = parser.get_nodes_from_documents([document])
    assert_exact(document, nodes)
    assert len({node.node_id for node in nodes}) == len(nodes)


def test_a_paragraph_that_stands_twice_is_cited_where_it_stands() -> None:
    text = "The tide is high.\n\n" + "Boats come in and go out all day long. " * 4 + "\n\nThe tide is high.\n\n"
    parser = MemReaderNodeParser(chunk_tokens=12, chunk_overlap=0)
    nodes = parser.get_nodes_from_documents([Document(text=text)])
    cited = [node for node in nodes if node.get_content(MetadataMode.NONE).strip() == "The tide is high."]
    assert [start for start, _ in spans(cited)] == [0, text.rindex("The tide")]


async def test_nodes_know_their_document_and_their_neighbours(documents: list[Document]) -> None:
    parser = MemReaderNodeParser(**SMALL)
    nodes = parser.get_nodes_from_documents(documents)
    for document in documents:
        own = [node for node in nodes if node.ref_doc_id == document.node_id]
        for place, node in enumerate(own):
            assert node.source_node is not None
            assert node.source_node.hash == document.hash
            before, after = node.prev_node, node.next_node
            assert (before and before.node_id) == (own[place - 1].node_id if place else None)
            assert (after and after.node_id) == (own[place + 1].node_id if place + 1 < len(own) else None)
    assert described(await parser.aget_nodes_from_documents(documents)) == described(nodes)
    assert described(await parser.acall(documents)) == described(nodes)


async def test_the_async_twin_leaves_the_event_loop_free() -> None:
    document = Document(text="A sentence about herons, and one about reeds. " * 20_000)
    task = asyncio.create_task(MemReaderNodeParser().aget_nodes_from_documents([document]))
    ticks = 0
    while not task.done():
        await asyncio.sleep(0.001)
        ticks += 1
    assert ticks > 3


def test_neighbours_can_be_left_out(documents: list[Document]) -> None:
    for node in MemReaderNodeParser(include_prev_next_rel=False, **SMALL).get_nodes_from_documents(documents):
        assert set(node.relationships) == {NodeRelationship.SOURCE}


def test_metadata_of_the_document_goes_to_every_node_and_provenance_is_neither_embedded_nor_shown() -> None:
    document = Document(
        text="# Boats\n\n" + "The boat is green. " * 40,
        metadata={"file_name": "a.md", "secret": 1},
        excluded_embed_metadata_keys=["secret"],
    )
    nodes = MemReaderNodeParser(**SMALL).get_nodes_from_documents([document])
    for node in nodes:
        assert node.metadata["file_name"] == "a.md"
        assert node.metadata["header_path"] == "Boats"
        embedded = f"file_name: a.md\n\n{node.get_content(MetadataMode.NONE).strip()}"
        assert node.get_content(MetadataMode.EMBED) == embedded
        assert "token_count" not in node.get_content(MetadataMode.LLM)
        assert "secret: 1" in node.get_content(MetadataMode.LLM)
    plain = MemReaderNodeParser(include_metadata=False, **SMALL).get_nodes_from_documents([document])
    assert "file_name" not in plain[0].metadata
    assert document.metadata == {"file_name": "a.md", "secret": 1}
    assert document.excluded_embed_metadata_keys == ["secret"]


def test_the_callers_own_word_is_not_overwritten() -> None:
    document = Document(text="one two", metadata={"token_count": "mine"})
    (node,) = MemReaderNodeParser().get_nodes_from_documents([document])
    assert node.metadata == {"token_count": "mine"}
    assert "token_count: mine" in node.get_content(MetadataMode.EMBED)


def test_metadata_is_flat_and_plain_json(documents: list[Document]) -> None:
    for node in MemReaderNodeParser(**SMALL).get_nodes_from_documents(documents):
        assert json.loads(json.dumps(node.metadata)) == node.metadata
        assert all(isinstance(value, str | int | float) for value in node.metadata.values())
        assert type(node).from_dict(node.to_dict()).to_dict() == node.to_dict()


def test_the_same_document_gives_the_same_ids_and_another_one_others() -> None:
    text = "The same paragraph again.\n\n" * 20
    parser = MemReaderNodeParser(**SMALL)

    def ids(doc_id: str, text: str) -> list[str]:
        return [node.node_id for node in parser.get_nodes_from_documents([Document(text=text, id_=doc_id)])]

    assert ids("a", text) == ids("a", text)
    assert set(ids("a", text)).isdisjoint(ids("b", text))
    grown = ids("a", text + "And a new one.")
    assert grown[: len(ids("a", text)) - 1] == ids("a", text)[:-1]


def test_a_function_for_ids_is_asked() -> None:
    parser = MemReaderNodeParser(id_func=lambda i, doc: f"{doc.node_id}/{i}", **SMALL)
    nodes = parser.get_nodes_from_documents([Document(text="one two three. " * 40, id_="d")])
    assert [node.node_id for node in nodes] == [f"d/{i}" for i in range(len(nodes))]


@pytest.mark.parametrize("first", [TokenTextSplitter(chunk_size=60, chunk_overlap=10), MarkdownNodeParser()])
def test_behind_another_parser_offsets_still_count_in_the_document(first: Any) -> None:
    text = (
        "# Boats\n\n" + "".join(f"Boat number {i} is green. " for i in range(60)) + "\n\n# Birds\n\nA heron. A reed.\n"
    )
    document = Document(text=text, id_="d")
    coarse = first.get_nodes_from_documents([document])
    nodes = MemReaderNodeParser(**SMALL).get_nodes_from_documents(coarse)
    assert len(nodes) > len(coarse)
    assert {node.ref_doc_id for node in nodes} == {"d"}
    for (start, end), node in zip(spans(nodes), nodes, strict=True):
        assert text[start:end] == node.get_content(MetadataMode.NONE)


def test_an_image_with_a_caption_stays_an_image() -> None:
    picture = ImageDocument(text="A heron in the reeds.", image="iVBORw0KGgo=")
    (node,) = MemReaderNodeParser().get_nodes_from_documents([picture])
    assert node.class_name() == "ImageNode"
    assert node.get_content(MetadataMode.NONE) == "A heron in the reeds."


def copies(parser: MemReaderNodeParser) -> list[MemReaderNodeParser]:
    return [
        MemReaderNodeParser.from_dict(parser.to_dict()),
        MemReaderNodeParser.from_json(parser.to_json()),
        pickle.loads(pickle.dumps(parser)),
        copy.deepcopy(parser),
    ]


@pytest.mark.parametrize("options", [{}, {"chunker": "simple", **SMALL}, {"unit": "window", "window_tokens": 300}])
def test_a_copy_by_any_road_gives_the_same_nodes(options: dict[str, Any], documents: list[Document]) -> None:
    parser = MemReaderNodeParser(**options)
    expected = described(parser.get_nodes_from_documents(documents))
    for twin in copies(parser):
        assert twin.to_dict() == parser.to_dict()
        assert described(twin.get_nodes_from_documents(documents)) == expected
    assert described(parser.get_nodes_from_documents(documents)) == expected, "copying changed the parser itself"


def test_a_function_for_ids_is_given_again_when_a_parser_is_read() -> None:
    parser = MemReaderNodeParser(id_func=lambda i, doc: str(i))
    again = MemReaderNodeParser.from_dict(parser.to_dict(), id_func=parser.id_func)
    assert [node.node_id for node in again.get_nodes_from_documents([Document(text="one")])] == ["0"]


class Locked(BaseCallbackHandler):
    """A handler that can't be pickled, as those that write to a service can't."""

    def __init__(self) -> None:
        super().__init__([], [])
        self.lock = threading.Lock()

    def on_event_start(self, *args: Any, **kwargs: Any) -> str:
        return ""

    def on_event_end(self, *args: Any, **kwargs: Any) -> None: ...

    def start_trace(self, trace_id: str | None = None) -> None: ...

    def end_trace(self, trace_id: str | None = None, trace_map: Any = None) -> None: ...


def test_pickling_takes_nothing_off_the_parser_itself() -> None:
    manager = CallbackManager([Locked()])
    parser = MemReaderNodeParser(callback_manager=manager)
    twin = pickle.loads(pickle.dumps(parser))
    assert parser.callback_manager is manager
    assert twin.callback_manager.handlers == []
    assert described(twin.get_nodes_from_documents([Document(text="a", id_="d")])) == described(
        parser.get_nodes_from_documents([Document(text="a", id_="d")])
    )


def test_a_function_for_ids_that_cannot_be_pickled_is_an_error_and_stays_where_it_is() -> None:
    parser = MemReaderNodeParser(id_func=lambda i, doc: f"mine-{i}")
    with pytest.raises((pickle.PicklingError, AttributeError)):
        pickle.dumps(parser)
    (node,) = parser.get_nodes_from_documents([Document(text="one")])
    assert node.node_id == "mine-0"


def test_every_setting_that_changes_nodes_shows_in_the_description_that_caches_go_by() -> None:
    plain = MemReaderNodeParser().to_dict()
    assert plain["version"] == 1
    changed = {
        "chunker": "simple", "chunk_tokens": 100, "chunk_overlap": 3, "unit": "window", "window_tokens": 300,
        "window_overlap": 10, "tokenizer": "cl100k_base", "include_metadata": False,
    }  # fmt: skip
    for name, value in changed.items():
        assert MemReaderNodeParser(**{name: value}).to_dict() != plain


@pytest.mark.parametrize(
    "wrong",
    [
        {"chunk_tokens": 0},
        {"chunk_tokens": 10, "chunk_overlap": 10},
        {"window_tokens": 100, "window_overlap": 100},
        {"chunker": "paragraph"},
        {"unit": "session"},
    ],
)
def test_a_limit_that_makes_no_sense_is_refused_at_once(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        MemReaderNodeParser(**wrong)


def test_the_overlap_follows_the_size_when_it_is_not_given() -> None:
    assert MemReaderNodeParser(chunk_tokens=16).get_nodes_from_documents([Document(text="a b. " * 40)])


def test_parsing_is_told_to_the_callbacks(capsys: pytest.CaptureFixture[str]) -> None:
    watching = LlamaDebugHandler(print_trace_on_end=False)
    parser = MemReaderNodeParser(callback_manager=CallbackManager([watching]))
    parser.get_nodes_from_documents([Document(text="one")], show_progress=True)
    assert len(watching.get_event_pairs(CBEventType.NODE_PARSING)) == 1
    assert "Parsing nodes" in capsys.readouterr().err
