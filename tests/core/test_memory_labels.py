"""The same content under other labels: it is there under each of them, and goes with each of them alone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from memreader.memory import Memory
from memreader.scoped import ScopedMemory

WIFI = "The wifi password is tulip."


def words(memory: ScopedMemory) -> list[str]:
    return [item.memory for item in memory.get_all()]


@pytest.fixture(params=["text", "file", "item"])
def data(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    (tmp_path / "wifi.md").write_text(WIFI, encoding="utf-8")
    return {"text": WIFI, "file": tmp_path / "wifi.md", "item": {"memory": WIFI}}[request.param]


def test_two_agents_each_remember_what_both_were_told(memory: Memory, data: Any) -> None:
    first, second = (memory.scoped(user_id="ana", agent_id=agent) for agent in ("A", "B"))
    added = [one.add(data) for one in (first, second)]
    assert [len(report.added) for report in added] == [1, 1]
    assert [report.existing for report in added] == [[], []]
    for one, report in zip((first, second), added, strict=True):
        again = one.add(data)
        assert (again.added, again.existing) == ([], report.added)
        assert len(words(one)) == 1
        (hit,) = one.search("wifi password", threshold=0)
        assert hit.item.id == report.added[0]
    first.delete_all()
    assert words(first) == []
    assert len(words(second)) == 1
    assert len(first.add(data).added) == 1


def test_a_file_of_two_sessions_is_in_both(memory: Memory, tmp_path: Path) -> None:
    path = tmp_path / "wifi.md"
    path.write_text(WIFI, encoding="utf-8")
    for session in ("one", "two"):
        assert len(memory.add(path, user_id="ana", session_id=session).added) == 1
    found = memory.search("wifi", user_id="ana", session_id="two", recall="session", threshold=0)
    assert [hit.item.metadata.session_id for hit in found] == ["two"]
    memory.delete_all(user_id="ana", session_id="one")
    (left,) = memory.get_all(user_id="ana")
    assert left.metadata.session_id == "two"


def test_what_was_known_is_reported_in_the_order_of_the_input(memory: Memory) -> None:
    chat = [{"role": "user", "content": f"line {number}", "message_id": f"m{number}"} for number in range(4)]
    ids = memory.add(chat, user_id="ana").added
    memory.delete(ids[0], user_id="ana")
    memory.add(chat, user_id="ana")
    assert memory.add(chat, user_id="ana").existing == ids
