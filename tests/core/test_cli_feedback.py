"""`memreader feedback`: whether a memory that was found was of use."""

from __future__ import annotations

from pathlib import Path

import pytest

from command_line import CommandLine
from memreader import Memory
from memreader.embedding import MiniLMEmbedder

QUERY = "Where is the boiler?"


@pytest.fixture
def cli(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, minilm: MiniLMEmbedder) -> CommandLine:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("memreader.cli.opening.embedder_called", lambda name: minilm)
    with Memory.open(tmp_path / "store", embedder=minilm) as memory:
        memory.add({"id": "1", "memory": "The boiler is in the cellar."}, user_id="ana")
    return CommandLine(monkeypatch, tmp_path / "store")


def test_it_says_how_often_a_memory_was_of_use(cli: CommandLine) -> None:
    assert cli.fine("feedback", "1", "--useful").out == "1 was called useful once, useless 0 times\n"
    assert cli.fine("feedback", "1", "--useless", "--query", QUERY, "--json").json == {
        "id": "1", "useful": 1, "useless": 1,
    }  # fmt: skip
    (hit,) = cli.fine("search", QUERY, "--json").json
    assert -0.1 < hit["parts"]["feedback"] < 0
    assert {"useful": 1, "useless": 1}.items() <= cli.fine("stats", "--json").json.items()


def test_an_unknown_memory_is_said(cli: CommandLine) -> None:
    ran = cli("feedback", "2", "--useful")
    assert (ran.code, "no memory with the id '2'" in ran.err) == (1, True)


@pytest.mark.parametrize("wrong", [[], ["--useful", "--query", " "]])
def test_a_wrong_call_is_explained(cli: CommandLine, wrong: list[str]) -> None:
    ran = cli("feedback", "1", *wrong)
    assert ran.code == 2
    assert "memreader feedback" in ran.err
