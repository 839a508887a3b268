"""`memreader search`, `context`, `list`, `show`, `history` and `demo`; and what a terminal is shown."""

from __future__ import annotations

import json
import re
import unicodedata
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from command_line import CommandLine, spawn
from memreader import Memory, TextualMemoryItem
from memreader.cli.screen import json_text, one_line, printable
from memreader.cli.words import WIDTH, excerpt
from memreader.embedding import MiniLMEmbedder

CHAT = [
    {"role": "user", "content": "My boiler is blue.", "chat_time": "2024-01-05", "message_id": "m1"},
    {
        "role": "user",
        "content": "My cat is called Biscuit.",
        "chat_time": "2024-02-01",
        "message_id": "m2",
        "name": "Ana",
    },
    {"role": "user", "content": "我的猫叫年糕，它喜欢睡在我的书上。", "chat_time": "2024-03-01", "message_id": "m3"},
]
ESCAPE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]")
HOSTILE = "Tea\x1b[2J\x1b]0;title\x07 [red]is[/red] \x9b31m \u202egood :smile: [link=file:///x]here[/link]\r\x08\x7f"


@pytest.fixture
def cli(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, minilm: MiniLMEmbedder) -> CommandLine:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("memreader.cli.opening.embedder_called", lambda name: minilm)
    return CommandLine(monkeypatch, tmp_path / "store")


@pytest.fixture
def filled(cli: CommandLine) -> CommandLine:
    cli.fine("add", "-", "--session", "s1", stdin=json.dumps(CHAT[:2]))
    cli.fine("add", "-", "--session", "s2", "--tag", "zh", stdin=json.dumps(CHAT[2:]))
    return cli


def ids(cli: CommandLine) -> list[str]:
    return [row[0] for row in cli.fine("list").rows]


class TestSearch:
    """And `context`, which asks the same."""

    def test_into_a_pipe_go_score_id_date_source_and_the_whole_memory(self, filled: CommandLine) -> None:
        first = filled.fine("search", "What is my cat called?").rows[0]
        assert 0 < float(first[0]) <= 1
        assert first[1:] == [
            ids(filled)[1],
            "2024-02-01",
            "message 1 by Ana in s1, characters 0-25",
            "Ana: My cat is called Biscuit.",
        ]

    def test_as_json_it_is_a_list_of_hits_with_their_items(self, filled: CommandLine) -> None:
        (hit,) = filled.fine("search", "What is my cat called?", "-k", "1", "--json").json
        assert hit["memory"] == "Ana: My cat is called Biscuit."
        assert hit["metadata"]["sources"][0]["message_id"] == "m2"
        assert "embedding" not in hit["metadata"]
        assert 0 < hit["score"] <= 1
        assert set(hit) == {"score", "similarity", "parts", "id", "memory", "metadata"}

    def test_nothing_found_is_no_failure(self, filled: CommandLine) -> None:
        for command in ("search", "context"):
            ran = filled.fine(command, "How do glaciers carve valleys?")
            assert (ran.out, ran.err) == ("", "nothing found\n")
        assert filled.fine("search", "How do glaciers carve valleys?", "--json").json == []
        assert filled.fine("context", "How do glaciers carve valleys?", "--json").json == {"context": ""}

    def test_count_threshold_session_and_filter_narrow_it(self, filled: CommandLine) -> None:
        def found(*options: str) -> list[str]:
            return [row[1] for row in filled.fine("search", "my cat", "--threshold", "0", *options).rows]

        boiler, cat, chinese = ids(filled)
        assert set(found()) == {boiler, cat, chinese}
        assert found("-k", "1") == [cat]
        assert found("--session", "s2") == [chinese]
        assert found("--filter", '{"tags": {"$contains": "zh"}}') == [chinese]
        assert set(found("--filter", '{"memory_time": {"$lt": "2024-02-15"}}')) == {boiler, cat}
        assert found("--user", "ben") == []
        assert filled.fine("search", "my cat", "--threshold", "0.99").rows == []

    @pytest.mark.parametrize("command", ["search", "context", "list"])
    @pytest.mark.parametrize("bad", ['{"tags": {"$like": "x"}}', '{"status": "sleeping"}', '{"$or": []}'])
    def test_a_filter_that_makes_no_sense_is_wrong_use(self, filled: CommandLine, command: str, bad: str) -> None:
        ran = filled(command, *(["cat"] if command != "list" else []), "--filter", bad)
        assert (ran.code, ran.out) == (2, "")
        assert ran.err.startswith(f"memreader {command}: filter")
        assert ran.err.count("\n") == 1

    def test_the_context_is_the_block_of_the_library(self, filled: CommandLine, minilm: MiniLMEmbedder) -> None:
        block = filled.fine("context", "What is my cat called?", "--max-tokens", "100").out
        with Memory.open(filled.store, embedder=minilm) as memory:
            assert block == memory.context("What is my cat called?", user_id="ana", max_tokens=100) + "\n"
        assert "[2024-02-01]" in block
        assert filled.fine("context", "What is my cat called?", "--max-tokens", "1").out == ""


class TestList:
    """Pages of memories."""

    def test_it_goes_page_by_page_and_says_when_there_is_more(self, filled: CommandLine) -> None:
        everything = ids(filled)
        ran = filled.fine("list", "--limit", "2")
        assert [row[0] for row in ran.rows] == everything[:2]
        assert ran.err == "there are more: --offset 2, or --limit 0 for all\n"
        rest = filled.fine("list", "--limit", "2", "--offset", "2")
        assert ([row[0] for row in rest.rows], rest.err) == (everything[2:], "")
        assert len(filled.fine("list", "--limit", "9" * 30).rows) == 3
        assert filled.fine("list", "--offset", "9" * 30).rows == []
        exact = filled.fine("list", "--limit", "3")
        assert (len(exact.rows), exact.err) == (3, "")

    @pytest.mark.parametrize("page", [1, 2, 3, 4])
    def test_all_come_whatever_the_size_of_a_page(
        self, filled: CommandLine, monkeypatch: pytest.MonkeyPatch, page: int
    ) -> None:
        monkeypatch.setattr("memreader.cli.find.PAGE", page)
        everything = filled.fine("list", "--limit", "0", "--json").json
        assert [item["metadata"]["sources"][0]["message_id"] for item in everything] == ["m1", "m2", "m3"]
        assert len(filled.fine("list", "--limit", "0", "--offset", "1").rows) == 2

    def test_session_and_filter_narrow_it(self, filled: CommandLine) -> None:
        assert len(filled.fine("list", "--session", "s1").rows) == 2
        assert len(filled.fine("list", "--filter", '{"tags": {"$contains": "zh"}}').rows) == 1

    def test_of_nobody_it_says_so(self, filled: CommandLine) -> None:
        ran = filled.fine("list", "--user", "ben")
        assert (ran.out, ran.err) == ("", "nothing found\n")
        assert filled.fine("list", "--user", "ben", "--json").out == "[]\n"


class TestOne:
    """`show` and `history`."""

    def test_it_shows_everything_that_is_known_with_the_words_cited(self, filled: CommandLine) -> None:
        item_id = ids(filled)[1]
        for how in ({}, {"terminal": True}):
            shown = filled.fine("show", item_id, **how).out
            for words in (item_id, "Ana: My cat is called Biscuit.", "2024-02-01", "s1", "message 1 by Ana"):
                assert words in shown
        item = TextualMemoryItem.model_validate(filled.fine("show", item_id, "--json").json)
        assert item.id == item_id

    def test_its_history_tells_every_version(self, filled: CommandLine) -> None:
        item_id = ids(filled)[0]
        filled.fine("update", item_id, "My boiler is green.")
        rows = filled.fine("history", item_id).rows
        assert [(row[0], row[1], row[4]) for row in rows] == [
            ("1", "add", "user: My boiler is blue."),
            ("2", "update", "My boiler is green."),
        ]
        filled.fine("delete", item_id, "--yes")
        versions = filled.fine("history", item_id, "--json").json
        assert versions[-1]["event"] == "delete"
        assert all(version["item"] is None for version in versions)
        assert "delete" in filled.fine("history", item_id, terminal=True).out

    @pytest.mark.parametrize("command", ["show", "history"])
    def test_what_is_unknown_or_another_user_s_is_absent(self, filled: CommandLine, command: str) -> None:
        for arguments in (["no-such-id"], [ids(filled)[0], "--user", "ben"]):
            ran = filled(command, *arguments)
            assert (ran.code, ran.out) == (1, "")
            assert "no memory with the id" in ran.err


class TestDemo:
    """It needs nothing."""

    def test_it_answers_in_two_languages_and_cites(self, cli: CommandLine) -> None:
        ran = cli.fine("demo", width=400)
        for words in (
            "14 by the canal",
            "Iris is allergic",
            "F4",
            "东站",
            "八十五块",
            "nothing found",
            "boiler.md, characters",
        ):
            assert words in ran.out
        assert not cli.store.exists()

    def test_with_a_store_it_keeps_them_and_adds_nothing_twice(self, cli: CommandLine) -> None:
        assert "10 memories added" in cli.fine("demo", "--store", cli.store, width=200).out
        assert "0 memories added" in cli.fine("demo", "--store", cli.store, width=200).out
        assert len(cli.fine("list", "--user", "demo").rows) == 10

    def test_its_answers_come_as_json(self, cli: CommandLine) -> None:
        answers = cli.fine("demo", "--json").json
        assert [len(answer["hits"]) for answer in answers] == [1, 1, 1, 1, 1, 0]
        assert answers[2]["hits"][0]["metadata"]["sources"][0]["doc_path"] == "boiler.md"

    def test_as_a_process_it_runs_from_anywhere_without_any_setting(self, tmp_path: Path) -> None:
        done = spawn(["demo"], cwd=tmp_path)
        assert done.returncode == 0
        assert "Ferro & Daughters" in " ".join(done.stdout.decode().split())
        assert list(tmp_path.iterdir()) == []


class TestForeignText:
    """A memory is somebody else's words: it can't steer the terminal."""

    @pytest.fixture
    def hostile(self, cli: CommandLine, minilm: MiniLMEmbedder) -> CommandLine:
        item = {
            "id": HOSTILE,
            "memory": HOSTILE,
            "metadata": {
                "tags": [HOSTILE],
                "session_id": HOSTILE,
                "info": {HOSTILE: HOSTILE},
                "sources": [{"type": "doc", "doc_path": HOSTILE, "content": HOSTILE}, {"name": HOSTILE}],
            },
        }
        with Memory.open(cli.store, embedder=minilm) as memory:
            memory.add(item, user_id="ana")
            memory.add(item, user_id=HOSTILE)
        return cli

    @pytest.mark.parametrize(
        "arguments",
        [
            ["search", "tea", "--threshold", "0"],
            ["context", "tea", "--threshold", "0"],
            ["list"],
            ["show", HOSTILE],
            ["history", HOSTILE],
            ["update", HOSTILE, HOSTILE + "!"],
            ["show", HOSTILE + "?"],
            ["users"],
            ["stats"],
            ["add", HOSTILE],
            ["delete", HOSTILE, "--yes"],
            ["delete", "--document", HOSTILE, "--yes"],
        ],
    )
    def test_it_is_written_out_everywhere(
        self, hostile: CommandLine, monkeypatch: pytest.MonkeyPatch, arguments: list[str]
    ) -> None:
        monkeypatch.setenv("NO_COLOR", "1")
        for options, terminal in (([], False), (["--json"], False), ([], True), (["--json"], True)):
            ran = hostile(*arguments, *options, terminal=terminal, width=300)
            # The styles that are left without colours, and what hides the cursor under a bar, are ours.
            text = re.sub(r"\x1b\[(?:[0-9;]*m|\?25[lh]|1A|2K)|\r", "", ran.out + ran.err)
            assert ESCAPE.findall(text) == []
            if arguments[0] in ("search", "list", "context"):
                assert ":smile:" in text
                assert "[red]is[/red]" in text

    @given(st.text(st.characters(codec=None), max_size=60))
    def test_no_text_gets_through_with_a_control_character(self, text: str) -> None:
        for shown in (printable(text).replace("\n", "").replace("\t", ""), one_line(text)):
            assert ESCAPE.findall(shown) == []
            assert not any(unicodedata.category(character) in ("Cc", "Cs") for character in shown)
        assert "\n" not in one_line(text)

    @given(
        st.recursive(
            st.none() | st.booleans() | st.integers() | st.text(st.characters(codec=None)),
            lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
            max_leaves=8,
        )
    )
    def test_json_is_safe_to_show_and_says_the_same(self, value: Any) -> None:
        for ascii_only in (False, True):
            text = json_text(value, ascii_only=ascii_only)
            assert ESCAPE.findall(text.replace("\n", "")) == []
            assert json.loads(text) == value
            text.encode("ascii" if ascii_only else "utf-8")


class TestOnATerminal:
    """Tables, colours, and little room."""

    @pytest.mark.parametrize("command", [["search", "my cat", "--threshold", "0"], ["list"], ["demo"]])
    def test_no_line_is_wider_than_it_is(self, filled: CommandLine, command: list[str]) -> None:
        for width in (20, 40, 60, 80, 99, 100, 120, 200):
            ran = filled.fine(*command, terminal=True, width=width)
            lines = re.sub(r"\x1b\[[0-9;]*m", "", ran.out).splitlines()
            table = [line for line in lines if "No network" not in line and "They are gone" not in line]
            assert max(map(cell_len, table)) <= width

    def test_it_has_colours_unless_the_user_wants_none(
        self, filled: CommandLine, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        assert "\x1b[36m" in filled.fine("list", terminal=True).out
        assert "\x1b[31m" in filled("show", "x", terminal=True).err
        monkeypatch.setenv("NO_COLOR", "1")
        assert "\x1b[3" not in filled.fine("list", terminal=True).out
        assert "\x1b[3" not in filled("show", "x", terminal=True).err

    @pytest.mark.parametrize("terminal", ["dumb", "unknown"])
    def test_a_simple_terminal_gets_no_codes(
        self, filled: CommandLine, monkeypatch: pytest.MonkeyPatch, terminal: str
    ) -> None:
        monkeypatch.setenv("TERM", terminal)
        ran = filled.fine("add", "-", stdin="I like tea.", terminal=True)
        assert "\x1b" not in ran.out + ran.err

    def test_elsewhere_there_is_no_code_at_all(self, filled: CommandLine) -> None:
        for arguments in (["search", "my cat"], ["list"], ["show", "x"], ["demo"], ["--help"], ["stats"], ["nope"]):
            ran = filled(*arguments)
            assert "\x1b" not in ran.out + ran.err

    @pytest.mark.parametrize("encoding", ["ascii", "latin-1", "cp1252", "gb18030"])
    def test_any_encoding_of_the_output_will_do(self, filled: CommandLine, encoding: str) -> None:
        for terminal in (False, True):
            for arguments in (["list"], ["demo"], ["--help"], ["search", "年糕"], ["show", "年糕"]):
                filled(*arguments, encoding=encoding, terminal=terminal)
            (hit,) = filled.fine("search", "年糕", "-k", "1", "--json", encoding=encoding, terminal=terminal).json
            assert "年糕" in hit["memory"]

    def test_a_long_memory_is_cut_in_a_table_and_whole_in_a_pipe(self, cli: CommandLine) -> None:
        text = " ".join(f"Filler sentence number {n} says nothing." for n in range(30))
        words = f"{text} The secret colour of the boiler is mauve. {text}"
        cli.fine("add", "-", "--as-document", stdin=words)
        assert "mauve" in cli.fine("search", "colour of the boiler", "-k", "1", terminal=True, width=200).out
        piped = cli.fine("list").rows
        assert sum(row[3].count("mauve") for row in piped) >= 1
        assert all(len(row) == 4 for row in piped)

    @given(st.text(max_size=600), st.text(max_size=20))
    def test_an_excerpt_is_one_short_line(self, text: str, question: str) -> None:
        shown = excerpt(text, question)
        assert len(shown) <= WIDTH + 2
        assert "\n" not in shown


class TestWhatWasSo:
    """Memories that ended: `--as-of`, `--archived` and `restore`."""

    @pytest.fixture
    def moved(self, cli: CommandLine, minilm: MiniLMEmbedder) -> CommandLine:
        with Memory.open(cli.store, embedder=minilm) as memory:
            for place, (company, year) in enumerate((("Acme", 2022), ("Globex", 2024))):
                known = {"memory_time": f"{year}-01-01", "entities": ["Ana"]}
                item = TextualMemoryItem(id=f"i{place}", memory=f"Ana works at {company}.", metadata=known)
                memory.add([item], user_id="ana")
        return cli

    def test_a_day_in_the_past_shows_what_was_so_then(self, moved: CommandLine) -> None:
        for as_of, known in (
            ([], "Globex"),
            (["--as-of", "2023-01-01"], "Acme"),
            (["--as-of", "2025-01-01"], "Globex"),
        ):
            (row,) = moved.fine("search", "Where does Ana work?", "--threshold", "0", *as_of).rows
            assert row[-1] == f"Ana works at {known}."
            block = moved.fine("context", "Where does Ana work?", "--threshold", "0", *as_of).out
            assert [name in block for name in ("Acme", "Globex")] == [known == "Acme", known == "Globex"]
        assert moved("search", "x", "--as-of", "someday").code == 2

    def test_what_ended_is_listed_with_its_end_and_shown_with_what_ended_it(self, moved: CommandLine) -> None:
        assert [row[0] for row in moved.fine("list").rows] == ["i1"]
        (row,) = moved.fine("list", "--archived").rows
        assert row[:2] == ["i0", "2022-01-01 - 2024-01-01"]
        assert moved.fine("list", "--archived", "--filter", '{"tags": {"$contains": "x"}}').out == ""
        assert "2024-01-01" in moved.fine("show", "i0").out
        assert "supersede: i1" in moved.fine("history", "i0").out

    def test_an_earlier_version_comes_back(self, moved: CommandLine) -> None:
        assert "version 3" in moved.fine("restore", "i0", "1").out
        assert [row[0] for row in moved.fine("list").rows] == ["i0", "i1"]
        assert moved("restore", "i0", "9").code == 1
        assert moved.fine("restore", "i1", "1", "--json").json["id"] == "i1"
