"""The stores that are measured, and asking one of them for a step in a process of its own."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from benchmarks.peers.stores.harness import Task
from benchmarks.timing import ROOT

PATIENCE_S = 900.0
"""After so long a step is ended, however far it got."""


@dataclass(frozen=True, slots=True)
class System:
    """One store and how it is run.

    Args:
        module: Its adapter; "" for this library's own.
        environment: Name of its environment in .bench.
        beside: A module by which to tell whether it is installed beside this library, and needs no environment.
        most: How many items it bears; it is measured at no more.
        options: Of the adapter.
    """

    module: str = ""
    environment: str = ""
    beside: str = ""
    most: int = 10**9
    options: dict[str, Any] = field(default_factory=dict)

    def python(self) -> Path | None:
        """Return the Python that runs it; None when it is not installed."""
        own = ROOT / ".bench" / self.environment / "bin" / "python"
        if self.environment and own.exists():
            return own
        if not self.environment or (self.beside and importlib.util.find_spec(self.beside)):
            return Path(sys.executable)
        return None


FLOOR = "floor: raw faiss"
OURS = "memreader"
PEERS = {
    "langchain": System("langchain_faiss", "langchain", "langchain_community"),
    "llamaindex": System("llamaindex_simple", "llamaindex", "llama_index", most=5_000),
    "mem0": System("mem0_memory", "mem0", most=10_000),
    "chroma": System("chroma_persistent", "chroma"),
    "qdrant": System("qdrant_local", "qdrant"),
    "lance": System("lance_table", "lance"),
    "sqlite-vec": System("sqlite_vec_table", "sqlite-vec"),
}
TITLES = {
    "langchain": "LangChain FAISS",
    "llamaindex": "LlamaIndex Simple",
    "mem0": "mem0 (Qdrant local)",
    "chroma": "Chroma",
    "qdrant": "Qdrant local",
    "lance": "LanceDB",
    "sqlite-vec": "sqlite-vec",
}


def chosen(given: str, known: Iterable[str]) -> list[str]:
    """Return the names in a list with commas; ends the program with a word on one that is not known."""
    names = [name.strip() for name in given.split(",") if name.strip()]
    if unknown := sorted(set(names) - set(known)):
        raise SystemExit(f"not known: {', '.join(unknown)} (there are {', '.join(known)})")
    return names


class StepError(Exception):
    """A step did not end well; the message is the last line of what its process said."""


def ask(system: System, task: Task, *, progress: Callable[[int, int], None] | None = None) -> dict[str, Any]:
    """Return what the adapter measured in a step, or {"unsupported": why}.

    Raises:
        StepError: It crashed, or took longer than `PATIENCE_S`.
    """
    with tempfile.TemporaryFile() as errors, start(system, task, errors=errors) as process:
        late = threading.Timer(PATIENCE_S, process.kill)
        late.start()
        said: dict[str, Any] = {}
        assert process.stdout is not None
        for line in process.stdout:
            said = json.loads(line) if line.startswith("{") else said
            if progress is not None and "done" in said:
                progress(said["done"], said["of"])
        process.wait()
        in_time = late.is_alive()
        late.cancel()
        if not in_time:
            raise StepError(f"more than {PATIENCE_S:g} s")
        if "result" in said:
            result: dict[str, Any] = said["result"]
            return result
        if "unsupported" in said:
            return said
        errors.seek(0)
        lines = errors.read().decode(errors="replace").strip().splitlines()
        raise StepError(lines[-1][:200] if lines else f"ended by signal {-process.returncode}")


def start(system: System, task: Task, *, errors: Any = subprocess.DEVNULL) -> subprocess.Popen[str]:
    """Start a step: nothing is sent anywhere, one thread computes, and what it writes at home goes with its folder."""
    python = system.python()
    assert python is not None
    home = Path(task.folder).parent
    paths = [] if system.module else os.environ.get("PYTHONPATH", "").split(os.pathsep)
    module = f"benchmarks.peers.stores.{system.module}" if system.module else "benchmarks.ours"
    task = replace(task, options={**system.options, **task.options})
    return subprocess.Popen(
        [python, "-m", module, json.dumps(asdict(task))],
        env=quiet(home, *paths),
        cwd=home,
        stdout=subprocess.PIPE,
        stderr=errors,
        text=True,
    )


def quiet(home: Path, *paths: str) -> dict[str, str]:
    """Return the environment of a process that sends nothing anywhere, and writes in `home` what it writes at home.

    Args:
        home: A folder.
        paths: From which it imports, beside these benchmarks.
    """
    return os.environ | {
        "OMP_NUM_THREADS": "1", "HOME": str(home), "MEM0_DIR": str(home / ".mem0"), "MEM0_TELEMETRY": "False",
        "ANONYMIZED_TELEMETRY": "False", "DO_NOT_TRACK": "1", "HF_HUB_OFFLINE": "1", "LANGSMITH_TRACING": "false",
        "LANGCHAIN_TRACING_V2": "false", "PYTHONUTF8": "1", "PYTHONPATH": os.pathsep.join([str(ROOT), *paths]),
    }  # fmt: skip


def size_mb(folder: Path) -> float:
    """Return the size of all files in a folder, in MB."""
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file()) / 2**20
