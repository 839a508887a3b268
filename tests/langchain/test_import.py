"""What importing the adapter asks for, and what it says when something is missing."""

from __future__ import annotations

from pathlib import Path

import pytest

from offline_run import complaint, run_offline

BLOCK = """
import sys
class Blocked:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {blocked}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)
sys.meta_path.insert(0, Blocked())
"""
OPTIONAL = {"langchain_classic", "langchain", "langgraph", "langchain_text_splitters", "langchain_community"}


def run(code: str, tmp_path: Path, *, without: set[str] | None = None) -> str:
    """What the code prints in a process of its own where some packages can't be imported."""
    before = BLOCK.format(blocked=without) if without else ""
    done = run_offline("-W", "error", "-c", before + code, cwd=tmp_path)
    assert done.returncode == 0, complaint(done)
    return done.stdout.strip()


def test_everything_but_chain_memory_and_middleware_works_with_langchain_core_alone(tmp_path: Path) -> None:
    code = """
import langchain_memreader as adapter
from memreader import Memory
from memreader.testing import HashEmbedder
for name in set(adapter.__all__) - {"MemReaderMemory", "MemReaderMiddleware"}:
    getattr(adapter, name)
with Memory.in_memory(embedder=HashEmbedder()) as memory:
    memory.add("I keep bees.", user_id="ana")
    print(adapter.MemReaderRetriever(memory=memory, user_id="ana").invoke("bees")[0].page_content)
    print("keep bees" in adapter.SearchMemoryTool(memory=memory, user_id="ana").invoke({"query": "bees"}))
    config = {"configurable": {"user_id": "ana"}}
    print(adapter.SaveMemoryTool(memory=memory).invoke({"text": "Ana keeps bees."}, config))
for name in ("MemReaderMemory", "MemReaderMiddleware"):
    try:
        getattr(adapter, name)
    except ImportError as error:
        print(error)
"""
    said = run(code, tmp_path, without=OPTIONAL).splitlines()
    assert said == [
        "user: I keep bees.",
        "True",
        "Saved.",
        "langchain-classic is not installed. Run: pip install 'llm-memreader[langchain]'",
        "langchain is not installed. Run: pip install 'llm-memreader[langchain-agents]'",
    ]


def test_without_langchain_the_error_holds_the_pip_command(tmp_path: Path) -> None:
    code = """
import langchain_memreader
try:
    from langchain_memreader import MemReaderRetriever
except ImportError as error:
    print(error)
"""
    said = run(code, tmp_path, without={"langchain_core", *OPTIONAL})
    assert said == "langchain-core is not installed. Run: pip install 'llm-memreader[langchain]'"


def test_nothing_of_the_other_framework_and_no_agents_are_imported(tmp_path: Path) -> None:
    code = """
import sys, langchain_memreader as adapter
for name in set(adapter.__all__) - {"MemReaderMiddleware"}:
    getattr(adapter, name)
roots = {name.partition(".")[0] for name in sys.modules}
print(sorted(roots & {"llama_index", "llamaindex_memreader", "langchain", "langgraph", "onnxruntime", "markitdown"}))
"""
    assert run(code, tmp_path) == "[]"


def test_a_name_that_is_not_there_is_an_attribute_error() -> None:
    import langchain_memreader

    with pytest.raises(AttributeError, match="MemReaderMagic"):
        langchain_memreader.MemReaderMagic  # noqa: B018
    assert set(langchain_memreader.__all__) <= set(dir(langchain_memreader))
