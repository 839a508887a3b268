"""Documents and conversations to LlamaIndex nodes whose offsets are exact."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Self
from uuid import uuid5

from llama_index.core.bridge.pydantic import Field, model_validator
from llama_index.core.node_parser import NodeParser
from llama_index.core.node_parser.node_utils import build_nodes_from_splits, default_id_func
from llama_index.core.schema import BaseNode, Document, MetadataMode, NodeRelationship, TextNode
from llama_index.core.utils import get_tqdm_iterable

from llamaindex_memreader.conversation import MESSAGES_KEY, NAMESPACE, Line, conversation_document, lines_of
from llamaindex_memreader.pickling import state_of
from memreader import Document as Text
from memreader import ReadOptions
from memreader.extract.fast import chat_candidates, document_candidates
from memreader.options import ChunkerKind
from memreader.ports import Tokenizer
from memreader.tokenizing import load_tokenizer
from memreader.types import Candidate


@dataclass(frozen=True, slots=True)
class _Piece:
    """`text[start:end]` and what is known about it."""

    start: int
    end: int
    provenance: Mapping[str, Any]


class MemReaderNodeParser(NodeParser):
    """Cuts documents into chunks and conversations (see `conversation_document`) into turns or windows.

    `document.text[node.start_char_idx:node.end_char_idx]` is the node's text, for every node. Ids are made from the
    document's id, the place and the text, so that the same document gives the same nodes again. What is said about a
    node's place stands in its metadata, flat and hidden from embedding and LLM. Of a chunk: token_count, header_path.
    Of a turn: session_id, role, speaker, chat_time, message_id and message_index; of a window: those of its first
    message, and last_message_index.

    Raises:
        ValueError: Limits that make no sense.
    """

    chunker: ChunkerKind = Field(
        default="auto", description="How documents are cut; auto: markdown where the text is markdown, else sentence."
    )
    chunk_tokens: int = Field(default=512, description="Tokens of a chunk, at most.")
    chunk_overlap: int | None = Field(
        default=None, description="Tokens a chunk repeats from the one before, at most; a quarter of a chunk if None."
    )
    unit: Literal["turn", "window"] = Field(default="turn", description="How conversations are cut.")
    window_tokens: int = Field(default=1024, description="Tokens of a window, at most; longer turns are cut too.")
    window_overlap: int = Field(default=200, description="Tokens a window repeats from the one before, at most.")
    tokenizer: str = Field(default="o200k_base", description="Name of the encoding that tokens are counted in.")
    version: int = Field(default=1, description="Raised when the same settings would give other nodes.")

    @classmethod
    def class_name(cls) -> str:
        """Name of this component in serialised pipelines."""
        return "MemReaderNodeParser"

    @classmethod
    def from_dict(cls, data: dict[str, Any], **kwargs: Any) -> Self:
        """Return the parser that `to_dict` described; a function for ids is not, so pass `id_func` again."""
        given = {**data, **kwargs}
        if not callable(given.get("id_func")):
            given.pop("id_func", None)
        return super().from_dict(given)

    def __getstate__(self) -> dict[str, Any]:
        return state_of(self, super().__getstate__, needed="id_func")

    @model_validator(mode="after")
    def _check_limits(self) -> Self:
        self._options()
        return self

    def get_nodes_from_messages(
        self,
        messages: Sequence[Any],
        *,
        session_id: str | None = None,
        doc_id: str | None = None,
        metadata: Mapping[str, Any] | None = None,
    ) -> list[BaseNode]:
        """Return the nodes of a conversation; the arguments are those of `conversation_document`."""
        document = conversation_document(messages, session_id=session_id, doc_id=doc_id, metadata=metadata)
        return self.get_nodes_from_documents([document])

    def _parse_nodes(
        self,
        nodes: Sequence[BaseNode],
        show_progress: bool = False,
        **kwargs: Any,  # noqa: ARG002 - LlamaIndex's signature
    ) -> list[BaseNode]:
        tokenizer = load_tokenizer(self.tokenizer)
        made: list[BaseNode] = []
        for node in get_tqdm_iterable(nodes, show_progress, "Parsing nodes"):
            made.extend(self._nodes(node, self._cut(node, tokenizer)))
        return made

    async def _aparse_nodes(
        self, nodes: Sequence[BaseNode], show_progress: bool = False, **kwargs: Any
    ) -> list[BaseNode]:
        return await asyncio.to_thread(self._parse_nodes, nodes, show_progress, **kwargs)

    def _postprocess_parsed_nodes(self, nodes: list[BaseNode], parent_doc_map: dict[str, Document]) -> list[BaseNode]:
        # LlamaIndex searches for each text and takes the first place where it stands.
        spans = [(n.start_char_idx, n.end_char_idx) if isinstance(n, TextNode) else None for n in nodes]
        parents = {
            key: parent.model_copy(update={"metadata": _plain(parent)}) for key, parent in parent_doc_map.items()
        }
        done = super()._postprocess_parsed_nodes(nodes, parents)
        for node, span in zip(done, spans, strict=True):
            if isinstance(node, TextNode) and span is not None:
                node.start_char_idx, node.end_char_idx = span
        return done

    def _options(self) -> ReadOptions:
        return ReadOptions(
            unit=self.unit,
            window_tokens=self.window_tokens,
            window_overlap=self.window_overlap,
            chunker=self.chunker,
            chunk_tokens=self.chunk_tokens,
            chunk_overlap=self.chunk_overlap,
        )

    def _cut(self, node: BaseNode, tokenizer: Tokenizer) -> list[_Piece]:
        options = self._options()
        if MESSAGES_KEY in node.metadata:
            lines = lines_of(node)
            messages = [line.message for line in lines]
            found = chat_candidates(
                messages, [""] * len(messages), unit=self.unit, options=options, tokenizer=tokenizer
            )
            return _turns(found, lines)
        text = Text(node.get_content(metadata_mode=MetadataMode.NONE), doc_path="", sha256="")
        found = document_candidates(text, "", options=options, tokenizer=tokenizer, max_tokens=self.chunk_tokens)
        return [_chunk(candidate) for candidate in found]

    def _nodes(self, document: BaseNode, pieces: Sequence[_Piece]) -> list[TextNode]:
        text = document.get_content(metadata_mode=MetadataMode.NONE)
        origin, shift = _root(document)
        made = build_nodes_from_splits([text[p.start : p.end] for p in pieces], document, id_func=self.id_func)
        source = document.as_related_node_info()
        source.metadata = _plain(document)
        for node, piece in zip(made, pieces, strict=True):
            start, end = piece.start + shift, piece.end + shift
            if self.id_func in (None, default_id_func):  # None in older versions of LlamaIndex.
                node.id_ = str(uuid5(NAMESPACE, json.dumps([origin, start, end, node.text])))
            node.start_char_idx, node.end_char_idx = start, end
            node.relationships = {**node.relationships, NodeRelationship.SOURCE: source}
            # The caller's own word for something stands.
            node.metadata = {k: v for k, v in piece.provenance.items() if v is not None and k not in document.metadata}
            node.excluded_embed_metadata_keys = [*document.excluded_embed_metadata_keys, *node.metadata]
            node.excluded_llm_metadata_keys = [*document.excluded_llm_metadata_keys, *node.metadata]
        return made


def _root(document: BaseNode) -> tuple[str, int]:
    """Return the id of the document that nodes of this one cite, and where this one begins in it."""
    if isinstance(document, TextNode) and document.ref_doc_id is not None:
        return document.ref_doc_id, document.start_char_idx or 0
    return document.ref_doc_id or document.node_id, 0


def _plain(document: BaseNode) -> dict[str, Any]:
    """Return a document's metadata without the list of its messages, which each node would carry again."""
    return {key: value for key, value in document.metadata.items() if key != MESSAGES_KEY}


def _chunk(candidate: Candidate) -> _Piece:
    cited = candidate.sources[0]
    headers = " > ".join(candidate.info.get("headers", ())) or None
    return _Piece(cited.start or 0, cited.end or 0, {"token_count": candidate.token_count, "header_path": headers})


def _turns(candidates: Sequence[Candidate], lines: Sequence[Line]) -> list[_Piece]:
    by_index = {line.message.index: line for line in lines}
    pieces: list[_Piece] = []
    for candidate in candidates:
        begin, finish = candidate.sources[0], candidate.sources[-1]
        first, last = by_index[begin.index or 0], by_index[finish.index or 0]
        provenance = {
            "role": first.message.role,
            "speaker": first.message.speaker,
            "chat_time": first.message.chat_time,
            "message_id": first.message.message_id,
            "message_index": first.message.index,
            "last_message_index": None if first is last else last.message.index,
        }
        start = first.words + begin.start if begin.start else first.start
        pieces.append(_Piece(start, last.words + (finish.end or 0), provenance))
    return pieces
