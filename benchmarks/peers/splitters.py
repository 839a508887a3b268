"""Other libraries' text splitters: 512 tokens, 128 repeated, o200k_base, and what offsets they give.

Run as a program it times one of them: `python -m benchmarks.peers.splitters NAME`, the text on stdin.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any

import tiktoken

SIZE = 512
OVERLAP = 128
Piece = tuple[str, int | None]
"""The text of a chunk and where the library says that it begins; None if it doesn't say."""
Splitter = Callable[[str], list[Piece]]


def langchain_token(encoding: tiktoken.Encoding) -> Splitter:
    """LangChain's TokenTextSplitter."""
    from langchain_text_splitters import TokenTextSplitter

    splitter = TokenTextSplitter(
        encoding_name=encoding.name, chunk_size=SIZE, chunk_overlap=OVERLAP, add_start_index=True
    )
    return lambda text: [(d.page_content, d.metadata["start_index"]) for d in splitter.create_documents([text])]


def langchain_recursive(encoding: tiktoken.Encoding) -> Splitter:
    """LangChain's RecursiveCharacterTextSplitter, lengths counted by tiktoken."""
    from langchain_text_splitters import RecursiveCharacterTextSplitter

    splitter = RecursiveCharacterTextSplitter.from_tiktoken_encoder(
        encoding_name=encoding.name, chunk_size=SIZE, chunk_overlap=OVERLAP, add_start_index=True
    )
    return lambda text: [(d.page_content, d.metadata["start_index"]) for d in splitter.create_documents([text])]


def llamaindex_sentence(encoding: tiktoken.Encoding) -> Splitter:
    """LlamaIndex's SentenceSplitter."""
    from llama_index.core.node_parser import SentenceSplitter
    from llama_index.core.schema import Document

    splitter = SentenceSplitter(chunk_size=SIZE, chunk_overlap=OVERLAP, tokenizer=encoding.encode_ordinary)

    def split(text: str) -> list[Piece]:
        nodes: list[Any] = splitter.get_nodes_from_documents([Document(text=text)])
        return [(node.get_content(), node.start_char_idx) for node in nodes]

    return split


def semchunk(encoding: tiktoken.Encoding) -> Splitter:
    """semchunk."""
    from semchunk.semchunk import chunkerify

    def split(text: str) -> list[Piece]:
        # A new one each time: it remembers the lengths of what it has seen.
        chunker = chunkerify(lambda part: len(encoding.encode_ordinary(part)), SIZE)
        found: Any = chunker(text, offsets=True, overlap=OVERLAP)
        chunks, offsets = found
        return [(chunk, start) for chunk, (start, _) in zip(chunks, offsets, strict=True)]

    return split


def chonkie_token(encoding: tiktoken.Encoding) -> Splitter:
    """chonkie's TokenChunker."""
    from chonkie import TokenChunker

    tokenizer: Any = encoding
    chunker = TokenChunker(tokenizer=tokenizer, chunk_size=SIZE, chunk_overlap=OVERLAP)
    return lambda text: [(chunk.text, chunk.start_index) for chunk in chunker.chunk(text)]


PEERS: dict[str, Callable[[tiktoken.Encoding], Splitter]] = {
    "LangChain TokenTextSplitter": langchain_token,
    "LangChain Recursive + tiktoken": langchain_recursive,
    "LlamaIndex SentenceSplitter": llamaindex_sentence,
    "semchunk": semchunk,
    "chonkie TokenChunker": chonkie_token,
}


def main() -> None:
    """Print the CPU seconds that the splitter named on the command line takes for the text on stdin."""
    split = PEERS[sys.argv[1]](tiktoken.get_encoding("o200k_base"))
    split("warm up")
    text = sys.stdin.read()
    start = time.process_time()
    split(text)
    print(time.process_time() - start)


if __name__ == "__main__":
    main()
