"""What is handed in as a document: texts, names, addresses, file parts."""

from __future__ import annotations

import base64
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from memreader.errors import InputError, LooksLikePathError
from memreader.normalize import normalize
from memreader.types import Conversation, Document, FileInput

PDF = b"%PDF-1.7\n" + bytes(range(256))
PDF_URI = f"data:application/pdf;base64,{base64.b64encode(PDF).decode()}"


def documents(data: Any, **options: Any) -> list[Document]:
    inputs = normalize(data, type="doc", **options)
    assert all(isinstance(each, Document) for each in inputs)
    return inputs  # type: ignore[return-value]


def test_a_string_is_the_text_of_a_document() -> None:
    text = "# Title\r\n\x00words\ud800"
    (document,) = documents(text)
    digest = sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
    assert document.text == "# Title\nwords"
    assert (document.doc_path, document.sha256) == (f"text:{digest[:16]}", digest)
    assert document.doc_time is None


def test_every_string_of_a_list_is_a_document() -> None:
    assert [(d.text, d.locator) for d in documents(["one", "two"])] == [("one", "[0]"), ("two", "[1]")]
    assert [(d.text, d.locator) for d in documents([["one"], ["two"]])] == [("one", "[0][0]"), ("two", "[1][0]")]


def test_the_callers_time_is_the_documents() -> None:
    assert documents("words", at="8 May 2023")[0].doc_time == "2023-05-08"
    (file,) = normalize(Path("a.pdf"), at="8 May 2023")
    assert isinstance(file, FileInput)
    assert file.doc_time == "2023-05-08"


def test_base64_in_a_documents_text_is_taken_out() -> None:
    assert documents(f"before ![plan]({PDF_URI}) after")[0].text == "before [shared image: plan] after"


PATHS = [
    "report.pdf",
    "Report.PDF",
    "docs/notes.md",
    "docs/年度 报告.docx",
    "年度报告.docx",
    r"C:\x\y.md",
    "C:/x/y.md",
    "~/a.txt",
    "/etc/passwd.txt",
    "/tmp/my own file.txt",
    "./a.md",
    "../a.md",
    "\\\\server\\share\\a.docx",
    "Annual Report 2023.pdf",
    "  report.pdf\n",
    "a.tar.json",
    "file:///etc/hosts.txt",
    "my-file_v2 (final).xlsx",
]


@pytest.mark.parametrize("text", PATHS)
def test_a_string_that_looks_like_a_file_name_is_an_error_and_says_what_to_do(text: str) -> None:
    with pytest.raises(LooksLikePathError, match=r"pathlib\.Path") as caught:
        normalize(["words", text], type="doc")
    assert caught.value.locator == "[1]"
    assert documents(text, as_text=True)[0].text == text
    (chat,) = normalize(text)
    assert isinstance(chat, Conversation)


@pytest.mark.parametrize(
    "text",
    [
        "and/or",
        "he/she said yes",
        "see report.pdf",
        "The steps to install it are in README.md",
        "Please read the following, then open report.pdf",
        "请先看一下说明，然后打开README.md",
        "first line\nreport.pdf",
        "Quarterly numbers for northern regions by Ana report.pdf",
        "end.",
        "v1.2",
        "e.g. this",
        "I work at example.com",
        "txt",
        ".md",
        "a" * 2000 + ".md",
        "TODO: rename a.txt",
    ],
)
def test_prose_is_prose(text: str) -> None:
    assert documents(text)[0].text == text


def test_an_address_is_kept_as_a_reference() -> None:
    (chat,) = normalize(["https://example.com/a.pdf"], type="doc")
    assert isinstance(chat, Conversation)
    (message,) = chat.messages
    assert (message.flags, message.content, message.is_readable) == ({"media_only"}, "", False)
    assert [(part.kind, part.reference, part.data) for part in message.parts] == [
        ("file", "https://example.com/a.pdf", None)
    ]
    assert documents("https://example.com/a.pdf", as_text=True)[0].text == "https://example.com/a.pdf"


def test_a_sentence_with_an_address_is_prose() -> None:
    assert documents("see https://example.com/a.pdf")[0].text == "see https://example.com/a.pdf"


@pytest.mark.parametrize("kind", ["doc", None])
def test_with_a_root_a_string_is_a_file_below_it(kind: Any) -> None:
    (file,) = normalize("docs/年度 报告.docx", type=kind, files_root=Path("/srv/files"))
    assert file == FileInput("docs/年度 报告.docx", path=Path("/srv/files/docs/年度 报告.docx"))


@pytest.mark.parametrize(
    "name",
    [
        "../a.md",
        "docs/../../a.md",
        "/etc/passwd",
        r"C:\a.md",
        "C:a.md",
        r"docs\..\..\a.md",
        r"\a.md",
        "",
        " ",
        ".",
        "a\0.md",
        "~/a.md",
    ],
)
def test_a_name_cant_leave_the_root(name: str) -> None:
    with pytest.raises(InputError) as caught:
        normalize(["ok.md", name], type="doc", files_root=Path("/srv/files"))
    assert caught.value.locator == "[1]"


def test_an_address_is_no_name_below_the_root() -> None:
    (chat,) = normalize("https://example.com/a.pdf", files_root=Path("/srv/files"))
    assert isinstance(chat, Conversation)
    assert chat.messages[0].parts[0].reference == "https://example.com/a.pdf"


def test_in_a_chat_a_string_is_never_a_file() -> None:
    (chat,) = normalize("report.pdf", type="chat", files_root=Path("/srv/files"))
    assert isinstance(chat, Conversation)
    assert chat.messages[0].content == "report.pdf"


def test_a_file_part_with_bytes_is_a_file() -> None:
    (file,) = normalize({"type": "file", "file": {"filename": "a.pdf", "file_data": PDF_URI}}, type="doc")
    assert isinstance(file, FileInput)
    assert (file.name, file.data, file.context) == ("a.pdf", PDF, "")


def test_a_file_part_of_words_is_a_document_by_its_name() -> None:
    (document,) = documents({"type": "file", "file": {"filename": "a.pdf", "file_data": "plain\r\nwords"}})
    assert (document.text, document.doc_path) == ("plain\nwords", "a.pdf")


def test_text_parts_alone_are_documents() -> None:
    assert [d.text for d in documents([{"type": "text", "text": "one"}, {"type": "text", "text": "two"}])] == [
        "one",
        "two",
    ]


def test_text_beside_a_file_is_its_context() -> None:
    file = {"type": "file", "file": {"filename": "a.pdf", "file_data": PDF_URI}}
    for data in ([{"type": "text", "text": "my report"}, file], [[{"type": "text", "text": "my report"}, file]]):
        (got,) = normalize(data, type="doc", at="2023-05-08")
        assert isinstance(got, FileInput)
        assert (got.data, got.context, got.doc_time) == (PDF, "my report", "2023-05-08")


def test_what_is_only_referred_to_stays_with_the_words_around_it() -> None:
    file = {"type": "file", "file": {"filename": "a.pdf", "file_id": "file-1"}}
    (chat,) = normalize([file], type="doc")
    assert isinstance(chat, Conversation)
    assert chat.messages[0].flags == {"media_only"}
    (with_words,) = normalize([{"type": "text", "text": "my report"}, file], type="doc")
    assert isinstance(with_words, Conversation)
    assert (with_words.messages[0].content, with_words.messages[0].flags) == ("my report", frozenset())


def test_a_file_and_a_picture_given_together_are_both_kept() -> None:
    image = {"type": "image_url", "image_url": "https://example.com/a.png"}
    file = {"type": "file", "file": {"filename": "a.pdf", "file_data": PDF_URI}}
    got, chat = normalize([{"type": "text", "text": "see"}, file, image], type="doc")
    assert isinstance(got, FileInput)
    assert isinstance(chat, Conversation)
    assert got.context == "see"
    assert [part.kind for part in chat.messages[0].parts] == ["image"]
    assert chat.messages[0].content == ""


def test_nothing_is_opened(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("stat", "open", "resolve", "exists"):
        monkeypatch.setattr(Path, name, lambda *_args, **_kwargs: pytest.fail("touched the disk"))
    normalize(Path("/etc/passwd"))
    normalize("a.md", type="doc", files_root=tmp_path)
    with pytest.raises(LooksLikePathError):
        normalize("/etc/passwd.txt", type="doc")
