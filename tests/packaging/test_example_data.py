"""The example data: enough of it, dated, in two languages, and answering the demo's questions."""

from __future__ import annotations

import json
import re
import runpy
import zipfile
from datetime import datetime
from pathlib import Path
from typing import Any

import docx
import pdfplumber
import pytest

from environments import ROOT

DATA = ROOT / "examples" / "data"
SESSIONS = json.loads((DATA / "conversation.json").read_text(encoding="utf-8"))["sessions"]
MESSAGES: list[dict[str, Any]] = [message for session in SESSIONS for message in session["messages"]]
QUESTIONS = json.loads((DATA / "questions.json").read_text(encoding="utf-8"))
HAN = re.compile(r"[\u4e00-\u9fff]")


def pdf_pages(path: Path) -> list[str]:
    with pdfplumber.open(path) as pdf:
        return [page.extract_text() for page in pdf.pages]


def docx_text(path: Path) -> str:
    document = docx.Document(str(path))
    cells = [cell.text for table in document.tables for row in table.rows for cell in row.cells]
    return "\n".join([paragraph.text for paragraph in document.paragraphs] + cells)


def document_texts() -> dict[str, str]:
    docs = DATA / "docs"
    return {
        "handbook.md": (docs / "handbook.md").read_text(encoding="utf-8"),
        "lease.pdf": "\n".join(pdf_pages(docs / "lease.pdf")),
        "recipe.docx": docx_text(docs / "recipe.docx"),
        "trip.html": (docs / "trip.html").read_text(encoding="utf-8"),
    }


def words(text: str) -> set[str]:
    """Latin words of four letters and more, and pairs of Han characters: what a search could take for a match."""
    return set(re.findall(r"[a-z]{4,}", text.lower())) | set(re.findall(r"(?=([\u4e00-\u9fff]{2}))", text))


def test_there_are_seven_dated_sessions_over_several_months() -> None:
    times = [[datetime.fromisoformat(message["chat_time"]) for message in session["messages"]] for session in SESSIONS]
    assert len(MESSAGES) >= 70
    assert len({session["session_id"] for session in SESSIONS}) == len(SESSIONS) >= 6
    assert (times[-1][0] - times[0][0]).days > 180
    assert all(time.tzinfo for session in times for time in session)
    assert all(session == sorted(session) for session in times)


def test_message_ids_are_unique_and_named_speakers_are_participants() -> None:
    assert len({message["message_id"] for message in MESSAGES}) == len(MESSAGES)
    assert {message["role"] for message in MESSAGES} == {"user", "assistant", "participant"}
    assert all(("name" in message) == (message["role"] == "participant") for message in MESSAGES)


def test_sessions_are_english_chinese_and_mixed() -> None:
    shares = [
        sum(bool(HAN.search(message["content"])) for message in session["messages"]) / len(session["messages"])
        for session in SESSIONS
    ]
    assert min(shares) == 0
    assert max(shares) == 1
    assert any(0.2 < share < 0.8 for share in shares)


@pytest.mark.parametrize("short", ["yes", "好的"])
def test_short_answers_are_repeated_within_a_session(short: str) -> None:
    counts = [sum(message["content"] == short for message in session["messages"]) for session in SESSIONS]
    assert max(counts) >= 2


@pytest.mark.parametrize(
    "asked", [asked for asked in QUESTIONS if asked["expects"]], ids=lambda asked: asked["question"]
)
def test_each_answer_stands_in_exactly_one_place(asked: dict[str, str]) -> None:
    places = [message["content"] for message in MESSAGES] + [
        text.replace("\n", " ") for text in document_texts().values()
    ]
    holding = [place for place in places if asked["expects"] in place]
    assert len(holding) == 1
    assert words(asked["question"]) & words(holding[0])


def test_six_questions_one_of_them_shares_no_word_with_the_data() -> None:
    assert len(QUESTIONS) == 6
    (unrelated,) = [asked["question"] for asked in QUESTIONS if asked["expects"] is None]
    everything = "\n".join([message["content"] for message in MESSAGES] + list(document_texts().values()))
    assert words(unrelated) & words(everything) <= {"what"}


def test_the_documents_are_small_enough_for_25_chunks_of_256_tokens() -> None:
    # At most one token for each Han character and one for every three others: more than any tokenizer of today needs.
    tokens = sum(len(HAN.findall(text)) + len(HAN.sub("", text)) / 3 for text in document_texts().values())
    assert tokens <= 20 * 256


def test_the_lease_has_two_pages_of_readable_text() -> None:
    first, second = pdf_pages(DATA / "docs" / "lease.pdf")
    assert "1. Rent" in first
    assert "6. Notice" in second
    assert "(cid:" not in first + second


def test_making_the_documents_again_gives_the_same_texts_and_the_same_bytes_each_time(tmp_path: Path) -> None:
    make = runpy.run_path(str(DATA / "make_documents.py"))["main"]
    make(tmp_path / "one")
    make(tmp_path / "two")
    for name in ("lease.pdf", "recipe.docx"):
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes()
    assert pdf_pages(tmp_path / "one" / "lease.pdf") == pdf_pages(DATA / "docs" / "lease.pdf")
    assert docx_text(tmp_path / "one" / "recipe.docx") == docx_text(DATA / "docs" / "recipe.docx")
    with zipfile.ZipFile(DATA / "docs" / "recipe.docx") as archive:
        assert {entry.date_time for entry in archive.infolist()} == {(1980, 1, 1, 0, 0, 0)}
