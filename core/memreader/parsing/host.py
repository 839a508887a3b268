"""What the parsing process gets from this one's surroundings, and how much memory it takes."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

POLL_S = 0.02 if sys.platform == "linux" else 0.25
"""How often a busy parsing process is looked at; elsewhere than on Linux that starts a `ps` each time."""

_KEPT = (
    "PATH", "LANG", "LC_ALL", "LC_CTYPE", "TMPDIR", "TEMP", "TMP", "SYSTEMROOT", "WINDIR", "PYTHONHOME",
    "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH",
)  # fmt: skip
_ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
_QUIET = {"ORT_DISABLE_TELEMETRY": "1"}  # of onnxruntime, which markitdown loads


def child_environment() -> dict[str, str]:
    """Return all that a parsing process gets to know of this one's environment: no keys, no proxies, no home.

    Its PYTHONPATH is our `sys.path`, so that it finds what we find, however that was set up; but without the folder of
    the running script and the working folder, whose modules could shadow a library's, unless memreader or markitdown
    were installed right there.
    """
    kept = {name: os.environ[name] for name in _KEPT if name in os.environ}
    return kept | _ONE_THREAD | _QUIET | {"PYTHONPATH": os.pathsep.join(_search_path())}


def has_markitdown() -> bool:
    """Return whether markitdown is installed, without importing it."""
    return importlib.util.find_spec("markitdown") is not None


def resident_mb(pid: int) -> float | None:
    """Return the resident memory of a process in MB, None where it can't be known (Windows, or it has ended)."""
    if sys.platform == "linux":
        try:
            pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
        except (OSError, IndexError, ValueError):
            return None
        return pages * os.sysconf("SC_PAGE_SIZE") / 1e6
    return None if sys.platform == "win32" else resident_mb_by_ps(pid)


def resident_mb_by_ps(pid: int) -> float | None:
    """Return the same through POSIX `ps`, for systems without /proc."""
    answer = subprocess.run(["ps", "-o", "rss=", "-p", str(pid)], capture_output=True, text=True, check=False)
    return int(answer.stdout) * 1024 / 1e6 if answer.stdout.strip().isdigit() else None


def _search_path() -> list[str]:
    script = getattr(sys.modules.get("__main__"), "__file__", None)
    unsafe = {os.getcwd()} | ({os.path.dirname(os.path.abspath(script))} if script else set())
    entries = [os.path.abspath(entry) for entry in sys.path if entry]
    homes = [str(Path(__file__).resolve().parents[2])]
    spec = importlib.util.find_spec("markitdown")
    if spec and spec.origin:
        homes.append(str(Path(spec.origin).parents[1]))
    path = [entry for entry in entries if entry not in unsafe]
    return path + [home for home in homes if home not in path]
