"""`memreader graph`: who and what is in the memories, in a table, as JSON and in files."""

from __future__ import annotations

import json
from pathlib import Path

import networkx as nx
import pytest

from command_line import CommandLine
from memreader import Memory
from memreader.embedding import MiniLMEmbedder

ITEMS = [
    {"id": "1", "memory": "Bob met Ana.", "metadata": {"entities": ["Bob", "Ana"], "memory_time": "2024-03-01"}},
    {"id": "2", "memory": "Robert, a.k.a. Bob, hired Ben.", "metadata": {"entities": ["Robert", "Ben"]}},
]


@pytest.fixture
def cli(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, minilm: MiniLMEmbedder) -> CommandLine:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("memreader.cli.opening.embedder_called", lambda name: minilm)
    with Memory.open(tmp_path / "store", embedder=minilm) as memory:
        memory.add(ITEMS, user_id="ana", reconcile=False)
    return CommandLine(monkeypatch, tmp_path / "store")


def test_entities_are_listed_those_of_most_memories_first(cli: CommandLine) -> None:
    assert cli.fine("graph").rows == [["Robert", "2"], ["Ana", "1"], ["Ben", "1"]]
    assert cli.fine("graph", "--limit", "1").rows == [["Robert", "2"]]
    assert json.loads(cli.fine("graph", "--json").out)[0] == {"name": "Robert", "key": "robert", "items": 2}


def test_one_entity_shows_what_is_beside_it_and_the_memories(cli: CommandLine) -> None:
    assert cli.fine("graph", "--entity", "bob").rows == [
        ["neighbour", "Ana", "1"],
        ["neighbour", "Ben", "1"],
        ["memory", "Bob met Ana.", "2024-03-01"],
        ["memory", "Robert, a.k.a. Bob, hired Ben.", ""],
    ]
    shown = json.loads(cli.fine("graph", "--entity", "Bob", "--json").out)
    assert [item["id"] for item in shown["memories"]] == ["1", "2"]
    assert shown["relations"] == []


def test_a_name_that_nothing_mentions_is_said(cli: CommandLine) -> None:
    ran = cli("graph", "--entity", "Zoe")
    assert ran.code == 1
    assert "mentions 'Zoe'" in ran.err


def test_files_hold_the_graph_and_are_not_replaced_unasked(cli: CommandLine, tmp_path: Path) -> None:
    cli.fine("graph", "--html", "g.html", "--graphml", "g.graphml", "--json-graph", "g.json")
    assert "Bob met Ana." in (tmp_path / "g.html").read_text("utf-8")
    assert nx.read_graphml(tmp_path / "g.graphml").number_of_nodes() == 3
    assert len(json.loads((tmp_path / "g.json").read_text("utf-8"))["nodes"]) == 3
    again = cli("graph", "--html", "g.html")
    assert again.code == 1
    assert "--force" in again.err
    cli.fine("graph", "--html", "g.html", "--force")


def test_one_entity_goes_into_no_file(cli: CommandLine) -> None:
    ran = cli("graph", "--entity", "Bob", "--html", "g.html")
    assert ran.code == 2
    assert not Path("g.html").exists()


def test_a_user_without_entities_is_told_so(cli: CommandLine) -> None:
    ran = cli.fine("graph", "--user", "zoe")
    assert "nothing found" in ran.err


def test_stats_tell_the_share_seen_once(cli: CommandLine) -> None:
    assert ["seen once", "100% of the entities"] in cli.fine("stats").rows
    assert json.loads(cli.fine("stats", "--json").out)["seen_once"] == 1.0
