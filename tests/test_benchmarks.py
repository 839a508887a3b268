"""The benchmarks run, and say what they measured in both forms."""

from __future__ import annotations

import json

import pytest

from benchmarks.__main__ import main, names
from benchmarks.texts import chat, chinese, english, markdown


def test_benchmarks_are_found_by_their_module_names() -> None:
    assert {"windows", "chunks", "locomo"} <= set(names())
    assert not {"texts", "table", "timing"} & set(names())


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
