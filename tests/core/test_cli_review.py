"""`memreader review`, and `add --review`: what waits, in a table and as questions."""

from __future__ import annotations

from pathlib import Path

import pytest

from command_line import CommandLine
from memreader import Memory
from memreader.embedding import MiniLMEmbedder

ITEMS = [
    {"id": "1", "memory": "Ana has asthma.", "metadata": {"memory_time": "2024-03-01"}},
    {"id": "2", "memory": "Ben rows."},
    {"id": "3", "memory": "Eva\x1b[31m sails."},
]


@pytest.fixture
def cli(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, minilm: MiniLMEmbedder) -> CommandLine:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("memreader.cli.opening.embedder_called", lambda name: minilm)
    with Memory.open(tmp_path / "store", embedder=minilm) as memory:
        memory.add(ITEMS, user_id="ana", review=True)
    return CommandLine(monkeypatch, tmp_path / "store")


def waiting(cli: CommandLine) -> list[str]:
    return [item["id"] for item in cli.fine("review", "--json").json]


def test_what_waits_is_listed(cli: CommandLine) -> None:
    assert cli.fine("review").rows[:2] == [["1", "2024-03-01", "", "Ana has asthma."], ["2", "", "", "Ben rows."]]
    assert waiting(cli) == ["1", "2", "3"]
    assert len(cli.fine("review", "--limit", "1").rows) == 1
    assert "nothing waits" in cli.fine("review", "--user", "zoe").err
    assert cli.fine("list").rows == []
    assert ["by status", "pending 3"] in cli.fine("stats").rows


def test_ids_are_approved_and_rejected_without_a_question(cli: CommandLine) -> None:
    ran = cli.fine("review", "--approve", "1", "--reject", "2", "--json")
    assert ran.json == {"approved": ["1"], "rejected": ["2"], "missing": [], "decisions": []}
    assert waiting(cli) == ["3"]
    again = cli("review", "--approve", "1", "--approve", "3", "--reject", "x")
    assert (again.code, again.out) == (1, "1 memory approved, 0 rejected\n")
    assert "'1' waits" in again.err
    assert "'x' waits" in again.err


def test_ids_come_from_standard_input(cli: CommandLine) -> None:
    assert cli.fine("review", "--approve", "-", stdin="1\n2\n").out == "2 memories approved, 0 rejected\n"


def test_one_id_is_not_both_approved_and_rejected(cli: CommandLine) -> None:
    assert cli("review", "--approve", "1", "--reject", "1").code == 2
    assert cli("review", "--approve", "").code == 2
    assert waiting(cli) == ["1", "2", "3"]


def test_on_a_terminal_it_asks_about_each_until_told_to_quit(cli: CommandLine) -> None:
    ran = cli.fine("review", terminal=True, keyboard=True, stdin="what?\na\nREJECT\nq\n")
    assert ran.err.count("s)kip") == 4
    assert "1 memory approved, 1 rejected, 1 memory waits" in ran.err
    assert "\x1b[31m sails" not in ran.out + ran.err
    assert waiting(cli) == ["3"]
    skipped = cli.fine("review", terminal=True, keyboard=True, stdin="s\n")
    assert "0 memories approved, 0 rejected, 1 memory waits" in skipped.err
    ended = cli.fine("review", terminal=True, keyboard=True, stdin="")
    assert ended.err.count("s)kip") == 1
    assert waiting(cli) == ["3"]


def test_add_puts_what_it_reads_under_review_and_tells_what_was_rejected(cli: CommandLine, tmp_path: Path) -> None:
    (tmp_path / "note.txt").write_text("The boat is blue.", encoding="utf-8")
    ran = cli.fine("add", "note.txt", "--review", "--json")
    assert ran.json["pending"] == ran.json["added"] == waiting(cli)[3:]
    assert cli.fine("add", "note.txt").out == "0 memories added, 1 known before, 1 to review (1 file)\n"
    cli.fine("review", "--reject", ran.json["added"][0])
    assert cli.fine("add", "note.txt").out == "0 memories added, 1 rejected before (1 file)\n"
