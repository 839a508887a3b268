"""The byte-pair tokenizer: tiktoken's merging over ranks that are on this machine."""

from __future__ import annotations

import os
import re
from base64 import b64decode
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from memreader.errors import InputError
from memreader.forksafe import Guard
from memreader.tokenizing.ranks import ENCODINGS, EncodingSpec, find_ranks
from memreader.tokenizing.runs import pieces

if TYPE_CHECKING:
    from tiktoken import Encoding

_SHORT = 1024
"""Characters up to which a list of ids is made faster than an array; no run that must be cut is as short."""
_CONTINUATION = bytes(range(0x80, 0xC0))
# Written so that the search skips to the next character of the first set without looking at what is before.
_SEAMS = re.compile(r"[ ,.;:!?，。！？；：、…”」』）】》](?:(?<=\S )|(?<=[^\W\d_][^ ]))")
_LINE_STARTS = re.compile(r"(?<=\n)(?=[^\s/])|\A")
_loaded: dict[str, BpeTokenizer] = {}
_guard = Guard()


class BpeTokenizer:
    """Counts and cuts the tokens of one encoding; made by `load_tokenizer`, shared by all threads.

    Counts equal tiktoken's `encode_ordinary`, except for text with more than 2,048 characters of one kind in a row
    (a megabyte without a space): such runs are encoded in pieces, so that the cost stays linear, and may have a few
    tokens more. Text that looks like a special token is plain text. A copy is the tokenizer itself; a pickle holds
    the name and is loaded again where it is opened.
    """

    def __init__(self, name: str, spec: EncodingSpec, ranks: dict[bytes, int], path: str | None = None) -> None:
        from tiktoken import Encoding

        self._name = name
        self._path = path
        self._lines_add_up = spec.lines_add_up
        size = max(ranks.values()) + 1
        # None is ever allowed; but with an empty table tiktoken's search for special tokens halts at every character.
        special = {"<|endoftext|>": size}
        self._encoding: Encoding = Encoding(name, pat_str=spec.pattern, mergeable_ranks=ranks, special_tokens=special)
        self._lengths = np.zeros(size, dtype=np.int64)
        self._begun = np.zeros(size, dtype=np.int64)
        ids = np.fromiter(ranks.values(), np.int64, len(ranks))
        self._lengths[ids] = np.fromiter(map(len, ranks), np.int64, len(ranks))
        self._begun[ids] = np.fromiter((len(token.translate(None, _CONTINUATION)) for token in ranks), np.int64)

    @property
    def name(self) -> str:
        """Name of the encoding."""
        return self._name

    @property
    def lines_add_up(self) -> bool:
        """Whether lines that begin with a letter have as many tokens joined as they have one by one."""
        return self._lines_add_up

    @property
    def seams(self) -> re.Pattern[str]:
        """Matches a character that begins a new token in every encoding known here, for the one before it alone.

        That is a space after something else, and a punctuation mark after a letter. Tokens between two seams are the
        same in the whole text and in a slice of it.
        """
        return _SEAMS

    @property
    def line_starts(self) -> re.Pattern[str]:
        """Matches, without taking anything, where a line begins: a seam too, but one at which a slice can't end.

        It can where `lines_add_up`.
        """
        return _LINE_STARTS

    def count(self, text: str) -> int:
        """Return the number of tokens in `text`.

        Raises:
            InputError: `text` holds a lone surrogate, which no encoding can write; cleaned text has none.
        """
        if len(text) <= _SHORT:
            count = len(self._encoding.encode_ordinary(text))
            if not text.isascii():
                _check(text)
            return count
        return len(self._ids(text))

    def count_many(self, texts: Iterable[str]) -> list[int]:
        """Return `count` of each text, in order. A loop: tiktoken's batch calls are slower on short texts."""
        return [self.count(text) for text in texts]

    def byte_ends(self, text: str) -> npt.NDArray[np.int64]:
        """Return for each token of `text` the UTF-8 byte offset at which it ends, ascending; empty for an empty text.

        Raises:
            InputError: `text` holds a lone surrogate.
        """
        ids = self._ids(text)
        ends = self._lengths[ids]
        return np.cumsum(ends, out=ends)

    def character_ends(self, text: str) -> npt.NDArray[np.int64]:
        """Return for each token of `text` how many characters (code points) have begun when it ends, ascending.

        Raises:
            InputError: `text` holds a lone surrogate.
        """
        ends = self._begun[self._ids(text)]
        return np.cumsum(ends, out=ends)

    def _ids(self, text: str) -> npt.NDArray[np.uint32]:
        try:
            found = [self._encoding.encode_to_numpy(part, disallowed_special=()) for part in pieces(text)]
        except UnicodeEncodeError:
            _check(text)
            raise
        return found[0] if len(found) == 1 else np.concatenate(found)

    def __reduce__(self) -> tuple[Any, ...]:
        return _reload, (self._name, self._path)

    def __repr__(self) -> str:
        return f"BpeTokenizer({self._name!r})"


def load_tokenizer(
    encoding: str = "o200k_base", *, path: str | os.PathLike[str] | None = None, allow_download: bool = False
) -> BpeTokenizer:
    """Return the tokenizer of `encoding`, loaded once per process.

    Args:
        encoding: One of tiktoken's encodings. The ranks of "o200k_base" come with the package; others are looked for
            in TIKTOKEN_CACHE_DIR and in llama-index-core's own cache.
        path: A file of ranks to use instead; it must be the published one.
        allow_download: Fetch ranks that are nowhere on this machine. Without it nothing is ever fetched.

    Raises:
        ValueError: No such encoding, or `path` holds something else (InputError).
        FileNotFoundError: There is no file at `path`.
        TokenizerNotFoundError: The ranks are not on this machine.

    >>> load_tokenizer().count("hello world")
    2
    """
    spec = ENCODINGS.get(encoding)
    if spec is None:
        raise InputError(f"no encoding is called {encoding!r}. Known are: {', '.join(ENCODINGS)}")
    with _guard.lock:
        if path is None and encoding in _loaded:
            return _loaded[encoding]
        data = find_ranks(encoding, spec, path=path, allow_download=allow_download)
        if encoding not in _loaded:
            where = None if path is None else os.fspath(path)
            _loaded[encoding] = BpeTokenizer(encoding, spec, _parse(data), where)
        return _loaded[encoding]


def _check(text: str) -> None:
    """Raise InputError if `text` can't be written as UTF-8; tiktoken replaces what it can't, and offsets would shift.

    To be called after tiktoken has seen the text: the string then holds its UTF-8 form, and this costs next to nothing.
    """
    try:
        text.encode()
    except UnicodeEncodeError as error:
        message = f"the text holds a lone surrogate at character {error.start}. Clean it first"
        raise InputError(message) from error


def _parse(data: bytes) -> dict[bytes, int]:
    """Return token bytes -> rank from a file of lines `base64 rank`."""
    return {b64decode(token): int(rank) for token, rank in (line.split() for line in data.splitlines() if line)}


def _reload(encoding: str, path: str | None) -> BpeTokenizer:
    with _guard.lock:
        known = _loaded.get(encoding)
    return known or load_tokenizer(encoding, path=path)
