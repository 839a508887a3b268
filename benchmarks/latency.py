"""What a search takes without encoding its query, by how many items one user has; what an item takes to add and keep.

Vectors are computed before the clock runs, so that `Memory.search` and `Memory.add` cost what they do with an embedder
that takes no time. The texts are turns of talk whose words are as frequent as in real text (Zipf); their vectors are
sums of the words', and each word has one or two pieces whose vectors late interaction compares. Each size is measured
with late interaction, the default, and without.
"""

from __future__ import annotations

import argparse
import gc
import multiprocessing
import random
import tempfile
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from itertools import accumulate
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.peers.stores.harness import resident_mb, summary, timed
from benchmarks.progress import bar
from benchmarks.systems import size_mb
from benchmarks.table import show
from benchmarks.texts import ENGLISH_WORDS
from memreader.types import Framed, TokenVectors, Vectors

USER = "ana"
SPEAKERS = ("Ana", "Ben")
SESSION = 20
"""Turns in one session."""
TOP_K = 10
VOCABULARY = 20_000
START = datetime(2023, 1, 2, 8, 0)
PATIENCE_S = 120.0
SEARCH_GOALS = {700: 3.0, 10_000: 9.0, 100_000: 90.0}
"""Items -> median milliseconds, at most."""
ADD_GOAL = (100_000, 0.5)
LONG_WORD = 5
"""Letters above which a word has two pieces."""
NOTES = (
    f"search: top {TOP_K} of one user, its indexes in memory; after an add: the first search after one item was added.",
    "add: a turn of a session that goes on, or an item; written durably (process) with words, sources, change log.",
    "memory: of the store's indexes as it counts them; process: what it grew by from opening to the first search, with"
    " the vectors of pieces that late interaction keeps.",
    "found: share of the queries, made of four words of a turn, that have this turn among the hits.",
)


def vocabulary() -> list[str]:
    """Return words, the most frequent first: English ones, then made-up ones."""
    rng = random.Random(3)
    parts = [first + vowel for first in "b d f g k l m n p r s t v z br st tr pl ch sh".split() for vowel in "aeiou"]
    made = dict.fromkeys("".join(rng.choices(parts, k=rng.choice((2, 3, 3, 4)))) for _ in range(2 * VOCABULARY))
    return list(dict.fromkeys([*ENGLISH_WORDS, *made]))[:VOCABULARY]


@dataclass(frozen=True, slots=True)
class Talk:
    """Turns from a seed; the same for the same number, whatever else is asked for."""

    words: tuple[str, ...]
    weights: tuple[float, ...]

    @classmethod
    def make(cls) -> Talk:
        words = tuple(vocabulary())
        return cls(words, tuple(accumulate(1 / (place + 2.7) for place in range(len(words)))))

    def text(self, number: int) -> str:
        """Return what is said in a turn: a sentence or two."""
        rng = random.Random(number)
        said = rng.choices(self.words, cum_weights=self.weights, k=rng.randint(5, 30))
        return f"{said[0].capitalize()} {' '.join(said[1:])}{rng.choice('...?!')}"

    def message(self, number: int) -> dict[str, str]:
        """Return a turn as `Memory.add` takes it."""
        return {
            "role": "user",
            "name": SPEAKERS[number % 2],
            "content": self.text(number),
            "chat_time": (START + timedelta(hours=number // SESSION, minutes=number % SESSION)).isoformat(),
            "message_id": f"m{number}",
        }

    def question(self, number: int) -> str:
        """Return a question about a turn, in four of its words."""
        rng = random.Random(-1 - number)
        words = self.text(number).strip(".?!").lower().split()
        rare = [word for word in dict.fromkeys(words) if word not in ENGLISH_WORDS] or words
        return f"What did {SPEAKERS[number % 2]} say about the {' '.join(rng.sample(rare, min(4, len(rare))))}?"

    def sessions(self, count: int) -> Iterator[tuple[str, list[dict[str, str]]]]:
        """Yield the sessions that hold the first `count` turns."""
        for first in range(0, count, SESSION):
            yield session_name(first), [self.message(number) for number in range(first, min(count, first + SESSION))]


def session_name(number: int) -> str:
    """Return the session that a turn is of."""
    return f"s{number // SESSION}"


class GivenVectors:
    """An embedder that looks vectors up; they are sums of the words' vectors, rare words weighing more.

    What it was not prepared for it computes, and counts in `misses`.
    """

    name = "given vectors"
    dimension = 384
    max_tokens = 256
    fingerprint = "given:sum-of-words-1"
    token_fingerprint = "given:pieces-1"
    token_dimension = 96

    def __init__(self, talk: Talk) -> None:
        rng = np.random.default_rng(5)
        rows = rng.standard_normal((len(talk.words) + 1, self.dimension), np.float32)
        places = np.arange(1, len(rows) + 1, dtype=np.float32)
        # All texts have something in common, as under trained models.
        self._common = rng.standard_normal(self.dimension).astype(np.float32)
        self._rows = rows * np.sqrt(places / len(rows))[:, None]
        self._place = {word: place for place, word in enumerate(talk.words)}
        self._known: dict[str, Vectors] = {}
        pieces = rng.standard_normal((2 * len(rows), self.token_dimension), np.float32)
        pieces += rng.standard_normal(self.token_dimension).astype(np.float32)
        self._pieces = np.round(pieces / np.linalg.norm(pieces, axis=1, keepdims=True) * 127).astype(np.int8)
        self._known_pieces: dict[str, TokenVectors] = {}
        self.misses = 0

    def prepare(self, texts: Sequence[str]) -> None:
        """Compute the vectors of texts before they are asked for."""
        self._known.update((text, self._vector(text)) for text in texts)
        self._known_pieces.update((text, self._tokens(text)) for text in texts)

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Return unit vectors, one row per text."""
        if not texts:
            return np.zeros((0, self.dimension), np.float32)
        return np.stack([self.embed_query(text) for text in texts])

    def embed_query(self, text: str) -> Vectors:
        """Return the unit vector of a text, shape (dimension,)."""
        vector = self._known.get(text)
        if vector is None:
            self.misses += 1
            vector = self._vector(text)
        return vector

    def embed_tokens(self, texts: Sequence[Framed]) -> list[TokenVectors]:
        """Return the vectors of the pieces of each text's words; what stands around it makes no difference."""
        return [self.embed_query_tokens(framed.text) for framed in texts]

    def embed_query_tokens(self, text: str) -> TokenVectors:
        """Return the vectors of the pieces of a text's words."""
        tokens = self._known_pieces.get(text)
        if tokens is None:
            self.misses += 1
            tokens = self._tokens(text)
        return tokens

    def _tokens(self, text: str) -> TokenVectors:
        words = zip(self._words(text), self._places(text), strict=False)
        # Most words have a piece of their own, long ones a second one that other words have, too.
        ids = [
            piece for word, place in words for piece in ((place, -place % 997) if len(word) > LONG_WORD else (place,))
        ]
        return TokenVectors(np.array(ids, np.uint16), self._pieces[ids])

    def _words(self, text: str) -> list[str]:
        return text.lower().replace(":", " ").strip(".?! ").split()

    def _places(self, text: str) -> list[int]:
        return [self._place.get(word, len(self._rows) - 1) for word in self._words(text)] or [0]

    def _vector(self, text: str) -> Vectors:
        places = self._places(text)
        total = self._rows[places].sum(axis=0) + 0.5 * self._common
        vector: Vectors = total / np.linalg.norm(total)
        return vector


def build(folder: str, items: int, late: bool) -> dict[str, Any]:
    """Add `items` turns to a memory in `folder`, session by session; return how fast that was and what it takes."""
    from memreader import Memory

    talk = Talk.make()
    taken: list[float] = []
    with Memory.open(folder, embedder=GivenVectors(talk), late_interaction=late) as memory:
        for session_id, messages in talk.sessions(items):
            call = partial(memory.add, messages, user_id=USER, session_id=session_id)
            taken += timed([call], PATIENCE_S, skip=0)
    return {"bulk add/s": items / sum(taken), "disk, B/item": 2**20 * size_mb(Path(folder)) / items}


def look(folder: str, items: int, samples: int, late: bool) -> dict[str, Any]:
    """Return what searches in `folder` take, and what its indexes take in memory."""
    from memreader import Memory

    talk = Talk.make()
    embedder = GivenVectors(talk)
    with Memory.in_memory(embedder=embedder, late_interaction=late) as small:
        # What is imported and measured at the first call counts as starting the process.
        small.add([talk.message(0)], user_id=USER)
        small.search(talk.question(0), user_id=USER)
    asked = random.Random(11).choices(range(items), k=samples + 1)
    questions = {number: talk.question(number) for number in asked}
    embedder.prepare(list(questions.values()))
    gc.collect()
    before = resident_mb()
    found: list[bool] = []
    with Memory.open(folder, embedder=embedder, late_interaction=late) as memory:

        def ask(number: int) -> None:
            hits = memory.search(questions[number], user_id=USER, top_k=TOP_K)
            found.append(any(f"m{number}" == s.message_id for hit in hits for s in hit.item.metadata.sources))

        ask(asked[0])
        grown = resident_mb() - before
        embedder.misses = 0
        search = summary(timed([partial(ask, number) for number in asked], PATIENCE_S))
        counted = memory.admin.stats().resident_bytes
    return {
        "search, ms": search["ms"], "search p95": search["p95"], "found": sum(found) / len(found),
        "memory, B/item": counted / items, "process, B/item": 2**20 * grown / items, "misses": embedder.misses,
    }  # fmt: skip


def grow(folder: str, items: int, samples: int, late: bool) -> dict[str, Any]:
    """Return what adding one turn, or one item, to the memory in `folder` takes, and the first search after that."""
    from memreader import Memory

    talk = Talk.make()
    embedder = GivenVectors(talk)
    turns = range(items, items + 2 * samples + 2)
    messages = {number: talk.message(number) for number in turns}
    alone = [f"Item {number}: {talk.text(-number)}" for number in range(1, samples + 2)]
    questions = {number: talk.question(number) for number in turns}
    embedder.prepare([f"{message['name']}: {message['content']}" for message in messages.values()])
    embedder.prepare([*alone, *questions.values()])
    with Memory.open(folder, embedder=embedder, late_interaction=late) as memory:
        memory.search(talk.question(0), user_id=USER, top_k=TOP_K)
        embedder.misses = 0

        def turn(number: int) -> None:
            memory.add([messages[number]], user_id=USER, session_id=session_name(number))

        def item(text: str) -> None:
            memory.add([{"memory": text}], user_id=USER)

        def search(number: int) -> None:
            memory.search(questions[number], user_id=USER, top_k=TOP_K)

        one = summary(timed([partial(turn, number) for number in turns[: samples + 1]], PATIENCE_S))
        after: list[float] = []
        for number in turns[samples + 1 :]:
            turn(number)
            after += timed([partial(search, number)], PATIENCE_S, skip=0)
        given = summary(timed([partial(item, text) for text in alone], PATIENCE_S))
        first = summary(after)
    return {
        "add a turn, ms": one["ms"], "add p95": one["p95"], "add an item, ms": given["ms"],
        "search after an add, ms": first["ms"], "misses": embedder.misses,
    }  # fmt: skip


def _alone(call: Callable[..., dict[str, Any]], *given: Any) -> dict[str, Any]:
    """Return what a call gives in a process of its own, so that what one measures isn't in the memory of another."""
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as process:
        return process.submit(call, *given).result()


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare this benchmark's own options."""
    parser.add_argument(
        "--items", type=int, nargs="+", default=list(SEARCH_GOALS), metavar="N", help="items of one user"
    )
    parser.add_argument("--samples", type=int, default=200, help="how often each operation is measured")
    parser.add_argument("--folder", type=Path, help="where the stores are made and removed again (a temporary folder)")


def main(arguments: argparse.Namespace) -> dict[str, Any]:
    """Run, print, and return the result."""
    results: dict[str, dict[str, Any]] = {}
    with bar() as progress:
        for place, items in enumerate(arguments.items):
            progress("sizes", place, len(arguments.items))
            results[f"{items:,} items"] = measure(items, arguments)
            results[f"{items:,}, without late"] = measure(items, arguments, late=False)
    notes = [*NOTES, *verdicts({items: results[f"{items:,} items"] for items in arguments.items})]
    return show("latency of Memory, vectors given", results, arguments, notes=notes)


def measure(items: int, arguments: argparse.Namespace, *, late: bool = True) -> dict[str, Any]:
    """Return the row of one size, from a folder that is made for it and removed afterwards."""
    with tempfile.TemporaryDirectory(dir=arguments.folder, prefix="latency-") as folder:
        built = _alone(build, folder, items, late)
        looked = _alone(look, folder, items, arguments.samples, late)
        grown = _alone(grow, folder, items, arguments.samples, late)
    row = {**looked, **grown, **built, "misses": looked["misses"] + grown["misses"]}
    return row if row["misses"] else {name: value for name, value in row.items() if name != "misses"}


def verdicts(rows: dict[int, dict[str, Any]]) -> list[str]:
    """Return a line for each goal that was measured."""
    lines = []
    goals = [(items, "search, ms", most) for items, most in SEARCH_GOALS.items()]
    for items, column, most in [*goals, (ADD_GOAL[0], "add an item, ms", ADD_GOAL[1])]:
        if items in rows:
            value = rows[items][column]
            verdict = "met" if value <= most else "missed"
            lines.append(f"goal: {column} at {items:,} items at most {most:g}: {value:.3g}: {verdict}")
    return lines
