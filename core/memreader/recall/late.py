"""Late interaction: every piece of a question looks for the most similar piece of a memory, in its context.

The score is sum_t idf_t max_w cos(t, w) / sum_t idf_t over the question's pieces t and the memory's pieces w (MaxSim of
ColBERT, Khattab and Zaharia 2020, weighted by rarity).
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from memreader.forksafe import Guard
from memreader.recall.highest import highest
from memreader.recall.maxsim import Tokens, compare
from memreader.records import Keys
from memreader.stores import Store
from memreader.types import TokenVectors

Floats = npt.NDArray[np.float64]

RESIDENT = 3000
"""Memories of a user whose token vectors stay in memory; of more, those of the best candidates are read."""
CANDIDATES = 500
MAX_MB = 64
"""Bound on what stays in memory, in 2**20 bytes; the user searched last stays even if alone above it."""
COVERED = 0.5
"""Share of the candidates that must have token vectors for them to count."""
_PART = 1000


class LateIndex:
    """Token vectors of the users searched last. Thread-safe.

    Args:
        store: Holds them.
        max_mb: See `MAX_MB`.
        resident: See `RESIDENT`.
        candidates: See `CANDIDATES`.
    """

    def __init__(
        self, store: Store, *, max_mb: float = MAX_MB, resident: int = RESIDENT, candidates: int = CANDIDATES
    ) -> None:
        self._store = store
        self._max_bytes = max_mb * 2**20
        self._resident, self._candidates = resident, candidates
        self._guard = Guard()
        # What is kept is replaced, never changed: who reads it needs no lock, and a fork finds it whole.
        self._users: OrderedDict[tuple[str, str], Tokens] = OrderedDict()

    @property
    def nbytes(self) -> int:
        """Memory that is taken."""
        with self._guard.lock:
            return sum(tokens.nbytes for tokens in self._users.values())

    def scores(
        self, user_id: str, model: str, query: TokenVectors, keys: Keys, likely: Callable[[], Floats]
    ) -> Floats | None:
        """Return the late interaction of each candidate with a question.

        NaN where one has no token vectors, -inf where it was not looked at, since others are likelier. None where too
        few have some to compare by them.

        Args:
            user_id: Whose.
            model: Fingerprint of what the question's vectors are of.
            query: Of the question.
            keys: Numbers of the candidates.
            likely: Says how likely each is: of many, only the likeliest are looked at.
        """
        if not len(query.pieces) or not len(keys):
            return None
        tokens = self._tokens(user_id, model) if len(keys) <= self._resident else None
        if tokens is not None:
            found = tokens.scores(query, keys)
            return found if _is_enough(found) else None
        places = highest(likely(), self._candidates)
        chosen = keys[places].tolist()
        packed = self._store.tokens.of(user_id, model, chosen)
        some = compare(query, [packed.get(key) for key in chosen])
        if not _is_enough(some):
            return None
        scores = np.full(len(keys), -np.inf)
        scores[places] = some
        return scores

    def _tokens(self, user_id: str, model: str) -> Tokens | None:
        """Return all token vectors of a user as of now; None if they are too many to stay in memory."""
        with self._guard.lock:
            tokens = self._users.get((user_id, model), Tokens())
        while True:
            part = self._store.tokens.since(user_id, model, tokens.seq, limit=_PART, at_most=self._resident)
            if part is None or part.count > self._resident:
                self._keep(user_id, model, None)
                return Tokens() if part is None else None
            if part.found:
                tokens = tokens.grown(part.found, part.seq)
            if not part.more:
                if len(tokens) != part.count:
                    tokens = tokens.grown([], tokens.seq, only=self._store.tokens.keys(user_id))
                self._keep(user_id, model, tokens)
                return tokens

    def _keep(self, user_id: str, model: str, tokens: Tokens | None) -> None:
        with self._guard.lock:
            self._users.pop((user_id, model), None)
            if tokens is None or not len(tokens):
                return
            self._users[user_id, model] = tokens
            total = sum(one.nbytes for one in self._users.values())
            while total > self._max_bytes and len(self._users) > 1:
                total -= self._users.popitem(last=False)[1].nbytes


def _is_enough(scores: Floats) -> bool:
    return int(np.count_nonzero(~np.isnan(scores))) >= max(COVERED * len(scores), 1)
