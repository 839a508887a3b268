"""Vectors of single word pieces in their context, by the embedded model: what late interaction compares.

As in ColBERT (Khattab and Zaharia 2020) a question's pieces each look for the most similar piece of a text. Ours come
from the last layer of MiniLM, which was not trained for that, with the turns around a turn as context; projected to 96
dimensions by the principal directions of such vectors over MADial-Bench's English dialogues (MIT) and our example chat,
then rounded to eight bits.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from importlib.resources import files
from io import BytesIO
from typing import Any

import numpy as np

from memreader.embedding.batching import normalised
from memreader.types import Framed, TokenVectors, Vectors

DIMENSION = 96
OWN, EACH_BEFORE, BEFORE, AFTER = 170, 90, 110, 60
"""Word pieces at most: of the text itself, of each text before it, of all before it, and of the one after it."""
BATCH = 8
SCALE = 127.0

Run = Callable[[list[list[int]]], Vectors]
"""Lists of ids in, the last layer out, shape (n, longest, 384)."""


Job = tuple[int, list[int], int, int]
"""Place of a text, ids of it and what stands around it, and where among them its own are: the first, how many."""


def one_by_one(work: Callable[[list[Job]], None], parts: Sequence[list[Job]]) -> None:
    """Do the work for each part."""
    for part in parts:
        work(part)


def embed_tokens(
    tokenizer: Any,
    run: Run,
    texts: Sequence[Framed],
    *,
    spread: Callable[[Callable[[list[Job]], None], Sequence[list[Job]]], None] = one_by_one,
    cores: int = 1,
) -> list[TokenVectors]:
    """Return the vectors of each text's own first 170 word pieces, encoded with what stands around it.

    Args:
        tokenizer: Of the model.
        run: The model.
        texts: In any order.
        spread: Does work for each part, in several threads perhaps.
        cores: How many may be busy.
    """
    jobs: list[Job] = []
    for place, framed in enumerate(texts):
        before = [piece for text in framed.before for piece in _ids(tokenizer, text)[:EACH_BEFORE]][-BEFORE:]
        own, after = _ids(tokenizer, framed.text)[:OWN], _ids(tokenizer, framed.after)[:AFTER]
        jobs.append((place, [*before, *own, *after], len(before), len(own)))
    jobs.sort(key=lambda job: len(job[1]))
    found: list[TokenVectors] = [EMPTY] * len(texts)

    def work(part: list[Job]) -> None:
        hidden = run([with_ends(tokenizer, ids) for _, ids, _, _ in part])
        for row, (place, ids, first, count) in enumerate(part):
            found[place] = _tokens(ids[first : first + count], hidden[row, 1 + first : 1 + first + count])

    size = min(BATCH, -(-len(jobs) // cores)) or 1
    spread(work, [jobs[start : start + size] for start in range(0, len(jobs), size)])
    return found


def pieces_of(tokenizer: Any, text: str, hidden: Vectors) -> TokenVectors:
    """Return the vectors of a text's word pieces, of which `hidden` is the last layer, ends included."""
    return _tokens(_ids(tokenizer, text), hidden[1:-1])


def _tokens(ids: list[int], hidden: Vectors) -> TokenVectors:
    return TokenVectors(np.array(ids, np.uint16), np.round(_projected(hidden) * SCALE).astype(np.int8))


def with_ends(tokenizer: Any, ids: list[int]) -> list[int]:
    """Return ids between those that the model wants at both ends."""
    return [tokenizer.token_to_id("[CLS]"), *ids, tokenizer.token_to_id("[SEP]")]


def _ids(tokenizer: Any, text: str) -> list[int]:
    ids: list[int] = tokenizer.encode(text, add_special_tokens=False).ids if text else []
    return ids


def _projected(vectors: Vectors) -> Vectors:
    return normalised(vectors @ _projection())


@cache
def _projection() -> Vectors:
    data = (files("memreader.embedding") / "data" / "token_projection.npy").read_bytes()
    matrix: Vectors = np.load(BytesIO(data), allow_pickle=False).astype(np.float32)
    return matrix


EMPTY = TokenVectors(np.zeros(0, np.uint16), np.zeros((0, DIMENSION), np.int8))
