"""The guarded parsing process: `python -m memreader.parsing.worker`, frames in on stdin, frames out on stdout.

Says ready, then for each document: reads a header (JSON) and the bytes, says that it began, answers a `Reading`.
Ends by itself when its stdin closes, or when nothing came for some minutes.
"""

from __future__ import annotations

import io
import json
import mimetypes
import os
import select
import signal
import sys
from dataclasses import asdict
from types import TracebackType

from memreader.parsing.convert import Converter, Reading
from memreader.parsing.frames import read_frame, write_frame
from memreader.parsing.guard import block_files, block_network

IDLE_S = 300
_MAX_FRAME = 1 << 40
_GRACE_S = 5


def main() -> None:
    """Serve documents until the parent closes the pipe or forgets about us."""
    requests, replies = _take_pipes()
    block_network()
    _report_crashes(replies)
    _point_to_null(2)
    try:
        converter = Converter()
    except ImportError as error:
        _send(replies, Reading("missing", error.name or "markitdown"))
        return
    mimetypes.init()
    block_files(sys.path)
    _send(replies, Reading("ready"))
    while _comes_something(requests) and (header := read_frame(requests, max_bytes=_MAX_FRAME)) is not None:
        data = read_frame(requests, max_bytes=_MAX_FRAME)
        if data is None:
            return
        job = json.loads(header)
        _send(replies, Reading("begun"))
        _end_after(job["timeout_s"] + _GRACE_S)
        reading = converter.read(
            data, kind=job["kind"], media_type=job["media_type"], max_text_bytes=job["max_text_bytes"]
        )
        _end_after(0)
        _send(replies, reading)


def _take_pipes() -> tuple[io.FileIO, io.FileIO]:
    """Return stdin and stdout as private streams; what libraries read or print meets the null device from now on."""
    requests, replies = io.FileIO(os.dup(0), "rb"), io.FileIO(os.dup(1), "wb")
    _point_to_null(0)
    _point_to_null(1)
    return requests, replies


def _point_to_null(descriptor: int) -> None:
    null = os.open(os.devnull, os.O_RDWR)
    os.dup2(null, descriptor)
    os.close(null)


def _send(replies: io.FileIO, reading: Reading) -> None:
    write_frame(replies, json.dumps(asdict(reading)).encode("ascii"))


def _report_crashes(replies: io.FileIO) -> None:
    """Let an exception that nothing caught leave by its name alone; its text may quote the document."""

    def report(kind: type[BaseException], _error: BaseException, _traceback: TracebackType | None) -> None:
        _send(replies, Reading("crashed", kind.__name__))

    sys.excepthook = report


def _comes_something(requests: io.FileIO, *, idle_s: float = IDLE_S) -> bool:
    """Return True when there is something to read, the end included; False after too long a silence."""
    if os.name != "posix":
        return True
    return bool(select.select([requests], [], [], idle_s)[0])


def _end_after(seconds: float) -> None:
    """Have the system end this process in `seconds`, should the parent no longer be there to do it; 0 calls it off."""
    if hasattr(signal, "setitimer"):
        signal.setitimer(signal.ITIMER_REAL, seconds)


if __name__ == "__main__":
    main()
    os._exit(0)  # nothing is left to flush, and taking the libraries down in order would hold up the parent's exit
