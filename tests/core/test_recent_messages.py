"""`Memory.recent_messages`: the last words of a session, as they were said."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from command_line import CommandLine
from memreader import Memory
from memreader.testing import HashEmbedder


@pytest.fixture
def memory() -> Iterator[Memory]:
    with Memory.in_memory(embedder=HashEmbedder()) as memory:
        yield memory


def said(memory: Memory, user_id: str = "ana", session_id: str | None = "s", limit: int = 20) -> list[str]:
    return [one.content for one in memory.recent_messages(user_id=user_id, session_id=session_id, limit=limit)]


def test_the_last_messages_of_the_session_come_oldest_first(memory: Memory) -> None:
    for number in range(5):
        memory.add(
            [{"role": "user", "content": f"word {number}", "message_id": f"m{number}"}], user_id="ana", session_id="s"
        )
    memory.add("in another session", user_id="ana", session_id="t")
    memory.add("of another user", user_id="bob", session_id="s")
    memory.add("in no session", user_id="ana")
    assert said(memory, limit=2) == ["word 3", "word 4"]
    assert said(memory) == [f"word {number}" for number in range(5)]
    assert said(memory, limit=0) == []
    assert said(memory, session_id=None) == ["in no session"]
    assert said(memory, user_id="eve") == []


def test_who_said_it_and_when_comes_with_it(memory: Memory) -> None:
    told = {"role": "user", "name": "Ana", "content": "hello", "chat_time": "2025-03-01T10:00:00", "message_id": "m1"}
    memory.add([told], user_id="ana", session_id="s")
    (message,) = memory.scoped(user_id="ana", session_id="s").recent_messages(5)
    assert (message.role, message.name, message.chat_time, message.message_id, message.index) == (
        "user", "Ana", "2025-03-01T10:00:00", "m1", 0,
    )  # fmt: skip


def test_what_tools_answered_and_what_was_deleted_is_left_out(memory: Memory) -> None:
    chat = [
        {"role": "system", "content": "Be kind.", "message_id": "m0"},
        {"role": "user", "content": "my secret", "message_id": "m1"},
        {"role": "tool", "content": "42", "message_id": "m2"},
        {"role": "assistant", "content": "It is 42.", "message_id": "m3"},
    ]
    memory.add(chat, user_id="ana", session_id="s")
    memory.delete_by_source(user_id="ana", message_id="m1")
    assert said(memory) == ["It is 42."]


@pytest.mark.parametrize(("limit", "error"), [(-1, ValueError), (True, TypeError), ("3", TypeError)])
def test_a_limit_that_makes_no_sense_is_refused(memory: Memory, limit: int, error: type[Exception]) -> None:
    with pytest.raises(error, match="limit"):
        memory.recent_messages(user_id="ana", limit=limit)


def test_the_command_shows_them(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("memreader.cli.opening.embedder_called", lambda name: HashEmbedder())
    cli = CommandLine(monkeypatch, tmp_path / "store")
    with Memory.open(tmp_path / "store", embedder=HashEmbedder()) as memory:
        for number in range(3):
            told = {"role": "user", "content": f"word\t{number}", "chat_time": f"2025-03-0{number + 1}"}
            memory.add([told], user_id="ana", session_id="s")
    given = ("recent", "--session", "s", "--limit", "2")
    assert cli.fine(*given).out == "2025-03-02\tuser\tword 1\n2025-03-03\tuser\tword 2\n"
    assert [one["index"] for one in json.loads(cli.fine(*given, "--json").out)] == [1, 2]
    assert "nothing said" in cli.fine("recent").err
