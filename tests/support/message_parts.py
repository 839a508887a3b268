"""Messages with parts, and inline files to put into them."""

from __future__ import annotations

import base64
from hashlib import sha256
from typing import Any

from memreader.normalize import normalize
from memreader.types import Conversation, Message, Part

PNG = b"\x89PNG\r\n\x1a\n" + bytes(range(200))
PDF = b"%PDF-1.7\n" + bytes(range(256))
PNG64 = base64.b64encode(PNG).decode()
PDF64 = base64.b64encode(PDF).decode()
PNG_URI = f"data:image/png;base64,{PNG64}"
PDF_URI = f"data:application/pdf;base64,{PDF64}"


def sha(data: bytes) -> str:
    return f"sha256:{sha256(data).hexdigest()}"


def conversation(content: Any, role: str = "user", **fields: Any) -> Conversation:
    (chat,) = normalize([{"role": role, "content": content, **fields}])
    assert isinstance(chat, Conversation)
    return chat


def message(content: Any, role: str = "user", **fields: Any) -> Message:
    return conversation(content, role, **fields).messages[0]


def only(content: Any, **fields: Any) -> Part:
    (part,) = message([content], **fields).parts
    return part


def assert_free_of_base64(one: Message) -> None:
    for text in (one.content, one.raw or "", *(p.text for p in one.parts), *(p.reference or "" for p in one.parts)):
        assert PNG64[:24] not in text
        assert PDF64[:24] not in text
