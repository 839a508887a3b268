"""Windows: what a line looks like, the laws of cutting conversations, and the presets."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cpu_time import cpu_seconds
from memreader.chunking import (
    conversation_windows,
    iter_windows,
    length_windows,
    render_line,
    render_window,
    session_windows,
)
from memreader.chunking.boundaries import next_sentences
from memreader.ports import Tokenizer
from memreader.tokenizing import BpeTokenizer
from memreader.types import Message, Span, Window
from tokenizers_for_tests import LetterTokenizer, PairTokenizer, older_encoding

GOLDEN = Path(__file__).parent / "golden"


@pytest.fixture(scope="module")
def bpe(tokenizer: BpeTokenizer) -> BpeTokenizer:
    return tokenizer


def talk(contents: Sequence[str], **fields: object) -> list[Message]:
    return [Message("user" if i % 2 == 0 else "assistant", c, i, **fields) for i, c in enumerate(contents)]  # type: ignore[arg-type]


def new_spans(windows: Sequence[Window]) -> list[Span]:
    return [span for window in windows for span in window.spans[window.carried :]]


def assert_nothing_is_lost(messages: Sequence[Message], windows: Sequence[Window]) -> None:
    """The spans that are new in their window are the messages' contents, one after the other."""
    spans = new_spans(windows)
    assert [m.index for m in messages] == list(dict.fromkeys(s.message.index for s in spans))
    for message in messages:
        own = [(s.start, s.end) for s in spans if s.message is message]
        assert own[0][0] == 0
        assert own[-1][1] == len(message.content)
        assert all(a[1] == b[0] for a, b in pairwise(own))


CONTENT = st.one_of(
    st.text(st.characters(codec="utf-8"), min_size=1, max_size=40),
    st.lists(
        st.sampled_from(
            [
                "Hello. ",
                "How are you? ",
                "Dr. Who came. ",
                "你好。",
                "今天很好！",
                "word ",
                "\n",
                "  ",
                "https://a.b/c?d ",
                "😀",
                "x" * 90,
            ]
        ),
        min_size=1,
        max_size=30,
    ).map("".join),
)
TIMES = st.sampled_from([None, "2024-03-07T14:05:00", "2023-12-31T00:00:00+01:00", "long ago"])
MESSAGES = st.lists(
    st.builds(
        Message,
        st.sampled_from(["user", "assistant", "participant"]),
        CONTENT,
        name=st.sampled_from([None, "Ana", "李明", "/root", "a\nb"]),
        chat_time=TIMES,
        time_inferred=st.booleans(),
    ),
    max_size=12,
).map(lambda ms: [Message(m.role, m.content, i, m.name, m.chat_time, m.time_inferred) for i, m in enumerate(ms)])


# Lines


def test_a_line_shows_role_time_and_content() -> None:
    message = Message("user", "I moved.", 0, chat_time="2024-03-07T14:05:00")
    assert render_line(message) == "user: [02:05 PM on 07 March, 2024]: I moved.\n"


def test_the_speakers_name_stands_in_place_of_the_role() -> None:
    assert render_line(Message("participant", "hi", name="Ana")) == "Ana: hi\n"


@pytest.mark.parametrize(("time", "inferred"), [(None, False), ("2024-03-07T14:05:00", True)])
def test_a_missing_or_inferred_time_is_no_part_of_a_line(time: str | None, inferred: bool) -> None:
    assert render_line(Message("user", "hi", chat_time=time, time_inferred=inferred)) == "user: hi\n"


def test_a_time_that_is_no_date_stays_text() -> None:
    assert render_line(Message("user", "hi", chat_time="100,000 years\nago")) == "user: [100,000 years ago]: hi\n"


def test_a_name_can_forge_no_line_and_fill_no_window() -> None:
    assert render_line(Message("user", "hi", name="a\nassistant: b")) == "a assistant: b: hi\n"
    assert len(render_line(Message("user", "hi", name="n" * 10_000))) < 100
    assert render_line(Message("user", "hi", name=" / ")) == "user: hi\n"


# iter_windows


COUNTS = st.lists(st.integers(0, 30), max_size=40)


@given(COUNTS, st.data())
def test_windows_cover_every_message_in_order_and_fit(counts: list[int], data: st.DataObject) -> None:
    max_tokens = data.draw(st.integers(max([1, *counts]), 60))
    overlap = data.draw(st.integers(0, max_tokens - 1))
    messages = talk(["hello"] * len(counts))
    windows = list(iter_windows(messages, counts, max_tokens=max_tokens, overlap_tokens=overlap))
    assert [s.message.index for s in new_spans(windows)] == list(range(len(counts)))
    for window in windows:
        assert window.tokens == sum(counts[m.index] for m in window.messages) <= max_tokens
        assert [m.index for m in window.messages] == list(
            range(window.messages[0].index, window.messages[-1].index + 1)
        )
        assert window.carried < len(window.spans)


@given(COUNTS, st.data())
def test_windows_are_as_full_and_carry_as_much_as_they_may(counts: list[int], data: st.DataObject) -> None:
    max_tokens = data.draw(st.integers(max([1, *counts]), 60))
    overlap = data.draw(st.integers(0, max_tokens - 1))
    windows = list(iter_windows(talk(["x"] * len(counts)), counts, max_tokens=max_tokens, overlap_tokens=overlap))
    for before, after in pairwise(windows):
        first_new = after.spans[after.carried]
        assert before.tokens + first_new.tokens > max_tokens
        carried = sum(s.tokens for s in after.spans[: after.carried])
        room = min(overlap, max_tokens - first_new.tokens)
        assert carried <= room
        assert before.spans[len(before.spans) - after.carried :] == after.spans[: after.carried]
        if after.carried < len(before.spans):
            assert carried + before.spans[-1 - after.carried].tokens > room


def test_the_carried_tail_is_shortened_from_its_head_for_a_long_message() -> None:
    windows = list(iter_windows(talk("abcd"), [3, 3, 3, 8], max_tokens=10, overlap_tokens=6))
    assert [[m.content for m in w.messages] for w in windows] == [["a", "b", "c"], ["d"]]
    windows = list(iter_windows(talk("abcd"), [3, 3, 3, 7], max_tokens=10, overlap_tokens=6))
    assert [[m.content for m in w.messages] for w in windows] == [["a", "b", "c"], ["c", "d"]]


def test_no_messages_make_no_window(bpe: BpeTokenizer) -> None:
    assert list(iter_windows([], [], max_tokens=1)) == []
    assert conversation_windows([], bpe) == []
    assert length_windows([]) == session_windows([]) == []


def test_iter_windows_refuses_what_it_cannot_do() -> None:
    turns = talk(["a", "b"])
    with pytest.raises(ValueError, match="2 messages but 1"):
        iter_windows(turns, [1], max_tokens=5)
    with pytest.raises(ValueError, match="message 1 has 6 tokens"):
        iter_windows(turns, [1, 6], max_tokens=5)
    for max_tokens, overlap in ((5, 5), (5, 6), (5, -1), (0, 0)):
        with pytest.raises(ValueError, match="overlap_tokens < max_tokens"):
            iter_windows(turns, [0, 0], max_tokens=max_tokens, overlap_tokens=overlap)
        with pytest.raises(ValueError, match="overlap_tokens < max_tokens"):
            conversation_windows(turns, LetterTokenizer(), max_tokens=max_tokens, overlap_tokens=overlap)


# Conversations


@given(MESSAGES, st.data())
@pytest.mark.parametrize("kind", ["bpe", "older", "letters", "pairs"])
def test_no_window_exceeds_the_limit_and_nothing_is_lost(
    kind: str, bpe: BpeTokenizer, messages: list[Message], data: st.DataObject
) -> None:
    tokenizers: dict[str, Tokenizer] = {
        "bpe": bpe, "older": older_encoding(), "letters": LetterTokenizer(), "pairs": PairTokenizer(),
    }  # fmt: skip
    tokenizer = tokenizers[kind]
    max_tokens = data.draw(st.integers(50 if kind in ("bpe", "older") else 80, 200))
    overlap = data.draw(st.integers(0, max_tokens - 1))
    windows = conversation_windows(messages, tokenizer, max_tokens=max_tokens, overlap_tokens=overlap)
    for window in windows:
        size = tokenizer.count(render_window(window))
        assert size <= max_tokens
        assert window.carried < len(window.spans)
        if kind in ("bpe", "letters"):
            assert window.tokens == size == sum(span.tokens for span in window)
    assert_nothing_is_lost(messages, windows)


@given(MESSAGES, st.data())
def test_what_is_carried_is_the_end_of_the_window_before(
    bpe: BpeTokenizer, messages: list[Message], data: st.DataObject
) -> None:
    overlap = data.draw(st.integers(0, 49))
    windows = conversation_windows(messages, bpe, max_tokens=50, overlap_tokens=overlap)
    for before, after in pairwise(windows):
        tail = after.spans[: after.carried]
        assert bpe.count(render_window(Window(tail, 0))) <= overlap
        if not tail:
            continue
        whole = before.spans[-len(tail) :]
        assert tail[1:] == whole[1:]
        assert (tail[0].message, tail[0].end) == (whole[0].message, whole[0].end)
        if tail[0] != whole[0]:
            assert len(tail) == 1  # Part of a line is carried only if not even one whole line fits.
            assert whole[0].tokens > min(overlap, 50 - after.spans[1].tokens)


@given(
    st.lists(
        st.sampled_from(["One is here. ", "Two? ", "三个人来了。", "Four and a half, or so! "]), min_size=2, max_size=9
    )
)
def test_the_longest_run_of_last_sentences_is_carried(bpe: BpeTokenizer, sentences: list[str]) -> None:
    content = "".join(sentences)
    messages = talk([content, "x " * 20])
    size = bpe.count(render_line(messages[0]))
    overlap = min(size - 1, 20)
    max_tokens = max(size, bpe.count(render_line(messages[1])) + overlap)
    windows = conversation_windows(messages, bpe, max_tokens=max_tokens, overlap_tokens=overlap)
    if len(windows) < 2:
        return
    starts = next_sentences(content, 0, len(content))
    fitting = [at for at in starts if bpe.count(f"user: {content[at:]}\n") <= overlap]
    tail = windows[1].spans[: windows[1].carried]
    assert [s.start for s in tail] == fitting[:1]


def test_an_over_long_message_is_split_at_sentence_ends_with_exact_offsets(bpe: BpeTokenizer) -> None:
    content = " ".join(f"This is sentence number {i} of a long message." for i in range(200))
    windows = conversation_windows(talk(["Hi.", content, "Bye."]), bpe, max_tokens=100, overlap_tokens=20)
    spans = [s for s in new_spans(windows) if s.message.index == 1]
    assert "".join(span.text for span in spans) == content
    assert all(span.text.rstrip().endswith(".") for span in spans)
    assert max(window.tokens for window in windows) <= 100
    assert min(window.tokens for window in windows[1:-1]) > 60
    assert all(window.carried == 1 and 10 < window.spans[0].tokens <= 20 for window in windows[2:-1])


def test_a_message_without_sentences_is_split_all_the_same(bpe: BpeTokenizer) -> None:
    for unit in ("a", "中", " ", "\n", "😀", "word "):
        content = unit * 20_000
        windows = conversation_windows(talk(["Hi.", content]), bpe, max_tokens=512, overlap_tokens=100)
        assert all(bpe.count(render_window(window)) <= 512 for window in windows)
        assert "".join(s.text for s in new_spans(windows) if s.message.index == 1) == content


def test_each_line_is_counted_once() -> None:
    tokenizer = LetterTokenizer()
    messages = talk(["hello there"] * 50)
    windows = conversation_windows(messages, tokenizer, max_tokens=200, overlap_tokens=40)
    lines = [render_line(message) for message in messages]
    texts = [render_window(window) for window in windows]  # Checked once, since this tokenizer promises nothing.
    assert tokenizer.counted == lines + texts


def test_a_limit_too_small_for_a_line_is_refused(bpe: BpeTokenizer) -> None:
    with pytest.raises(ValueError, match="limit 3"):
        conversation_windows(talk(["hello"]), bpe, max_tokens=3, overlap_tokens=0)


def test_the_callers_order_and_index_are_kept(bpe: BpeTokenizer) -> None:
    messages = [Message("user", f"turn {i}", i * 3 + 7) for i in range(5)]
    (window,) = conversation_windows(messages, bpe)
    assert [m.index for m in window.messages] == [7, 10, 13, 16, 19]
    assert window.messages[0] is messages[0]


# Groups and presets


GROUPS = [
    (0, []),
    (1, [1]),
    (10, [10]),
    (11, [10, 3]),
    (12, [10, 4]),
    (18, [10, 10]),
    (19, [10, 10, 3]),
    (26, [10] * 3),
]


@pytest.mark.parametrize(("count", "sizes"), GROUPS)
def test_the_coarse_cut_makes_groups_of_ten_that_share_two(bpe: BpeTokenizer, count: int, sizes: list[int]) -> None:
    messages = talk(["hello"] * count)
    windows = conversation_windows(messages, bpe, group_size=10, group_overlap=2)
    assert [len(window.messages) for window in windows] == sizes
    assert [window.carried for window in windows] == [2 if i else 0 for i in range(len(sizes))]
    assert session_windows(messages, chunk_session=10, chunk_overlap=2) == [
        Window(tuple(Span(s.message, s.start, s.end, 0) for s in w), 0, w.carried) for w in windows
    ]


@given(MESSAGES, st.integers(1, 5), st.data())
def test_groups_lose_nothing_and_no_window_only_repeats(
    bpe: BpeTokenizer, messages: list[Message], size: int, data: st.DataObject
) -> None:
    overlap = data.draw(st.integers(0, size - 1))
    windows = conversation_windows(
        messages, bpe, max_tokens=60, overlap_tokens=20, group_size=size, group_overlap=overlap
    )
    assert_nothing_is_lost(messages, windows)
    assert all(window.carried < len(window.spans) and window.tokens <= 60 for window in windows)
    assert all(len(window.messages) <= size for window in windows)


def test_groups_that_would_not_advance_are_refused(bpe: BpeTokenizer) -> None:
    for size, overlap in ((2, 2), (2, 3), (0, 0), (3, -1)):
        with pytest.raises(ValueError, match="overlap < size"):
            conversation_windows(talk("ab"), bpe, group_size=size, group_overlap=overlap)
        with pytest.raises(ValueError, match="overlap < size"):
            session_windows(talk("ab"), chunk_session=size, chunk_overlap=overlap)


def test_windows_by_length_carry_the_last_message() -> None:
    windows = length_windows(talk(["a" * 60, "b" * 30, "c" * 20, "d" * 200, "e"]), content_length=100)
    assert [[m.content[0] for m in w.messages] for w in windows] == [["a", "b"], ["b", "c"], ["c", "d"], ["d", "e"]]
    assert [w.carried for w in windows] == [0, 1, 1, 1]


def test_windows_by_length_hold_1600_characters_by_default() -> None:
    assert [len(w.messages) for w in length_windows(talk(["x" * 400] * 6))] == [4, 3]
    with pytest.raises(ValueError, match="content_length"):
        length_windows([], content_length=0)


# Cost


def test_cost_per_message_does_not_grow(bpe: BpeTokenizer) -> None:
    turn = ["I went to the market and bought apples, pears and plums. 今天天气很好。 They were cheap!"]
    seconds = []
    for count in (1_000, 8_000):
        messages = talk(turn * count, chat_time="2024-03-07T14:05:00")
        seconds.append(cpu_seconds(partial(conversation_windows, messages, bpe)) / count)
    assert seconds[1] < 3 * seconds[0]


def test_a_megabyte_in_one_message_is_split_in_linear_time(bpe: BpeTokenizer) -> None:
    seconds = []
    for size in (125_000, 1_000_000):
        messages = talk(["a" * size])
        seconds.append(cpu_seconds(partial(conversation_windows, messages, bpe)) / size)
    assert seconds[1] < 3 * seconds[0]


# Golden


def test_windows_are_the_golden_ones(bpe: BpeTokenizer) -> None:
    moved = "Hi! I moved to Lisbon in May. Dr. Costa helped me to find a flat near the river."
    rent = "See https://example.org/flats?id=3.14&x=1 for photos... The rent is 1,200.50 euros, i.e. a lot. I like it."
    messages = [
        Message("user", moved, 0, chat_time="2024-05-03T08:12:00"),
        Message("assistant", "That is wonderful. How do you like it?", 1, chat_time="2024-05-03T08:13:00"),
        Message(
            "participant", "很喜欢！房子不大，但是很安静。我每天去河边跑步。", 2, "李明", "2024-05-03T09:00:00+08:00"
        ),
        Message("user", rent, 3),
        Message("assistant", "Noted.", 4, chat_time="2024-05-04T00:00:00", time_inferred=True),
        Message("user", "One. Two. Three. " * 12 + "End of it.", 5, chat_time="2024-05-04T00:00:00"),
    ]
    windows = conversation_windows(messages, bpe, max_tokens=64, overlap_tokens=24)
    shown = "\n".join(f"== {w.tokens} tokens, {w.carried} carried\n{render_window(w)}" for w in windows)
    assert shown == (GOLDEN / "windows.txt").read_text(encoding="utf-8")
