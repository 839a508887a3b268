"""Content parts: words, pictures, files and recordings."""

from __future__ import annotations

import base64
from typing import Any

import pytest

from memreader.errors import InputError
from memreader.normalize import normalize
from memreader.types import Conversation, Part
from message_parts import PDF, PDF64, PDF_URI, PNG, PNG64, PNG_URI, assert_free_of_base64, message, only, sha


@pytest.mark.parametrize("kind", ["text", "input_text", "output_text"])
def test_text_parts_are_words(kind: str) -> None:
    one = message([{"type": kind, "text": "one"}, "two", {"type": kind, "text": "three"}])
    assert one.content == "one\ntwo\nthree"
    assert [part.text for part in one.parts] == ["one", "two", "three"]
    assert one.flags == frozenset()


def test_one_part_needs_no_list_and_text_may_be_wrapped() -> None:
    assert message({"type": "text", "text": "hi"}).content == "hi"
    assert message([{"type": "text", "text": {"value": "hi", "annotations": []}}]).content == "hi"


@pytest.mark.parametrize(
    "part",
    [
        {"type": "image_url", "image_url": "https://example.com/a.png"},
        {"type": "image_url", "image_url": {"url": "https://example.com/a.png", "detail": "low"}},
        {"type": "input_image", "image_url": "https://example.com/a.png"},
        {"type": "image", "source": {"type": "url", "url": "https://example.com/a.png"}},
        {"type": "image", "url": "https://example.com/a.png"},
    ],
)
def test_a_picture_by_address_is_a_reference(part: dict[str, Any]) -> None:
    one = message([part])
    assert one.flags == {"media_only"}
    assert one.content == ""
    assert one.parts == (Part("image", reference="https://example.com/a.png"),)


@pytest.mark.parametrize(
    "part",
    [
        {"type": "image_url", "image_url": PNG_URI},
        {"type": "image_url", "image_url": {"url": PNG_URI}},
        {"type": "input_image", "image_url": PNG_URI},
        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PNG64}},
        {"type": "image", "data": PNG64, "mime_type": "image/png"},
        {"inline_data": {"mime_type": "image/png", "data": PNG64}},
    ],
)
def test_a_picture_in_base64_is_decoded_and_named_by_its_digest(part: dict[str, Any]) -> None:
    one = message([part, {"type": "text", "text": "my cat"}])
    picture = one.parts[0]
    assert (picture.kind, picture.data, picture.reference, picture.media_type) == ("image", PNG, sha(PNG), "image/png")
    assert one.content == "my cat"
    assert one.raw is not None
    assert sha(PNG) in one.raw
    assert_free_of_base64(one)


@pytest.mark.parametrize(
    "part",
    [
        {"type": "image_url", "image_url": {"url": "https://example.com/a.png"}, "caption": "a cat"},
        {"type": "image_url", "image_url": {"url": "https://example.com/a.png", "alt": "a cat"}},
        {"type": "image", "source": {"type": "url", "url": "https://example.com/a.png"}, "alt_text": "a cat"},
    ],
)
def test_a_caption_counts_as_words(part: dict[str, Any]) -> None:
    one = message([{"type": "text", "text": "look"}, part])
    assert one.content == "look\n[shared image: a cat]"
    assert message([part]).is_readable


def test_a_file_part_keeps_bytes_and_name_and_says_nothing() -> None:
    one = message([{"type": "file", "file": {"filename": "report.pdf", "file_data": PDF_URI}}])
    (part,) = one.parts
    assert (part.kind, part.name, part.data, part.media_type) == ("file", "report.pdf", PDF, "application/pdf")
    assert one.flags == {"media_only"}
    assert "report" not in one.content
    assert_free_of_base64(one)


def file(**body: Any) -> dict[str, Any]:
    return {"type": "file", "file": body}


def document(title: str, kind: str, **source: Any) -> dict[str, Any]:
    return {"type": "document", "title": title, "source": {"type": kind, **source}}


@pytest.mark.parametrize(
    ("part", "data"),
    [
        (file(filename="a.pdf", file_data=PDF_URI), PDF),
        (file(filename="a.pdf", file_data=PDF64), PDF),
        (file(filename="a.pdf", file_data=PDF), PDF),
        ({"type": "input_file", "filename": "a.pdf", "file_data": PDF_URI}, PDF),
        (file(filename="a.txt", file_data="plain words, naïve"), "plain words, naïve".encode()),
        (file(filename="a.txt", file_data="internationalization"), b"internationalization"),
        (file(filename="a.txt", file_data="data:text/plain,a%20b"), b"a b"),
        (file(filename="a.txt", file_data=base64.b64encode(b"some words").decode()), b"some words"),
        (document("a.pdf", "base64", media_type="application/pdf", data=PDF64), PDF),
        (document("a.txt", "text", media_type="text/plain", data="words"), b"words"),
        (document("a.txt", "content", content=[{"type": "text", "text": "w"}]), b"w"),
    ],
)
def test_the_bytes_of_a_file_come_in_many_shapes(part: dict[str, Any], data: bytes) -> None:
    one = only(part)
    assert (one.kind, one.data, one.reference) == ("file", data, sha(data))
    assert (one.name or "").startswith("a.")


@pytest.mark.parametrize(
    ("part", "reference"),
    [
        (file(file_id="file-1"), "file-1"),
        ({"type": "input_file", "file_url": "https://example.com/a.pdf"}, "https://example.com/a.pdf"),
        (file(file_data="https://example.com/a.pdf"), "https://example.com/a.pdf"),
        (file(file_data="/etc/secret.txt"), "/etc/secret.txt"),
        (file(filename="a.pdf"), "a.pdf"),
        (document("a.pdf", "url", url="https://example.com/a.pdf"), "https://example.com/a.pdf"),
        ({"file_data": {"file_uri": "gs://bucket/a.pdf", "mime_type": "application/pdf"}}, "gs://bucket/a.pdf"),
    ],
)
def test_a_file_without_bytes_is_a_reference_that_nobody_opens(part: dict[str, Any], reference: str) -> None:
    one = only(part)
    assert (one.kind, one.data, one.reference) == ("file", None, reference)


@pytest.mark.parametrize(
    "part",
    [
        {"type": "image_url", "image_url": "data:image/png;base64,@@@"},
        {"type": "image_url", "image_url": {}},
        {"type": "image_url"},
        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "a"}},
        {"type": "image", "source": "x"},
        {"type": "input_audio", "input_audio": {"data": "!!", "format": "wav"}},
        {"type": "file", "file": "a.pdf"},
        {"type": "file", "file": {}},
        {"type": "file", "file": {"file_data": "data:application/pdf;base64,@@"}},
        {"type": "file", "file": {"file_data": 3}},
        {"type": "text", "text": 3},
        {"type": "text"},
        {"type": "hologram", "text": "hi"},
        {"x": 1},
        3,
        [],
    ],
)
def test_an_unreadable_part_names_the_messages_position(part: Any) -> None:
    with pytest.raises(InputError) as caught:
        normalize([[], [{"role": "user", "content": ["hi", part]}]])
    assert caught.value.locator == "[1][0]"


def test_an_unknown_type_of_part_lists_the_known_ones() -> None:
    with pytest.raises(InputError, match=r"'hologram'; known are .*image_url"):
        message([{"type": "hologram"}])


def test_an_error_never_quotes_the_message() -> None:
    with pytest.raises(InputError) as caught:
        message(["the secret", {"type": "hologram", "text": "the secret"}])
    assert "secret" not in str(caught.value)


def test_a_recording_is_kept_and_its_transcript_is_words() -> None:
    one = message([{"type": "input_audio", "input_audio": {"data": PDF64, "format": "wav"}}])
    assert (one.parts[0].kind, one.parts[0].data, one.parts[0].media_type) == ("audio", PDF, "audio/wav")
    assert one.flags == {"media_only"}
    said = message(None, role="assistant", audio={"id": "audio_1", "transcript": "hello there"})
    assert (said.content, said.parts[0].reference) == ("hello there", "audio_1")


def test_a_refusal_is_what_the_assistant_said() -> None:
    assert only({"type": "refusal", "refusal": "I can't."}, role="assistant") == Part("refusal", "I can't.")
    assert message(None, role="assistant", refusal="I can't.").content == "I can't."


@pytest.mark.parametrize(
    ("text", "content"),
    [
        (f"look ![a cat]({PNG_URI}) here", "look [shared image: a cat] here"),
        (f"look {PNG_URI} here", "look  here"),
        (f'<img src="{PNG_URI}">', '<img src="">'),
        (f"![]({PNG_URI})", ""),
    ],
)
def test_base64_inside_words_is_taken_out(text: str, content: str) -> None:
    one = message(text)
    assert one.content == content
    assert one.parts[-1].data == PNG
    assert_free_of_base64(one)


def test_even_a_few_bytes_of_base64_stay_out_of_raw() -> None:
    one = message([{"type": "input_audio", "input_audio": {"data": "AAECAw==", "format": "wav"}}])
    assert one.parts[0].data == b"\x00\x01\x02\x03"
    assert one.raw is not None
    assert "AAECAw" not in one.raw


def test_base64_in_keys_that_nobody_reads_stays_out_of_raw() -> None:
    one = message("hi", images=[PNG64], preview={"url": PNG_URI, "data": PDF})
    assert_free_of_base64(one)
    assert one.raw is not None
    assert one.raw.count("sha256:") == 3


def test_base64_in_a_tools_arguments_and_answer_is_taken_out() -> None:
    call = {"id": "c", "function": {"name": "show", "arguments": f'{{"image": "{PNG_URI}"}}'}}
    for one in (message(None, role="assistant", tool_calls=[call]), message(f"done {PNG_URI}", role="tool")):
        assert_free_of_base64(one)
        assert PNG64[:24] not in (one.parts[0].call or "")


def test_parts_keep_their_order() -> None:
    one = message(
        [
            {"type": "text", "text": "a"},
            {"type": "image_url", "image_url": "https://example.com/a.png"},
            {"type": "file", "file": {"file_id": "f"}},
            {"type": "text", "text": "b"},
        ],
        message_id="m1",
        name="Ann",
    )
    assert [part.kind for part in one.parts] == ["text", "image", "file", "text"]
    assert (one.content, one.message_id, one.name) == ("a\nb", "m1", "Ann")


def test_bare_parts_in_a_row_are_one_message() -> None:
    data = ["hi", {"type": "text", "text": "see"}, {"type": "image_url", "image_url": "https://example.com/a.png"}]
    (chat,) = normalize(data)
    assert isinstance(chat, Conversation)
    assert [(m.content, [p.kind for p in m.parts], m.locator) for m in chat.messages] == [
        ("hi", [], "[0]"),
        ("see", ["text", "image"], "[1]"),
    ]
