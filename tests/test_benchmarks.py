"""The benchmarks run, and say what they measured in both forms."""

from __future__ import annotations

import json
import os
import zlib
from collections.abc import Sequence
from pathlib import Path

import pytest

from benchmarks import systems
from benchmarks.__main__ import main, names
from benchmarks.crashes.check import judge
from benchmarks.crashes.words import Log, Seen, State, parse, read_log, text_of
from benchmarks.peers.stores.rows import blocks, exact, rows
from benchmarks.texts import chat, chinese, english, markdown
from memreader import Memory
from memreader.testing import HashEmbedder
from memreader.types import Vectors


def test_benchmarks_are_found_by_their_module_names() -> None:
    assert {"windows", "chunks", "locomo", "store", "crash", "scale", "json", "fine"} <= set(names())
    assert not {"texts", "table", "timing", "systems", "ours"} & set(names())


def test_an_unknown_benchmark_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["nonsense"])
    assert "windows" in capsys.readouterr().err


@pytest.mark.parametrize(
    "arguments",
    [
        ["windows", "--messages", "30", "--rounds", "1"],
        ["chunks", "--characters", "3000", "--rounds", "1", "--no-space", "1000"],
    ],
)
def test_a_benchmark_prints_one_json_object_or_a_table(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    main([*arguments, "--no-peers", "--json"])
    report = json.loads(capsys.readouterr().out)
    assert any(name.startswith("floor") for name in report["results"])
    assert any(name.startswith("memreader") for name in report["results"])
    main([*arguments, "--no-peers"])
    shown = capsys.readouterr().out
    assert "floor" in shown
    assert "goal" in shown


def test_texts_are_the_same_each_time_and_as_long_as_asked_for() -> None:
    for make in (english, chinese, markdown):
        assert make(5000) == make(5000) != make(5000, seed=2)
        assert len(make(5000)) == 5000
    assert [m.content for m in chat(20)] == [m.content for m in chat(20)]


def test_the_store_benchmark_measures_every_operation(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    report_file = tmp_path / "report.json"
    main(["store", "--items", "400", "--samples", "4", "--no-peers", "--json", str(report_file)])
    assert "goal" in capsys.readouterr().out
    report = json.loads(report_file.read_text())
    ours = report["results"]["memreader"]
    assert {name for name, value in ours.items() if not isinstance(value, int | float)} == set()
    assert (ours["hits of 10"], ours["recall"]) == (4.0, 0.4), "a user of 4 items has 4 hits"
    assert report["results"]["memreader, durability=power"]["add one, ms"] > 0
    assert not [note for note in report["notes"] if "memreader," in note and "search then showed" in note]


def test_the_scale_benchmark_measures_many_users_and_one(capsys: pytest.CaptureFixture[str]) -> None:
    main(["scale", "--items", "2000", "--one-user", "500", "--samples", "4", "--json"])
    results = json.loads(capsys.readouterr().out)["results"]
    assert list(results) == ["2 users x 1,000", "the same, max_resident_mb=256", "1 user x 500"]
    assert all(row["hits of 10"] == 10 and row["recall"] == 1 for row in results.values())


@pytest.mark.skipif(os.name != "posix", reason="no SIGKILL here")
def test_the_crash_benchmark_kills_and_finds_nothing_lost(capsys: pytest.CaptureFixture[str]) -> None:
    main(["crash", "--runs", "2", "--phases", "adds", "--no-peers", "--json"])
    everything = json.loads(capsys.readouterr().out)["results"]["memreader: all"]
    assert everything["kills"] == 3, "one writer, then two"
    assert everything["acknowledged"] > 0
    assert everything["reads"] > 0
    assert [everything[kind] for kind in ("lost", "undone", "torn", "torn reads", "open errors")] == [0] * 5


def test_an_absent_peer_is_said_to_be_absent_and_an_unknown_one_refused(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(systems, "ROOT", tmp_path)
    assert systems.PEERS["mem0"].python() is None
    with pytest.raises(SystemExit, match="mem00"):
        main(["store", "--quick", "--peers", "mem00"])


def test_rows_are_the_same_each_time_and_their_vectors_have_unit_length() -> None:
    first, again = rows(3, 10, 2), rows(3, 10, 2)
    assert [row.id for row in first] == ["u00003-0000010", "u00003-0000011"]
    assert [(row.text, row.vector.tobytes()) for row in first] == [(row.text, row.vector.tobytes()) for row in again]
    assert all(abs(float(row.vector @ row.vector) - 1) < 1e-5 for row in first)
    assert rows(3, 10, 2, version=1)[0].text != first[0].text
    (last,) = (block[-1] for block in list(blocks(3, 1500))[-1:])
    assert last.id in exact(3, last.vector, 1500)


class TestTheVerdictOfTheCrashCheck:
    """A check that sees nothing would always be content."""

    @pytest.fixture
    def memory(self) -> Memory:
        memory = Memory.in_memory(embedder=HashEmbedder(dimension=64))
        memory.add([{"memory": text_of(slot, 0)} for slot in ("a-1", "a-2", "a-3")], user_id="ana")
        return memory

    @pytest.mark.parametrize(
        ("base", "writers", "expected"),
        [
            ({"a-1": 0, "a-2": 0, "a-3": 0}, [], (0, 0, 0)),
            ({"a-1": 0, "a-2": 0, "a-3": 0, "a-4": 0}, [], (1, 0, 0)),
            ({"a-1": 0, "a-2": 0, "a-3": 1}, [], (1, 0, 0)),
            ({"a-1": 0, "a-2": 0, "a-3": None}, [], (0, 1, 0)),
            ({"a-1": 0, "a-2": 0}, [], (0, 0, 1)),
            ({"a-1": 0, "a-2": 0, "a-3": 0}, [({"a-3": None}, {})], (0, 1, 0)),
            ({"a-1": 0, "a-2": 0}, [({}, {"a-3": 0})], (0, 0, 0)),
            ({"a-1": 0, "a-2": 0, "a-3": 0}, [({}, {"a-4": 0})], (0, 0, 0)),
            ({"a-1": 0, "a-2": 0}, [({}, {"a-3": 0, "a-4": 0})], (0, 0, 1)),
        ],
        ids=["right", "absent", "older", "undeleted", "unknown", "undeleted by a writer", "begun and done",
             "begun and not done", "half done"],
    )  # fmt: skip
    def test_it_tells_what_is_lost_undone_and_torn(
        self, memory: Memory, base: State, writers: list[tuple[State, State]], expected: tuple[int, int, int]
    ) -> None:
        def named(state: State) -> State:
            return {f"ana|{slot}": version for slot, version in state.items()}

        seen = [Seen(named(done), named(doing)) for done, doing in writers]
        with memory:
            verdict = judge(memory, named(base), seen)
        assert (verdict.lost, verdict.undone, verdict.torn) == expected, verdict.examples

    def test_words_that_nobody_wrote_are_torn(self, memory: Memory) -> None:
        memory.add({"memory": text_of("a-4", 0).replace("v0", "v1")}, user_id="ana")
        with memory:
            assert judge(memory, {f"ana|a-{number}": 0 for number in (1, 2, 3)}).torn == 1

    def test_a_vector_of_other_words_is_torn(self) -> None:
        class Crossed(HashEmbedder):
            def embed(self, texts: Sequence[str]) -> Vectors:
                return super().embed([text_of("a-2", 0) if "a-1 " in text else text for text in texts])

            def embed_query(self, text: str) -> Vectors:
                return super().embed([text])[0]

        with Memory.in_memory(embedder=Crossed(dimension=64)) as memory:
            memory.add([{"memory": text_of(slot, 0)} for slot in ("a-1", "a-2")], user_id="ana")
            assert judge(memory, {"ana|a-1": 0, "ana|a-2": 0}).torn == 1

    def test_a_log_tells_what_was_acknowledged_and_what_was_begun(self, tmp_path: Path) -> None:
        log = Log(tmp_path / "log")
        for number in range(3):
            log.doing({f"ana|a-{number}": number})
            if number < 2:
                log.done()
            else:
                seen = read_log(tmp_path / "log")
                log.done()
        assert (seen.done, seen.doing, seen.operations) == ({"ana|a-0": 0, "ana|a-1": 1}, {"ana|a-2": 2}, 2)
        assert read_log(tmp_path / "log").doing == {}

    def test_words_prove_which_version_they_are(self) -> None:
        assert parse(text_of("a-1", 3)) == ("a-1", 3)
        assert text_of("a-1", 3) != text_of("a-1", 4)
        assert parse("something else") is None
        start = "[a-1 v3] words that are not its own"
        assert parse(f"{start} #{zlib.crc32(start.encode()):08x}") is None
