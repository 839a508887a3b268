"""A real headless Chromium, driven over its own pipe: no package, no port, no network."""

from __future__ import annotations

import base64
import fcntl
import json
import os
import select
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

NAMES = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
PATIENCE_S = 60


def browser_path() -> str | None:
    """Where a Chromium is: named by `CHROMIUM`, else found in `PATH`."""
    named = os.environ.get("CHROMIUM")
    return named or next((path for path in map(shutil.which, NAMES) if path), None)


class Page:
    """One open page, with all that the browser asked for in `requests` and what the page complained of in `errors`."""

    def __init__(self, to_browser: int, from_browser: int) -> None:
        self._to, self._from = to_browser, from_browser
        self._buffer = b""
        self._calls = 0
        self._session: str | None = None
        self.requests: list[str] = []
        self.errors: list[str] = []

    def call(self, method: str, **params: Any) -> dict[str, Any]:
        """The result of a command of the DevTools protocol."""
        self._calls += 1
        message = {"id": self._calls, "method": method, "params": params}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._to, json.dumps(message).encode() + b"\0")
        while True:
            reply = self._next()
            if reply.get("id") == self._calls:
                assert "error" not in reply, reply["error"]
                return reply["result"]
            self._note(reply)

    def _next(self) -> dict[str, Any]:
        while b"\0" not in self._buffer:
            ready, _, _ = select.select([self._from], [], [], PATIENCE_S)
            assert ready, f"the browser says nothing for {PATIENCE_S} s"
            got = os.read(self._from, 1 << 16)
            assert got, "the browser is gone"
            self._buffer += got
        message, _, self._buffer = self._buffer.partition(b"\0")
        return json.loads(message)

    def _note(self, event: dict[str, Any]) -> None:
        params = event.get("params", {})
        if event.get("method") == "Network.requestWillBeSent":
            self.requests.append(params["request"]["url"])
        elif event.get("method") == "Runtime.exceptionThrown":
            self.errors.append(str(params["exceptionDetails"]))
        elif event.get("method") == "Log.entryAdded":
            self.errors.append(params["entry"]["text"])

    def open(self, file: Path) -> None:
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.call(f"{domain}.enable")
        self.call("Page.navigate", url=file.as_uri())
        self.wait("document.readyState === 'complete'")

    def evaluate(self, script: str) -> Any:
        """What `script` gives in the page, as JSON."""
        result = self.call("Runtime.evaluate", expression=script, returnByValue=True)
        assert "exceptionDetails" not in result, result
        return result["result"].get("value")

    def wait(self, condition: str) -> None:
        """Return once `condition` holds in the page."""
        until = time.monotonic() + PATIENCE_S
        while not self.evaluate(condition):
            assert time.monotonic() < until, condition
            time.sleep(0.05)

    def press(self, selector: str) -> None:
        """Press the mouse button in the middle of an element."""
        box = f"document.querySelector({json.dumps(selector)}).getBoundingClientRect()"
        x, y = self.evaluate(f"(() => {{ const b = {box}; return [b.x + b.width / 2, b.y + b.height / 2] }})()")
        for kind in ("mousePressed", "mouseReleased"):
            self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)

    def drag(self, start: tuple[float, float], end: tuple[float, float]) -> None:
        for kind, (x, y) in (("mousePressed", start), ("mouseMoved", end), ("mouseReleased", end)):
            self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", buttons=1, clickCount=1)

    def type(self, text: str) -> None:
        self.call("Input.insertText", text=text)

    def picture(self, file: Path) -> None:
        file.write_bytes(base64.b64decode(self.call("Page.captureScreenshot", format="png")["data"]))


def _moved_up(descriptor: int) -> int:
    moved = fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, 20)
    os.close(descriptor)
    return moved


@contextmanager
def opened(file: Path, profile: Path) -> Iterator[Page]:
    """Give `file` opened in a Chromium with an empty profile, which is ended afterwards."""
    # The browser reads from descriptor 3 and writes to 4; ours are higher, so that none is overwritten by another.
    to_read, to_write, from_read, from_write = (_moved_up(end) for end in (*os.pipe(), *os.pipe()))
    script = f'exec "$0" "$@" 3<&{to_read} 4>&{from_write}'
    arguments = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--remote-debugging-pipe"]
    arguments += ["--no-first-run", "--disable-background-networking", "--force-prefers-reduced-motion"]
    arguments += [f"--user-data-dir={profile}", "--window-size=1200,800"]
    browser = subprocess.Popen(
        ["bash", "-c", script, str(browser_path()), *arguments],
        pass_fds=(to_read, from_write),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    os.close(to_read)
    os.close(from_write)
    try:
        page = Page(to_write, from_read)
        page.open(file)
        yield page
    finally:
        browser.terminate()
        browser.wait(PATIENCE_S)
        os.close(to_write)
        os.close(from_read)
