"""What the rules decide about two statements, and what they leave alone."""

from __future__ import annotations

import time

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from memreader.reconcile import Decision, Statement, decide, keys, slots
from memreader.reconcile.statement import order
from statement_pairs import pairs_of

HOME = Statement("User lives in Oslo.", "2024-01-10")
MOVED = Statement("User moved to Bergen.", "2024-06-20")
PIECES = sorted({word for pair in pairs_of("written_before") for word in (*pair.old.split(), *pair.new.split())})

times = st.sampled_from([None, "", "x", "2024-05-01", "2024-05-01T10:00:00", "2024-05-01T10:00:00+02:00", "0001-01-01"])
times |= st.datetimes().map(lambda at: at.isoformat()) | st.dates().map(lambda day: day.isoformat())
texts = st.text(max_size=40) | st.lists(st.sampled_from(PIECES), max_size=12).map(" ".join)
places = st.none() | st.tuples(st.sampled_from("ab"), st.integers(0, 3))
statements = st.builds(Statement, texts, times, places)


def seen(new: Statement, old: Statement) -> tuple[str, str]:
    decision = decide(new, old)
    return decision.action, decision.keeps


def test_the_same_text_from_the_same_source_is_skipped() -> None:
    one = Statement("User likes tea.", "2024-05-01", ("s", 1), ("tea",), ("m1",))
    assert decide(one, one) == Decision("skip", "nothing new", "old")


@pytest.mark.parametrize(
    "new",
    [
        Statement("User likes tea.", "2024-05-01", ("s", 1), ("tea",), ("m1", "m2")),
        Statement("User likes tea.", "2024-05-01", ("s", 1), ("tea", "user"), ("m1",)),
        Statement("User likes tea.", "2024-05-02", ("s", 1), ("tea",), ("m1",)),
        Statement("User likes tea.", "2024-05-01", ("s", 2), ("tea",), ("m1",)),
        Statement("user likes TEA", "2024-05-01", ("s", 1), ("tea",), ("m1",)),
    ],
)
def test_with_something_to_move_it_is_a_merge(new: Statement) -> None:
    old = Statement("User likes tea.", "2024-05-01", ("s", 1), ("tea",), ("m1",))
    assert decide(new, old).action == "merge"


def test_the_more_complete_text_stays() -> None:
    assert seen(Statement("User doesn't like tea."), Statement("The user does not like tea.")) == ("merge", "old")
    assert seen(Statement("The user does not like tea."), Statement("User doesn't like tea.")) == ("merge", "new")


def test_the_later_one_replaces_whichever_came_in_first() -> None:
    assert seen(MOVED, HOME) == ("supersede", "new")
    assert seen(HOME, MOVED) == ("supersede", "old")
    assert "home" in decide(MOVED, HOME).reason


def test_within_one_session_the_position_orders_equal_and_unknown_times() -> None:
    for at in (None, "2024-05-01"):
        home, moved = Statement(HOME.text, at, ("s", 1)), Statement(MOVED.text, at, ("s", 2))
        assert seen(moved, home) == ("supersede", "new")
        assert seen(home, moved) == ("supersede", "old")
        assert decide(Statement(MOVED.text, at, ("t", 2)), home).action == "add"
        assert decide(Statement(MOVED.text, at, ("s", 1)), home).action == "add"


def test_a_clear_time_counts_more_than_the_position() -> None:
    home, moved = Statement(HOME.text, "2024-06-20", ("s", 1)), Statement(MOVED.text, "2024-01-10", ("s", 2))
    assert seen(moved, home) == ("supersede", "old")


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ("2024-05-01", "2024-05-02", -1),
        ("2024-05-01", "2024-05-01T18:00:00", 0),
        ("2024-05-02", "2024-05-01T23:59:59", 1),
        ("2024-05-01T10:00:00+02:00", "2024-05-01T08:00:00+00:00", 0),
        ("2024-05-01T10:00:00+02:00", "2024-05-01T09:00:00+00:00", -1),
        ("2024-05-01T10:00:00", "2024-05-01T12:00:00+00:00", 0),
        ("2024-05-01T10:00:00", "2024-05-03T12:00:00+00:00", -1),
        ("2024-05-01", "soon", None),
        (None, None, None),
    ],
)
def test_times_are_ordered_only_as_far_as_they_tell(one: str | None, other: str | None, expected: int | None) -> None:
    assert order(Statement("", one), Statement("", other)) == expected
    assert order(Statement("", other), Statement("", one)) == (-expected if expected else expected)


def test_what_would_take_another_fact_with_it_stays() -> None:
    both = Statement("User lives in Oslo and works at Equinor.", "2024-01-10")
    assert decide(MOVED, both).action == "add"
    reason = Statement("User moved to Oslo for a new job.", "2024-01-10")
    assert decide(MOVED, reason).action == "add"


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ("User has 2 cats.", "User has 3 cats.", "numbers differ: 3 / 2"),
        ("User met Ann.", "User met Anna.", "names differ: Anna / Ann"),
        ("User likes fish.", "User doesn't like fish.", "one is negated"),
        ("leo lent ben money", "ben lent leo money", "the same words in another order"),
        ("User likes tea.", "User likes green tea.", "one says more than the other"),
        ("User likes tea.", "User enjoys cocoa.", "different words"),
        ("User saw a film yesterday.", "User saw a film yesterday.", "the same words about another day"),
    ],
)
def test_the_reason_says_what_sets_them_apart(old: str, new: str, reason: str) -> None:
    assert decide(Statement(new, "2024-06-20"), Statement(old, "2024-01-10")).reason == reason


def test_who_it_is_about_has_one_name_per_person() -> None:
    for text in ("I live in Oslo.", "The user lives in Oslo.", "user lives in Oslo", "用户住在北京", "我住在北京"):
        assert {slot.subject for slot in slots(text)} == {"user"}
    assert slots("She lives in Oslo.") == slots("Someone lives in Oslo.") == slots("他住在北京。") == ()
    assert {slot.subject for slot in slots("Ann Lee lives in Oslo.")} == {"ann lee"}


def test_a_text_of_several_sentences_or_great_length_gives_no_value() -> None:
    assert slots("User lives in Oslo. It rains.") == slots(f"User lives in Oslo{' ' * 300}.") == ()


@given(statements, statements)
@example(Statement("User is 30.", "9999-12-31"), Statement("User is 31.", "0001-01-01"))
def test_no_text_and_no_time_breaks_it_and_either_side_sees_the_same(new: Statement, old: Statement) -> None:
    one, other = decide(new, old), decide(old, new)
    assert {one.action, other.action} <= {"merge", "skip"} or one.action == other.action
    if one.action == "supersede":
        assert one.keeps != other.keeps
        assert (order(new, old) == 1) == (one.keeps == "new")
    if one.action != "add":
        assert set(keys(new.text)) & set(keys(old.text))


@pytest.mark.parametrize(
    "piece", ["a ", "User lives in ", "Ann ", "不", "住在", "五年", "is a ", "for 5 years ", "yesterday "]
)
def test_long_texts_take_time_in_proportion(piece: str) -> None:
    for length in (299, 100_000):
        text = (piece * length)[:length]
        started = time.process_time()
        decide(Statement(text, "2024-06-20"), Statement(f"{text}x", "2024-01-10"))
        decide(Statement(text, "2024-06-20"), Statement(text.upper(), "2024-01-10"))
        keys(text)
        assert time.process_time() - started < 3
