"""The command as such: help, versions, exit codes, and that an error is one line."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from command_line import CommandLine, environment, spawn
from memreader import Memory, __version__
from memreader.cli import failing, program
from memreader.embedding import MiniLMEmbedder
from memreader.errors import StoreBusyError
from memreader.testing import HashEmbedder

COMMANDS = """
    demo add refine search context list recent show history graph review update restore feedback delete export
    import dump load reindex encode stats purge users
""".split()
READING = {
    "refine": ["--model", "m", "--base-url", "http://127.0.0.1:9/v1"],
    "search": ["tea"],
    "context": ["tea"],
    "list": [],
    "recent": [],
    "show": ["x"],
    "history": ["x"],
    "graph": [],
    "review": [],
    "update": ["x", "words"],
    "restore": ["x", "1"],
    "feedback": ["x", "--useful"],
    "delete": ["x", "--yes"],
    "export": ["out.zip"],
    "dump": ["out"],
    "reindex": [],
    "encode": [],
    "stats": [],
    "purge": [],
    "users": [],
}


@pytest.fixture
def cli(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, minilm: MiniLMEmbedder) -> CommandLine:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("memreader.cli.opening.embedder_called", lambda name: minilm)
    return CommandLine(monkeypatch, tmp_path / "store")


def test_without_arguments_it_shows_every_command(cli: CommandLine) -> None:
    ran = cli.fine()
    assert all(f" {command} " in ran.out for command in COMMANDS)
    assert "MEMREADER_STORE" in ran.out
    assert ran.err == ""


def test_the_list_of_commands_here_is_whole() -> None:
    registered = [info.name for info in program.app.registered_commands]
    assert registered == COMMANDS
    assert set(READING) == set(COMMANDS) - {"demo", "add", "import", "load"}


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_explains_itself_and_has_json(cli: CommandLine, command: str) -> None:
    for option in ("--help", "-h"):
        ran = cli.fine(command, option)
        assert f"Usage: memreader {command}" in ran.out
        assert "--json" in ran.out
        assert ran.err == ""


def test_the_version_is_that_of_the_package(cli: CommandLine) -> None:
    assert cli.fine("--version").out == f"memreader {__version__}\n"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["serach", "x"], "serach"),
        (["search"], "QUERY"),
        (["search", "x", "--nope"], "--nope"),
        (["search", "x", "-k", "0"], "--top-k"),
        (["search", "x", "-k", "many"], "--top-k"),
        (["search", "x", "--threshold", "2"], "not between 0 and 1"),
        (["search", "x", "--threshold", "nan"], "not between 0 and 1"),
        (["search", "x", "--filter", "{"], "--filter"),
        (["search", "x", "--filter", "[" * 100_000], "--filter"),
        (["search", "x", "--filter", "[]"], "must be a JSON object"),
        (["list", "--limit", "-1"], "--limit"),
        (["search", "x", "--user", " "], "non-empty"),
        (["search", "x", "--embedder", "bert"], "bert"),
        (["add"], "PATH"),
        (["add", ""], "a path is empty"),
        (["add", "x", "--as-chat", "--as-document"], "don't go together"),
        (["add", "x", "--tag", " "], "--tag"),
        (["add", "x", "--tag", "caf\udce9"], "--tag"),
        (["add", "x", "--at", "tomorrow-ish"], "tomorrow-ish"),
        (["update", "x"], "either TEXT or --patch"),
        (["update", "x", "words", "--patch", "{}"], "either TEXT or --patch"),
        (["update", "x", "--patch", "nope"], "--patch"),
        (["delete"], "give ids, or one of"),
        (["delete", "x", "--all"], "give ids, or one of"),
        (["delete", "--document", "a", "--session", "b"], "give ids, or one of"),
        (["delete", "--document", ""], "empty"),
        (["load", "x", "--on-conflict", "merge"], "merge"),
    ],
)
def test_a_wrong_call_is_one_line_and_code_2_and_makes_no_store(
    cli: CommandLine, arguments: list[str], words: str
) -> None:
    ran = cli(*arguments)
    assert ran.code == failing.WRONG_USE
    assert ran.out == ""
    assert words in ran.err
    assert ran.err.count("\n") == 1
    assert ran.err.startswith("memreader")
    assert re.search(r"[^.]\. See: memreader( \w+)? --help\n$", ran.err)
    assert not cli.store.exists()


@pytest.mark.parametrize(("missing", "option"), [("MEMREADER_STORE", "--store"), ("MEMREADER_USER", "--user")])
@pytest.mark.parametrize("value", [None, ""])
def test_a_missing_store_or_user_is_wrong_use_that_names_option_and_variable(
    cli: CommandLine, monkeypatch: pytest.MonkeyPatch, missing: str, option: str, value: str | None
) -> None:
    if value is None:
        monkeypatch.delenv(missing)
    else:
        monkeypatch.setenv(missing, value)
    ran = cli("search", "tea")
    assert ran.code == failing.WRONG_USE
    assert option in ran.err
    assert missing in ran.err
    assert ran.err.count("\n") == 1


@pytest.mark.parametrize("command", READING)
def test_a_reading_command_says_that_there_is_no_store_and_makes_none(cli: CommandLine, command: str) -> None:
    ran = cli(command, *READING[command])
    assert (ran.code, ran.out) == (1, "")
    assert ran.err.startswith(f"memreader {command}: no store at '{cli.store}'")
    assert ran.err.count("\n") == 1
    assert list(cli.store.parent.iterdir()) == []


def test_options_win_over_variables(cli: CommandLine, tmp_path: Path) -> None:
    cli.fine("add", "-", "--user", "ben", "--store", tmp_path / "other", stdin="I like tea.")
    assert not cli.store.exists()
    assert cli.fine("users", "--store", tmp_path / "other").out == "ben\n"


def test_the_home_folder_can_be_written_as_a_tilde(cli: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(cli.store.parent))
    monkeypatch.setenv("MEMREADER_STORE", "~/store")
    cli.fine("add", "-", stdin="I like tea.")
    assert (cli.store / "memory.db").exists()


def test_a_file_in_the_place_of_the_store_is_one_line(cli: CommandLine) -> None:
    cli.store.write_text("not a folder")
    ran = cli("add", "-", stdin="I like tea.")
    assert ran.code == 1
    assert ran.err.count("\n") == 1
    assert "Traceback" not in ran.err


def test_a_damaged_store_is_one_line(cli: CommandLine) -> None:
    cli.store.mkdir(mode=0o700)
    (cli.store / "memory.db").write_bytes(b"no database at all" * 100)
    for arguments in (["list"], ["add", "-"]):
        ran = cli(*arguments)
        assert (ran.code, ran.out) == (1, "")
        assert ran.err.count("\n") == 1


def raising(monkeypatch: pytest.MonkeyPatch, error: BaseException) -> None:
    def get_all(*arguments: object, **options: object) -> None:
        raise error

    monkeypatch.setattr(Memory, "get_all", get_all)


@pytest.mark.parametrize(
    ("error", "line"),
    [
        (StoreBusyError(path="x/memory.db", timeout_s=30), "memreader list: x/memory.db was locked"),
        (PermissionError(13, "Permission denied", "x/memory.db"), "memreader list: Permission denied: 'x/memory.db'"),
        (OSError("a bare\none"), "memreader list: a bare one"),
        (ValueError("no\x1b[2Jgood"), "memreader list: no\\x1b[2Jgood"),
        (ValueError(), "memreader list: ValueError"),
    ],
)
def test_what_goes_wrong_is_one_line_and_code_1(
    cli: CommandLine, monkeypatch: pytest.MonkeyPatch, error: Exception, line: str
) -> None:
    cli.fine("add", "-", stdin="I like tea.")
    raising(monkeypatch, error)
    ran = cli("list")
    assert (ran.code, ran.out) == (1, "")
    assert ran.err.startswith(line)
    assert ran.err.count("\n") == 1


def test_an_interruption_is_one_line_and_code_130(cli: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    cli.fine("add", "-", stdin="I like tea.")
    raising(monkeypatch, KeyboardInterrupt())
    ran = cli("list")
    assert ran.code == 130
    assert ran.err == "memreader: interrupted; what was done stays\n"


def test_an_error_that_nobody_expected_is_a_line_too(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("MEMREADER_DEBUG", raising=False)
    failing.surprise(KeyError, KeyError("x"), None)
    line = capsys.readouterr().err
    assert line == "memreader: KeyError: 'x'. This is a fault of memreader; MEMREADER_DEBUG=1 shows where\n"
    monkeypatch.setenv("MEMREADER_DEBUG", "1")
    failing.surprise(KeyError, KeyError("x"), None)
    assert capsys.readouterr().err.strip() == "KeyError: 'x'"


def test_a_run_leaves_hooks_and_loggers_as_they_were(cli: CommandLine) -> None:
    before = sys.excepthook
    cli.fine("add", "-", stdin="我喜欢喝茶。")
    assert sys.excepthook is before
    assert "note:" in cli.fine("add", "-", stdin="我也喜欢喝咖啡。").err


def test_a_store_with_an_embedder_of_somebody_elses_can_be_looked_at_but_not_searched(cli: CommandLine) -> None:
    with Memory.open(cli.store, embedder=HashEmbedder()) as memory:
        (item_id,) = memory.add("I like tea.", user_id="ana").added
    assert "I like tea." in cli.fine("list").out
    assert item_id in cli.fine("show", item_id).out
    ran = cli("search", "tea")
    assert (ran.code, ran.out) == (1, "")
    assert "reindex --embedder minilm" in ran.err
    assert ran.err.count("\n") == 1
    wrong = cli("search", "tea", "--embedder", "minilm")
    assert wrong.code == 1
    assert "Leave --embedder out" in wrong.err


class TestAsAProcess:
    """What only a real process shows."""

    def test_without_the_extra_it_names_the_pip_command(self, tmp_path: Path) -> None:
        for package in ("typer", "rich"):
            (tmp_path / f"{package}.py").write_text("raise ImportError('not here')")
            path = os.pathsep.join([str(tmp_path), environment()["PYTHONPATH"]])
            done = spawn(["--version"], cwd=tmp_path, variables={"PYTHONPATH": path})
            (tmp_path / f"{package}.py").unlink()
            assert done.returncode == 1
            line = f"memreader: {package} is not installed. Run: pip install 'llm-memreader[cli]'\n"
            assert done.stderr.decode() == line

    def test_a_reader_that_goes_is_silent(self, tmp_path: Path) -> None:
        lines = "\n".join(f"Fact number {n} is about something else again." * 20 for n in range(40))
        with Memory.open(tmp_path / "s", embedder=HashEmbedder()) as memory:
            memory.add([{"role": "user", "content": line} for line in lines.splitlines() * 20], user_id="ana")
        command = [sys.executable, "-m", "memreader", "list", "--limit", "0", "--store", "s", "--user", "ana"]
        for more in ([], ["--json"]):
            process = subprocess.Popen(
                [*command, *more], cwd=tmp_path, env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE
            )
            assert process.stdout is not None
            assert process.stderr is not None
            process.stdout.read(10)
            process.stdout.close()
            errors = process.stderr.read()
            process.stderr.close()
            assert process.wait(timeout=60) == 1
            assert errors == b""

    @pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
    def test_a_full_disk_behind_stdout_is_one_line(self, tmp_path: Path) -> None:
        with open("/dev/full", "wb") as full:
            done = subprocess.run(
                [sys.executable, "-m", "memreader", "--version"],
                cwd=tmp_path,
                env=environment(),
                stdout=full,
                stderr=subprocess.PIPE,
                check=False,
            )
        assert done.returncode == 1
        assert done.stderr.decode() == "memreader: No space left on device\n"

    def test_a_fault_of_ours_is_one_line(self, tmp_path: Path) -> None:
        (tmp_path / "broken.py").write_text(
            "import sys, memreader.cli, memreader\n"
            "def broken(*a, **k): raise KeyError('oops')\n"
            "from memreader.cli import opening\n"
            "opening.existing = broken\n"
            "sys.exit(memreader.cli.main(['stats', '--store', 'x']))\n"
        )
        done = subprocess.run(
            [sys.executable, "broken.py"], cwd=tmp_path, env=environment(), capture_output=True, check=False
        )
        assert done.returncode == 1
        assert done.stderr.decode().count("\n") == 1
        assert "KeyError: 'oops'" in done.stderr.decode()

    def test_completion_of_a_command_works(self, tmp_path: Path) -> None:
        variables = {"_MEMREADER_COMPLETE": "complete_bash", "COMP_WORDS": "memreader pur", "COMP_CWORD": "1"}
        done = spawn([], cwd=tmp_path, variables=variables)
        assert done.stdout.decode().split() == ["purge"]
        shown = spawn(
            ["--show-completion", "bash"], cwd=tmp_path, variables={"_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION": "1"}
        )
        assert b"_MEMREADER_COMPLETE" in shown.stdout
