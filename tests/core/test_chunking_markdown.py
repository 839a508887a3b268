"""Markdown chunks: sections, the path of headings, and blocks that stay whole."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from memreader.chunking import chunk
from memreader.chunking.markdown import parse
from memreader.tokenizing import BpeTokenizer
from memreader.types import Chunk


def cut(text: str, tokenizer: BpeTokenizer, max_tokens: int = 60, overlap_tokens: int = 0) -> list[Chunk]:
    return chunk(text, kind="markdown", max_tokens=max_tokens, overlap_tokens=overlap_tokens, tokenizer=tokenizer)


def test_chunks_carry_the_path_of_headings_down_to_their_own(tokenizer: BpeTokenizer) -> None:
    text = "before\n\n# A\n\none\n\n## B\n\ntwo\n\n#### C ##\n\nthree\n\n## D\n\nfour\n\n# E\n\nfive"
    assert [(piece.headers, piece.text.split()[-1]) for piece in cut(text, tokenizer)] == [
        ((), "before"),
        (("A",), "one"),
        (("A", "B"), "two"),
        (("A", "B", "C"), "three"),
        (("A", "D"), "four"),
        (("E",), "five"),
    ]


def test_a_chunk_never_reaches_beyond_its_section(tokenizer: BpeTokenizer) -> None:
    text = "# A\n\nalpha alpha. alpha alpha.\n\n# B\n\nbeta beta. beta beta."
    for overlap in (0, 20, 59):
        for piece in cut(text, tokenizer, overlap_tokens=overlap):
            assert ("alpha" in piece.text) != ("beta" in piece.text)


def test_a_bare_heading_goes_into_its_first_sub_section(tokenizer: BpeTokenizer) -> None:
    text = "# A\n\n## B\n\nwords here\n\n## C\n## D\n\nother words"
    assert [(piece.headers, piece.text) for piece in cut(text, tokenizer)] == [
        (("A", "B"), "# A\n\n## B\n\nwords here"),
        (("A", "C"), "## C"),
        (("A", "D"), "## D\n\nother words"),
    ]


def test_a_heading_stays_with_what_follows_it(tokenizer: BpeTokenizer) -> None:
    text = "# A heading of quite a few words\n\n" + "word " * 26 + ".\n\nThe end."
    for shown in (text, text.replace("\n", "\r\n")):
        first, *_ = cut(shown, tokenizer, max_tokens=30)
        assert first.text.split("word", 1)[0].split() == "# A heading of quite a few".split()
        assert first.text.split()[-1] == "word"


def test_only_headings_are_headings(tokenizer: BpeTokenizer) -> None:
    text = "#hashtag\n\n    # code by indent\n\n> # quoted\n\n####### seven\n\nC# is a language\n\\# escaped"
    assert {piece.headers for piece in cut(text, tokenizer)} == {()}
    assert [section.headers for section in parse("#\n\n   # Three spaces\n\n# A #1 #\n")[0]] == [
        ("Three spaces",),
        ("A #1",),
    ]


def test_lines_in_a_fence_are_no_headings(tokenizer: BpeTokenizer) -> None:
    for fence in ("```", "````", "~~~"):
        text = f"# A\n\n{fence}sh\n# comment\n``\n## another\n{fence}\n\nafter the fence"
        assert {piece.headers for piece in cut(text, tokenizer)} == {("A",)}
    assert {piece.headers for piece in cut("# A\n\n````\n```\n# comment\n````\n\nend", tokenizer)} == {("A",)}
    assert {piece.headers for piece in cut("# A\n\n```\n# never closed", tokenizer)} == {("A",)}


def test_fences_and_tables_within_the_limit_are_not_cut(tokenizer: BpeTokenizer) -> None:
    fence = "```python\n# one. Two. Three.\nprint('a. b. c.')\n\nreturn 'x. y. z.'\n```"
    table = "| a. b. | c |\n| --- | --- |\n| one. two. | three. |\n| 四。五。 | 六 |"
    loose = "a | b. c.\n--- | ---\none. two. | three.\nfour | five."
    for block in (fence, table, loose):
        assert tokenizer.count(block) <= 50
        text = "\n\n".join(["A sentence of words. Another one here.", block] * 10)
        for overlap in (0, 15, 40):
            chunks = cut(text, tokenizer, max_tokens=60, overlap_tokens=overlap)
            assert sum(piece.text.count(block) for piece in chunks) >= 10
            for piece in chunks:
                rest = piece.text.replace(block, "")
                assert not [mark for mark in ("`", "|", "print", "x. y. z.") if mark in rest]


def test_a_block_larger_than_the_limit_is_cut_between_lines(tokenizer: BpeTokenizer) -> None:
    rows = "\n".join(f"| row {i} | some words. And more. |" for i in range(40))
    code = "```\n" + "\n".join(f"value_{i} = load('a. b', {i})" for i in range(40)) + "\n```"
    for block in (rows, code):
        chunks = cut(f"Before.\n\n{block}\n\nAfter.", tokenizer, max_tokens=60)
        lines = set(block.split("\n"))
        assert len(chunks) > 5
        for piece in chunks[1:-1]:
            assert set(piece.text.split("\n")) <= lines


def test_crlf_documents_are_parsed_alike(tokenizer: BpeTokenizer) -> None:
    text = "# A\n\none\n\n```\n# no\n```\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n## B #\n\ntwo"
    unix = cut(text, tokenizer, max_tokens=500)
    windows = cut(text.replace("\n", "\r\n"), tokenizer, max_tokens=500)
    assert [(p.headers, p.text) for p in unix] == [(p.headers, p.text.replace("\r\n", "\n")) for p in windows]


def test_text_without_markdown_is_cut_like_sentences(tokenizer: BpeTokenizer) -> None:
    text = "One is here. Two is there. Three is nowhere. " * 30
    assert cut(text, tokenizer, overlap_tokens=15) == chunk(
        text, kind="sentence", max_tokens=60, overlap_tokens=15, tokenizer=tokenizer
    )


LINES = st.lists(
    st.sampled_from(
        [
            *("# a", "## b", "### c #", "#", "```", "````", "~~~", "| x |", "|---|", "a | b", "-|-"),
            *("words. More.", "", "  ", "\r"),
        ]
    ),
    max_size=25,
).map("\n".join)


@given(LINES)
def test_sections_and_blocks_are_in_order_and_cover_the_text(text: str) -> None:
    sections, blocks = parse(text)
    assert sections[0].start == 0
    assert sections[-1].stop == len(text)
    for before, after in pairwise(sections):
        assert before.stop == after.start
    for (_, stop), (start, _) in pairwise(blocks):
        assert stop <= start
    for start, stop in blocks:
        assert start < stop <= len(text)
        assert any(section.start <= start and stop <= section.stop for section in sections)
