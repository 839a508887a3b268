"""What an endpoint takes beside the messages is found out by being refused, and remembered; over HTTP."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest

from memreader import OpenAIChatModel
from memreader.models import EndpointError
from memreader.models.habits import is_strict
from memreader.ports import Reply, Usage
from openai_server import Answer, OpenAIServer, refusal

ASKED = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "What colour is the sky?"}]
STRICT = {
    "title": "a colour!",
    "type": "object",
    "properties": {"colour": {"type": "string"}},
    "required": ["colour"],
    "additionalProperties": False,
}


@pytest.fixture
def server() -> Iterator[OpenAIServer]:
    with OpenAIServer() as server:
        yield server


@pytest.fixture
def model(server: OpenAIServer) -> Iterator[OpenAIChatModel]:
    model = OpenAIChatModel("m", base_url=server.url)
    yield model
    model.close()


@pytest.fixture(params=["sync", "async"])
def way(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def ask(model: OpenAIChatModel, way: str = "sync", **kwargs: Any) -> Reply:
    if way == "async":
        return asyncio.run(model.acomplete(ASKED, **kwargs))
    return model.complete(ASKED, **kwargs)


class TestFormats:
    def sent(self, server: OpenAIServer) -> list[Any]:
        return [body.get("response_format", {}).get("type", "text") for body in server.chats]

    def test_a_schema_is_asked_for_strictly_where_it_allows(self, server: OpenAIServer, model: OpenAIChatModel) -> None:
        ask(model, schema=STRICT)
        loose = {"type": "object", "properties": {"colour": {"type": "string"}}}
        ask(model, schema=loose)
        formats = [body["response_format"]["json_schema"] for body in server.chats]
        assert formats == [
            {"name": "a_colour", "schema": STRICT, "strict": True},
            {"name": "answer", "schema": loose, "strict": False},
        ]

    def test_without_a_schema_no_format_is_asked_for(self, server: OpenAIServer, model: OpenAIChatModel) -> None:
        ask(model)
        assert self.sent(server) == ["text"]

    @pytest.mark.parametrize(
        "no",
        [
            refusal("Invalid parameter: 'response_format' of type 'json_schema' is not supported", code="unsupported"),
            refusal("Unknown", param="response_format.type"),
            refusal("json_schema is not available", status=422),
            Answer(status=422, body={"detail": [{"loc": ["body", "response_format"], "msg": "Extra inputs"}]}),
            Answer(status=400, body=b"structured output is off"),
            Answer(status=400, body={"object": "error", "message": "Failed to compile the grammar", "code": 400}),
        ],
    )
    def test_a_refused_schema_becomes_any_object_then_plain_text_and_that_is_remembered(
        self, server: OpenAIServer, model: OpenAIChatModel, way: str, no: Answer
    ) -> None:
        server.script(no, no, Answer("plain"))
        assert ask(model, way, schema=STRICT) == Reply("plain", Usage(3, 7, 3))
        ask(model, way, schema=STRICT)
        assert self.sent(server) == ["json_schema", "json_object", "text", "text"]

    def test_any_object_is_remembered_too(self, server: OpenAIServer, model: OpenAIChatModel) -> None:
        server.script(refusal("json_schema is unknown"))
        ask(model, schema=STRICT)
        ask(model, schema=STRICT)
        assert self.sent(server) == ["json_schema", "json_object", "json_object"]

    def test_another_model_object_finds_out_by_itself(self, server: OpenAIServer, model: OpenAIChatModel) -> None:
        server.script(refusal("json_schema is unknown"))
        ask(model, schema=STRICT)
        other = OpenAIChatModel("m", base_url=server.url)
        ask(other, schema=STRICT)
        assert self.sent(server)[-1] == "json_schema"
        other.close()

    def test_nothing_is_learned_from_refusals_that_go_on(self, server: OpenAIServer, model: OpenAIChatModel) -> None:
        quoting = refusal("your prompt says 'response_format', and that is too rude")
        server.script(*[quoting] * 3)
        with pytest.raises(EndpointError):
            ask(model, schema=STRICT)
        ask(model, schema=STRICT)
        assert self.sent(server) == ["json_schema", "json_object", "text", "json_schema"]

    @pytest.mark.parametrize(
        "no",
        [
            refusal("context length exceeded", code="context_length_exceeded"),
            refusal("response_format", status=401),
            refusal("response_format", status=404),
        ],
    )
    def test_other_refusals_pass(self, server: OpenAIServer, model: OpenAIChatModel, no: Answer) -> None:
        server.script(no)
        with pytest.raises(EndpointError):
            ask(model, schema=STRICT)
        assert len(server.requests) == 1

    def test_a_failure_on_the_way_down_passes_and_nothing_is_remembered(
        self, server: OpenAIServer, model: OpenAIChatModel
    ) -> None:
        server.script(refusal("json_schema is unknown"), refusal("down", status=503))
        with pytest.raises(EndpointError, match="503"):
            ask(model, schema=STRICT)
        ask(model, schema=STRICT)
        assert self.sent(server)[-1] == "json_schema"

    @pytest.mark.parametrize(
        "part",
        [
            {"type": "object", "properties": {"a": {"type": "string"}}, "additionalProperties": False},
            {"type": "object"},
            {"type": ["object", "null"]},
            {"properties": {}},
            {"type": "string", "pattern": "a+"},
            {"oneOf": [{"type": "string"}]},
            {"anyOf": [{"type": "string"}, {"type": "object"}]},
            {"type": "array", "items": {"type": "object"}},
        ],
    )
    def test_a_schema_with_a_part_that_strictness_forbids_is_not_strict(self, part: dict[str, Any]) -> None:
        def around(inner: dict[str, Any], **more: Any) -> dict[str, Any]:
            fields = {"type": "object", "properties": {"x": inner}, "required": ["x"], "additionalProperties": False}
            return fields | more

        fine = {"type": "array", "items": around({"anyOf": [{"type": "integer"}, {"enum": ["a"]}]})}
        assert is_strict(around(fine))
        assert not is_strict(around(part))
        assert not is_strict(around({"type": "array", "items": around(part)}))
        assert not is_strict(around({"$ref": "#/$defs/p"}, **{"$defs": {"p": part}}))

    def test_a_list_at_the_top_is_not_strict(self) -> None:
        assert not is_strict({"type": "array", "items": {"type": "string"}})


class TestOtherWishes:
    def test_a_refused_temperature_is_left_out_and_that_is_remembered(
        self, server: OpenAIServer, model: OpenAIChatModel, way: str
    ) -> None:
        server.script(refusal("'temperature' does not support 0 with this model", param="temperature"))
        assert ask(model, way).usage.calls == 2
        ask(model, way)
        assert ["temperature" in body for body in server.chats] == [True, False, False]

    def test_a_limit_goes_by_its_other_name_where_the_first_is_unknown(self, server: OpenAIServer) -> None:
        model = OpenAIChatModel("m", base_url=server.url, max_output_tokens=50, temperature=None)
        server.script(
            refusal("'max_tokens' is not supported. Use 'max_completion_tokens' instead.", param="max_tokens")
        )
        ask(model)
        ask(model)
        limits = [{k: v for k, v in body.items() if k.startswith("max")} for body in server.chats]
        assert limits == [{"max_tokens": 50}, {"max_completion_tokens": 50}, {"max_completion_tokens": 50}]
        model.close()

    def test_a_limit_that_both_names_are_refused_for_is_left_out(self, server: OpenAIServer) -> None:
        model = OpenAIChatModel("m", base_url=server.url, max_output_tokens=50)
        server.script(refusal("unknown field max_tokens"), refusal("unknown field max_completion_tokens"))
        assert ask(model).usage.calls == 3
        assert not {"max_tokens", "max_completion_tokens"} & server.chats[-1].keys()
        model.close()

    def test_a_limit_that_is_too_high_is_the_callers_to_lower(self, server: OpenAIServer) -> None:
        model = OpenAIChatModel("m", base_url=server.url, max_output_tokens=50)
        server.script(refusal("'max_tokens' is too large: 50. This model supports at most 40", param="max_tokens"))
        with pytest.raises(EndpointError):
            ask(model)
        assert len(server.requests) == 1
        model.close()

    def test_several_wishes_may_be_refused_one_after_the_other(self, server: OpenAIServer) -> None:
        model = OpenAIChatModel("m", base_url=server.url, max_output_tokens=50)
        server.script(
            refusal("Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead."),
            refusal("temperature is deprecated for this model"),
            refusal("response_format json_schema unknown"),
            Answer("at last"),
        )
        assert ask(model, schema=STRICT).text == "at last"
        assert server.chats[-1].keys() == {"model", "messages", "max_completion_tokens", "response_format"}
        model.close()
