"""`python -m benchmarks llm`: a model that reads well passes, and each way to read badly is told."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from benchmarks.__main__ import main
from benchmarks.llm import CHATS, fits, passages_of
from fine_replies import Shown, shown
from memreader.extract.schema import REPLY_SCHEMA
from openai_server import Answer, OpenAIServer, Request, refusal

FIELDS = REPLY_SCHEMA["properties"]["memory list"]["items"]
VARIABLES = ("MEMREADER_API_KEY", "OPENAI_API_KEY", "OPENAI_BASE_URL")


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[OpenAIServer]:
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
    with OpenAIServer() as server:
        server.reply = answering(good)
        yield server


def good(seen: Shown) -> dict[str, Any]:
    """A memory of each new line, as the prompt asks for it."""
    return {"memory list": [one(line.words, line.number) for line in seen.new], "summary": ""}


def one(value: str, *numbers: int, **other: Any) -> dict[str, Any]:
    entry = {"key": "k", "memory_type": "UserMemory", "value": value, "tags": [], "lines": list(numbers)}
    return {**entry, "entities": [], "relations": [], "time": None, "lifetime": "long", **other}


def answering(made: Callable[[Shown], Any]) -> Callable[[Request], Answer]:
    def answer(request: Request) -> Answer:
        value = made(shown(request.body["messages"]))
        return value if isinstance(value, Answer) else Answer(json.dumps(value, ensure_ascii=False))

    return answer


def measured(
    server: OpenAIServer, capsys: pytest.CaptureFixture[str], *arguments: str, code: int = 0
) -> tuple[dict[str, Any], str]:
    """Run it, and return its results and its verdict."""
    command = ["llm", "--model", "m", "--base-url", server.url, "--json", *arguments]
    if code:
        with pytest.raises(SystemExit) as ended:
            main(command)
        assert ended.value.code == code
    else:
        main(command)
    report = json.loads(capsys.readouterr().out)
    return report["results"], report["notes"][-1]


def test_a_model_that_reads_well_passes_in_both_languages(
    server: OpenAIServer, capsys: pytest.CaptureFixture[str]
) -> None:
    results, verdict = measured(server, capsys)
    assert set(results) == {"en", "zh", "all"}
    assert verdict == "good: every share is at least 0.9"
    for row in results.values():
        assert row["windows"] > 0
        assert row["strict"] == row["windows"]
        assert row["schema"] == row["lines"] == 1
        assert row["language"] >= 0.9
        assert row["tokens in"] == 7 * row["windows"]
    assert results["all"]["calls"] == results["all"]["windows"] == len(passages_of(CHATS, 1024)) == len(server.chats)


def test_without_json_it_prints_a_table(server: OpenAIServer, capsys: pytest.CaptureFixture[str]) -> None:
    main(["llm", "--model", "m", "--base-url", server.url])
    out = capsys.readouterr().out
    assert "m on the example chats" in out
    assert "good: every share" in out


@pytest.mark.parametrize(
    ("made", "complaint"),
    [
        (lambda seen: {"memory list": [one("The user told something.", 999)], "summary": ""}, "lines 0% in zh"),
        (lambda seen: {"memory list": [one("Zebras graze.", seen.new[0].number)], "summary": ""}, "lines 0% in en"),
        (lambda seen: {"memory list": [one("The user has moved to the city.", 1)], "summary": ""}, "language 0% in zh"),
        (lambda seen: [one(line.words, line.number) for line in seen.new], "schema 0% in en"),
        (lambda seen: {"memory list": [one("Tea", 1, time=3)], "summary": ""}, "schema 0% in en"),
        (lambda seen: {"memory list": [], "summary": ""}, "no memories of the chats in en"),
        (lambda seen: Answer("Sorry, I can't."), "7 answers without memories in them"),
        (lambda seen: {"error": "I can't."}, "7 answers without memories in them"),
        (lambda seen: refusal("no"), " answered HTTP 400"),
    ],
)
def test_each_way_to_read_badly_is_told_and_is_code_1(
    server: OpenAIServer, capsys: pytest.CaptureFixture[str], made: Callable[[Shown], Any], complaint: str
) -> None:
    server.reply = answering(made)
    _, verdict = measured(server, capsys, code=1)
    assert verdict.startswith("poor: ")
    assert complaint in verdict


def test_damage_is_counted_by_its_kind(server: OpenAIServer, capsys: pytest.CaptureFixture[str]) -> None:
    texts = iter(["cut", "comma", "prose"])

    def damaged(seen: Shown) -> Answer:
        text = json.dumps(good(seen), ensure_ascii=False)
        kind = next(texts, "")
        if kind == "cut":
            return Answer(text[: len(text) // 2], finish_reason="length")
        spoilt = {"comma": text.replace('], "summary"', ',], "summary"'), "prose": "No."}
        return Answer(spoilt.get(kind, text))

    server.reply = answering(damaged)
    results, _ = measured(server, capsys, "--concurrency", "1", code=1)
    row = results["all"]
    assert row["truncated"] == row["repaired"] == row["failed"] == 1
    assert row["strict"] == row["windows"] - 3


def test_lines_that_were_only_shown_are_not_the_right_ones(
    server: OpenAIServer, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    said = [{"role": "user", "content": f"My boat number {n} lies in harbour {n} of the bay."} for n in range(40)]
    file = tmp_path / "chats.json"
    file.write_text(json.dumps({"sessions": [{"messages": said}]}), encoding="utf-8")
    server.reply = answering(lambda seen: {"memory list": [one(seen.lines[0].words, 1)], "summary": ""})
    results, verdict = measured(server, capsys, "--data", str(file), "--window-tokens", "200", code=1)
    row = results["en"]
    assert row["windows"] > 2
    assert row["lines"] == pytest.approx(1 / row["windows"], abs=0.001)
    assert "lines" in verdict


def test_what_is_missing_is_told_before_anything_is_asked(
    server: OpenAIServer, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["llm", "--model", "m", "--base-url", "https://example.org/v1"])
    assert ended.value.code == 2
    assert "set MEMREADER_API_KEY" in capsys.readouterr().err
    assert server.requests == []


@pytest.mark.parametrize(
    ("change", "is_right"),
    [
        ({}, True),
        ({"time": "2025-01-01"}, True),
        ({"time": 3}, False),
        ({"lines": ["1"]}, False),
        ({"lines": [True]}, False),
        ({"memory_type": "Other"}, False),
        ({"relations": [["a", "b", "c"]]}, True),
        ({"relations": ["a"]}, False),
        ({"more": 1}, False),
    ],
)
def test_an_entry_is_valid_only_exactly_as_the_schema_says(change: dict[str, Any], is_right: bool) -> None:
    assert fits({**one("Tea", 1), **change}, FIELDS) is is_right


def test_a_missing_field_is_not_valid() -> None:
    entry = one("Tea", 1)
    del entry["lines"]
    assert not fits(entry, FIELDS)
