"""Cleaning, and base64 inside texts."""

from __future__ import annotations

import base64
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memreader.text import clean, decode_base64, reference_of, split_data_uris

ANY_TEXT = st.text(
    st.characters(codec=None) | st.sampled_from("\r\n\x00\f\ud83d\ude00\ufeff\x85\x0b\u200d👩"), max_size=80
)
FORBIDDEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ufeff\ud800-\udfff]")


@pytest.mark.parametrize(
    ("text", "cleaned"),
    [
        ("\ufeffhi", "hi"),
        ("a\ufeffb", "ab"),
        ("a\x00b", "ab"),
        ("a\ud800b", "ab"),
        ("\ud83d\ude00", "😀"),
        ("\ude00\ud83d", ""),
        ("a\r\nb\rc\nd", "a\nb\nc\nd"),
        ("a\x0bb\x85c\fd", "a\nb\nc\nd"),
        ("a\x1bb\x7fc\x9fd", "abcd"),
        ("a\tb", "a\tb"),
        ("👩‍👩‍👧‍👦 ❤️ 🇨🇳 👍🏽", "👩‍👩‍👧‍👦 ❤️ 🇨🇳 👍🏽"),
        ("می‌خواهم", "می‌خواهم"),
        (" a  b ", " a  b "),
        ("ﬁ e\u0301", "ﬁ e\u0301"),
        ("a\u00a0b\u3000c", "a\u00a0b\u3000c"),
        ("\U0010ffff", "\U0010ffff"),
        ("", ""),
    ],
)
def test_what_cant_be_kept_goes_and_the_rest_stays(text: str, cleaned: str) -> None:
    assert clean(text) == cleaned


def test_form_feeds_may_be_kept_for_their_page_breaks() -> None:
    assert clean("one\ftwo\r\n\x00", keep_form_feeds=True) == "one\ftwo\n"
    assert clean("one\ftwo") == "one\ntwo"


def test_a_clean_text_is_the_same_object() -> None:
    text = "nothing to do 你好 😀\n"
    assert clean(text) is text


@settings(deadline=None)
@given(ANY_TEXT, st.booleans())
def test_cleaning_is_idempotent_and_leaves_nothing_that_breaks(text: str, keep: bool) -> None:
    once = clean(text, keep_form_feeds=keep)
    assert clean(once, keep_form_feeds=keep) == once
    assert not FORBIDDEN.search(once.replace("\f", "") if keep else once)
    assert once.encode().decode() == once


@settings(deadline=None)
@given(st.lists(st.text(st.characters(categories=["L", "N", "P", "S"]), min_size=1), min_size=1), st.data())
def test_every_word_stays_apart_and_in_order(words: list[str], data: st.DataObject) -> None:
    breaks = st.sampled_from([" ", "\n", "\r\n", "\r", "\f", "\x0b", "\t", "\x85"])
    text = "".join(word + data.draw(breaks) for word in words)
    assert clean(text).split() == [piece for word in words for piece in clean(word).split()]


@settings(deadline=None)
@given(st.binary(min_size=3, max_size=200), st.sampled_from(["image/png", "application/pdf"]))
def test_a_data_uri_is_taken_out_of_a_text_and_decoded(data: bytes, media_type: str) -> None:
    uri = f"data:{media_type};base64,{base64.b64encode(data).decode()}"
    text, (found,) = split_data_uris(f"before {uri} after")
    assert text == "before  after"
    assert (found.data, found.media_type, found.reference) == (data, media_type, reference_of(data))


def test_data_uris_come_in_variants() -> None:
    payload = base64.b64encode(b"hello there").decode()
    for uri in (
        f"data:;base64,{payload}",
        f"DATA:image/png;charset=utf-8;BASE64,{payload}",
        f"data:image/png;base64,{payload.rstrip('=')}",
        f"data:image/png;base64,{payload.replace('=', '%3D')}",
    ):
        text, (found,) = split_data_uris(f"({uri})")
        assert (text, found.data) == ("()", b"hello there")


def test_what_only_calls_itself_base64_is_taken_out_too() -> None:
    assert split_data_uris("x data:image/png;base64,abcde y") == ("x  y", ())


@pytest.mark.parametrize("text", ["", "plain", "data: base64, no", "metadata:image/png;base64", "![alt](a.png)"])
def test_a_text_without_one_comes_back_as_it_is(text: str) -> None:
    assert split_data_uris(text) == (text, ())


@settings(deadline=None)
@given(st.binary(max_size=100))
def test_base64_is_read_in_both_alphabets_with_and_without_padding(data: bytes) -> None:
    for encode in (base64.b64encode, base64.urlsafe_b64encode, base64.encodebytes):
        text = encode(data).decode()
        assert decode_base64(text) == decode_base64(text.replace("=", "")) == data


@pytest.mark.parametrize("text", ["a", "ab c!", "=", "你好", "ab=c", "abcde"])
def test_what_isnt_base64_is_none(text: str) -> None:
    assert decode_base64(text) in (None, b"")
