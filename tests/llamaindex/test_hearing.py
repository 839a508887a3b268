"""Which messages of a buffer are new, though LlamaIndex gives them no ids."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from llama_index.core.base.llms import types
from llama_index.core.base.llms.types import ChatMessage, ImageBlock, TextBlock

from llamaindex_memreader.hearing import SESSIONS, Heard
from llamaindex_memreader.turns import question_of, to_keep, without_repeated_question
from memreader.types import Scope

ANA = Scope("ana", "s")
TALK = st.lists(st.tuples(st.sampled_from(["user", "assistant"]), st.sampled_from(["yes", "no", "tea"])), max_size=25)


def said(*talk: tuple[str, str]) -> list[dict[str, Any]]:
    return [{"role": role, "content": words} for role, words in talk]


def ids(messages: Sequence[Any]) -> list[str]:
    return [message["message_id"] for message in messages]


@given(TALK, st.data())
def test_a_message_keeps_its_id_while_others_come_and_leave_and_no_two_have_the_same(rest: Any, data: Any) -> None:
    talk = [("user", "Good morning!"), *rest]
    heard, seen, first = Heard(), 0, 0
    found: dict[int, str] = {}
    while seen < len(talk):
        seen = data.draw(st.integers(seen + 1, len(talk)))
        for place, one in enumerate(ids(heard.identified(ANA, said(*talk[first:seen]))), start=first):
            assert found.setdefault(place, one) == one
        assert ids(heard.identified(ANA, said(*talk[:seen]))) == list(found.values()), "given the whole session"
        leaving = data.draw(st.integers(first, seen))
        gone = heard.identified(ANA, said(*talk[first:leaving]))
        assert ids(gone) == [found[place] for place in range(first, leaving)]
        heard.leave(ANA, gone)
        first = leaving
    assert len(set(found.values())) == len(talk)


@given(TALK, st.data())
def test_a_buffer_that_is_set_to_the_whole_session_again_and_again_gives_the_same_ids(rest: Any, data: Any) -> None:
    talk = [("user", "Good morning!"), *rest]
    heard, other = Heard(), Heard()
    for _ in range(3):
        seen = data.draw(st.integers(1, len(talk)))
        leaving = data.draw(st.integers(0, seen))
        assert heard.identified(ANA, said(*talk[:seen])) == other.identified(ANA, said(*talk[:seen]))
        gone = heard.identified(ANA, said(*talk[:leaving]))
        assert gone == other.identified(ANA, said(*talk[:leaving]))
        heard.leave(ANA, gone)
        assert heard.identified(ANA, said(*talk[:seen])) == other.identified(ANA, said(*talk[:seen]))


def test_the_whole_session_is_known_again_by_what_left_in_its_midst_since_the_process_began() -> None:
    talk = said(("user", "yes"), ("user", "tea"), ("assistant", "ok"), ("user", "tea"), ("user", "no"))
    heard = Heard()
    heard.leave(ANA, talk[1:3])
    assert heard.identified(ANA, talk) == Heard().identified(ANA, talk)


@given(TALK)
def test_another_process_gives_the_same_ids_and_another_session_others(talk: Any) -> None:
    here, there = Heard().identified(ANA, said(*talk)), Heard().identified(ANA, said(*talk))
    assert here == there
    assert not set(ids(here)) & set(ids(Heard().identified(Scope("ana", "t"), said(*talk))))


@given(TALK, TALK)
def test_what_is_kept_is_not_unheard_again(before: Any, after: Any) -> None:
    heard = Heard()
    heard.keep(ANA, heard.identified(ANA, said(*before)))
    whole = heard.identified(ANA, said(*before, *after))
    assert heard.unheard(ANA, whole) == whole[len(before) :]
    assert len(heard.unheard(Scope("bob", "s"), whole)) == len(whole)


def test_an_id_that_is_given_stays_and_names_parts_and_files_tell_messages_apart() -> None:
    told = [
        {"role": "user", "content": "yes", "message_id": "m1"},
        {"role": "user", "content": "yes", "name": "Ana"},
        {"role": "user", "content": [{"type": "image", "image": b"1"}]},
        {"role": "user", "content": [{"type": "image", "image": b"2"}]},
    ]
    found = ids(Heard().identified(ANA, told))
    assert found[0] == "m1"
    assert len(set(found)) == 4


def test_who_was_heard_in_a_session_is_known_and_old_sessions_are_forgotten() -> None:
    heard = Heard()
    for user in ("ana", "bob"):
        heard.identified(Scope(user, "s"), said(("user", "yes")))
    assert heard.users_of("s") == {"ana", "bob"}
    for number in range(SESSIONS):
        heard.identified(Scope("eva", str(number)), said(("user", "yes")))
    assert heard.users_of("s") == set()


def test_what_is_being_answered_is_a_users_last_message_until_something_follows_it() -> None:
    heard = Heard()
    talk = heard.identified(ANA, said(("user", "yes"), ("assistant", "ok"), ("user", "no")))
    for length, asked in ((1, [talk[0]["message_id"]]), (2, []), (3, [talk[2]["message_id"]]), (0, [])):
        heard.ask(ANA, talk[:length])
        assert heard.asked("ana", "s") == asked
        assert heard.asked("ana", "t") == heard.asked("bob", "s") == []


def test_the_question_is_the_last_of_the_user_that_has_words() -> None:
    talk = [
        ChatMessage("What is my boat called?", role="user"),
        ChatMessage("hm", role="assistant"),
        ChatMessage(role="user", blocks=[ImageBlock(image=b"aGk=")]),
        ChatMessage("  ", role="user"),
    ]
    assert question_of(talk) == "What is my boat called?"
    assert question_of([ChatMessage("You are a bot.", role="system")]) == ""


def test_what_is_kept_are_words_of_users_and_assistants_and_files_of_users() -> None:
    calls = {"tool_calls": [{"id": "1", "type": "function", "function": {"name": "f", "arguments": "{}"}}]}
    # Older versions have no such block.
    thoughts = [types.ThinkingBlock(content="hm")] if hasattr(types, "ThinkingBlock") else []
    talk = [
        ChatMessage("You are a bot.", role="system"),
        ChatMessage("hi", role="user", additional_kwargs={"name": "Ana", "session_id": "x"}),
        ChatMessage("", role="user"),
        ChatMessage(role="user", blocks=[ImageBlock(url="https://example.org/a.png")]),
        ChatMessage(role="assistant", additional_kwargs=calls),
        ChatMessage("It rains.", role="tool", additional_kwargs={"tool_call_id": "1"}),
        ChatMessage(role="assistant", blocks=[*thoughts, TextBlock(text="Take a coat.")]),
        ChatMessage("Bye.", role="chatbot", additional_kwargs=calls),
    ]
    kept = list(to_keep(talk))
    assert [(m["role"], m["content"]) for m in kept if isinstance(m["content"], str)] == [
        ("user", "hi"),
        ("assistant", "Take a coat."),
        ("assistant", "Bye."),
    ]
    assert kept[0] == {"role": "user", "content": "hi", "name": "Ana"}
    assert [part["type"] for part in kept[1]["content"]] == ["image"]
    assert not any("tool_calls" in message for message in kept)


def test_a_question_handed_over_beside_the_buffer_is_left_out_once() -> None:
    yes, no, ok = ("user", "yes"), ("user", "no"), ("assistant", "ok")
    for talk, left in (
        ([yes, yes], [yes]),
        ([yes, ok, yes], [yes, ok]),
        ([yes, ok, yes, ok], [yes, ok, yes, ok]),
        ([no, ok, yes], [no, ok, yes]),
        ([yes], [yes]),
        ([], []),
    ):
        assert list(without_repeated_question(said(*talk))) == said(*left)
