"""Every Python block of the README runs, top to bottom, as one program without a network."""

from __future__ import annotations

import re
from pathlib import Path

from offline_run import complaint, run_offline

README = Path(__file__).parent.parent / "README.md"
FENCE = re.compile(r"^(?P<indent> *)(?P<fence>`{3,}|~{3,}) *(?P<language>[\w+-]*)")


def python_lines(text: str) -> list[str]:
    """The lines of `text` outside its ```python blocks emptied, so that a traceback names the README's own lines."""
    lines: list[str] = []
    opened: re.Match[str] | None = None
    for line in text.splitlines():
        kept = ""
        if opened is None:
            opened = FENCE.match(line)
        elif line.strip() == opened["fence"]:
            opened = None
        elif opened["language"] == "python":
            kept = line.removeprefix(opened["indent"])
        lines.append(kept)
    return lines


def test_only_python_blocks_are_kept_and_line_numbers_stay() -> None:
    text = """\
# Title
```bash
make demo
```
- item
  ```python
  if True:
      x = 1
  ```
~~~python
y = '```'
~~~
"""
    assert python_lines(text) == ["", "", "", "", "", "", "if True:", "    x = 1", "", "", "y = '```'", ""]


def test_the_python_of_the_readme_runs(tmp_path: Path) -> None:
    lines = python_lines(README.read_text(encoding="utf-8"))
    assert any(lines), "README.md shows no Python"
    script = tmp_path / "README.py"
    script.write_text("\n".join(lines) + "\n", encoding="utf-8")
    workplace = tmp_path / "workplace"
    workplace.mkdir()
    done = run_offline(script, cwd=workplace)
    assert done.returncode == 0, complaint(done)
