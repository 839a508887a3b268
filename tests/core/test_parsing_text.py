"""Text files in any charset, and the titles of markdown."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memreader.errors import UnsupportedDocumentError
from memreader.parsing import SUFFIXES, parse_file, suffix_of
from memreader.parsing.decode import decode
from memreader.parsing.tidy import drop_inline_images, title_of
from memreader.types import FileInput

ZH = "昨天晚上我和朋友去了一家新的餐厅，味道很好，价格也不贵。"
TW = "昨天晚上我和朋友去了一家新的餐廳，味道很好，價格也不貴。"
JA = "東京に住んでいます。料理はとても美味しいです。"
KO = "저는 서울에 살아요. 커피를 좋아해요."
RU = "Я живу в Москве и люблю чай."


@pytest.mark.parametrize(
    ("text", "charset"),
    [
        ("Zoë says “hi” 👋", "utf-8"),
        ("Zoë says “hi” 👋", "utf-8-sig"),
        ("Zoë says “hi” 👋 北京", "utf-16"),
        ("Zoë says “hi” 👋 北京", "utf-32"),
        ("Zoë says hi to all of you", "utf-16-le"),
        ("Zoë says hi to all of you", "utf-16-be"),
        (ZH, "gb18030"),
        (ZH, "gbk"),
        ("我住在北京。", "gb18030"),
        ("𠮷野家在我家的旁边", "gb18030"),
        (TW, "big5"),
        ("我住在臺北。", "big5"),
        (JA, "shift_jis"),
        (JA, "euc_jp"),
        (KO, "euc_kr"),
        (RU, "cp1251"),
        (RU, "koi8_r"),
        ("J'habite à Genève, c'est très agréable.", "cp1252"),
        ("It’s a “nice” day — isn’t it?", "cp1252"),
        ("Zażółć gęślą jaźń, mieszkam w Łodzi.", "cp1250"),
    ],
)
@pytest.mark.parametrize("times", [1, 40])
def test_text_is_read_in_the_charset_it_was_written_in(text: str, charset: str, times: int) -> None:
    written = "\n".join([text] * times)
    assert parse_file(FileInput("a.txt", data=written.encode(charset))).text == written


@pytest.mark.parametrize("mark", ["utf-16-le", "utf-16-be"])
def test_utf_16_with_either_byte_order_mark(mark: str) -> None:
    data = ("\ufeff" + ZH + "\r\n" + JA).encode(mark)
    assert parse_file(FileInput("a.csv", data=data)).text == f"{ZH}\n{JA}"


@given(st.text(st.characters(exclude_categories=["Cs", "Cc"])))
def test_utf_8_comes_back_as_it_was(text: str) -> None:
    assert decode(text.encode()) == text.removeprefix("\ufeff")


@given(st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1))
def test_utf_16_with_a_mark_comes_back_as_it_was(text: str) -> None:
    assert decode(text.encode("utf-16")) == text.removeprefix("\ufeff")


@given(st.binary(max_size=400))
def test_any_bytes_give_text_or_none(data: bytes) -> None:
    text = decode(data)
    assert text is None or len(text) <= len(data)


def test_one_bad_byte_does_not_spoil_the_rest() -> None:
    assert decode(ZH.encode() + b"\xff" + ZH.encode()) == f"{ZH}\ufffd{ZH}"
    assert decode(ZH.encode()[:-1]) == f"{ZH[:-1]}\ufffd"


def test_nuls_and_escapes_of_a_log_are_no_reason_to_refuse_it() -> None:
    log = b"\x1b[31mERROR\x1b[0m no disk\n" * 50 + b"\0" * 40
    assert parse_file(FileInput("a.log", data=log)).text.count("no disk") == 50


def test_noise_is_not_text() -> None:
    with pytest.raises(UnsupportedDocumentError):
        parse_file(FileInput("a.txt", data=bytes(range(256)) * 40))


@pytest.mark.parametrize(
    "name", ["a.json", "a.jsonl", "a.csv", "a.tsv", "a.py", "a.rst", "a.yaml", "a.log", "a", "a.xyz"]
)
def test_plain_formats_keep_every_character(name: str) -> None:
    text = '{"a": ["é", 1]}\n\tb | c  \n\n'
    document = parse_file(FileInput(name, data=text.encode()))
    assert document.text == text
    assert document.media_type == (
        SUFFIXES[suffix_of(name)].media_type if "." in name[:5] and name != "a.xyz" else "text/plain"
    )
    assert document.title is None
    assert document.page_starts == ()


@pytest.mark.parametrize(
    ("markdown", "title"),
    [
        ("# Plan\n\ntext", "Plan"),
        ("intro\n\n### Plan ###\n", "Plan"),
        ("Plan\n====\ntext", "Plan"),
        ('---\ntitle: "Plan"\ntags: x\n---\n# Other', "Plan"),
        ("---\nauthor: me\n---\n# Plan", "Plan"),
        ("```sh\n# not this\n```\n# Plan", "Plan"),
        ("~~~~\n~~~\n# not this\n~~~~\n# Plan", "Plan"),
        ("#hashtag\n\n#\n\ntext", None),
        ("", None),
        ("text only", None),
        ("\n" * 500 + "words\n" * 500 + "# far below", None),
    ],
)
def test_the_title_is_the_first_heading(markdown: str, title: str | None) -> None:
    assert title_of(markdown) == title


@pytest.mark.parametrize(
    "text",
    [
        "![" * 400_000,
        "![](data:a" * 80_000,
        "![x](data:" + "a" * 800_000,
        "![a](" * 160_000,
        "![x](data:a " + "b " * 400_000,
    ],
)
def test_hostile_markdown_takes_linear_time(text: str) -> None:
    start = time.perf_counter()
    drop_inline_images(text)
    assert time.perf_counter() - start < 2
