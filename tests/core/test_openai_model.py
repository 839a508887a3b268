"""Chat models at OpenAI-compatible endpoints, over HTTP against a server on this machine."""

from __future__ import annotations

import asyncio
import gc
import json
import logging
import os
import pickle
import time
import traceback
import warnings
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import openai
import pytest

from memreader import OpenAIChatModel
from memreader.errors import MissingExtraError
from memreader.models import EndpointError
from memreader.ports import ChatModel, Reply, Usage
from memreader.testing import ChatModelContract
from offline_run import complaint, run_offline
from openai_server import Answer, OpenAIServer, completion, refusal

ASKED = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "a secret prompt"}]
KEY = "sk-very-secret-key"


@pytest.fixture
def server() -> Iterator[OpenAIServer]:
    with OpenAIServer() as server:
        yield server


@pytest.fixture
def model(server: OpenAIServer) -> Iterator[OpenAIChatModel]:
    model = OpenAIChatModel("m", base_url=server.url, api_key=KEY)
    yield model
    model.close()


@pytest.fixture(params=["sync", "async"])
def way(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def ask(model: OpenAIChatModel, way: str = "sync", **kwargs: Any) -> Reply:
    if way == "async":
        return asyncio.run(model.acomplete(ASKED, **kwargs))
    return model.complete(ASKED, **kwargs)


class TestContract(ChatModelContract):
    @pytest.fixture
    def chat_model(self, model: OpenAIChatModel) -> ChatModel:
        return model


class TestAsking:
    def test_messages_and_settings_are_sent_and_the_answer_comes_back(self, server: OpenAIServer, way: str) -> None:
        model = OpenAIChatModel(
            "m", base_url=server.url, max_output_tokens=99, headers={"X-Team": "a"}, extra_body={"top_p": 0.5}
        )
        server.script(Answer("blue"))
        assert ask(model, way) == Reply("blue", Usage(1, 7, 3))
        request = server.requests[0]
        assert request.body == {"model": "m", "messages": ASKED, "temperature": 0.0, "max_tokens": 99, "top_p": 0.5}
        assert request.headers["x-team"] == "a"
        model.close()

    def test_an_address_on_this_machine_needs_no_key_and_gets_none_of_the_environment(
        self, server: OpenAIServer, monkeypatch: pytest.MonkeyPatch, way: str
    ) -> None:
        monkeypatch.setenv("OPENAI_API_KEY", KEY)
        monkeypatch.setenv("OPENAI_ORG_ID", "my-org")
        monkeypatch.setenv("OPENAI_PROJECT_ID", "my-project")
        model = OpenAIChatModel("m", base_url=server.url)
        ask(model, way)
        headers = server.requests[0].headers
        assert headers["authorization"] == "Bearer none"
        assert not {"openai-organization", "openai-project"} & headers.keys()
        model.close()

    def test_an_address_on_this_machine_is_not_asked_through_a_proxy(
        self, server: OpenAIServer, monkeypatch: pytest.MonkeyPatch, way: str
    ) -> None:
        for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"):
            monkeypatch.setenv(name, "http://127.0.0.1:1")
        model = OpenAIChatModel("m", base_url=server.url)
        assert ask(model, way).text == "ok"
        model.close()

    def test_without_an_address_the_settings_of_the_sdk_count(
        self, server: OpenAIServer, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("OPENAI_API_KEY", KEY)
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        model = OpenAIChatModel("m")
        assert ask(model).text == "ok"
        assert server.requests[0].headers["authorization"] == f"Bearer {KEY}"
        model.close()

    def test_azure_is_asked_in_its_own_way(self, server: OpenAIServer, way: str) -> None:
        model = OpenAIChatModel(
            "my-deployment", azure_endpoint=server.url.removesuffix("/v1"), api_version="2024-10-21", api_key=KEY
        )
        assert ask(model, way).text == "ok"
        request = server.requests[0]
        assert request.path == "/openai/deployments/my-deployment/chat/completions?api-version=2024-10-21"
        assert request.headers["api-key"] == KEY
        model.close()

    def test_half_characters_are_replaced_since_they_can_not_be_sent(
        self, server: OpenAIServer, model: OpenAIChatModel
    ) -> None:
        parts = [{"type": "text", "text": "cut \ud83d here"}]
        given = [{"role": "user", "content": parts}, {"role": "user", "content": "\udc00"}]
        model.complete(given)
        assert [message["content"] for message in server.chats[0]["messages"]] == [
            [{"type": "text", "text": "cut \ufffd here"}],
            "\ufffd",
        ]
        assert parts[0]["text"] == "cut \ud83d here"

    def test_a_ready_client_is_used_and_stays_open(self, server: OpenAIServer, way: str) -> None:
        with openai.OpenAI(base_url=server.url, api_key=KEY, max_retries=5) as client:
            model = OpenAIChatModel("m", client=client)
            server.script(refusal("busy", status=500))
            with pytest.raises(EndpointError):
                ask(model, way)
            assert len(server.requests) == 1
            assert ask(model, way).text == "ok"
            model.close()
            assert not client.is_closed()

    def test_a_ready_async_client_is_used_for_the_event_loop(self, server: OpenAIServer) -> None:
        async def go() -> str:
            with openai.OpenAI(base_url="http://127.0.0.1:1", api_key=KEY) as client:
                async with openai.AsyncOpenAI(base_url=server.url, api_key=KEY) as async_client:
                    model = OpenAIChatModel("m", client=client, async_client=async_client)
                    return (await model.acomplete(ASKED)).text

        assert asyncio.run(go()) == "ok"

    @pytest.mark.parametrize(
        ("arguments", "named"),
        [
            ({"base_url": "localhost:11434"}, "base_url"),
            ({"base_url": "http://"}, "base_url"),
            ({"base_url": "https://models.invalid/v1"}, "models.invalid.*api_key"),
            ({"base_url": "http://127.0.0.1.invalid/v1"}, "api_key"),
            ({"base_url": "http://127.0.0.1/v1", "azure_endpoint": "http://127.0.0.1"}, "both"),
            ({"azure_endpoint": "http://127.0.0.1"}, "api_version"),
            ({"api_key": "sk-\u4e2d\u6587"}, "api_key"),
            ({"api_key": "sk-a\nb"}, "api_key"),
            ({"api_key": KEY, "timeout_s": 0}, "timeout_s"),
            ({"api_key": KEY, "max_output_tokens": 0}, "max_output_tokens"),
            ({"async_client": object()}, "client="),
        ],
    )
    def test_what_makes_no_sense_is_refused_by_name(self, arguments: dict[str, Any], named: str) -> None:
        with pytest.raises(ValueError, match=named) as caught:
            OpenAIChatModel("m", **arguments)
        assert str(arguments.get("api_key", "\0")) not in str(caught.value)

    def test_a_model_has_a_name(self) -> None:
        with pytest.raises(ValueError, match="name"):
            OpenAIChatModel("", api_key=KEY)

    def test_a_key_may_end_in_a_line_break_as_files_do(self, server: OpenAIServer) -> None:
        model = OpenAIChatModel("m", base_url=server.url, api_key=KEY + "\n")
        ask(model)
        assert server.requests[0].headers["authorization"] == f"Bearer {KEY}"
        model.close()


class TestAnswers:
    @pytest.mark.parametrize(
        ("answer", "reply"),
        [
            (Answer("cut of", finish_reason="length"), Reply("cut of", Usage(1, 7, 3), truncated=True)),
            (Answer(None, finish_reason="length"), Reply("", Usage(1, 7, 3), truncated=True)),
            (Answer("cut of", finish_reason="content_filter"), Reply("cut of", Usage(1, 7, 3), truncated=True)),
            (Answer(""), Reply("", Usage(1, 7, 3))),
            (Answer("x", finish_reason=None), Reply("x", Usage(1, 7, 3))),
            (Answer("x", usage=None), Reply("x", Usage(1))),
            (Answer("x", usage={"prompt_tokens": None, "completion_tokens": "3"}), Reply("x", Usage(1))),
            (Answer("x", usage={"prompt_tokens": -1}), Reply("x", Usage(1))),
            (
                Answer(body=completion(Answer([{"type": "text", "text": "a"}, {"text": "b"}]))),
                Reply("ab", Usage(1, 7, 3)),
            ),  # type: ignore[arg-type]
            (Answer("x", headers={"Content-Type": "text/plain"}), Reply("x", Usage(1, 7, 3))),
            (Answer("半", finish_reason=["odd"]), Reply("半", Usage(1, 7, 3))),  # type: ignore[arg-type]
        ],
    )
    def test_whatever_holds_text_is_an_answer(
        self, server: OpenAIServer, model: OpenAIChatModel, answer: Answer, reply: Reply
    ) -> None:
        server.script(answer)
        assert ask(model) == reply

    @pytest.mark.parametrize(
        ("answer", "said", "may_pass"),
        [
            (Answer(body={"choices": []}), "without any choice", True),
            (Answer(body={"choices": None}), "without any choice", True),
            (Answer(body={}), "without any choice", True),
            (Answer(body={"choices": ["x"]}), "without any choice", True),
            (Answer(body={"choices": [{}]}), "without text", False),
            (Answer(None), r"without text \(finish_reason stop\)", False),
            (Answer(None, finish_reason="tool_calls"), "tool_calls", False),
            (Answer(None, finish_reason="content_filter"), "content_filter", False),
            (Answer(body=completion(Answer(None), refusal="I can't quote a secret prompt")), "declined", False),
            (Answer(body=[1, 2]), "no JSON object", True),
            (Answer(body=b"<html>a secret prompt</html>"), "no JSON object", True),
            (Answer(body=b'{"choices": [{"mess'), "no JSON object", True),
            (Answer(body=b"\xff\xfe\x00"), "no JSON object", True),
            (Answer(body=b""), "no JSON object", True),
            (Answer(body=b"[" * 200_000), "no JSON object", True),
            (Answer(body={"error": {"message": "a secret prompt", "code": "a secret prompt"}}), "an error$", None),
            (Answer(body={"error": "a secret prompt"}), "an error$", None),
        ],
    )
    def test_what_holds_none_is_a_clear_error_that_quotes_nothing(
        self, server: OpenAIServer, model: OpenAIChatModel, way: str, answer: Answer, said: str, may_pass: bool | None
    ) -> None:
        server.script(answer)
        with pytest.raises(EndpointError, match=said) as caught:
            ask(model, way)
        assert caught.value.may_pass is may_pass
        assert "secret" not in "".join(traceback.format_exception(caught.value))

    def test_an_error_that_came_as_a_good_answer_keeps_its_status(
        self, server: OpenAIServer, model: OpenAIChatModel
    ) -> None:
        server.script(Answer(body={"error": {"message": "slow down", "code": 429}}))
        with pytest.raises(EndpointError) as caught:
            ask(model)
        assert (caught.value.status_code, caught.value.detail.count("slow down")) == (429, 1)


class TestFailures:
    @pytest.mark.parametrize(
        ("status", "code", "hint"),
        [
            (401, "invalid_api_key", "api_key="),
            (403, None, "api_key="),
            (404, "model_not_found", "base_url="),
            (429, "insufficient_quota", "quota"),
            (400, None, "detail"),
            (500, None, "detail"),
        ],
    )
    def test_a_refusal_says_what_to_do_and_neither_prompt_nor_key(
        self,
        server: OpenAIServer,
        model: OpenAIChatModel,
        way: str,
        caplog: pytest.LogCaptureFixture,
        status: int,
        code: str | None,
        hint: str,
    ) -> None:
        caplog.set_level(logging.INFO)
        server.script(refusal(f"'a secret prompt' was sent with {KEY}", status=status, code=code))
        with pytest.raises(EndpointError, match=f"HTTP {status}") as caught:
            ask(model, way)
        error = caught.value
        assert (error.status_code, error.code) == (status, code)
        assert hint in str(error)
        assert "a secret prompt" in error.detail
        chain = f"{error!r} {error.__cause__!r} {error.__context__!r} {caplog.text} {model!r} {model._endpoint!r}"
        assert "secret" not in chain
        assert KEY not in error.detail
        assert len(server.requests) == 1
        again = pickle.loads(pickle.dumps(error))
        assert (str(again), again.status_code) == (str(error), status)

    def test_a_code_that_is_no_plain_word_is_not_repeated(self, server: OpenAIServer, model: OpenAIChatModel) -> None:
        for code in ("a secret prompt", KEY, "x" * 61):
            server.script(refusal("no", code=code))
            with pytest.raises(EndpointError) as caught:
                ask(model)
            assert caught.value.code is None

    def test_the_wait_that_was_asked_for_is_kept(self, server: OpenAIServer, model: OpenAIChatModel) -> None:
        server.script(Answer(status=429, body={}, headers={"Retry-After": "7"}))
        with pytest.raises(EndpointError) as caught:
            ask(model)
        assert caught.value.retry_after_s == 7.0

    def test_silence_is_a_timeout(self, server: OpenAIServer, way: str) -> None:
        model = OpenAIChatModel("m", base_url=server.url, timeout_s=0.1)
        server.script(Answer(delay_s=5))
        started = time.monotonic()
        with pytest.raises(TimeoutError, match=r"127\.0\.0\.1") as caught:
            ask(model, way)
        assert time.monotonic() - started < 3
        assert caught.value.__cause__ is caught.value.__context__ is None
        model.close()

    def test_a_connection_that_is_cut_is_a_connection_error(
        self, server: OpenAIServer, model: OpenAIChatModel, way: str
    ) -> None:
        server.script(Answer("x" * 10_000, cut=True))
        with pytest.raises(ConnectionError, match=r"127\.0\.0\.1") as caught:
            ask(model, way)
        assert caught.value.__cause__ is caught.value.__context__ is None
        assert ask(model, way).text == "ok"

    def test_nobody_there_is_a_connection_error(self, way: str) -> None:
        with OpenAIServer() as server:
            url = server.url
        model = OpenAIChatModel("m", base_url=url)
        with pytest.raises(ConnectionError):
            ask(model, way)
        model.close()

    def test_a_server_that_was_started_again_is_asked_again(self, model: OpenAIChatModel, server: OpenAIServer) -> None:
        assert ask(model).text == "ok"
        server.drop_connections()
        assert ask(model).text == "ok"

    def test_without_the_sdk_the_error_holds_the_pip_command(self, tmp_path: Path) -> None:
        code = """
import sys
class Blocked:
    def find_spec(self, name, path=None, target=None):
        if name == "openai":
            raise ModuleNotFoundError(name, name=name)
sys.meta_path.insert(0, Blocked())
import asyncio
from memreader import OpenAIChatModel, OpenAIEmbedder
model = OpenAIChatModel("m", base_url="http://127.0.0.1:1/v1")
asked = [{"role": "user", "content": "hi"}]
for ask in (lambda: model.complete(asked), lambda: asyncio.run(model.acomplete(asked)),
            lambda: OpenAIEmbedder("m", base_url="http://127.0.0.1:1/v1").embed(["x"])):
    try:
        ask()
    except ImportError as error:
        print(type(error).__name__, error)
"""
        done = run_offline("-W", "error", "-c", code, cwd=tmp_path)
        assert done.returncode == 0, complaint(done)
        said = f"MissingExtraError {MissingExtraError(package='openai', extra='openai')}"
        assert done.stdout.splitlines() == [said] * 3

    def test_the_sdk_is_not_imported_before_a_call(self, tmp_path: Path) -> None:
        code = """
import sys
from memreader import OpenAIChatModel, OpenAIEmbedder
OpenAIChatModel("m", base_url="http://127.0.0.1:1/v1"), OpenAIEmbedder("m", base_url="http://127.0.0.1:1/v1")
print("openai" in sys.modules, "tenacity" in sys.modules)
"""
        done = run_offline("-c", code, cwd=tmp_path)
        assert done.stdout.split() == ["False", "False"], complaint(done)


class TestConnections:
    def test_connections_are_kept_between_calls(self, server: OpenAIServer, model: OpenAIChatModel) -> None:
        for _ in range(3):
            ask(model)
        assert server.connections == 1

        async def go() -> None:
            for _ in range(3):
                await model.acomplete(ASKED)

        asyncio.run(go())
        assert server.connections == 2

    def test_every_event_loop_gets_connections_of_its_own(self, server: OpenAIServer, model: OpenAIChatModel) -> None:
        for _ in range(3):
            assert ask(model, "async").text == "ok"
        assert server.connections == 3

    def test_event_loops_in_several_threads_are_served_at_once(self, model: OpenAIChatModel) -> None:
        with ThreadPoolExecutor(4) as pool:
            replies = list(pool.map(lambda _: ask(model, "async"), range(12)))
        assert [reply.text for reply in replies] == ["ok"] * 12

    def test_calls_on_one_loop_go_out_at_once(self, server: OpenAIServer, model: OpenAIChatModel) -> None:
        server.reply = lambda request: Answer("ok", delay_s=0.2)

        async def go() -> None:
            await asyncio.gather(*(model.acomplete(ASKED) for _ in range(6)))

        asyncio.run(go())
        assert server.most_at_once == 6

    def test_closed_connections_are_made_again(self, server: OpenAIServer, model: OpenAIChatModel) -> None:
        ask(model)
        model.close()
        model.close()
        assert ask(model).text == "ok"

        async def go() -> None:
            await model.acomplete(ASKED)
            await model.aclose()
            await model.aclose()
            await model.acomplete(ASKED)

        asyncio.run(go())
        assert server.connections == 4

    def test_an_event_loop_that_ends_takes_its_connections_with_it(
        self, server: OpenAIServer, model: OpenAIChatModel
    ) -> None:
        ask(model, "async")
        assert server.wait_until_unused(5)

    def test_a_model_that_goes_takes_its_connections_with_it(self, server: OpenAIServer) -> None:
        async def go() -> None:
            model = OpenAIChatModel("m", base_url=server.url)
            await model.acomplete(ASKED)
            model.complete(ASKED)
            del model
            gc.collect()
            await asyncio.sleep(0.1)

        with warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always", ResourceWarning)
            asyncio.run(go())
            gc.collect()
        assert [str(warning.message) for warning in warned] == []
        assert server.wait_until_unused(5)

    def test_a_call_that_is_cancelled_leaves_the_others_alone(
        self, server: OpenAIServer, model: OpenAIChatModel
    ) -> None:
        server.reply = lambda request: Answer("ok", delay_s=0.3)

        async def go() -> list[Any]:
            tasks = [asyncio.create_task(model.acomplete(ASKED)) for _ in range(3)]
            await asyncio.sleep(0.15)
            tasks[1].cancel()
            return list(await asyncio.gather(*tasks, return_exceptions=True))

        first, second, third = asyncio.run(go())
        assert first.text == third.text == "ok"
        assert isinstance(second, asyncio.CancelledError)

    @pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
    @pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
    def test_a_forked_child_makes_connections_of_its_own(self, server: OpenAIServer, model: OpenAIChatModel) -> None:
        ask(model)
        child = os.fork()
        if child == 0:
            try:
                code = 0 if ask(model).text == "ok" else 1
            finally:
                os._exit(code)
        assert os.waitpid(child, 0)[1] == 0
        assert ask(model).text == "ok"
        assert server.connections == 2


def test_a_long_answer_comes_whole(server: OpenAIServer, model: OpenAIChatModel) -> None:
    text = "天气 <b>" * 50_000
    server.script(Answer(text))
    assert ask(model).text == text
    assert json.dumps(server.chats[0]["messages"]) == json.dumps(ASKED)
