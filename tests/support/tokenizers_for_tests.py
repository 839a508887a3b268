"""Tokenizers that are unlike the default one, to test what holds for any."""

from __future__ import annotations

from base64 import b64decode
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from memreader.tokenizing import BpeTokenizer
from memreader.tokenizing.ranks import ENCODINGS, find_ranks


class LetterTokenizer:
    """One token per character, and it remembers what it counted."""

    name = "letters"

    def __init__(self) -> None:
        self.counted: list[str] = []

    def count(self, text: str) -> int:
        self.counted.append(text)
        return len(text)

    def byte_ends(self, text: str) -> npt.NDArray[np.int64]:
        return np.cumsum([len(character.encode()) for character in text], dtype=np.int64)


class PairTokenizer(LetterTokenizer):
    """Counts two tokens more for every pair of lines than for the lines alone, as no sum of lines can tell."""

    name = "pairs"

    def count(self, text: str) -> int:
        return super().count(text) + 2 * max(0, text.count("\n") - 1)


class WordPieceTokenizer:
    """Four letters a token at most, spaces for free."""

    name = "pieces"

    def count(self, text: str) -> int:
        return len(self.byte_ends(text))

    def byte_ends(self, text: str) -> npt.NDArray[np.int64]:
        ends = []
        length = 0
        for i, character in enumerate(text):
            length = length + 1 if not character.isspace() else 0
            if length == 4 or i + 1 == len(text) or (length and text[i + 1].isspace()):
                ends.append(len(text[: i + 1].encode()))
                length = 0
        return np.array(ends, np.int64)


@lru_cache(maxsize=1)
def older_encoding() -> BpeTokenizer:
    """Return a tokenizer that cuts words as older encodings do, by which lines don't always add up."""
    lines = [line.split() for line in find_ranks("o200k_base", ENCODINGS["o200k_base"]).splitlines()]
    return BpeTokenizer("older", ENCODINGS["r50k_base"], {b64decode(token): int(rank) for token, rank in lines})
