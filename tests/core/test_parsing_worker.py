"""The parsing process: what it may not do, how it is stopped, and that it comes up wherever it is called from."""

from __future__ import annotations

import contextlib
import io
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
import zipfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from memreader.errors import (
    DamagedDocumentError,
    DocumentMemoryError,
    DocumentTimeoutError,
    ParserCrashedError,
)
from memreader.parsing import ParseLimits, close_parser, parse_file, parser_pid
from memreader.parsing.frames import read_frame, write_frame
from memreader.parsing.host import child_environment, resident_mb, resident_mb_by_ps
from memreader.parsing.worker import _comes_something
from memreader.types import Document, FileInput

posix = pytest.mark.skipif(os.name != "posix", reason="POSIX signals and forks")

BODY = '<w:document xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"><w:body>{}</w:body></w:document>'
RELATIONS = "http://schemas.openxmlformats.org/package/2006/relationships"
TYPES = '<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"/>'


def html(words: str) -> FileInput:
    return FileInput("a.html", data=f"<html><body>{words}</body></html>".encode())


def long_document() -> FileInput:
    """A small docx that takes its reader many seconds."""
    buffer = io.BytesIO()
    paragraph = "<w:p><w:r><w:t>a secret plan number {}</w:t></w:r></w:p>"
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("[Content_Types].xml", TYPES)
        archive.writestr("word/document.xml", BODY.format("".join(paragraph.format(n) for n in range(40_000))))
    return FileInput("long.docx", data=buffer.getvalue())


LONG = long_document()


def read(source: FileInput, **limits: float) -> Document:
    return parse_file(source, limits=ParseLimits(**limits))  # type: ignore[arg-type]


def run_script(script: str, *arguments: str, through_stdin: bool = False, folder: Path, **environment: str) -> str:
    """Return what a script of its own prints; it must end well and say nothing on stderr."""
    command = [sys.executable, "-W", "error::ResourceWarning"]
    if through_stdin:
        command += ["-", *arguments]
    else:
        (folder / "script.py").write_text(script)
        command += [str(folder / "script.py"), *arguments]
    done = subprocess.run(
        command,
        input=script if through_stdin else None,
        capture_output=True,
        text=True,
        timeout=60,
        cwd=folder,
        env=dict(os.environ) | environment,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def gone(pid: int, *, within_s: float = 10.0) -> bool:
    until = time.monotonic() + within_s
    while time.monotonic() < until:
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return True
        time.sleep(0.02)
    return False


class TestWarmth:
    def test_one_process_serves_every_document(self) -> None:
        assert read(html("one")).text == "one"
        pid = parser_pid()
        assert read(html("two")).text == "two"
        assert parser_pid() == pid

    def test_a_refused_document_does_not_cost_the_process(self) -> None:
        read(html("one"))
        pid = parser_pid()
        with pytest.raises(DamagedDocumentError):
            read(FileInput("a.ipynb", data=b'{"cells": ['))
        assert (read(html("two")).text, parser_pid()) == ("two", pid)

    def test_threads_each_get_their_own_document(self) -> None:
        words = [f"document {n}" for n in range(24)]
        with ThreadPoolExecutor(6) as pool:
            assert [document.text for document in pool.map(lambda w: read(html(w)), words)] == words

    def test_closing_ends_it_and_the_next_document_starts_another(self) -> None:
        read(html("one"))
        pid = parser_pid()
        close_parser()
        assert parser_pid() is None
        assert gone(pid or 0)
        close_parser()
        assert read(html("two")).text == "two"

    @posix
    def test_a_process_killed_while_idle_is_replaced_unnoticed(self) -> None:
        read(html("one"))
        os.kill(parser_pid() or 0, signal.SIGKILL)
        assert read(html("two")).text == "two"

    def test_what_a_document_left_in_memory_is_not_held_against_the_next(self) -> None:
        read(html("one"))
        pid = parser_pid() or 0
        used = resident_mb(pid)
        if used is None:
            pytest.skip("memory can't be watched here")
        assert read(html("two"), max_memory_mb=1.5 * used).text == "two"
        assert gone(pid)


class TestLimits:
    def test_a_document_that_takes_too_long_is_stopped(self) -> None:
        read(html("warm"))
        pid = parser_pid() or 0
        start = time.monotonic()
        with pytest.raises(DocumentTimeoutError, match=r"long.docx.*timeout_s=0.3") as caught:
            read(LONG, timeout_s=0.3)
        assert time.monotonic() - start < 3
        assert "secret" not in str(caught.value)
        assert gone(pid)

    def test_a_document_that_takes_too_much_memory_is_stopped(self) -> None:
        read(html("warm"))
        pid = parser_pid() or 0
        used = resident_mb(pid)
        if used is None:
            pytest.skip("memory can't be watched here")
        with pytest.raises(DocumentMemoryError, match=r"long.docx.*max_memory_mb"):
            read(LONG, max_memory_mb=used + 20)
        assert gone(pid)

    @posix
    def test_a_crash_amid_a_document_is_reported_and_the_next_one_is_read(self) -> None:
        read(html("warm"))
        killer = threading.Timer(0.3, os.kill, (parser_pid(), signal.SIGKILL))
        killer.start()
        with pytest.raises(ParserCrashedError, match=r"long.docx.*signal 9"):
            read(LONG)
        killer.join()
        assert read(html("next")).text == "next"

    def test_an_interpreter_that_does_not_run_is_reported(
        self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        close_parser()
        broken = tmp_path / "python"
        broken.write_text("#!/bin/sh\necho no such thing >&2\nexit 7\n")
        broken.chmod(0o755)
        monkeypatch.setattr(sys, "executable", str(broken))
        with pytest.raises(ParserCrashedError, match=r"did not start.*code 7: no such thing"):
            read(html("one"))
        monkeypatch.setattr(sys, "executable", "")
        with pytest.raises(ParserCrashedError, match="no Python interpreter"):
            read(html("one"))

    def test_a_library_missing_behind_markitdown_is_named(self, tmp_path: Path) -> None:
        (tmp_path / "markitdown").mkdir()
        (tmp_path / "markitdown/__init__.py").write_text("import a_module_that_is_nowhere")
        script = """
import sys
sys.path.insert(0, sys.argv[1])
from memreader.errors import MissingExtraError
from memreader.parsing import parse_file
from memreader.types import FileInput
try:
    parse_file(FileInput("a.html", data=b"<html>hi</html>"))
except MissingExtraError as error:
    print(error.package, error.extra)
"""
        folder = tmp_path / "elsewhere"
        folder.mkdir()
        assert run_script(script, str(tmp_path), folder=folder).split() == ["a_module_that_is_nowhere", "documents"]


SCRIPT = """
from memreader.parsing import parse_file
from memreader.types import FileInput

print(parse_file(FileInput("a.html", data=b"<html><body>read</body></html>")).text)
"""

POOL_SCRIPT = """
import multiprocessing
from memreader.parsing import parse_file, parser_pid
from memreader.types import FileInput

def read(words):
    return parse_file(FileInput("a.html", data=f"<html><body>{words}</body></html>".encode())).text, parser_pid()

first = read("parent")
with multiprocessing.get_context("fork").Pool(1) as pool:
    inside = pool.map(read, ["one", "two"])
last = read("parent again")
print([first[0], inside[0][0], inside[1][0], last[0]])
print(first[1] == last[1], inside[0][1] == inside[1][1], first[1] != inside[0][1])
"""


class TestAnywhere:
    def test_from_an_unguarded_script_beside_files_named_like_libraries(self, tmp_path: Path) -> None:
        for name in ("docx.py", "pptx.py", "requests.py", "magika.py"):
            (tmp_path / name).write_text("raise SystemExit('the wrong module')")
        assert run_script(SCRIPT, folder=tmp_path) == "read\n"

    def test_from_stdin(self, tmp_path: Path) -> None:
        assert run_script(SCRIPT, folder=tmp_path, through_stdin=True) == "read\n"

    @posix
    def test_inside_a_daemonic_pool_worker_that_inherited_a_parser(self, tmp_path: Path) -> None:
        lines = run_script(POOL_SCRIPT, folder=tmp_path).splitlines()
        assert lines == ["['parent', 'one', 'two', 'parent again']", "True True True"]

    @posix
    def test_a_parent_that_is_killed_leaves_no_parser_behind(self, tmp_path: Path) -> None:
        die = "print(parser_pid(), flush=True)\nos.kill(os.getpid(), 9)"
        script = f"{SCRIPT}\nimport os\nfrom memreader.parsing import parser_pid\n{die}"
        done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=False)
        assert gone(int(done.stdout.split()[-1]))

    @posix
    def test_a_parser_whose_parent_died_amid_a_document_ends_itself(self) -> None:
        code = "import time\nfrom memreader.parsing.worker import _end_after\n_end_after(0.05)\ntime.sleep(20)"
        done = subprocess.run([sys.executable, "-c", code], timeout=10, check=False)
        assert done.returncode == -signal.SIGALRM

    @posix
    def test_a_parser_that_is_left_alone_ends(self) -> None:
        ours, theirs = os.pipe()
        with io.FileIO(ours) as requests, io.FileIO(theirs, "w") as parent:
            assert not _comes_something(requests, idle_s=0.01)
            parent.write(b"x")
            assert _comes_something(requests, idle_s=0.01)


FORBIDDEN = (
    "socket.socket()",
    "_socket.socket()",
    "socket.socketpair()",
    "socket.create_connection(('127.0.0.1', 9))",
    "socket.getaddrinfo('localhost', 80)",
    "urllib.request.urlopen('http://127.0.0.1:9/')",
    "urllib.request.urlopen('file:///etc/hostname')",
    "subprocess.run(['true'])",
    "os.system('true')",
    "os.fork()",
    "open('/etc/hostname')",
    "os.open('/etc/hostname', os.O_RDONLY)",
    "open(os.path.join(os.path.dirname(os.__file__), *['..'] * 20, 'etc', 'hostname'))",
    "open('new.txt', 'w')",
    "open(os.__file__, 'a')",
    "os.remove('anything')",
)
ALLOWED = "__import__('wave'); open(os.__file__).read()"


@pytest.fixture(scope="module")
def outcomes() -> dict[str, str]:
    """What comes of each attempt behind both guards: the name of the exception, or "done"."""
    code = f"""
import os, sys, json, socket, _socket, subprocess, urllib.request
from memreader.parsing.guard import block_files, block_network
block_network()
block_files(sys.path)
outcomes = {{}}
for attempt in {[*FORBIDDEN, ALLOWED]!r}:
    try:
        exec(attempt)
        outcomes[attempt] = "done"
    except OSError as error:
        outcomes[attempt] = type(error).__name__
print(json.dumps(outcomes))
"""
    command = [sys.executable, "-B", "-c", code]
    return json.loads(subprocess.run(command, capture_output=True, text=True, timeout=30, check=True).stdout)


@pytest.fixture
def listener() -> Iterator[socket.socket]:
    """A server on this machine that nothing should ever knock at."""
    with contextlib.closing(socket.socket(socket.AF_INET, socket.SOCK_STREAM)) as server:
        server.bind(("127.0.0.1", 0))
        server.listen()
        server.settimeout(0.2)
        yield server


class TestGuard:
    @pytest.mark.parametrize("attempt", FORBIDDEN)
    def test_network_processes_and_files_are_out_of_reach(self, attempt: str, outcomes: dict[str, str]) -> None:
        assert outcomes[attempt] == "PermissionError"

    def test_libraries_can_still_load_what_lies_beside_them(self, outcomes: dict[str, str]) -> None:
        assert outcomes[ALLOWED] == "done"

    @pytest.mark.enable_socket
    def test_nothing_in_a_document_is_fetched(self, listener: socket.socket) -> None:
        url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        head = f'<link rel="stylesheet" href="{url}/a.css"><base href="{url}">'
        page = (
            f'<html><head>{head}</head><body>words<img src="{url}/b.png"><iframe src="{url}/c"></iframe></body></html>'
        )
        assert "words" in read(FileInput("a.html", data=page.encode())).text
        assert "words" in read(FileInput("a.docx", data=docx_with_linked_picture(f"{url}/d.png"))).text
        with pytest.raises(TimeoutError):
            listener.accept()

    def test_a_linked_local_file_is_not_read(self, tmp_path: Path) -> None:
        (tmp_path / "secret.png").write_bytes(b"top secret")
        text = read(FileInput("a.docx", data=docx_with_linked_picture((tmp_path / "secret.png").as_uri()))).text
        assert "words" in text
        assert "secret" not in text

    def test_keys_and_proxies_of_the_environment_stay_here(self, monkeypatch: pytest.MonkeyPatch) -> None:
        for name in ("OPENAI_API_KEY", "HTTPS_PROXY", "HOME", "PYTHONSTARTUP", "EXIFTOOL_PATH"):
            monkeypatch.setenv(name, "not for you")
        close_parser()
        read(html("one"))
        assert "not for you" not in child_environment().values()
        with contextlib.suppress(FileNotFoundError):
            assert b"not for you" not in Path(f"/proc/{parser_pid()}/environ").read_bytes()

    def test_what_libraries_print_does_not_reach_the_frames(self) -> None:
        code = (
            "import os\nfrom memreader.parsing import worker\n_, replies = worker._take_pipes()\n"
            "print('noise', flush=True)\nos.write(1, b'noise')\nworker._send(replies, worker.Reading('ok'))"
        )
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, input=b"", timeout=30, check=False)
        frame = read_frame(io.BytesIO(done.stdout), max_bytes=1000)
        assert json.loads(frame or b"")["status"] == "ok"
        assert len(done.stdout) == 8 + len(frame or b"")

    def test_a_crash_tells_its_kind_and_not_its_words(self) -> None:
        code = (
            "from memreader.parsing import worker\n_, replies = worker._take_pipes()\n"
            "worker._report_crashes(replies)\nraise ValueError('a secret plan')"
        )
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, input=b"", timeout=30, check=False)
        assert b"ValueError" in done.stdout
        assert b"secret" not in done.stdout + done.stderr


def docx_with_linked_picture(url: str) -> bytes:
    office, drawing = (f"http://schemas.openxmlformats.org/{part}/2006" for part in ("officeDocument", "drawingml"))
    blip = f'<a:blip xmlns:r="{office}/relationships" r:link="rId1"/>'
    picture = f'<pic:pic xmlns:pic="{drawing}/picture"><pic:blipFill>{blip}</pic:blipFill></pic:pic>'
    graphic = f'<a:graphic xmlns:a="{drawing}/main"><a:graphicData>{picture}</a:graphicData></a:graphic>'
    inline = f'<wp:inline xmlns:wp="{drawing}/wordprocessingDrawing">{graphic}</wp:inline>'
    body = f"<w:p><w:r><w:t>words</w:t></w:r><w:r><w:drawing>{inline}</w:drawing></w:r></w:p>"
    target = f'Type="{office}/relationships/image" Target="{url}" TargetMode="External"'
    links = f'<Relationships xmlns="{RELATIONS}"><Relationship Id="rId1" {target}/></Relationships>'
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("[Content_Types].xml", TYPES)
        archive.writestr("word/document.xml", BODY.format(body))
        archive.writestr("word/_rels/document.xml.rels", links)
    return buffer.getvalue()


class TestPlumbing:
    def test_frames_come_back_whole_through_a_narrow_pipe(self) -> None:
        ours, theirs = os.pipe()
        payload = os.urandom(300_000)
        with io.FileIO(ours) as source, io.FileIO(theirs, "w") as sink:
            sender = threading.Thread(target=write_frame, args=(sink, payload))
            sender.start()
            assert read_frame(source, max_bytes=len(payload)) == payload
            sender.join()

    def test_a_cut_frame_is_none_and_a_giant_one_is_refused(self) -> None:
        assert read_frame(io.BytesIO(b""), max_bytes=10) is None
        assert read_frame(io.BytesIO(b"\0" * 7 + b"\5" + b"abc"), max_bytes=10) is None
        with pytest.raises(ValueError, match="at most 10"):
            read_frame(io.BytesIO(b"\0" * 7 + b"\x0b" + b"a" * 11), max_bytes=10)

    @posix
    def test_memory_is_the_same_by_ps(self) -> None:
        by_proc, by_ps = resident_mb(os.getpid()), resident_mb_by_ps(os.getpid())
        assert by_proc == pytest.approx(by_ps, rel=0.2)
        assert resident_mb_by_ps(2**22 + 1) is None
        assert resident_mb(2**22 + 1) is None
