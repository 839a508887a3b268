"""`memreader add --mode fine` and `refine`: which model is asked, what is told of it, and that nothing done is lost."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, get_args

import pytest

from command_line import CommandLine, Ran, environment
from fine_replies import chat_of, memory, reply, shown, twelve_rooms
from memreader.cli.models import Asked
from memreader.cli.refine import GateName
from memreader.embedding import MiniLMEmbedder
from memreader.errors import MemReaderError
from memreader.memory import Memory
from memreader.options import Gate
from memreader.ports import Usage
from openai_server import Answer, OpenAIServer, Request, refusal

KEY = "sk-quite-secret-0123"
ROOMS = twelve_rooms()
LONG = "The house has many rooms and this goes on for a while so that a window is full soon. " * 40


@pytest.fixture
def cli(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, minilm: MiniLMEmbedder) -> CommandLine:
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    monkeypatch.setattr("memreader.cli.opening.embedder_called", lambda name: minilm)
    return CommandLine(monkeypatch, tmp_path / "store")


@pytest.fixture
def server() -> Iterator[OpenAIServer]:
    """An endpoint whose model makes a memory of each line."""
    with OpenAIServer() as server:
        server.reply = echoed
        yield server


@pytest.fixture
def at(server: OpenAIServer) -> list[str]:
    """The options that name it."""
    return ["--model", "m", "--base-url", server.url]


def echoed(request: Request, *, delay_s: float = 0) -> Answer:
    """A memory of each new line: its first sentence."""
    new = shown(request.body["messages"]).new
    found = [memory(f"It is said: {line.words.split('.')[0]}.", [line.number]) for line in new]
    return Answer(reply(*found), usage={"prompt_tokens": 2000, "completion_tokens": 100}, delay_s=delay_s)


def asked_about(request: Request, words: str) -> bool:
    return words in request.body["messages"][-1]["content"]


def chat(name: str, *words: str, session: str | None = None) -> Path:
    """A chat file here."""
    path = Path(name)
    path.write_text(json.dumps({"messages": chat_of(*words), "session_id": session or path.stem}), encoding="utf-8")
    return path


def windows(count: int) -> list[str]:
    """Messages each of which fills a window."""
    return [f"{room} {LONG}" for room in ROOMS[:count]]


def made(cli: CommandLine, *options: str) -> list[dict[str, Any]]:
    """The memories that a model made."""
    found: list[dict[str, Any]] = cli.fine("list", "--limit", "0", "--json", *options).json
    return [item for item in found if item["metadata"]["evolve_from"]]


def lines(text: str) -> list[str]:
    return text.splitlines()


class TestAddingInModeFine:
    """Everything is kept as it stands first; then the model reads it."""

    def test_a_model_makes_memories_beside_what_was_said(self, cli: CommandLine, at: list[str]) -> None:
        ran = cli.fine("add", chat("s1.json", *ROOMS[:2]), "--mode", "fine", *at)
        assert ran.out == "2 memories from 1 window, 2 kept raw (1 file); 1 call, 2,000 + 100 tokens\n"
        assert ran.err == ""
        assert [item["memory"] for item in made(cli)] == [f"It is said: {room}" for room in ROOMS[:2]]
        assert len(cli.fine("list", "--json").json) == 4

    def test_documents_are_read_by_the_model_too(self, cli: CommandLine, at: list[str]) -> None:
        Path("note.md").write_text("The ferry to the islands leaves at nine from pier four.", encoding="utf-8")
        ran = cli.fine("add", "note.md", "--mode", "fine", *at)
        assert ran.out.startswith("1 memory from 1 window, 1 kept raw (1 file); 1 call")

    def test_prices_tell_the_cost(self, cli: CommandLine, at: list[str]) -> None:
        prices = ["--price-in", "2.5", "--price-out", "10"]
        ran = cli.fine("add", chat("s1.json", ROOMS[0]), "--mode", "fine", *at, *prices)
        assert ran.out.endswith("; 1 call, 2,000 + 100 tokens, cost 0.0060\n")

    def test_what_was_read_before_is_not_asked_about_again(
        self, cli: CommandLine, server: OpenAIServer, at: list[str]
    ) -> None:
        arguments = ["add", str(chat("s1.json", *ROOMS[:2])), "--mode", "fine", *at]
        cli.fine(*arguments)
        ran = cli.fine(*arguments)
        assert ran.out == "nothing new for the model, 4 known before (1 file)\n"
        assert len(server.chats) == 1

    def test_what_was_added_fast_is_read_when_it_is_added_again(self, cli: CommandLine, at: list[str]) -> None:
        path = chat("s1.json", *ROOMS[:2])
        assert cli.fine("add", path).out == "2 memories added (1 file)\n"
        ran = cli.fine("add", path, "--mode", "fine", *at)
        assert ran.out.startswith("2 memories from 1 window, 2 known before (1 file); 1 call")

    def test_many_small_files_are_read_side_by_side(
        self, cli: CommandLine, server: OpenAIServer, at: list[str]
    ) -> None:
        server.reply = lambda request: echoed(request, delay_s=0.3)
        paths = [chat(f"s{number}.json", room) for number, room in enumerate(ROOMS[:6])]
        ran = cli.fine("add", *paths, "--mode", "fine", "--concurrency", "4", *at)
        assert ran.out.startswith("6 memories from 6 windows, 6 kept raw (6 files); 6 calls")
        assert server.most_at_once == 4

    def test_a_budget_is_for_all_files_together(self, cli: CommandLine, server: OpenAIServer, at: list[str]) -> None:
        paths = [chat(f"s{number}.json", room) for number, room in enumerate(ROOMS[:5])]
        ran = cli("add", *paths, "--mode", "fine", "--max-calls", "2", *at)
        assert ran.code == 1
        assert ran.out.startswith("2 memories from 5 windows, 3 not read to the end, 5 kept raw (5 files); 2 calls")
        assert "--max-calls=2 is used up" in ran.err
        assert "3 items left raw; go on with them: memreader refine" in ran.err
        assert len(server.chats) == 2

    def test_tokens_are_a_budget_too(self, cli: CommandLine, server: OpenAIServer, at: list[str]) -> None:
        budget = ["--max-tokens", "2500", "--concurrency", "1"]
        ran = cli("add", chat("s1.json", *windows(4)), "--mode", "fine", *budget, *at)
        assert ran.code == 1
        assert "--max-tokens=2500 is used up" in ran.err
        assert len(server.chats) == 1

    def test_files_that_cannot_be_read_are_named_and_ask_for_none_of_the_others(
        self, cli: CommandLine, server: OpenAIServer, at: list[str]
    ) -> None:
        cli.fine("add", chat("s1.json", ROOMS[0]))
        Path("broken.json").write_text('[{"role": "user", "content": "cut', encoding="utf-8")
        ran = cli("add", "missing.json", "broken.json", "--mode", "fine", *at)
        assert ran.code == 1
        assert ran.out == "nothing new for the model (0 files, 2 failed)\n"
        assert "not added: missing.json" in ran.err
        assert "not added: broken.json" in ran.err
        assert server.chats == []

    def test_a_file_without_memories_asks_for_none_of_the_others(
        self, cli: CommandLine, server: OpenAIServer, at: list[str]
    ) -> None:
        cli.fine("add", chat("s1.json", ROOMS[0]))
        Path("empty.json").write_text('[{"role": "user", "content": ""}]', encoding="utf-8")
        ran = cli.fine("add", "empty.json", "--mode", "fine", *at)
        assert ran.out.startswith("nothing new for the model, 1 message or picture without words (1 file)")
        assert server.chats == []

    def test_json_has_all_of_it(self, cli: CommandLine, at: list[str]) -> None:
        path = chat("s1.json", *ROOMS[:2])
        ran = cli.fine("add", path, "--mode", "fine", "--json", "--price-in", "1", "--price-out", "2", *at).json
        assert len(ran["added"]) == 2
        refining = ran["refining"]
        assert refining["refined"] == ran["added"]
        assert [item["id"] for item in made(cli)] == refining["added"]
        assert (refining["windows"], refining["left"], refining["failures"]) == (1, [], [])
        assert refining["usage"] == {"calls": 1, "prompt_tokens": 2000, "completion_tokens": 100}
        assert refining["cost"] == pytest.approx(0.0022)
        assert cli.fine("add", path, "--json").json["refining"] is None

    def test_a_terminal_shows_a_bar_of_the_windows(self, cli: CommandLine, server: OpenAIServer, at: list[str]) -> None:
        server.reply = lambda request: echoed(request, delay_s=0.2)
        path = chat("s1.json", *windows(3))
        shown = cli.fine("add", path, "--mode", "fine", "--concurrency", "1", *at, terminal=True)
        assert "windows read by the model" in shown.err
        assert "3/3" in shown.err


class TestWhatTheModelCannotRead:
    """It stays raw, is named with the reason, and can be gone on with."""

    def test_a_window_that_fails_is_named_and_the_others_are_kept(
        self, cli: CommandLine, server: OpenAIServer, at: list[str]
    ) -> None:
        server.reply = lambda request: refusal("no") if asked_about(request, ROOMS[1]) else echoed(request)
        ran = cli("add", chat("s1.json", *windows(3)), "--mode", "fine", *at)
        assert ran.code == 1
        assert ran.out.startswith("2 memories from 3 windows, 1 not read to the end, 3 kept raw (1 file); 3 calls")
        first, second = lines(ran.err)
        assert first.startswith("not read to the end: s1: messages 1 to 1: 127.0.0.1:")
        assert first.endswith(" answered HTTP 400.")
        assert second == "1 item left raw; go on with them: memreader refine"
        server.reply = echoed
        again = cli.fine("refine", *at)
        assert again.out == "1 memory from 1 window; 1 call, 2,000 + 100 tokens\n"
        assert len(made(cli)) == 3

    def test_an_unreadable_answer_is_told_without_its_words(
        self, cli: CommandLine, server: OpenAIServer, at: list[str]
    ) -> None:
        server.reply = lambda request: Answer("I would rather talk about otters.")
        ran = cli("add", chat("s1.json", ROOMS[0]), "--mode", "fine", *at)
        assert ran.code == 1
        assert "the model gave an answer that holds no memories" in ran.err
        assert "otters" not in ran.err

    @pytest.mark.parametrize(
        ("status", "advice"),
        [(401, "Check the key."), (404, "Check --model and --base-url"), (403, "what it may be used for")],
    )
    def test_one_reason_is_told_once_with_what_to_do(
        self, cli: CommandLine, server: OpenAIServer, at: list[str], status: int, advice: str
    ) -> None:
        server.reply = lambda request: refusal("no", status=status)
        paths = [chat(f"s{number:02}.json", room) for number, room in enumerate(ROOMS)]
        ran = cli("add", *paths, "--mode", "fine", *at)
        assert ran.code == 1
        assert len(lines(ran.err)) == 2
        assert "; s09: messages 0 to 0 and 2 more: " in ran.err
        assert f"HTTP {status}" in ran.err
        assert advice in ran.err
        assert len(cli("add", *paths, "--mode", "fine", "--json", *at).json["refining"]["failures"]) == 12

    def test_a_slow_answer_is_given_up_after_the_timeout(
        self, cli: CommandLine, server: OpenAIServer, at: list[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("memreader.models.retrying.LONGEST_WAIT_S", 0.01)
        server.reply = lambda request: echoed(request, delay_s=20)
        started = time.monotonic()
        ran = cli("add", chat("s1.json", ROOMS[0]), "--mode", "fine", "--timeout", "0.3", *at)
        assert ran.code == 1
        assert time.monotonic() - started < 15
        assert "TimeoutError" in ran.err
        assert "More patience: --timeout." in ran.err

    def test_an_answer_that_drips_is_given_up_after_the_timeout_too(
        self, cli: CommandLine, server: OpenAIServer, at: list[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("memreader.models.retrying.LONGEST_WAIT_S", 0.01)
        server.reply = lambda request: replace(echoed(request), drip_s=0.1)
        started = time.monotonic()
        ran = cli("add", chat("s1.json", ROOMS[0]), "--mode", "fine", "--timeout", "0.5", *at)
        assert ran.code == 1
        assert time.monotonic() - started < 15
        assert "TimeoutError" in ran.err

    def test_foreign_words_in_a_place_cannot_steer_the_terminal(
        self, cli: CommandLine, server: OpenAIServer, at: list[str]
    ) -> None:
        server.reply = lambda request: refusal("no")
        ran = cli("add", chat("a.json", ROOMS[0], session="red \x1b[31m\nnot added"), "--mode", "fine", *at)
        assert "\x1b" not in ran.err
        assert len(lines(ran.err)) == 2


class TestWhichModel:
    """Options name it, variables stand for them, and a key goes only where it is meant for."""

    @pytest.mark.parametrize(
        ("arguments", "words"),
        [
            (["add", "x", "--mode", "fine"], "--mode fine needs a language model: give --model NAME"),
            (["refine"], "refine needs a language model: give --model NAME"),
            (["add", "x", "--mode", "fine", "--model", " "], "--model"),
            (["add", "x", "--mode", "finer"], "finer"),
            (["add", "x", "--mode", "fine", "--model", "m", "--base-url", "localhost:1"], "must begin with http://"),
            (["refine", "--model", "m", "--base-url", "http://"], "must begin with http://"),
            (["refine", "--model", "m", "--base-url", ""], "must begin with http://"),
            (["refine", "--model", "m"], "no key for OpenAI's endpoint: set OPENAI_API_KEY"),
            (["refine", "--model", "m", "--base-url", "https://example.org/v1"], "set MEMREADER_API_KEY"),
            (["refine", "--model", "m", "--api-key-env", KEY], "never the key itself"),
            (["refine", "--model", "m", "--api-key-env", "NOT_SET_ANYWHERE"], "is not set"),
            (["refine", "--model", "m", "--max-calls", "-1"], "--max-calls"),
            (["refine", "--model", "m", "--concurrency", "0"], "--concurrency"),
            (["refine", "--model", "m", "--timeout", "0"], "--timeout"),
            (["refine", "--model", "m", "--timeout", "inf"], "--timeout"),
            (["refine", "--model", "m", "--price-in", "nan", "--price-out", "1"], "--price-in"),
            (["refine", "--model", "m", "--price-in", "1"], "--price-in and --price-out go together"),
            (["refine", "--model", "m", "--limit", "0"], "--limit"),
            (["refine", "--model", "m", "--gate", "garden"], "garden"),
            (["refine", "--model", "m", "--all-users", "--user", "ana"], "don't go together"),
            (["add", "x", "--model", "m"], "--model is for --mode fine"),
            (["add", "x", "--base-url", "http://localhost/v1"], "--base-url is for --mode fine"),
            (["add", "x", "--timeout", "3"], "--timeout is for --mode fine"),
            (["add", "x", "--mode", "fast", "--max-calls", "3"], "--max-calls is for --mode fine"),
        ],
    )
    def test_a_wrong_call_is_one_line_and_code_2_and_makes_no_store(
        self, cli: CommandLine, arguments: list[str], words: str
    ) -> None:
        ran = cli(*arguments)
        assert (ran.code, ran.out) == (2, "")
        assert words in ran.err
        assert len(lines(ran.err)) == 1
        assert ran.err.rstrip().endswith(f". See: memreader {arguments[0]} --help")
        assert KEY not in ran.err
        assert not cli.store.exists()

    def test_variables_stand_for_the_options(
        self, cli: CommandLine, server: OpenAIServer, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("MEMREADER_MODEL", "named-by-variable")
        monkeypatch.setenv("MEMREADER_BASE_URL", server.url)
        monkeypatch.setenv("MEMREADER_API_KEY", KEY)
        ran = cli.fine("add", chat("s1.json", ROOMS[0]), "--mode", "fine")
        assert ran.out.startswith("1 memory from 1 window")
        assert server.chats[0]["model"] == "named-by-variable"
        assert server.requests[0].headers["authorization"] == f"Bearer {KEY}"

    def test_a_variable_alone_has_no_model_called(
        self, cli: CommandLine, server: OpenAIServer, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("MEMREADER_MODEL", "m")
        monkeypatch.setenv("MEMREADER_BASE_URL", server.url)
        assert cli.fine("add", chat("s1.json", ROOMS[0])).out == "1 memory added (1 file)\n"
        assert server.requests == []

    def test_a_key_is_taken_from_the_variable_that_is_named(
        self, cli: CommandLine, server: OpenAIServer, at: list[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("MEMREADER_API_KEY", "another")
        monkeypatch.setenv("MY_OWN_KEY", KEY)
        cli.fine("add", chat("s1.json", ROOMS[0]), "--mode", "fine", "--api-key-env", "MY_OWN_KEY", *at)
        assert server.requests[0].headers["authorization"] == f"Bearer {KEY}"

    def test_the_key_for_openai_goes_to_no_other_endpoint(
        self, cli: CommandLine, server: OpenAIServer, at: list[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("OPENAI_API_KEY", KEY)
        cli.fine("add", chat("s1.json", ROOMS[0]), "--mode", "fine", *at)
        assert KEY not in str(server.requests)
        ran = cli("refine", "--model", "m", "--base-url", "https://example.org/v1")
        assert ran.code == 2

    def test_without_a_base_url_the_sdk_settings_count(
        self, cli: CommandLine, server: OpenAIServer, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("OPENAI_API_KEY", KEY)
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        cli.fine("add", chat("s1.json", ROOMS[0]), "--mode", "fine", "--model", "m")
        assert server.requests[0].headers["authorization"] == f"Bearer {KEY}"

    def test_a_refused_key_is_never_shown(
        self, cli: CommandLine, server: OpenAIServer, at: list[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("MEMREADER_API_KEY", KEY)
        server.reply = lambda request: refusal(f"Incorrect API key provided: {KEY}", status=401)
        for more in ([], ["--json"]):
            ran = cli("add", chat("s1.json", ROOMS[0]), "--mode", "fine", *at, *more)
            assert ran.code == 1
            assert KEY not in ran.out + ran.err

    def test_without_the_extra_the_pip_command_is_named_and_nothing_is_made(
        self, cli: CommandLine, at: list[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setitem(sys.modules, "openai", None)
        ran = cli("add", chat("s1.json", ROOMS[0]), "--mode", "fine", *at)
        assert ran.code == 1
        assert ran.err == "memreader add: openai is not installed. Run: pip install 'llm-memreader[openai]'\n"
        assert not cli.store.exists()

    def test_a_cost_needs_prices(self) -> None:
        usage = Usage(1, 3_000_000, 500_000)
        assert Asked("m").cost(usage) is None
        assert Asked("m", price_in=2, price_out=8).cost(usage) == pytest.approx(10.0)
        with pytest.raises(MemReaderError, match="go together"):
            Asked("m", price_out=8)


def test_what_became_of_statements_that_are_known_is_told(
    cli: CommandLine, server: OpenAIServer, at: list[str]
) -> None:
    def stated(request: Request) -> Answer:
        new = shown(request.body["messages"]).new
        return Answer(reply(*(memory(line.words, [line.number], entities=["Ana"]) for line in new)))

    server.reply = stated
    said = (
        ("Ana works at Acme.", "2022-01-01"),
        ("ana works at ACME!", "2022-02-01"),
        ("Ana works at Globex.", "2024-01-01"),
    )
    for number, (words, day) in enumerate(said):
        path = Path(f"s{number}.json")
        path.write_text(json.dumps({"messages": chat_of(words, time=day), "session_id": "s"}), encoding="utf-8")
    cli.fine("add", "s0.json", "--mode", "fine", *at)
    first = made(cli)[0]["id"]
    ran = cli.fine("add", "s1.json", "s2.json", "--mode", "fine", "--json", *at).json
    told = [(one["action"], one["other"], one["keeps"], one["by"]) for one in ran["decisions"]]
    assert told == [("merge", first, "old", "rules"), ("supersede", first, "new", "rules")]
    assert ran["refining"]["decisions"] == ran["decisions"]
    assert all(one["reason"] for one in ran["decisions"])
    assert {one["item_id"] for one in ran["decisions"]} <= {*ran["refining"]["added"], *ran["refining"]["existing"]} | {
        one["id"] for one in made(cli, "--archived")
    }
    assert cli.fine("add", "s2.json", "--mode", "fine", "--json", *at).json["decisions"] == []
    Path("s3.json").write_text(
        json.dumps({"messages": chat_of("ANA WORKS AT GLOBEX", time="2024-02-01"), "session_id": "s"}), encoding="utf-8"
    )
    assert "1 merged" in cli.fine("add", "s3.json", "--mode", "fine", *at).out


class TestRefining:
    """What is raw is read, and nothing else."""

    def test_nothing_raw_is_said_and_is_no_failure(self, cli: CommandLine, server: OpenAIServer, at: list[str]) -> None:
        cli.fine("add", chat("s1.json", ROOMS[0]), "--mode", "fine", *at)
        ran = cli.fine("refine", *at)
        assert (ran.out, ran.err) == ("nothing is raw\n", "")
        assert cli.fine("refine", "--json", *at).json["usage"]["calls"] == 0
        assert len(server.chats) == 1

    def test_only_one_conversation_is_read(self, cli: CommandLine, server: OpenAIServer, at: list[str]) -> None:
        cli.fine("add", chat("s1.json", ROOMS[0]), chat("s2.json", ROOMS[1]))
        ran = cli.fine("refine", "--session", "s2", *at)
        assert ran.out == "1 memory from 1 window; 1 call, 2,000 + 100 tokens\n"
        assert [item["memory"] for item in made(cli)] == [f"It is said: {ROOMS[1]}"]

    def test_a_limit_takes_the_oldest_first_and_the_next_run_goes_on(self, cli: CommandLine, at: list[str]) -> None:
        cli.fine("add", chat("s1.json", *ROOMS[:5]))
        assert cli.fine("refine", "--limit", "2", *at).out.startswith("2 memories from 1 window; 1 call")
        assert [item["memory"] for item in made(cli)] == [f"It is said: {room}" for room in ROOMS[:2]]
        assert cli.fine("refine", *at).out.startswith("3 memories from 1 window; 1 call")
        assert len(made(cli)) == 5

    def test_another_user_is_left_alone_unless_all_are_meant(
        self, cli: CommandLine, at: list[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        for user, room in (("ana", ROOMS[0]), ("ben", ROOMS[1]), ("cleo", ROOMS[2])):
            cli.fine("add", chat("s1.json", room), "--user", user)
        assert cli.fine("refine", *at).out.startswith("1 memory from 1 window")
        assert made(cli, "--user", "ben") == []
        assert cli.fine("refine", "--all-users", *at).out.startswith("2 memories from 2 windows; 2 calls")
        assert len(made(cli, "--user", "ben")) == len(made(cli, "--user", "cleo")) == 1
        monkeypatch.delenv("MEMREADER_USER")
        ran = cli("refine", *at)
        assert ran.code == 2
        assert "--user ID (env var: 'MEMREADER_USER'), or --all-users" in ran.err
        assert cli.fine("refine", "--all-users", *at).out == "nothing is raw\n"

    def test_gates_reword_and_archive_what_is_there(
        self, cli: CommandLine, server: OpenAIServer, at: list[str]
    ) -> None:
        cli.fine("add", chat("s1.json", *ROOMS[:2]), "--mode", "fine", *at)
        server.script(
            Answer(json.dumps({"0": {"need_rewrite": True, "rewritten": "Ana has an otter.", "reason": "clearer"}})),
            Answer(json.dumps({"1": {"keep": False, "reason": "nobody said so"}})),
        )
        ran = cli.fine("refine", "--gate", "rewrite", "--gate", "hallucination", *at)
        assert ran.out == "1 reworded, 1 refused and archived; 2 calls, 14 + 6 tokens\n"
        assert ran.err == f"archived: It is said: {ROOMS[1]} (hallucination: nobody said so)\n"
        assert "Ana has an otter." in [item["memory"] for item in made(cli)]

    def test_the_gates_are_those_of_the_library(self) -> None:
        assert tuple(GateName) == get_args(Gate)

    def test_json_has_the_whole_report(self, cli: CommandLine, server: OpenAIServer, at: list[str]) -> None:
        cli.fine("add", chat("s1.json", *windows(2)))
        server.reply = lambda request: refusal("no") if asked_about(request, ROOMS[1]) else echoed(request)
        ran = cli("refine", "--json", *at)
        assert ran.code == 1
        report = ran.json
        assert (report["windows"], len(report["added"]), len(report["left"])) == (2, 1, 1)
        assert report["failures"][0]["locator"] == "s1: messages 1 to 1"
        assert report["cost"] is None


@pytest.mark.skipif(os.name == "nt", reason="signals")
class TestInterrupted:
    """Ctrl-C in a real process: at once, and what is done is kept."""

    def start(self, folder: Path, *arguments: str | Path) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            [sys.executable, "-m", "memreader", *arguments, "--store", folder / "store", "--user", "ana"],
            cwd=folder,
            env=environment(),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )

    def interrupt(self, process: subprocess.Popen[bytes], server: OpenAIServer, *, hanging: int) -> tuple[Ran, float]:
        """Press Ctrl-C when only calls that hang are under way; return what came, and the seconds that it took."""
        deadline = time.monotonic() + 60
        while (len(server.chats) < 6 or server.at_once > hanging) and time.monotonic() < deadline:
            time.sleep(0.05)
        time.sleep(1)  # The last answers are looked at.
        pressed = time.monotonic()
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
        return Ran(process.returncode, out.decode(), err.decode()), time.monotonic() - pressed

    def made_in(self, folder: Path, embedder: MiniLMEmbedder) -> list[str]:
        with Memory.open(folder / "store", embedder=embedder) as kept:
            return [item.memory for item in kept.get_all(user_id="ana") if item.metadata.evolve_from]

    @pytest.mark.parametrize(("verb", "hanging"), [("add", ROOMS[2:6]), ("refine", ROOMS[:2])])
    def test_the_windows_done_stay_and_a_second_run_goes_on(
        self,
        tmp_path: Path,
        server: OpenAIServer,
        at: list[str],
        minilm: MiniLMEmbedder,
        verb: str,
        hanging: list[str],
    ) -> None:
        said = windows(6)
        path = tmp_path / "s1.json"
        path.write_text(json.dumps({"messages": chat_of(*said), "session_id": "s1"}), encoding="utf-8")
        if verb == "refine":
            with Memory.open(tmp_path / "store", embedder=minilm) as kept:
                kept.add(chat_of(*said), user_id="ana", session_id="s1")
        arguments = ["add", path, "--mode", "fine", *at] if verb == "add" else ["refine", *at]
        server.reply = lambda request: echoed(
            request, delay_s=100 if any(asked_about(request, room) for room in hanging) else 0
        )
        ran, seconds = self.interrupt(self.start(tmp_path, *arguments), server, hanging=len(hanging))
        assert (ran.code, ran.out) == (130, "")
        assert ran.err == "memreader: interrupted; what was done stays - run it again to go on\n"
        assert seconds < 5  # 0.3 on a machine that has nothing else to do.
        quick = [room for room in ROOMS[:6] if room not in hanging]
        assert sorted(self.made_in(tmp_path, minilm)) == sorted(f"It is said: {room}" for room in quick)
        server.reply = echoed
        out, err = self.start(tmp_path, *arguments).communicate(timeout=60)
        assert err == b""
        left = len(hanging)
        assert out.decode().startswith(f"{left} memories from {left} windows")
        assert len(server.chats) == 6 + left
        assert sorted(self.made_in(tmp_path, minilm)) == sorted(f"It is said: {room}" for room in ROOMS[:6])
