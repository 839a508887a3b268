"""Chunks: the laws that every kind keeps for any text, where sentences end, and the cost."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cpu_time import cpu_seconds
from memreader.chunking import ChunkKind, chunk, iter_chunks
from memreader.chunking.boundaries import character_end, goes_on, next_sentences, sentence_ends, sentence_starts
from memreader.chunking.tokens import TokenMap
from memreader.ports import Tokenizer
from memreader.tokenizing import BpeTokenizer
from memreader.types import Chunk
from tokenizers_for_tests import WordPieceTokenizer, older_encoding

GOLDEN = Path(__file__).parent / "golden"
KINDS: tuple[ChunkKind, ...] = get_args(ChunkKind)


PARTS = st.sampled_from(
    [
        *("the ", "word. ", "Dr. ", "e.g. ", "3.14 ", 'Really?" ', "it's ", "not-so-short ", "A. B. Smith ", "end"),
        *("你好", "，", "。", "！”", "……", "；", "日本語で", "한국어 ", "²", "ß", "İ", "/", "\n/", "<|endoftext|>"),
        *("\n", "\n\n", "\r\n", " ", "   ", "\t", "\u3000", "\u00a0", "\x00", "\x1c", "\x85", "\u2028", "\ufeff"),
        *(
            "😀",
            "👨\u200d👩\u200d👧",
            "🇩🇪",
            "e\u0301",
            "\u0301",
            "\u200d",
            "ा",
            "\u1161",
            "a" * 50,
            "中" * 50,
            " " * 50,
        ),
        *("https://example.org/a,b.c?d=e;f#g ", "# Title\n", "## Sub\n", "```\n", "~~~", "| a | b |\n", "|---|---|\n"),
        "- item\n",
    ]
)
TEXT = st.one_of(st.lists(PARTS, max_size=60).map("".join), st.text(st.characters(codec="utf-8"), max_size=80))


def assert_laws(
    text: str, chunks: Sequence[Chunk], tokenizer: Tokenizer, *, max_tokens: int, overlap_tokens: int
) -> None:
    covered = bytearray(len(text))
    for piece in chunks:
        assert text[piece.start : piece.end] == piece.text
        assert piece.text == piece.text.strip() != ""
        assert tokenizer.count(piece.text) == piece.token_count <= max_tokens
        covered[piece.start : piece.end] = b"\1" * (piece.end - piece.start)
    for before, after in pairwise(chunks):
        assert before.start < after.start
        assert before.end < after.end
        if after.start < before.end:
            assert tokenizer.count(text[after.start : before.end]) <= overlap_tokens
    assert all(covered[i] or text[i].isspace() for i in range(len(text)))


# Laws


@pytest.mark.parametrize("kind", KINDS)
@given(TEXT, st.data())
def test_chunks_keep_the_laws(tokenizer: BpeTokenizer, kind: ChunkKind, text: str, data: st.DataObject) -> None:
    max_tokens = data.draw(st.sampled_from([8, 9, 13, 20, 50, 200]))
    overlap = data.draw(st.integers(0, max_tokens - 1))
    chunks = chunk(text, kind=kind, max_tokens=max_tokens, overlap_tokens=overlap, tokenizer=tokenizer)
    assert_laws(text, chunks, tokenizer, max_tokens=max_tokens, overlap_tokens=overlap)


@pytest.mark.parametrize("kind", KINDS)
@given(TEXT, st.data())
def test_chunks_keep_the_laws_with_any_tokenizer(kind: ChunkKind, text: str, data: st.DataObject) -> None:
    tokenizer = WordPieceTokenizer()
    text = " ".join(text.split())  # This tokenizer gives no token to spaces that stand alone.
    max_tokens = data.draw(st.integers(1, 40))
    overlap = data.draw(st.integers(0, max_tokens - 1))
    chunks = chunk(text, kind=kind, max_tokens=max_tokens, overlap_tokens=overlap, tokenizer=tokenizer)
    assert_laws(text, chunks, tokenizer, max_tokens=max_tokens, overlap_tokens=overlap)


@pytest.mark.parametrize("encoding", ["o200k_base", "older"])
@given(TEXT, st.data())
def test_slices_are_counted_exactly_without_encoding_them(
    tokenizer: BpeTokenizer, encoding: str, text: str, data: st.DataObject
) -> None:
    chosen = tokenizer if encoding == "o200k_base" else older_encoding()
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, len(text)))
    before = data.draw(st.sampled_from(["", " ", "user: ", "n\n"]))
    after = data.draw(st.sampled_from(["", "\n", "s", " "]))
    expected = chosen.count(before + text[start:end] + after)
    assert TokenMap(text, chosen).count(start, end, before=before, after=after) == expected


@pytest.mark.parametrize(
    ("text", "start", "end", "before", "after"),
    [
        ("one, two, three", 3, 15, " ", ""),  # The comma joins the space in front.
        ("one two", 0, 7, "so", ""),
        ("it is", 0, 2, "", "'s"),
        ("one. \n\ntwo three", 0, 6, "", ""),
        ("one \n \ntwo three", 0, 7, "", ""),
        ("one\n/two three", 4, 14, "", ""),
        ("one\n/two three", 4, 14, "\n", ""),
        ("one.\n/usr three", 5, 15, "", ""),
        ("", 0, 0, "user: ", "\n"),
    ],
)
def test_what_stands_beside_a_slice_is_counted_with_it(
    tokenizer: BpeTokenizer, text: str, start: int, end: int, before: str, after: str
) -> None:
    for chosen in (tokenizer, older_encoding()):
        expected = chosen.count(before + text[start:end] + after)
        assert TokenMap(text, chosen).count(start, end, before=before, after=after) == expected


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("text", ["", " ", "\n\n\r\n\t\u3000\u00a0 ", " " * 10_000])
def test_no_words_make_no_chunks(tokenizer: BpeTokenizer, kind: ChunkKind, text: str) -> None:
    assert chunk(text, kind=kind, tokenizer=tokenizer) == []


@pytest.mark.parametrize("kind", KINDS)
def test_a_short_text_is_one_chunk_without_the_spaces_around_it(tokenizer: BpeTokenizer, kind: ChunkKind) -> None:
    assert chunk("\n  Ana lives in Lisbon. \n", kind=kind, tokenizer=tokenizer) == [
        Chunk("Ana lives in Lisbon.", 3, 23, tokenizer.count("Ana lives in Lisbon."))
    ]


@pytest.mark.parametrize("kind", KINDS)
def test_the_default_is_512_tokens_with_128_repeated(tokenizer: BpeTokenizer, kind: ChunkKind) -> None:
    text = "The quick brown fox jumps over the lazy dog near the river. " * 200
    chunks = chunk(text, kind=kind, tokenizer=tokenizer)
    assert_laws(text, chunks, tokenizer, max_tokens=512, overlap_tokens=128)
    assert all(piece.token_count > 490 for piece in chunks[:-1])
    assert all(tokenizer.count(text[b.start : a.end]) > 100 for a, b in pairwise(chunks))


def test_what_cannot_be_done_is_refused(tokenizer: BpeTokenizer) -> None:
    with pytest.raises(ValueError, match=r"'words'.*sentence"):
        chunk("a", kind="words", tokenizer=tokenizer)  # type: ignore[arg-type]
    for max_tokens, overlap in ((5, 5), (5, -1), (0, 0)):
        with pytest.raises(ValueError, match="overlap_tokens < max_tokens"):
            chunk("a", max_tokens=max_tokens, overlap_tokens=overlap, tokenizer=tokenizer)
        with pytest.raises(ValueError, match="overlap_tokens < max_tokens"):
            iter_chunks("a", max_tokens=max_tokens, overlap_tokens=overlap, tokenizer=tokenizer)


def test_a_character_larger_than_the_limit_is_refused(tokenizer: BpeTokenizer) -> None:
    character = "\U00012345"
    assert tokenizer.count(character) > 2
    with pytest.raises(ValueError, match="the character at 3 alone"):
        chunk(f"ab {character}", max_tokens=2, overlap_tokens=0, tokenizer=tokenizer)


def test_iter_chunks_yields_the_same_one_by_one(tokenizer: BpeTokenizer) -> None:
    text = "One is here. Two is there. " * 100
    chunks = iter_chunks(text, max_tokens=30, overlap_tokens=8, tokenizer=tokenizer)
    assert next(chunks) == chunk(text, max_tokens=30, overlap_tokens=8, tokenizer=tokenizer)[0]


# Sentences


ENDS = [
    ("One. Two! Three? Four", ["One.", "Two!", "Three?", "Four"]),
    ("你好。今天很好！是吗？是；对…好", ["你好。", "今天很好！", "是吗？", "是；", "对…", "好"]),
    ("他说：“你好。”然后走了。", ["他说：“你好。”", "然后走了。"]),
    ("他说“好。”，然后走了。", ["他说“好。”，然后走了。"]),
    ("「はい。」と言った。", ["「はい。」", "と言った。"]),
    ('"Is it?" he asked. (It was.) Yes.', ['"Is it?"', "he asked.", "(It was.)", "Yes."]),
    ("It costs 3.14 euros at https://a.b/c.d?e!f. Fine.", ["It costs 3.14 euros at https://a.b/c.d?e!f.", "Fine."]),
    ("Well... maybe. No!!! Why?!", ["Well...", "maybe.", "No!!!", "Why?!"]),
    ("line one\nline two\r\n\r\nline three", ["line one", "line two", "line three"]),
    ("真的吗？！太好了……我们走吧", ["真的吗？！", "太好了……", "我们走吧"]),
]


@pytest.mark.parametrize(("text", "sentences"), ENDS)
def test_sentences_end_where_readers_see_them_end(text: str, sentences: list[str]) -> None:
    ends = [0, *sentence_ends(text).tolist()]
    assert [text[a:b].strip() for a, b in pairwise(ends) if text[a:b].strip()] == sentences


@pytest.mark.parametrize(
    "text",
    [
        "See Dr. Who there",
        "tea, e.g. green",
        "by J. R. Smith here",
        "about 5 p.m. today",
        "cf. Fig. 3 there",
        "No. 5 is",
    ],
)
def test_an_abbreviation_does_not_end_a_sentence(text: str) -> None:
    stops = [end for end in sentence_ends(text).tolist() if end < len(text)]
    assert stops
    assert all(goes_on(text, end) for end in stops)
    assert list(next_sentences(text, 0, len(text))) == []


def test_an_abbreviation_at_the_end_of_a_sentence_ends_it() -> None:
    assert not goes_on("We left at 5 p.m. She stayed.", 17)
    assert not goes_on("apples, pears, etc. We left.", 19)
    assert not goes_on("It is so good. We left.", 14)
    assert not goes_on("line etc.\nnext", 9)


@given(TEXT)
def test_both_ways_to_find_sentences_agree_after_full_stops(text: str) -> None:
    ends = [at for at in sentence_starts(text).tolist()[:-1] if not goes_on(text, len(text[:at].rstrip()))]
    found = set(next_sentences(text, 0, len(text)))
    for at in ends:
        before = text[:at].rstrip()
        if before.endswith(("word.", "。")) and text[at : at + 1].isalpha():
            assert at in found


def test_chunks_end_at_sentences_and_begin_with_whole_ones(tokenizer: BpeTokenizer) -> None:
    text = "Dr. Costa lives here, e.g. in May. 她住在里斯本。 It costs 3.14 euros! Does it? Yes. " * 40
    chunks = chunk(text, max_tokens=60, overlap_tokens=20, tokenizer=tokenizer)
    assert all(piece.text.endswith(("May.", "。", "!", "?", "Yes.")) for piece in chunks)
    assert all(piece.text.startswith(("Dr. Costa", "她", "It", "Does", "Yes.")) for piece in chunks)


def test_the_repeated_part_is_given_up_where_it_would_cut_the_next_sentence(tokenizer: BpeTokenizer) -> None:
    chunks = chunk("Yes. Ünïcödé… \n他们走了。", max_tokens=10, overlap_tokens=9, tokenizer=tokenizer)
    assert [piece.text for piece in chunks] == ["Yes. Ünïcödé…", "他们走了。"]


def test_no_chunk_ends_with_an_abbreviation(tokenizer: BpeTokenizer) -> None:
    text = "They met Dr. Costa and Mrs. Lee there, e.g. in May, and J. R. Smith. " * 10
    for max_tokens in range(24, 60):
        chunks = chunk(text, max_tokens=max_tokens, overlap_tokens=0, tokenizer=tokenizer)
        assert all(piece.text.endswith("Smith.") for piece in chunks)


def test_what_fits_whole_is_not_cut_for_the_sake_of_what_is_repeated(tokenizer: BpeTokenizer) -> None:
    sentences = [
        "One is here.",
        "It is internationalization.",
        "他们走了。",
        "Yes.",
        "Why does it rain so much here?",
    ] * 6
    for max_tokens in range(12, 40):
        for overlap in range(0, max_tokens, 3):
            chunks = chunk(" ".join(sentences), max_tokens=max_tokens, overlap_tokens=overlap, tokenizer=tokenizer)
            assert all(piece.text.endswith((".", "?", "。")) for piece in chunks)


def test_a_sentence_above_the_limit_is_cut_after_clauses_then_words(tokenizer: BpeTokenizer) -> None:
    clauses = chunk("we saw a house, then a tree, " * 30, max_tokens=40, overlap_tokens=0, tokenizer=tokenizer)
    assert all(piece.text.endswith(",") for piece in clauses)
    words = chunk("apple banana " * 100, max_tokens=20, overlap_tokens=5, tokenizer=tokenizer)
    assert set(" ".join(piece.text for piece in words).split()) == {"apple", "banana"}
    chinese = chunk("今天天气很好，我们去公园散步，" * 30, max_tokens=40, overlap_tokens=0, tokenizer=tokenizer)
    assert all(piece.text.endswith("，") for piece in chinese)


@pytest.mark.parametrize("kind", KINDS)
def test_a_url_is_cut_only_if_it_is_larger_than_the_limit(tokenizer: BpeTokenizer, kind: ChunkKind) -> None:
    url = "https://example.org/one/two,three;four?five=6&seven=八#nine".replace("八", "8")
    for text in (f"看{url}这里" * 40, f"look at {url} now " * 40, f"{url}\n" * 40):
        chunks = chunk(text, kind=kind, max_tokens=60, overlap_tokens=10, tokenizer=tokenizer)
        assert len(chunks) > 10
        assert all(piece.text.count("https://") == piece.text.count("#nine") for piece in chunks)
    long = "https://example.org/" + "abc/" * 200
    assert len(chunk(long, kind=kind, max_tokens=60, overlap_tokens=0, tokenizer=tokenizer)) > 3


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "cluster", ["e\u0301\u0308", "👨\u200d👩\u200d👧\u200d👦", "🇩🇪", "👍🏽", "क्षि", "a\u200d", "\r\nx"]
)
def test_what_readers_see_as_one_character_is_not_cut(tokenizer: BpeTokenizer, kind: ChunkKind, cluster: str) -> None:
    text = cluster * 200
    chunks = chunk(text, kind=kind, max_tokens=50, overlap_tokens=0, tokenizer=tokenizer)
    cuts = [piece.start % len(cluster) for piece in chunks]
    assert len(chunks) > 2
    assert set(cuts) <= ({0, 2} if "\r" in cluster else {0})


def test_a_pile_of_marks_larger_than_the_limit_is_cut_all_the_same() -> None:
    assert character_end("a" + "\u0301" * 500, 100, 300) == 300
    assert character_end("ab\u0301c", 0, 2) == 1
    assert character_end("\r\n", 0, 1) == 1
    assert character_end("ab\r\n", 0, 3) == 2


def test_closing_punctuation_does_not_begin_a_chunk(tokenizer: BpeTokenizer) -> None:
    text = "甲乙丙丁，（戊己）庚、辛壬癸：" * 60
    for kind in KINDS:
        chunks = chunk(text, kind=kind, max_tokens=30, overlap_tokens=0, tokenizer=tokenizer)
        assert not [piece.text for piece in chunks if piece.text[0] in "，）、：" or piece.text[-1] == "（"]


# Kinds


def test_character_prefers_paragraphs_then_lines_then_sentences(tokenizer: BpeTokenizer) -> None:
    line = "It was a long day. We went home."
    by_paragraph = "\n\n".join([f"{line}\n{line}"] * 30)
    by_line = "\n".join([line] * 60)
    by_sentence = " ".join([line] * 60)
    for text, last in ((by_paragraph, "\n\n"), (by_line, "\n"), (by_sentence, " ")):
        chunks = chunk(text, kind="character", max_tokens=100, overlap_tokens=0, tokenizer=tokenizer)
        assert len(chunks) > 3
        for piece in chunks[:-1]:
            assert text.startswith(last, piece.end)
            assert piece.text.endswith((".", "home."))
            assert piece.token_count >= 50


def test_simple_fills_every_chunk(tokenizer: BpeTokenizer) -> None:
    text = "It was a day. We went home, then we slept.\n\n" * 100
    chunks = chunk(text, kind="simple", max_tokens=50, overlap_tokens=10, tokenizer=tokenizer)
    assert all(piece.token_count >= 48 for piece in chunks[:-1])


# Cost


UNITS = [
    "a",
    "中",
    "。",
    ".",
    " ",
    "\n",
    " \n",
    "\r\n",
    "e.g. ",
    "\u0301",
    "😀",
    "| a\n",
    "```\n",
    "# a\n",
    "a ",
    "今天，",
    "'",
    "/",
]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("unit", UNITS)
def test_cost_is_linear_for_any_unit(tokenizer: BpeTokenizer, kind: ChunkKind, unit: str) -> None:
    seconds = []
    for size in (10_000, 80_000):
        text = (unit * size)[:size]
        seconds.append(cpu_seconds(partial(chunk, text, kind=kind, tokenizer=tokenizer), rounds=2))
    assert seconds[1] < 8 * 3 * max(seconds[0], 0.002)


@pytest.mark.parametrize("kind", KINDS)
def test_a_megabyte_without_a_space_is_cut_within_the_laws(tokenizer: BpeTokenizer, kind: ChunkKind) -> None:
    text = "abcdefghij" * 100_000
    chunks = chunk(text, kind=kind, tokenizer=tokenizer)
    assert_laws(text, chunks, tokenizer, max_tokens=512, overlap_tokens=128)


@pytest.mark.parametrize("kind", KINDS)
def test_thirty_thousand_chinese_characters_without_a_line_break_are_cut(
    tokenizer: BpeTokenizer, kind: ChunkKind
) -> None:
    text = ("今天天气很好，我们一起去公园散步。晚上回家吃饭！" * 1300)[:30_000]
    chunks = chunk(text, kind=kind, tokenizer=tokenizer)
    assert_laws(text, chunks, tokenizer, max_tokens=512, overlap_tokens=128)
    assert len(chunks) > 30


# Golden


def show(chunks: Sequence[Chunk]) -> str:
    return "\n".join(f"== {c.start}:{c.end} {c.token_count} tokens {' > '.join(c.headers)}\n{c.text}" for c in chunks)


@pytest.mark.parametrize("kind", KINDS)
def test_chunks_are_the_golden_ones(tokenizer: BpeTokenizer, kind: ChunkKind) -> None:
    text = (GOLDEN / "chunks_source.md").read_text(encoding="utf-8")
    chunks = chunk(text, kind=kind, max_tokens=60, overlap_tokens=15, tokenizer=tokenizer)
    assert show(chunks) + "\n" == (GOLDEN / f"chunks_{kind}.txt").read_text(encoding="utf-8")
