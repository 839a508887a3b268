"""Fine reading over HTTP, end to end: an OpenAI-compatible endpoint in all its moods, and the store after each."""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from fine_replies import Shown, chat_of, echo, memory, reply, shown, texts, twelve_rooms
from memreader import Memory, OpenAIChatModel, OpenAIEmbedder, ReadOptions
from memreader.ingest import AddReport
from memreader.options import ModelOptions
from memreader.refining import RefineReport
from memreader.testing import HashEmbedder
from openai_server import Answer, OpenAIServer, Request, refusal

ROOMS = twelve_rooms()
SMALL = ReadOptions(window_tokens=90, window_overlap=30)
PATIENCE = ModelOptions(attempts=3, wait_s=0, timeout_s=20)
KEY = "sk-very-secret-key"
Mood = Answer | Callable[[Shown], Answer]


class Moods:
    """Answers windows: first with what was set for the words in them, one after another, then as it should."""

    def __init__(self) -> None:
        self._first: dict[str, list[Mood]] = {}
        self._lock = threading.Lock()
        self.times: dict[str, list[float]] = {}
        """When each of the words was asked about."""

    def at(self, words: str, *answers: Mood) -> None:
        self._first[words] = list(answers)
        self.times[words] = []

    def __call__(self, request: Request) -> Answer:
        seen = shown(request.body["messages"])
        with self._lock:
            for words, answers in self._first.items():
                if words in seen.new_words:
                    self.times[words].append(time.monotonic())
                    if answers:
                        answer = answers.pop(0)
                        return answer(seen) if callable(answer) else answer
        return Answer(echo(seen), usage={"prompt_tokens": 100, "completion_tokens": 10})


@pytest.fixture
def server() -> Iterator[OpenAIServer]:
    with OpenAIServer() as server:
        server.reply = Moods()
        yield server


@pytest.fixture
def moods(server: OpenAIServer) -> Moods:
    assert isinstance(server.reply, Moods)
    return server.reply


@pytest.fixture(params=["sync", "async"])
def way(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def store(server: OpenAIServer) -> Iterator[Memory]:
    with open_it(server) as store:
        yield store


def open_it(server: OpenAIServer, patience: ModelOptions = PATIENCE, **options: Any) -> Memory:
    model = OpenAIChatModel("m", base_url=server.url, api_key=KEY)
    given: dict[str, Any] = {"embedder": HashEmbedder(), "read_options": SMALL, "model_options": patience}
    return Memory.in_memory(llm=model, **(given | options))


def add(store: Memory, way: str) -> AddReport:
    if way == "async":
        return asyncio.run(store.aadd(chat_of(*ROOMS), user_id="ana", session_id="s"))
    return store.add(chat_of(*ROOMS), user_id="ana", session_id="s")


def refine(store: Memory, way: str) -> RefineReport:
    if way == "async":
        return asyncio.run(store.arefine(user_id="ana"))
    return store.refine(user_id="ana")


def known(store: Memory) -> list[str]:
    """What the model found, as it was said, in order."""
    found = [item.memory for item in store.get_all(user_id="ana") if item.metadata.evolve_from]
    return sorted((text.removeprefix("It is said: ") for text in found), key=ROOMS.index)


def window_of(server: OpenAIServer, words: str) -> list[str]:
    """The new lines that were shown together with some words."""
    (window,) = {
        tuple(line.words for line in shown(chat["messages"]).new)
        for chat in server.chats
        if words in shown(chat["messages"]).new_words
    }
    return list(window)


def assert_one_window_is_left(store: Memory, server: OpenAIServer, report: AddReport, kind: str, way: str) -> None:
    """All windows but that of the sixth line are stored; it is raw, and refined later, when the endpoint is well."""
    lost = window_of(server, ROOMS[5])
    assert known(store) == [line for line in ROOMS if line not in lost]
    (failure,) = report.failures
    assert failure.kind == kind
    assert failure.locator is not None
    assert failure.locator.startswith("s: messages ")
    assert not any(word in failure.reason for word in ("otter", "weasel", "room", KEY))
    left = [item for item in store.get_by_ids(report.left, user_id="ana") if item is not None]
    assert texts(left, fast=True) == [f"Ana: {line}" for line in lost]
    # They can be found as they were said meanwhile.
    assert store.search(lost[0], user_id="ana", top_k=1)[0].item.id == left[0].id
    again = refine(store, way)
    assert (again.left, again.failures, len(again.refined)) == ([], [], len(lost))
    assert known(store) == ROOMS
    asked = len(server.chats)
    assert add(store, way).usage.calls == refine(store, way).usage.calls == 0
    assert len(server.chats) == asked


def assert_all_is_read(store: Memory, report: AddReport) -> None:
    assert (report.failures, report.left, len(report.refined)) == ([], [], len(ROOMS))
    assert known(store) == ROOMS


def test_a_chat_is_read_by_one_request_for_each_window(server: OpenAIServer, store: Memory, way: str) -> None:
    report = add(store, way)
    assert_all_is_read(store, report)
    windows = len(server.chats)
    assert windows > 3
    usage = report.usage
    assert (usage.calls, usage.prompt_tokens, usage.completion_tokens) == (windows, windows * 100, windows * 10)
    for body in server.chats:
        assert body["model"] == "m"
        assert body["response_format"]["type"] == "json_schema"
        assert body["temperature"] == 0
    assert {request.headers["authorization"] for request in server.requests} == {f"Bearer {KEY}"}


def test_no_more_requests_are_under_way_than_may_be(server: OpenAIServer, moods: Moods, way: str) -> None:
    for line in ROOMS[::3]:
        moods.at(line, lambda seen: Answer(echo(seen), delay_s=0.1))
    with open_it(server, ModelOptions(concurrency=2)) as store:
        add(store, way)
    assert server.most_at_once == 2


def test_a_rate_limit_is_waited_for_as_long_as_the_server_asks(
    server: OpenAIServer, moods: Moods, store: Memory, way: str
) -> None:
    limit = Answer(status=429, headers={"Retry-After": "1"}, body={"error": {"message": "slow down"}})
    moods.at(ROOMS[5], limit, Answer(status=429, headers={"retry-after-ms": "300"}, body={}))
    moods.at(ROOMS[0], Answer(status=503, body=b"<html>busy</html>", headers={"Retry-After": "0"}))
    report = add(store, way)
    assert_all_is_read(store, report)
    first, second, third = moods.times[ROOMS[5]]
    assert 0.95 <= second - first < 10
    assert 0.28 <= third - second < 10
    assert len(moods.times[ROOMS[0]]) == 2
    assert report.usage.calls == len(server.chats)


def test_a_rate_limit_that_lasts_leaves_its_window_raw(
    server: OpenAIServer, moods: Moods, store: Memory, way: str
) -> None:
    limit = Answer(status=429, headers={"Retry-After": "0"}, body={"error": {"message": f"slow down: {ROOMS[5]}"}})
    moods.at(ROOMS[5], *[limit] * 3)
    report = add(store, way)
    assert len(moods.times[ROOMS[5]]) == 3
    assert "429" in report.failures[0].reason
    assert_one_window_is_left(store, server, report, "EndpointError", way)


def test_a_slow_answer_is_given_up_and_asked_for_again(server: OpenAIServer, moods: Moods, way: str) -> None:
    moods.at(ROOMS[5], Answer("too late", delay_s=30))
    with open_it(server, ModelOptions(attempts=2, wait_s=0, timeout_s=0.5)) as store:
        started = time.monotonic()
        assert_all_is_read(store, add(store, way))
        assert time.monotonic() - started < 15
        assert len(moods.times[ROOMS[5]]) == 2


def test_an_endpoint_that_is_always_slow_leaves_its_window_raw(server: OpenAIServer, moods: Moods, way: str) -> None:
    moods.at(ROOMS[5], Answer("too late", delay_s=30), Answer("a drip", drip_s=5))
    with open_it(server, ModelOptions(attempts=2, wait_s=0, timeout_s=0.5)) as store:
        assert_one_window_is_left(store, server, add(store, way), "TimeoutError", way)


def test_a_cut_off_answer_keeps_what_was_complete(server: OpenAIServer, moods: Moods, store: Memory, way: str) -> None:
    def cut(seen: Shown) -> Answer:
        whole = reply(memory(f"It is said: {seen.new[0].words}", [seen.new[0].number]), memory("It is half said"))
        return Answer(whole[: whole.index("half")], finish_reason="length")

    moods.at(ROOMS[5], cut)
    report = add(store, way)
    kept, *lost = window_of(server, ROOMS[5])
    assert lost
    assert [failure.kind for failure in report.failures] == ["TruncatedReply"]
    assert kept in known(store)
    assert known(store) == [line for line in ROOMS if line not in lost]
    left = [item for item in store.get_by_ids(report.left, user_id="ana") if item is not None]
    # The last line that a memory rests on may have held more.
    assert texts(left, fast=True) in ([f"Ana: {line}" for line in lines] for lines in (lost, [kept, *lost]))
    again = refine(store, way)
    assert (again.left, again.failures, again.usage.calls) == ([], [], 1)
    assert known(store) == ROOMS


def test_an_endpoint_that_knows_no_schema_is_asked_without_one(server: OpenAIServer, way: str) -> None:
    well = Moods()

    def humble(request: Request) -> Answer:
        asked = request.body.get("response_format")
        if asked is not None:
            return refusal(f"response_format {asked['type']} is not supported", param="response_format")
        return well(request)

    server.reply = humble
    with open_it(server) as store:
        report = add(store, way)
        assert_all_is_read(store, report)
        refused = [body for body in server.chats if "response_format" in body]
        assert refused
        assert report.usage.calls == len(server.chats) - len(refused)
        server.requests.clear()
        store.add(chat_of("A thirteenth room."), user_id="ana", session_id="s")
        assert ["response_format" in body for body in server.chats] == [False]


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        (Answer("x" * 2000, cut=True), "ConnectionError"),
        (Answer(body=b"}{ \xff\xfe garbage" * 300, cut=True), "ConnectionError"),
        (Answer(body=b"}{ \xff\xfe garbage " * 300), "EndpointError"),
        (Answer(status=500, body=b"\x00\x01"), "EndpointError"),
        (Answer(status=401, body={"error": {"message": f"bad key {KEY}"}}), "EndpointError"),
        (Answer("I'd rather tell you about otters."), "UnreadableReply"),
        (Answer(None, finish_reason="content_filter"), "EndpointError"),
        (Answer(body={"choices": []}), "EndpointError"),
    ],
    ids=["cut", "garbage, cut", "garbage", "500", "401", "prose", "filtered", "no choice"],
)
def test_garbage_costs_its_window_only(
    server: OpenAIServer,
    moods: Moods,
    store: Memory,
    way: str,
    answer: Answer,
    kind: str,
    caplog: pytest.LogCaptureFixture,
) -> None:
    moods.at(ROOMS[5], *[answer] * 3)
    report = add(store, way)
    moods.at(ROOMS[5])
    assert_one_window_is_left(store, server, report, kind, way)
    loud = [record.getMessage() for record in caplog.records if record.levelno > logging.DEBUG]
    assert not any(word in line for line in loud for word in ("otter", "weasel", KEY))


def test_an_endpoint_that_is_gone_leaves_everything_raw_and_found(way: str) -> None:
    with OpenAIServer() as server:
        url = server.url
    model = OpenAIChatModel("m", base_url=url)
    patience = ModelOptions(attempts=2, wait_s=0)
    with Memory.in_memory(llm=model, embedder=HashEmbedder(), read_options=SMALL, model_options=patience) as store:
        report = add(store, way)
        assert len(report.added) == len(report.left) == len(ROOMS)
        assert {failure.kind for failure in report.failures} == {"ConnectionError"}
        assert store.search(ROOMS[3], user_id="ana")[0].item.memory == f"Ana: {ROOMS[3]}"


def test_connections_are_kept_and_let_go(server: OpenAIServer) -> None:
    model = OpenAIChatModel("m", base_url=server.url)
    with Memory.in_memory(
        llm=model, embedder=HashEmbedder(), read_options=SMALL, model_options=ModelOptions(concurrency=2)
    ) as store:
        add(store, "sync")
        assert len(server.chats) > 3
        assert server.connections <= 3
    model.close()
    assert server.wait_until_unused(10)


class TestWithVectorsOverHttp:
    @pytest.fixture
    def embedder(self, server: OpenAIServer) -> Iterator[OpenAIEmbedder]:
        embedder = OpenAIEmbedder("hashed", base_url=server.url, wait_s=0.01, attempts=2)
        yield embedder
        embedder.close()

    def test_what_was_said_and_what_was_made_of_it_is_embedded_there(
        self, server: OpenAIServer, embedder: OpenAIEmbedder, way: str
    ) -> None:
        with open_it(server, embedder=embedder) as store:
            assert_all_is_read(store, add(store, way))
            embedded = {text for request in server.texts for text in request}
            assert {item.memory for item in store.get_all(user_id="ana")} <= embedded
            hits = store.search(f"It is said: {ROOMS[7]}", user_id="ana", top_k=1)
            assert hits[0].item.memory == f"It is said: {ROOMS[7]}"
            assert hits[0].similarity == pytest.approx(1, abs=1e-4)
            server.requests.clear()
            assert add(store, way).added == []
            assert server.requests == []

    def test_a_store_that_is_opened_again_knows_the_embedder(
        self, server: OpenAIServer, embedder: OpenAIEmbedder, tmp_path: Any
    ) -> None:
        for count in (6, 12):
            model = OpenAIChatModel("m", base_url=server.url)
            with Memory.open(tmp_path, llm=model, embedder=embedder, read_options=SMALL) as store:
                store.add(chat_of(*ROOMS[:count]), user_id="ana", session_id="s")
                assert known(store) == ROOMS[:count]
            model.close()

    def test_a_memory_that_the_endpoint_refuses_leaves_its_window_to_be_read_again(
        self, server: OpenAIServer, embedder: OpenAIEmbedder, way: str
    ) -> None:
        server.refused_texts.add(f"It is said: {ROOMS[5]}")
        with open_it(server, embedder=embedder) as store:
            report = add(store, way)
            assert len(report.failures) == 1
            assert known(store) == [line for line in ROOMS if line != ROOMS[5]]
            lost = window_of(server, ROOMS[5])
            left = [item for item in store.get_by_ids(report.left, user_id="ana") if item is not None]
            assert texts(left, fast=True) == [f"Ana: {line}" for line in lost]
            server.refused_texts.clear()
            again = refine(store, way)
            assert (again.left, again.failures, len(again.existing)) == ([], [], len(lost) - 1)
            assert known(store) == ROOMS

    def test_a_rate_limit_of_the_embedder_is_waited_for(
        self, server: OpenAIServer, embedder: OpenAIEmbedder, way: str
    ) -> None:
        assert embedder.dimension == 64
        server.script(Answer(status=429, headers={"Retry-After": "0"}, body={}))
        with open_it(server, embedder=embedder) as store:
            assert_all_is_read(store, add(store, way))
