"""The parent's side of one parsing process: start it, hand it documents, watch it, end it."""

from __future__ import annotations

import json
import queue
import subprocess
import sys
import threading
import time
from dataclasses import dataclass
from typing import IO, Any

from memreader.errors import DocumentMemoryError, DocumentTimeoutError, ParserCrashedError
from memreader.parsing.frames import read_frame, write_frame
from memreader.parsing.host import POLL_S, child_environment, resident_mb
from memreader.parsing.limits import MB, ParseLimits

_START_S = 120.0
_CLOSE_S = 3.0
_ESCAPED = 12
"""JSON in ASCII writes a character beyond the BMP, one of the text limit's four bytes at least, as twelve."""
_COMMAND = ("-P", "-B", "-W", "ignore", "-m", "memreader.parsing.worker")
"""No working folder on the path (it may hold a `docx.py`), no bytecode written, no warnings."""


@dataclass(frozen=True, slots=True)
class Job:
    """One document for the parsing process."""

    data: bytes
    name: str
    kind: str
    media_type: str
    limits: ParseLimits

    @property
    def header(self) -> bytes:
        """What goes ahead of the bytes; the document's name stays here."""
        fields = {"kind": self.kind, "media_type": self.media_type, "max_text_bytes": int(self.limits.max_text_mb * MB)}
        return json.dumps(fields | {"timeout_s": self.limits.timeout_s}).encode("ascii")

    @property
    def max_reply(self) -> int:
        """Bytes of the longest answer that keeps to the limits."""
        return int(self.limits.max_text_mb * MB) * _ESCAPED + MB


class GoneError(Exception):
    """The process had ended before the document reached it; another one may be asked."""


class ParsingProcess:
    """One warm parsing process. Takes one document at a time: callers hold a lock."""

    def __init__(self, *, name: str) -> None:
        """Start it and wait until it is ready, or until it says why it never will be (`refusal`).

        Raises:
            ParserCrashedError: It did not start; the detail says why. `name` is the document that waits for it.
        """
        if not sys.executable or getattr(sys, "frozen", False):
            raise ParserCrashedError(name=name, detail="there is no Python interpreter to run the parser with")
        self._process = subprocess.Popen(
            [sys.executable, *_COMMAND],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            bufsize=0,
            env=child_environment(),
            start_new_session=True,  # Ctrl-C in a terminal is for the program, not for its parser
            creationflags=getattr(subprocess, "CREATE_NO_WINDOW", 0),
        )
        self._jobs: queue.SimpleQueue[Job | None] = queue.SimpleQueue()
        self._frames: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._exchange, name="memreader-parsing", daemon=True)
        self._thread.start()
        self.refusal: dict[str, Any] | None = None
        self._wait_until_ready(name)

    @property
    def pid(self) -> int:
        """The process id."""
        return self._process.pid

    @property
    def is_alive(self) -> bool:
        """Whether it still runs."""
        return self._process.poll() is None

    def read(self, job: Job) -> dict[str, Any]:
        """Return the fields of a `convert.Reading`; a process that does not give one is ended.

        Raises:
            DocumentTimeoutError: It took longer than `timeout_s`.
            DocumentMemoryError: It grew beyond `max_memory_mb`.
            ParserCrashedError: It ended amid the document.
            GoneError: It had ended before.
        """
        deadline = time.monotonic() + job.limits.timeout_s
        answered = False
        try:
            self._jobs.put(job)
            if self._watch(job, deadline) is None:
                raise GoneError
            reply = self._watch(job, deadline)
            answer: dict[str, Any] = json.loads(reply) if reply else {"status": "crashed", "detail": self._last_words()}
            if answer["status"] == "crashed":
                raise ParserCrashedError(name=job.name, detail=answer["detail"])
            answered = True
            return answer
        finally:
            if not answered:
                self.kill()

    def close(self) -> None:
        """End it politely if it can still hear, else by force."""
        self._jobs.put(None)
        self._thread.join(_CLOSE_S)
        self._pipe("stdin").close()
        try:
            self._process.wait(_CLOSE_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
        self._clear_away()

    def kill(self) -> None:
        """End it at once."""
        self._process.kill()
        self._jobs.put(None)
        self._clear_away()

    def disown(self) -> None:
        """Let go of a process that belongs to the parent of this fork: it is not ours to end or to wait for."""
        for pipe in ("stdin", "stdout", "stderr"):
            self._pipe(pipe).close()
        self._process.returncode = 0

    def _wait_until_ready(self, name: str) -> None:
        ready = False
        try:
            frame = self._frames.get(timeout=_START_S)
            answer = json.loads(frame) if frame else {"status": "crashed", "detail": self._last_words()}
            if answer["status"] == "crashed":
                raise ParserCrashedError(name=name, detail=f"the parser did not start: {answer['detail']}")
            self.refusal = None if answer["status"] == "ready" else answer
            ready = self.refusal is None
        except queue.Empty:
            raise ParserCrashedError(name=name, detail=f"the parser did not start in {_START_S:g} s") from None
        finally:
            if not ready:
                self.kill()

    def _watch(self, job: Job, deadline: float) -> bytes | None:
        """Return the next frame, None if the process ended; raise if it goes over a limit meanwhile."""
        limits = job.limits
        while True:
            used = resident_mb(self.pid)
            if used is not None and used > limits.max_memory_mb:
                detail = f"{used:.0f} MB, over max_memory_mb={limits.max_memory_mb:g}"
                raise DocumentMemoryError(name=job.name, detail=detail)
            try:
                return self._frames.get(timeout=min(POLL_S, max(0.0, deadline - time.monotonic())))
            except queue.Empty:
                if time.monotonic() >= deadline:
                    detail = f"stopped after timeout_s={limits.timeout_s:g}"
                    raise DocumentTimeoutError(name=job.name, detail=detail) from None

    def _exchange(self) -> None:
        """Carry frames in a thread of its own, so that a process that neither reads nor writes can be given up on."""
        requests, replies = self._pipe("stdin"), self._pipe("stdout")
        try:
            self._frames.put(read_frame(replies, max_bytes=MB))
            while (job := self._jobs.get()) is not None:
                write_frame(requests, job.header)
                write_frame(requests, job.data)
                self._frames.put(read_frame(replies, max_bytes=MB))
                self._frames.put(read_frame(replies, max_bytes=job.max_reply))
        except (OSError, ValueError):
            self._frames.put(None)
            self._frames.put(None)

    def _last_words(self) -> str:
        """Return how a process that closed its pipes ended, for people; never words of a document."""
        try:
            code = self._process.wait(_CLOSE_S)
        except subprocess.TimeoutExpired:
            return "it stopped answering"
        # Only what failed before the parser took over its streams is on stderr: no document was near it yet.
        lines = (self._pipe("stderr").read(4096) or b"").decode("utf-8", "replace").strip().splitlines()
        how = f"it ended by signal {-code}" if code < 0 else f"it ended with code {code}"
        return f"{how}: {lines[-1]}" if lines else how

    def _clear_away(self) -> None:
        self._process.wait()
        self._thread.join(_CLOSE_S)
        for pipe in ("stdin", "stdout", "stderr"):
            self._pipe(pipe).close()

    def _pipe(self, name: str) -> IO[bytes]:
        pipe: IO[bytes] = getattr(self._process, name)
        return pipe
