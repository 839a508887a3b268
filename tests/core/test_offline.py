"""No telemetry: what the libraries below us would report of their use, they don't."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from memreader.parsing.host import child_environment

SCRIPT = """
from memreader import Memory
with Memory.in_memory() as memory:
    memory.add("I moved to Lisbon.", user_id="ana")
    assert memory.search("Where did I move to?", user_id="ana")
"""


def test_embedding_leaves_nothing_in_the_home_folder(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    unset = {name: value for name, value in os.environ.items() if name != "ORT_DISABLE_TELEMETRY"}
    environment = unset | {"HOME": str(home), "USERPROFILE": str(home), "XDG_CACHE_HOME": str(home / ".cache")}
    subprocess.run([sys.executable, "-c", SCRIPT], env=environment, cwd=tmp_path, check=True)
    assert list(home.rglob("*")) == []


def test_the_parsing_process_is_told_not_to_report_either() -> None:
    assert child_environment()["ORT_DISABLE_TELEMETRY"] == "1"
