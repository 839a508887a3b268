"""`memreader add --ttl --session-only`, what list and show say of it, and `purge --expired`."""

from __future__ import annotations

import json
from datetime import datetime

import pytest

from clocks import DAY, Clock
from command_line import CommandLine
from memreader import lifetimes
from memreader.cli.options import duration
from memreader.embedding import MiniLMEmbedder
from stored import said


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(lifetimes, "clock", clock)
    return clock


@pytest.fixture
def cli(
    monkeypatch: pytest.MonkeyPatch, minilm: MiniLMEmbedder, tmp_path_factory: pytest.TempPathFactory
) -> CommandLine:
    folder = tmp_path_factory.mktemp("here")
    monkeypatch.chdir(folder)
    for module in ("opening", "keep"):
        monkeypatch.setattr(f"memreader.cli.{module}.embedder_called", lambda _: minilm)
    return CommandLine(monkeypatch, folder / "store")


def chat(words: str, session: str | None = None) -> str:
    return json.dumps({"messages": [said(words)], **({"session_id": session} if session else {})})


def test_what_is_added_with_a_ttl_shows_its_end_and_goes_with_a_purge(cli: CommandLine, clock: Clock) -> None:
    cli.fine("add", "-", "--ttl", "7d", stdin="I drink green tea.")
    cli.fine("add", "-", stdin="I like cake.")
    first, second = cli.fine("list").rows
    assert first[1].endswith(f"(expires {datetime.fromtimestamp(clock() + 7 * DAY).date()})")
    assert "expires" not in second[1]
    shown = dict(row for row in cli.fine("show", first[0]).rows if len(row) == 2)
    assert shown["expires"][:10] == str(datetime.fromtimestamp(clock() + 7 * DAY).date())
    assert "(expires " in cli.fine("search", "tea", terminal=True).out
    assert cli.fine("purge", "--expired").out == (
        "0 memories had expired and are deleted; nothing of what was deleted is left in the files\n"
    )
    clock.ahead = 8 * DAY
    assert [row[3] for row in cli.fine("list").rows] == ["user: I like cake."]
    assert "green" not in cli.fine("search", "green tea", "--threshold", "0").out
    cli.fine("purge", "--expired", "--user", "ben")
    report = cli.fine("purge", "--expired", "--json").json
    assert report == {
        "ids": {"ana": [first[0]]},
        "messages": 1,
        "documents": 0,
        "purge": {"complete": True, "reason": ""},
    }
    assert cli("show", first[0]).code == 1


def test_what_is_for_the_session_only_is_not_found_elsewhere(cli: CommandLine) -> None:
    cli.fine("add", "-", "--session-only", stdin=chat("I want tables.", "s1"))
    cli.fine("add", "-", "--session-only", "--session", "s2", stdin=chat("I want lists."))
    assert cli.fine("search", "tables", "--threshold", "0").out == ""
    assert "tables" in cli.fine("search", "tables", "--threshold", "0", "--session", "s1").out
    failed = cli("add", "-", "--session-only", stdin="I want charts.")
    assert failed.code == 1
    assert "give --session, or leave --session-only out" in failed.err


@pytest.mark.parametrize("wrong", ["soon", "7", "-7d", "1e9w", "", "7 d"])
def test_a_ttl_that_is_none_is_wrong_usage(cli: CommandLine, wrong: str) -> None:
    ran = cli("add", "-", "--ttl", wrong, stdin="I drink tea.")
    assert ran.code == 2
    assert "--ttl" in ran.err
    assert not cli.store.exists()


@pytest.mark.parametrize("wrong", ["0d", "999999999w"])
def test_a_ttl_that_makes_no_sense_is_said_so(cli: CommandLine, wrong: str) -> None:
    ran = cli("add", "-", "--ttl", wrong, stdin="I drink tea.")
    assert ran.code in (1, 2)
    assert "ttl" in ran.err


def test_every_unit_counts_as_it_should() -> None:
    seconds = {"90s": 90, "30m": 1800, "12h": 43_200, "7d": 604_800, "2w": 1_209_600, "1.5H": 5400}
    for text, expected in seconds.items():
        read = duration(text, "--ttl")
        assert read is not None
        assert read.total_seconds() == expected
    assert duration(None, "--ttl") is None


def test_a_user_without_expired_is_wrong_usage(cli: CommandLine) -> None:
    cli.fine("add", "-", stdin="I drink tea.")
    ran = cli("purge", "--user", "ana")
    assert ran.code == 2
    assert "--user goes with --expired" in ran.err
