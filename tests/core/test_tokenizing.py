"""The tokenizer: tiktoken's counts, offline, from every place that ranks may lie in."""

from __future__ import annotations

import copy
import hashlib
import os
import pickle
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
import tiktoken
import tiktoken_ext.openai_public  # type: ignore[import-untyped]
from hypothesis import given
from hypothesis import strategies as st

import memreader.tokenizing.ranks
from cpu_time import cpu_seconds
from memreader.errors import InputError, MemReaderError, TokenizerNotFoundError
from memreader.ports import Tokenizer
from memreader.tokenizing import BpeTokenizer, load_tokenizer
from memreader.tokenizing.ranks import ENCODINGS, EncodingSpec, find_ranks
from memreader.tokenizing.runs import MAX_RUN, pieces

SHIPPED = Path(memreader.tokenizing.ranks.__file__).parent / "data" / "o200k_base.tiktoken"
TOY_RANKS = b"YQ== 0\nYg== 1\n"
TOY = EncodingSpec(".", "https://nowhere.invalid/toy.tiktoken", hashlib.sha256(TOY_RANKS).hexdigest())

WILD_TEXT = st.text(
    st.one_of(
        st.characters(codec="utf-8"),
        st.sampled_from(list("aB 1,.'/!\n\r\t。，你好😀\u0301\u200d\u3000")),
    ),
    max_size=200,
)


@pytest.fixture(scope="module")
def tokenizer() -> BpeTokenizer:
    return load_tokenizer()


@pytest.fixture(scope="module")
def reference(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tiktoken.Encoding]:
    """tiktoken's own o200k_base, its cache filled from our copy so that it stays offline."""
    cache = tmp_path_factory.mktemp("cache")
    (cache / ENCODINGS["o200k_base"].cache_name).write_bytes(SHIPPED.read_bytes())
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TIKTOKEN_CACHE_DIR", str(cache))
        yield tiktoken.get_encoding("o200k_base")


@pytest.fixture
def nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine without any ranks but ours; returns tiktoken's empty cache folder."""
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(sys, "path", [])
    monkeypatch.setattr(sys, "path_importer_cache", {})
    return tmp_path


def test_it_is_a_tokenizer(tokenizer: BpeTokenizer) -> None:
    assert isinstance(tokenizer, Tokenizer)
    assert tokenizer.name == "o200k_base"


def test_the_shipped_ranks_are_the_published_ones() -> None:
    assert hashlib.sha256(SHIPPED.read_bytes()).hexdigest() == ENCODINGS["o200k_base"].sha256


def test_patterns_are_those_of_tiktoken(reference: tiktoken.Encoding) -> None:
    assert reference._pat_str == ENCODINGS["o200k_base"].pattern
    assert tiktoken_ext.openai_public.r50k_pat_str == ENCODINGS["r50k_base"].pattern == ENCODINGS["p50k_base"].pattern


@given(WILD_TEXT)
def test_counts_are_those_of_tiktoken(tokenizer: BpeTokenizer, reference: tiktoken.Encoding, text: str) -> None:
    ids = reference.encode_ordinary(text)
    assert tokenizer.count(text) == len(ids)
    ends = np.cumsum([len(reference.decode_single_token_bytes(i)) for i in ids])
    assert tokenizer.byte_ends(text).tolist() == ends.tolist()


@given(WILD_TEXT)
def test_character_ends_count_the_characters_begun(tokenizer: BpeTokenizer, text: str) -> None:
    data = text.encode()
    begun = [sum(byte & 0xC0 != 0x80 for byte in data[:end]) for end in tokenizer.byte_ends(text)]
    assert tokenizer.character_ends(text).tolist() == begun


def test_long_texts_are_counted_as_short_ones(tokenizer: BpeTokenizer, reference: tiktoken.Encoding) -> None:
    text = "Ana moved to 北京 in May 2024; she likes it there. 她很喜欢绿茶。\n" * 200
    assert tokenizer.count(text) == len(reference.encode_ordinary(text)) == len(tokenizer.byte_ends(text))


def test_an_empty_text_has_no_tokens(tokenizer: BpeTokenizer) -> None:
    assert tokenizer.count("") == 0
    assert tokenizer.byte_ends("").shape == (0,)
    assert tokenizer.count_many([]) == []


def test_count_many_counts_each(tokenizer: BpeTokenizer) -> None:
    texts = ["", "hello", "你好，世界", "a" * 5000]
    assert tokenizer.count_many(texts) == [tokenizer.count(text) for text in texts]


def test_the_name_of_a_special_token_is_plain_text(tokenizer: BpeTokenizer) -> None:
    assert tokenizer.count("<|endoftext|>") > 3
    assert tokenizer.byte_ends("<|endoftext|>")[-1] == 13
    assert tokenizer.count("<|endoftext|>" * 500) > 1500


@pytest.mark.parametrize("text", ["a\ud800", "\udc00" + "b" * 5000])
def test_a_lone_surrogate_is_refused_with_its_place(tokenizer: BpeTokenizer, text: str) -> None:
    place = next(i for i, c in enumerate(text) if "\ud800" <= c <= "\udfff")
    for ask in (tokenizer.count, tokenizer.byte_ends, tokenizer.character_ends):
        with pytest.raises(InputError, match=rf"surrogate at character {place}"):
            ask(text)


# Runs without a break


@given(
    st.lists(
        st.tuples(st.sampled_from(["a", "中", " ", "-", "。", "7", "\n", "x y", "😀"]), st.integers(1, 3000)),
        max_size=6,
    )
)
def test_pieces_join_to_the_text_and_no_run_in_them_is_too_long(parts: list[tuple[str, int]]) -> None:
    text = "".join(unit * times for unit, times in parts)
    cut = pieces(text)
    assert "".join(cut) == text
    for piece in cut:
        row = longest = 1
        for a, b in pairwise(piece):
            row = row + 1 if a == b else 1
            longest = max(longest, row)
        assert longest <= MAX_RUN


def test_a_run_is_cut_from_where_it_begins() -> None:
    for before in ("", "hi ", "some words, then " * 200):
        first, second, third = pieces(before + "a" * 5000)
        assert (first, second) == (before + "a" * MAX_RUN, "a" * MAX_RUN)
        assert third == "a" * (5000 - 2 * MAX_RUN)


def test_texts_with_breaks_are_not_cut() -> None:
    for text in ("word " * 2000, "1.5,2.25\n" * 2000, "今天天气很好，我们去公园。" * 500, "a" * MAX_RUN):
        assert pieces(text) == [text]


@pytest.mark.parametrize("unit", ["a", "中", " ", "\n", "-", "。", "\u3000", "😀", "\u0301", "…"])
def test_a_run_costs_as_much_per_character_however_long_it_is(tokenizer: BpeTokenizer, unit: str) -> None:
    assert tokenizer.byte_ends(unit * 10_000)[-1] == 10_000 * len(unit.encode())
    seconds = []
    for size in (25_000, 200_000):
        seconds.append(cpu_seconds(partial(tokenizer.count, unit * size)) / size)
    assert seconds[1] < 4 * seconds[0] + 1e-6


def test_a_cut_run_has_hardly_more_tokens(tokenizer: BpeTokenizer, reference: tiktoken.Encoding) -> None:
    text = "Once " + "ab" * 20_000 + " upon"
    exact = len(reference.encode_ordinary(text))
    assert exact <= tokenizer.count(text) <= exact * 1.01


# Where slices keep their tokens


@given(WILD_TEXT, st.data())
def test_tokens_add_up_at_seams(tokenizer: BpeTokenizer, text: str, data: st.DataObject) -> None:
    whole = set(tokenizer.byte_ends(text).tolist())
    for seam in tokenizer.seams.finditer(text):
        assert len(text[: seam.start()].encode()) in whole
        assert tokenizer.count(text[: seam.start()]) + tokenizer.count(text[seam.start() :]) == tokenizer.count(text)


@given(st.lists(WILD_TEXT, max_size=6))
def test_lines_that_begin_with_a_word_add_up(tokenizer: BpeTokenizer, contents: list[str]) -> None:
    lines = [f"user: {content}\n" for content in contents]
    assert sum(map(tokenizer.count, lines)) == tokenizer.count("".join(lines))


# Where ranks come from


def test_the_default_needs_nothing_outside_the_package(nowhere: Path) -> None:
    spec = ENCODINGS["o200k_base"]
    assert find_ranks("o200k_base", spec) == SHIPPED.read_bytes()


def test_ranks_are_read_from_an_explicit_path(tmp_path: Path) -> None:
    file = tmp_path / "ranks"
    file.write_bytes(TOY_RANKS)
    assert find_ranks("toy", TOY, path=file) == TOY_RANKS
    assert load_tokenizer(path=SHIPPED).count("hello world") == 2


def test_a_path_to_something_else_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "ranks"
    file.write_bytes(TOY_RANKS + b"\n")
    with pytest.raises(InputError, match="sha256"):
        load_tokenizer("o200k_base", path=file)
    with pytest.raises(FileNotFoundError):
        load_tokenizer("o200k_base", path=tmp_path / "missing")


def test_ranks_are_found_in_tiktokens_cache(nowhere: Path) -> None:
    (nowhere / TOY.cache_name).write_bytes(TOY_RANKS)
    assert find_ranks("toy", TOY) == TOY_RANKS


def test_tiktokens_default_cache_is_used_without_the_variable(nowhere: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TIKTOKEN_CACHE_DIR")
    monkeypatch.setattr("tempfile.tempdir", str(nowhere))
    with pytest.raises(TokenizerNotFoundError):
        find_ranks("toy", TOY)
    (nowhere / "data-gym-cache").mkdir()
    (nowhere / "data-gym-cache" / TOY.cache_name).write_bytes(TOY_RANKS)
    assert find_ranks("toy", TOY) == TOY_RANKS


def test_ranks_are_found_in_llama_index_without_importing_it(nowhere: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = nowhere / "site" / "llama_index"
    cache = package / "core" / "_static" / "tiktoken_cache"
    cache.mkdir(parents=True)
    (package / "__init__.py").write_text("raise RuntimeError('imported')")
    (package / "core" / "__init__.py").write_text("raise RuntimeError('imported')")
    (cache / TOY.cache_name).write_bytes(TOY_RANKS)
    monkeypatch.setattr(sys, "path", [str(nowhere / "site")])
    monkeypatch.delitem(sys.modules, "llama_index", raising=False)
    assert find_ranks("toy", TOY) == TOY_RANKS


@pytest.mark.skipif(find_spec("llama_index") is None, reason="llama-index-core is not installed")
def test_cl100k_base_comes_from_the_installed_llama_index() -> None:
    code = (
        "import sys; from memreader.tokenizing import load_tokenizer; "
        "assert load_tokenizer('cl100k_base').count('hello world') == 2; "
        "assert not [m for m in sys.modules if m.startswith(('llama_index', 'requests'))]"
    )
    environment = {k: v for k, v in os.environ.items() if k != "TIKTOKEN_CACHE_DIR"}
    subprocess.run([sys.executable, "-c", code], check=True, env=environment)


def test_a_damaged_file_counts_as_not_found_and_is_named(nowhere: Path) -> None:
    (nowhere / TOY.cache_name).write_bytes(TOY_RANKS[:5])
    with pytest.raises(TokenizerNotFoundError, match="TIKTOKEN_CACHE_DIR \\(damaged file\\)") as caught:
        find_ranks("toy", TOY)
    assert caught.value.encoding == "toy"
    assert isinstance(caught.value, MemReaderError)


def test_ranks_that_are_nowhere_are_not_fetched_unasked(nowhere: Path) -> None:
    with pytest.raises(TokenizerNotFoundError, match="allow_download=True"):
        load_tokenizer("p50k_base")


def test_ranks_are_fetched_once_when_allowed(nowhere: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            self.send_response(200)
            self.end_headers()
            self.wfile.write(TOY_RANKS)

        def log_message(self, *args: object) -> None:
            pass

    monkeypatch.undo()
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(nowhere))
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        spec = replace(TOY, url=f"http://127.0.0.1:{server.server_port}/toy")
        assert find_ranks("toy", spec, allow_download=True) == TOY_RANKS
        server.shutdown()
    assert asked == ["/toy"]
    assert find_ranks("toy", spec) == TOY_RANKS


def test_an_unknown_encoding_is_named_with_the_known_ones() -> None:
    with pytest.raises(ValueError, match=r"'o300k'.*o200k_base"):
        load_tokenizer("o300k")


# One per process


def test_threads_share_one_tokenizer() -> None:
    with ThreadPoolExecutor(8) as pool:
        loaded = list(pool.map(load_tokenizer, ["o200k_harmony"] * 8))
    assert len(set(map(id, loaded))) == 1
    assert loaded[0].name == "o200k_harmony"


def test_copies_are_the_tokenizer_itself(tokenizer: BpeTokenizer) -> None:
    assert copy.deepcopy(tokenizer) is tokenizer
    assert copy.copy(tokenizer) is tokenizer
    assert pickle.loads(pickle.dumps(tokenizer)) is tokenizer


def test_a_pickle_is_loaded_again_in_another_process(tokenizer: BpeTokenizer) -> None:
    stored = pickle.dumps(tokenizer)
    assert len(stored) < 200
    code = "import pickle, sys; print(pickle.load(sys.stdin.buffer).count('hello world'))"
    done = subprocess.run([sys.executable, "-c", code], input=stored, capture_output=True, check=True)
    assert done.stdout.strip() == b"2"


def test_importing_the_package_does_not_import_tiktoken() -> None:
    code = "import sys, memreader.tokenizing, memreader.chunking; assert 'tiktoken' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)
