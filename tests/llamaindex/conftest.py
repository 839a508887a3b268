"""What the LlamaIndex tests share: the model, loaded once, and texts that offsets go wrong in."""

from __future__ import annotations

import pytest
from llama_index.core.schema import Document

from llamaindex_memreader import MemReaderEmbedding
from memreader import MiniLMEmbedder

TEXTS = {
    "repeated": "The same paragraph again.\n\n" * 40,
    "repeated-inside": "yes. yes. no. yes. yes. " * 60,
    "cjk": "我去年搬到了上海。今年养了一只猫！它叫团团；很可爱…「真的吗？」她问。" * 30,
    "japanese": "猫がいます。猫がいます。名前はまだない。" * 40,
    "crlf": "First line.\r\nSecond line.\r\n\r\nFirst line.\r\n" * 40,
    "spaces": "  \t one   two  \u00a0 three \u2003 four  \n\n\n" * 40,
    "unclean": "\ufeffone\x00two\x0bthree\x0cfour\x85five. " * 40,
    "emoji": "A family 👨‍👩‍👧‍👦 and a flag 🇳🇱, e\u0301 too. " * 40,
    "no-space": "x" * 5000,
    "markdown": "# Boats\n\nintro\n\n## Old\n\n```python\n# no heading\n```\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n"
    * 20,
    "one-word": "word",
    "empty": "",
    "only-spaces": " \n\t \r\n",
}


@pytest.fixture(params=TEXTS)
def document(request: pytest.FixtureRequest) -> Document:
    return Document(text=TEXTS[request.param], id_=f"doc-{request.param}", metadata={"file_name": "a.txt"})


@pytest.fixture(scope="session")
def documents() -> list[Document]:
    return [Document(text=text, id_=f"doc-{name}", metadata={"kind": name}) for name, text in TEXTS.items()]


@pytest.fixture(scope="session")
def embedding() -> MemReaderEmbedding:
    return MemReaderEmbedding(embedder=MiniLMEmbedder())
