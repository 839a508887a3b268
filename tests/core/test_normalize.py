"""What normalize accepts, and how it sorts it."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from memreader.errors import InputError
from memreader.items import TextualMemoryItem
from memreader.normalize import normalize
from memreader.types import Conversation, Document, FileInput, Message

NOW = datetime(2024, 2, 3, 4, 5, 6, tzinfo=UTC)
HI = {"role": "user", "content": "hi"}
HELLO = {"role": "assistant", "content": "hello"}
ITEM = {"memory": "Ana lives in Lisbon."}


def conversations(data: Any, **options: Any) -> list[Conversation]:
    inputs = normalize(data, now=NOW, **options)
    assert all(isinstance(each, Conversation) for each in inputs)
    return inputs  # type: ignore[return-value]


def words(conversation: Conversation) -> list[tuple[str, str]]:
    return [(message.role, message.content) for message in conversation.messages]


def kinds(data: Any, **options: Any) -> list[str]:
    return [type(each).__name__ for each in normalize(data, now=NOW, **options)]


def test_a_string_is_one_user_message() -> None:
    (chat,) = conversations("I like tea")
    assert words(chat) == [("user", "I like tea")]
    assert chat.messages[0].raw is None
    assert chat.messages[0].parts == ()


def test_a_list_of_strings_is_one_conversation() -> None:
    (chat,) = conversations(["one", "two"], type="chat")
    assert words(chat) == [("user", "one"), ("user", "two")]
    assert [message.locator for message in chat.messages] == ["[0]", "[1]"]


def test_a_flat_list_of_messages_is_one_conversation() -> None:
    (chat,) = conversations([HI, HELLO])
    assert words(chat) == [("user", "hi"), ("assistant", "hello")]
    assert [message.index for message in chat.messages] == [0, 1]


def test_a_single_message_needs_no_list() -> None:
    (chat,) = conversations(HI)
    assert words(chat) == [("user", "hi")]


def test_inner_lists_are_conversations_in_input_order_and_numbered_each() -> None:
    first, empty, second = conversations([[HI, HELLO], [], [HELLO]])
    assert words(first) == [("user", "hi"), ("assistant", "hello")]
    assert empty.messages == ()
    assert [(m.index, m.locator) for m in second.messages] == [(0, "[2][0]")]
    assert [c.locator for c in (first, empty, second)] == ["[0]", "[1]", "[2]"]


def test_a_tuple_is_a_list() -> None:
    assert words(conversations((HI, HELLO))[0]) == words(conversations([HI, HELLO])[0])


def test_nothing_in_gives_nothing() -> None:
    assert normalize([]) == []


def test_a_path_is_a_file_that_nobody_opens(tmp_path: Path) -> None:
    missing = tmp_path / "missing.pdf"
    assert normalize(missing) == [FileInput("missing.pdf", path=missing)]
    assert [f.locator for f in normalize([missing, missing])] == ["[0]", "[1]"]  # type: ignore[union-attr]


def test_a_mixture_keeps_its_order_and_only_neighbours_form_a_conversation() -> None:
    data = [HI, "and bye", Path("a.pdf"), HELLO, ITEM, [HELLO, Path("b.md"), HI], "last"]
    inputs = normalize(data, now=NOW)
    assert [type(each).__name__ for each in inputs] == [
        "Conversation", "FileInput", "Conversation", "TextualMemoryItem", "Conversation", "FileInput", "Conversation",
        "Conversation",
    ]  # fmt: skip
    first = inputs[0]
    assert isinstance(first, Conversation)
    assert words(first) == [("user", "hi"), ("user", "and bye")]
    last = inputs[-1]
    assert isinstance(last, Conversation)
    assert last.locator == "[6]"


def test_values_of_ours_pass_through() -> None:
    item = TextualMemoryItem(memory="Ana lives in Lisbon.")
    chat = Conversation((Message("user", "hi"),))
    text = Document("words", "a.md", "00")
    file = FileInput("a.md", data=b"words")
    inputs = normalize([item, chat, text, file])
    assert inputs[0] == item
    assert isinstance(inputs[1], Conversation)
    assert [message.content for message in inputs[1].messages] == ["hi"]
    assert inputs[2] == text
    assert inputs[3] is file


def test_an_item_of_ours_is_kept_under_the_id_its_owner_sees() -> None:
    item = TextualMemoryItem(memory="Ana lives in Lisbon.")
    (kept,) = normalize(item)
    assert isinstance(kept, TextualMemoryItem)
    assert kept.id == item.id
    assert "id" in kept.model_fields_set
    assert "id" not in item.model_fields_set


def test_a_message_of_ours_is_numbered_cleaned_and_dated_with_its_neighbours() -> None:
    own = Message("participant", "a\x00b", 7, name="Ann", chat_time="2023-05-08T10:00:00", time_given=False)
    (chat,) = conversations([own, HI])
    assert [(m.index, m.content, m.chat_time, m.time_given) for m in chat.messages] == [
        (0, "ab", "2023-05-08T10:00:00", False),
        (1, "hi", "2023-05-08T10:00:00", False),
    ]


def test_an_inferred_time_of_a_message_of_ours_is_nobodys_word() -> None:
    own = Message("user", "hi", chat_time="2020-01-01", time_inferred=True)
    (chat,) = conversations([own, {**HI, "time": "2023-05-08"}])
    assert [(m.chat_time, m.time_inferred, m.time_given) for m in chat.messages] == [
        ("2023-05-08", False, False),
        ("2023-05-08", False, True),
    ]


def test_a_dict_with_memory_is_a_validated_item() -> None:
    (item,) = normalize({"memory": "Ana\x00 lives in Lisbon.", "metadata": {"tags": ["home"]}})
    assert isinstance(item, TextualMemoryItem)
    assert item.memory == "Ana lives in Lisbon."
    assert item.metadata.tags == ["home"]


def test_an_invalid_item_names_the_position_and_the_field_but_not_the_words() -> None:
    with pytest.raises(InputError) as caught:
        normalize([HI, {"memory": "the secret", "metadata": {"confidence": 7, "status": "gone"}}])
    assert caught.value.locator == "[1]"
    assert "metadata.confidence" in str(caught.value)
    assert "metadata.status" in str(caught.value)
    error: BaseException | None = caught.value
    while error is not None:
        assert "secret" not in str(error)
        error = error.__cause__ or error.__context__


def test_a_conversation_dict_carries_metadata_and_tags() -> None:
    given = {"messages": [HI, HELLO], "channel": "#dev", "custom_tags": ["work"], "tags": ["work", "x"]}
    (chat,) = conversations(given)
    assert words(chat) == [("user", "hi"), ("assistant", "hello")]
    assert chat.metadata == {"channel": "#dev"}
    assert set(chat.tags) == {"work", "x"}
    assert chat.messages[1].locator == ".messages[1]"


def test_conversation_dicts_in_a_list_are_conversations_of_their_own() -> None:
    first, second = conversations([{"messages": [HI], "n": 1}, {"messages": [], "n": 2}])
    assert (first.metadata, second.metadata) == ({"n": 1}, {"n": 2})
    assert first.messages[0].locator == "[0].messages[0]"
    assert second.messages == ()


def test_metadata_shares_nothing_with_the_callers_dict() -> None:
    given: dict[str, Any] = {"messages": [HI], "labels": ["a"]}
    (chat,) = conversations(given)
    given["labels"].append("b")
    assert chat.metadata == {"labels": ["a"]}


def test_metadata_and_tags_reach_files_inside_the_conversation() -> None:
    (file,) = normalize({"messages": [Path("a.pdf")], "channel": "#dev", "tags": "work", "chat_time": "2023-05-08"})
    assert isinstance(file, FileInput)
    assert (file.metadata["channel"], file.tags, file.doc_time) == ("#dev", ("work",), "2023-05-08")


@pytest.mark.parametrize(
    ("data", "locator"),
    [
        ([[HI], [HI, HELLO, HI, 3]], "[1][3]"),
        ([HI, None], "[1]"),
        ([{"content": "no role"}], "[0]"),
        ([[HI, [HI]]], "[0][1]"),
        ([{"messages": "hi"}], "[0]"),
        ([{"messages": [HI, {"x": 1}]}], "[0].messages[1]"),
        ([{"messages": [HI], "tags": 3}], "[0]"),
        ([HI, {"role": "wizard", "content": "hi"}], "[1]"),
        ([HI, {"role": 3, "content": "hi"}], "[1]"),
        ([HI, {"role": "user"}], "[1]"),
        ([HI, {"role": "user", "content": 3}], "[1]"),
        ([HI, {"role": "user", "content": "hi", "chat_time": "yesterday"}], "[1]"),
        ([HI, {"role": "user", "content": "hi", "id": []}], "[1]"),
        ([b"bytes"], "[0]"),
        ([Path()], "[0]"),
        ([[HI, {1, 2}]], "[0][1]"),
    ],
)
def test_what_cant_be_read_names_its_position(data: Any, locator: str) -> None:
    with pytest.raises(InputError) as caught:
        normalize(data)
    assert caught.value.locator == locator
    assert locator in str(caught.value)


@pytest.mark.parametrize("data", [None, 3, b"bytes", {"x": 1}, {1, 2}, object()])
def test_what_is_no_input_at_all_is_an_error(data: Any) -> None:
    with pytest.raises(InputError):
        normalize(data)


def test_an_error_says_what_to_pass_instead() -> None:
    model = TextualMemoryItem(memory="x").metadata
    for data, hint in ((b"x", "FileInput"), (model, "from_langchain"), (iter([HI]), "a list")):
        with pytest.raises(InputError, match=hint):
            normalize(data)


def test_an_unknown_type_is_a_value_error() -> None:
    with pytest.raises(ValueError, match="poem"):
        normalize("hi", type="poem")  # type: ignore[arg-type]


def test_an_unknown_role_lists_the_known_ones() -> None:
    with pytest.raises(InputError, match=r"'wizard'.*assistant.*participant.*user"):
        normalize([{"role": "wizard", "content": "hi"}])


def test_a_structure_that_holds_itself_is_an_error() -> None:
    loop: dict[str, Any] = {"role": "user", "content": "hi"}
    loop["self"] = loop
    with pytest.raises(InputError, match="nested"):
        normalize([loop])


def test_messages_say_themselves_what_they_are_even_as_documents() -> None:
    assert kinds([HI, Path("a.pdf"), ITEM, "words of a document"], type="doc") == [
        "Conversation", "FileInput", "TextualMemoryItem", "Document",
    ]  # fmt: skip


def test_type_may_be_left_out_for_messages() -> None:
    assert normalize([HI], now=NOW) == normalize([HI], now=NOW, type="chat")
