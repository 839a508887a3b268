"""What importing the adapter asks for, and what it says when something is missing."""

from __future__ import annotations

from pathlib import Path

import pytest

from offline_run import complaint, run_offline

BLOCK = """
import sys
class Blocked:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "llama_index":
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Blocked())
"""


def run(code: str, tmp_path: Path) -> str:
    done = run_offline("-c", code, cwd=tmp_path)
    assert done.returncode == 0, complaint(done)
    return done.stdout.strip()


def test_without_llama_index_the_error_holds_the_pip_command(tmp_path: Path) -> None:
    code = """
import llamaindex_memreader
try:
    from llamaindex_memreader import MemReaderNodeParser
except ImportError as error:
    print(error)
"""
    said = run(BLOCK + code, tmp_path)
    assert said == "llama-index-core is not installed. Run: pip install 'llm-memreader[llamaindex]'"


def test_nothing_of_the_other_framework_and_no_model_is_imported(tmp_path: Path) -> None:
    code = """
import sys, llamaindex_memreader as adapter
for name in adapter.__all__:
    getattr(adapter, name)
roots = {name.partition(".")[0] for name in sys.modules}
print(sorted(roots & {"langchain", "langchain_core", "langchain_memreader", "onnxruntime", "markitdown"}))
"""
    assert run(code, tmp_path) == "[]"


def test_a_name_that_is_not_there_is_an_attribute_error() -> None:
    import llamaindex_memreader

    with pytest.raises(AttributeError, match="MemReaderMagic"):
        llamaindex_memreader.MemReaderMagic  # noqa: B018
    assert set(llamaindex_memreader.__all__) <= set(dir(llamaindex_memreader))
