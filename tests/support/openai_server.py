"""A scripted OpenAI-compatible server on this machine, for tests of models and of everything that uses them.

    with OpenAIServer() as server:
        server.script(Answer("hello"), Answer(status=429, headers={"Retry-After": "0"}))   # one per request, in order
        server.reply = lambda request: Answer("...")                        # what is asked beyond the script
        model = OpenAIChatModel("m", base_url=server.url)
        ...
        assert server.requests[0].body["messages"] == [...]

Chat completions and embeddings both take the next scripted answer; an embedding request without one is answered with
vectors of `HashEmbedder`. Connections are kept alive, as real servers do.
"""

from __future__ import annotations

import base64
import json
import socket
import struct
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

import numpy as np

from memreader.testing import HashEmbedder


@dataclass(frozen=True)
class Answer:
    """One answer: the text of a chat completion, or a whole body."""

    text: str | None = ""
    body: Any = None
    """In place of a completion around `text`: JSON, or bytes as they are."""
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    finish_reason: str | None = "stop"
    usage: Mapping[str, Any] | None = field(default_factory=lambda: {"prompt_tokens": 7, "completion_tokens": 3})
    delay_s: float = 0.0
    """Before the first byte."""
    cut: bool = False
    """Reset the connection after half the body."""
    drip_s: float = 0.0
    """Pause after each byte of the body."""

    def content(self) -> bytes:
        """Return the body as bytes."""
        if isinstance(self.body, bytes):
            return self.body
        return json.dumps(completion(self) if self.body is None else self.body).encode()


@dataclass(frozen=True)
class Request:
    """What was asked."""

    path: str
    headers: Mapping[str, str]
    """Names in lower case."""
    body: dict[str, Any]

    @property
    def is_for_embeddings(self) -> bool:
        """Whether texts are to be embedded; else a chat is to be completed."""
        return self.path.partition("?")[0].endswith("/embeddings")


def completion(answer: Answer, **message: Any) -> dict[str, Any]:
    """Return the body of a chat completion; `message` has further fields of the message."""
    choice = {
        "index": 0,
        "message": {"role": "assistant", "content": answer.text, **message},
        "finish_reason": answer.finish_reason,
    }
    body = {"id": "x", "object": "chat.completion", "created": 0, "model": "m", "choices": [choice]}
    return body if answer.usage is None else {**body, "usage": dict(answer.usage)}


def refusal(message: str, *, status: int = 400, param: str | None = None, code: str | None = None) -> Answer:
    """Return an error as OpenAI sends it."""
    return Answer(status=status, body={"error": {"message": message, "type": "x", "param": param, "code": code}})


class OpenAIServer:
    """Serves as long as the `with` block lasts, each request in a thread of its own."""

    def __init__(self, *, dimension: int = 64) -> None:
        self.requests: list[Request] = []
        """All of them, in the order they came."""
        self.reply: Callable[[Request], Answer] = lambda request: Answer("ok")
        """Answers chat completions that nothing is scripted for."""
        self.embedder = HashEmbedder(dimension=dimension)
        self.most_texts: int | None = None
        """Requests for more embeddings than this are refused."""
        self.most_words: int | None = None
        """Texts of more words than this are refused."""
        self.refused_texts: set[str] = set()
        """Texts that are refused by name."""
        self.as_base64 = False
        """Send embeddings as base64, whatever was asked."""
        self.at_once = 0
        """Requests under way."""
        self.most_at_once = 0
        self._script: deque[Answer] = deque()
        self._lock = threading.Lock()
        self._closing = threading.Event()

    def script(self, *answers: Answer) -> None:
        """Answer the next requests with these, in order."""
        self._script.extend(answers)

    @property
    def url(self) -> str:
        """For `base_url=`."""
        return f"http://127.0.0.1:{self._http.server_address[1]}/v1"

    @property
    def chats(self) -> list[dict[str, Any]]:
        """Bodies of the chat completions that were asked."""
        return [request.body for request in self.requests if not request.is_for_embeddings]

    @property
    def texts(self) -> list[list[str]]:
        """What was to be embedded, per request."""
        return [request.body["input"] for request in self.requests if request.is_for_embeddings]

    def __enter__(self) -> Self:
        self._http = _Server(("127.0.0.1", 0), _Handler)
        self._http.owner = self
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.01,), daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._closing.set()  # what is slow ends now
        self._http.shutdown()
        self.drop_connections()
        self._http.server_close()
        self._thread.join()

    @property
    def connections(self) -> int:
        """How many were made so far."""
        return self._http.made

    def drop_connections(self) -> None:
        """End all that are open, as a server does that is started again."""
        for connection in list(self._http.open):
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)

    def wait_until_unused(self, seconds: float) -> bool:
        """Return whether the clients end all connections within some time."""
        until = time.monotonic() + seconds
        while self._http.open and time.monotonic() < until:
            time.sleep(0.01)
        return not self._http.open

    def answer(self, request: Request) -> Answer:
        """Return what a request gets."""
        with self._lock:
            self.requests.append(request)
            scripted = self._script.popleft() if self._script else None
        if scripted is not None:
            return scripted
        return self._embedded(request) if request.is_for_embeddings else self.reply(request)

    def under_way(self, change: int) -> None:
        """Count a request that begins or ends."""
        with self._lock:
            self.at_once += change
            self.most_at_once = max(self.most_at_once, self.at_once)

    def pause(self, seconds: float) -> bool:
        """Wait, and return whether the server is to end."""
        return self._closing.wait(seconds)

    def _embedded(self, request: Request) -> Answer:
        texts = request.body["input"]
        if self.most_texts is not None and len(texts) > self.most_texts:
            return refusal(f"batch size is invalid, it should not be larger than {self.most_texts}")
        if self.most_words is not None and any(len(text.split()) > self.most_words for text in texts):
            return refusal(f"This model's maximum context length is {self.most_words} tokens")
        if self.refused_texts.intersection(texts):
            return refusal("'$.input' is invalid", param="input")
        rows = self.embedder.embed(texts)
        data = [
            {"object": "embedding", "index": place, "embedding": self._written(row)} for place, row in enumerate(rows)
        ]
        return Answer(body={"object": "list", "data": data[::-1], "usage": {"prompt_tokens": 1, "total_tokens": 1}})

    def _written(self, row: Any) -> Any:
        numbers = np.asarray(row, "<f4")
        return base64.b64encode(numbers.tobytes()).decode() if self.as_base64 else numbers.tolist()


class _Server(ThreadingHTTPServer):
    owner: OpenAIServer
    daemon_threads = False
    request_queue_size = 64

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.open: set[socket.socket] = set()
        self.made = 0

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        """Know the connection while it lasts: a client that keeps it must not keep the server's end."""
        self.open.add(request)
        self.made += 1
        super().process_request_thread(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        """Forget the connection."""
        self.open.discard(request)
        super().shutdown_request(request)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Take no notice of clients that went away."""


class _Handler(BaseHTTPRequestHandler):
    server: _Server
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def do_POST(self) -> None:
        owner = self.server.owner
        owner.under_way(1)
        try:
            body = json.loads(self.rfile.read(int(self.headers.get("Content-Length", 0))))
            headers = {name.lower(): value for name, value in self.headers.items()}
            self._send(owner, owner.answer(Request(self.path, headers, body)))
        finally:
            owner.under_way(-1)

    def _send(self, owner: OpenAIServer, answer: Answer) -> None:
        if answer.delay_s and owner.pause(answer.delay_s):
            self.close_connection = True
            return
        content = answer.content()
        self.send_response(answer.status)
        for name, value in {"Content-Type": "application/json", **answer.headers}.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        if answer.drip_s:
            for byte in content:
                if owner.pause(answer.drip_s):
                    self.close_connection = True
                    return
                self.wfile.write(bytes([byte]))
                self.wfile.flush()
        elif answer.cut:
            self.close_connection = True
            self.wfile.write(content[: len(content) // 2])
            self.wfile.flush()
            # Reset, not closed in good order.
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        else:
            self.wfile.write(content)

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""
