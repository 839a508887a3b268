"""The benchmark of reconciling runs, and its facts do meet others."""

from __future__ import annotations

import json

import pytest

from benchmarks.__main__ import main, names


def test_it_is_among_the_benchmarks() -> None:
    assert "reconcile" in names()


def test_more_facts_about_few_people_end_some(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("benchmarks.reconcile.PEOPLE", 5)
    main(["reconcile", "--items", "60", "--more", "20", "--json"])
    (row,) = json.loads(capsys.readouterr().out)["results"].values()
    assert row["decisions"] > 0
    assert 0 < row["added"] <= 20
    assert row["ms an item"] > 0
