"""`memreader add`: what is a chat, which files a path means, and that one bad file doesn't stop the others."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from command_line import CommandLine, Ran
from memreader import Memory
from memreader.cli.chats import Chat, chats_in, spoken
from memreader.cli.paths import find_files
from memreader.embedding import MiniLMEmbedder
from memreader.errors import InputError, StoreBusyError

HI = {"role": "user", "content": "Hi, I live in Bonn."}
NICE = {"role": "assistant", "content": "Nice."}


@pytest.fixture
def cli(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, minilm: MiniLMEmbedder) -> CommandLine:
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    monkeypatch.setattr("memreader.cli.opening.embedder_called", lambda name: minilm)
    return CommandLine(monkeypatch, tmp_path / "store")


def written(name: str, *values: Any) -> Path:
    """A file here: text as it is, one value as JSON, several as JSONL."""
    path = Path(name)
    path.parent.mkdir(parents=True, exist_ok=True)
    if len(values) == 1 and isinstance(values[0], str):
        path.write_text(values[0], encoding="utf-8")
    else:
        path.write_text("\n".join(json.dumps(value) for value in values), encoding="utf-8")
    return path


def listed(cli: CommandLine, *options: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = cli.fine("list", "--limit", "0", "--json", *options).json
    return found


def memories(cli: CommandLine, *options: str) -> list[str]:
    return [item["memory"] for item in listed(cli, *options)]


class TestWhatIsAChat:
    """By what is in it, not by its name."""

    @pytest.mark.parametrize(
        "value",
        [
            [HI, NICE],
            {"messages": [HI, NICE]},
            [{"messages": [HI]}, {"messages": [NICE]}],
            [[HI], [NICE]],
            {"sessions": [{"messages": [HI]}, {"messages": [NICE]}]},
            HI,
            [{"role": "assistant", "content": None, "tool_calls": []}],
            [{"role": "model", "parts": [{"text": "Hi"}]}],
        ],
    )
    def test_messages_and_conversations_are(self, value: Any) -> None:
        for indent in (None, 2):
            chats = chats_in(json.dumps(value, indent=indent).encode())
            assert chats is not None
            assert [chat.session_id for chat in chats] == [None]

    @pytest.mark.parametrize(
        "value",
        [
            [],
            {},
            None,
            7,
            "role",
            {"messages": []},
            {"messages": "none"},
            {"sessions": []},
            {"sessions": [1]},
            {"role": "admin", "name": "Bo"},
            [{"name": "Bo", "text": "not said by a role"}],
            {"users": [HI]},
            [1, HI],
        ],
    )
    def test_other_json_is_not(self, value: Any) -> None:
        assert chats_in(json.dumps(value).encode()) is None

    @pytest.mark.parametrize("data", [b"", b"words", b"[" * 100_000, b"\x00\x01\x02" * 50, b"[" + b"1" * 5000 + b"]"])
    def test_what_is_no_json_is_not(self, data: bytes) -> None:
        assert chats_in(data) is None

    def test_a_line_may_be_a_message_or_a_conversation(self) -> None:
        lines = [HI, {"messages": [NICE]}, [HI, NICE]]
        text = "\n\n".join(json.dumps(line) for line in lines) + "\r\n"
        assert chats_in(text.encode()) == [Chat(lines)]

    @pytest.mark.parametrize("bad", ['{"role": "user", "content": "cut o', '{"some": "thing"}', "words", "[]"])
    def test_a_bad_line_in_a_chat_is_named_and_nothing_is_taken_for_a_document(self, bad: str) -> None:
        with pytest.raises(InputError, match="line 3 is neither a message"):
            chats_in(f"{json.dumps(HI)}\n\n{bad}\n{json.dumps(NICE)}".encode())

    @pytest.mark.parametrize(
        "text", ['[{"role": "user", "content": "cut', '{"messages": [{"role": "user"', ' [\n{"content" : "x",}]']
    )
    def test_a_cut_chat_is_no_document_either(self, text: str) -> None:
        with pytest.raises(InputError, match="begins like a chat, but is not JSON"):
            chats_in(text.encode())

    @pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "gb18030"])
    def test_it_may_be_in_any_usual_charset(self, encoding: str) -> None:
        message = {"role": "user", "content": "我的猫叫年糕，它喜欢睡在我的书上。这是我们在上海的家。"}
        data = json.dumps([message], ensure_ascii=False).encode(encoding)
        assert chats_in(data) == [Chat([message])]

    def test_conversations_are_put_together_by_the_session_they_name(self) -> None:
        one, two, other = ({"session_id": name, "messages": [HI]} for name in ("a", "b", ""))
        assert chats_in(json.dumps([one, two, other, one]).encode()) == [
            Chat([one, one], "a"),
            Chat([two], "b"),
            Chat([other]),
        ]

    def test_plain_words_are_spoken_and_json_is_not(self) -> None:
        assert spoken(b"I like tea.\r\n") == "I like tea."
        assert spoken(b"42") == "42"
        assert spoken(b'{"a": 1}') is None
        assert spoken(b"%PDF-1.4 \x00\x01\x02\x03") is None

    @given(
        st.recursive(
            st.none() | st.integers() | st.text(max_size=5),
            lambda inner: (
                st.lists(inner, max_size=4)
                | st.dictionaries(st.sampled_from(["role", "content", "messages", "sessions", "x"]), inner, max_size=4)
            ),
            max_leaves=12,
        )
    )
    def test_any_json_is_a_chat_or_not_but_never_an_error(self, value: Any) -> None:
        chats = chats_in(json.dumps(value).encode())
        assert chats is None or all(chat.data for chat in chats)


class TestWhichFiles:
    """What the paths mean."""

    def test_a_folder_is_all_below_it_by_name_without_hidden_ones_and_the_store(self, cli: CommandLine) -> None:
        for name in ("b.md", "a/z.txt", "a/.git/x", ".env", "store/memory.db", "c/store/kept.md"):
            written(name, "words")
        found = find_files(["."], store=Path("store"))
        assert [str(one.path) for one in found] == ["b.md", "a/z.txt", "c/store/kept.md"]
        assert not any(one.named or one.problem or one.skipped for one in found)

    def test_each_file_is_taken_once_in_the_order_given(self, cli: CommandLine) -> None:
        written("d/b.md", "words")
        written("d/a.md", "words")
        found = find_files(["d/b.md", "-", "d", "./d/a.md", "-"], store=Path("s"))
        assert [str(one.path) for one in found] == ["d/b.md", "-", "d/a.md"]

    def test_a_file_named_dash_is_given_with_its_folder(self, cli: CommandLine) -> None:
        written("-", "words")
        assert [one.is_stdin for one in find_files(["./-", "-"], store=Path("s"))] == [False, True]

    def test_links_to_folders_and_what_is_no_file_are_skipped_and_broken_links_fail(self, cli: CommandLine) -> None:
        written("d/a.md", "words")
        Path("d/loop").symlink_to("..", target_is_directory=True)
        Path("d/file.md").symlink_to("a.md")
        Path("d/broken.md").symlink_to("nowhere")
        Path("d/empty.md").touch()
        os.mkfifo("d/pipe")
        found = {one.path.name: (one.problem, one.skipped) for one in find_files(["d"], store=Path("s"))}
        assert found == {
            "a.md": ("", ""),
            "file.md": ("", ""),
            "loop": ("", "a link to a folder"),
            "pipe": ("", "not a regular file"),
            "empty.md": ("", "empty"),
            "broken.md": ("No such file or directory", ""),
        }

    @pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
    def test_a_folder_that_can_t_be_read_is_a_failure(self, cli: CommandLine) -> None:
        written("d/closed/a.md", "words")
        Path("d/closed").chmod(0)
        assert [one.problem for one in find_files(["d"], store=Path("s"))] == ["Permission denied"]

    def test_what_is_not_there_or_no_path_is_a_failure(self, cli: CommandLine) -> None:
        assert [bool(one.problem) for one in find_files(["nope", "a\0b"], store=Path("s"))] == [True, True]


def test_chats_documents_and_folders_are_added(cli: CommandLine) -> None:
    written("chat.json", [HI, NICE])
    written("lines.jsonl", {"role": "user", "content": "yes"}, {"role": "user", "content": "yes"})
    written("docs/note.md", "# Boiler\n\nThe boiler is blue.")
    written("docs/sub/conf.json", {"boiler": "green"})
    ran = cli.fine("add", "chat.json", "lines.jsonl", "docs")
    assert ran.out == "6 memories added (4 files)\n"
    assert memories(cli) == [
        "user: Hi, I live in Bonn.",
        "assistant: Nice.",
        "user: yes",
        "user: yes",
        "# Boiler\n\nThe boiler is blue.",
        '{"boiler": "green"}',
    ]
    assert cli.fine("add", "docs", "chat.json").out == "0 memories added, 4 known before (3 files)\n"
    written("docs/note.md", "# Boiler\n\nThe boiler is red.")
    assert cli.fine("add", "docs").out == "1 memory added, 1 known before, 1 replaced (2 files)\n"


def test_labels_go_with_what_is_added(cli: CommandLine) -> None:
    written("chat.json", [HI])
    written("note.md", "A note.")
    cli.fine("add", "chat.json", "note.md", "--tag", "work", "--tag", "bonn", "--at", "8 May 2023", "--session", "s1")
    chat, note = (item["metadata"] for item in listed(cli))
    assert {"work", "bonn"} <= set(chat["tags"]) & set(note["tags"])
    assert (chat["session_id"], note["session_id"]) == ("s1", "s1")
    assert chat["memory_time"].startswith("2023-05-08")


def test_a_conversation_s_own_session_counts_unless_one_is_given(cli: CommandLine) -> None:
    written("two.jsonl", {"session_id": "mon", "messages": [HI]}, {"session_id": "tue", "messages": [NICE]})
    cli.fine("add", "two.jsonl")
    assert [item["metadata"]["session_id"] for item in listed(cli)] == ["mon", "tue"]
    cli.fine("add", "two.jsonl", "--user", "ben", "--session", "all")
    assert [item["metadata"]["session_id"] for item in listed(cli, "--user", "ben")] == ["all", "all"]


def test_as_document_reads_a_chat_as_text_and_as_chat_takes_nothing_else(cli: CommandLine) -> None:
    written("chat.json", [HI])
    written("chat.txt", [HI])
    written("note.md", "A note.")
    cli.fine("add", "chat.json", "--as-document")
    assert memories(cli) == [json.dumps([HI])]
    ran = cli("add", "chat.txt", "note.md", "--as-chat", "--user", "ben")
    assert ran.code == 1
    assert "not added: note.md: holds no chat" in ran.err
    assert memories(cli, "--user", "ben") == ["user: Hi, I live in Bonn."]


class TestStandardInput:
    """`-`."""

    @pytest.mark.parametrize(
        ("data", "options", "memory"),
        [
            (b"I like tea.\n", (), "user: I like tea."),
            (json.dumps([HI]).encode(), (), "user: Hi, I live in Bonn."),
            (b'{"boiler": "green"}', (), '{"boiler": "green"}'),
            (b"I like tea.", ("--as-document",), "I like tea."),
            (json.dumps([HI]).encode(), ("--as-document",), json.dumps([HI])),
            (b"/etc/passwd", (), "user: /etc/passwd"),
            (b"notes.md", ("--as-document",), "notes.md"),
        ],
    )
    def test_it_is_a_chat_what_the_user_said_or_a_document(
        self, cli: CommandLine, data: bytes, options: tuple[str, ...], memory: str
    ) -> None:
        assert cli.fine("add", "-", *options, stdin=data).out == "1 memory added (1 file)\n"
        assert memories(cli) == [memory]

    def test_two_documents_from_it_don_t_take_each_other_s_place(self, cli: CommandLine) -> None:
        for text in ("One.", "Two."):
            cli.fine("add", "-", "--as-document", stdin=text)
        assert memories(cli) == ["One.", "Two."]

    def test_nothing_on_it_adds_nothing(self, cli: CommandLine) -> None:
        assert cli.fine("add", "-").out.startswith("0 memories added")

    def test_somebody_at_the_keyboard_is_told_how_to_end(self, cli: CommandLine) -> None:
        assert "Ctrl-D" in cli.fine("add", "-", stdin="I like tea.", keyboard=True).err


class TestWhatFails:
    """The rest is added, and the failures are listed."""

    def run(self, cli: CommandLine, *options: str) -> Ran:
        written("d/good.md", "A good note.")
        written("d/cut.json", '[{"role": "user", "content": "cut')
        written("d/strange.json", [{"role": "king", "content": "Off!"}])
        written("d/empty.md", "")
        Path("d/noise.bin").write_bytes(bytes(range(256)) * 20)
        written("last.md", "The last note.")
        return cli("add", "d", "missing.md", "last.md", *options)

    def test_the_rest_is_added_and_each_failure_is_a_line(self, cli: CommandLine) -> None:
        ran = self.run(cli)
        assert ran.code == 1
        assert ran.out == "2 memories added (2 files, 2 skipped, 3 failed)\n"
        assert sorted(line.split(": ")[:2] for line in ran.err.splitlines()) == [
            ["not added", "d/cut.json"],
            ["not added", "d/strange.json"],
            ["not added", "missing.md"],
            ["skipped", "d/empty.md"],
            ["skipped", "d/noise.bin"],
        ]
        assert "king" in ran.err
        assert memories(cli) == ["A good note.", "The last note."]

    def test_as_json_it_is_one_document(self, cli: CommandLine) -> None:
        ran = self.run(cli, "--json")
        assert ran.code == 1
        report = ran.json
        assert (report["files"], len(report["added"])) == (2, 2)
        assert [one["path"] for one in report["failures"]] == ["missing.md", "d/cut.json", "d/strange.json"]
        assert [one["path"] for one in report["skipped"]] == ["d/empty.md", "d/noise.bin"]

    def test_what_is_skipped_in_a_folder_fails_when_it_is_named(self, cli: CommandLine) -> None:
        self.run(cli)
        ran = cli("add", "d/noise.bin")
        assert ran.code == 1
        assert "not added: d/noise.bin" in ran.err

    def test_when_nothing_can_be_read_no_store_is_made(self, cli: CommandLine) -> None:
        assert cli("add", "missing.md").code == 1
        Path("void").mkdir()
        assert cli.fine("add", "void").out == "0 memories added (0 files)\n"
        assert not cli.store.exists()

    def test_a_chat_beyond_the_bound_is_named_with_the_option_that_raises_it(self, cli: CommandLine) -> None:
        written("chat.json", [HI] * 100)
        ran = cli("add", "chat.json", "--max-mb", "0.002")
        assert ran.code == 1
        assert "--max-mb" in ran.err
        assert cli.fine("add", "chat.json").out.startswith("100 memories")

    def test_a_store_that_fails_ends_it_at_once(self, cli: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
        def add(*arguments: object, **options: object) -> None:
            raise StoreBusyError(path="memory.db", timeout_s=30)

        monkeypatch.setattr(Memory, "add", add)
        written("d/a.md", "A note.")
        written("d/b.md", "A note.")
        ran = cli("add", "d")
        assert (ran.code, ran.out) == (1, "")
        assert ran.err.startswith("memreader add: memory.db was locked")
        assert ran.err.count("\n") == 1

    def test_the_store_itself_is_not_added(self, cli: CommandLine) -> None:
        cli.fine("add", "-", stdin="I like tea.")
        ran = cli("add", cli.store)
        assert ran.code == 1
        assert "this is the store itself" in ran.err
        cli.fine("add", "..")
        assert memories(cli) == ["user: I like tea."]

    def test_a_pipe_is_not_waited_for(self, cli: CommandLine) -> None:
        os.mkfifo("pipe.json")
        ran = cli("add", "pipe.json")
        assert ran.code == 1
        assert "not a regular file" in ran.err

    def test_a_file_whose_name_is_no_text_is_added_and_shown(self, cli: CommandLine) -> None:
        name = os.fsdecode(b"d/caf\xe9.txt")
        written(name, "Coffee is good.")
        bad = os.fsdecode(b"d/\xff.json")
        written(bad, '[{"role":')
        for options in ((), ("--json",)):
            ran = cli("add", "d", *options)
            assert ran.code == 1
            assert "d/\\xff.json" in ran.err
        assert memories(cli) == ["Coffee is good."]


def test_a_bar_moves_on_a_terminal_only(cli: CommandLine) -> None:
    written("chat.json", [{"role": "user", "content": f"Fact number {n}."} for n in range(200)])
    written("note.md", "A [bold]note[/bold].")
    shown = cli.fine("add", "chat.json", "note.md", terminal=True)
    assert "/s" in shown.err
    assert "━" in shown.err
    assert "note.md" in shown.err
    plain = cli.fine("add", "chat.json", "note.md", "--user", "ben")
    assert plain.err == ""
    both = cli.fine("add", "chat.json", "note.md", "--user", "cleo", "--json", terminal=True)
    assert "\x1b" not in both.out
    assert len(both.json["added"]) == 201
