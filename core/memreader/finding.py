"""From a question to hits: embed it, ask the store, rank what it gives."""

from __future__ import annotations

from datetime import date
from functools import partial

from memreader.embedding.batching import checked
from memreader.filters import Filter
from memreader.items import TextualMemoryItem
from memreader.ports import Embedder, Reranker, TokenEmbedder
from memreader.recall import RecallOptions, query_form, query_weights, rank, read_question
from memreader.recall.expansion import ENTITIES, HUB
from memreader.recall.feedback import asked_of, moves
from memreader.recall.late import LateIndex
from memreader.recall.reranking import rerank_hits
from memreader.recall.validity import asks_for, asks_for_archived
from memreader.records import Keys
from memreader.stores import Store
from memreader.text import clean
from memreader.types import Hit, Message, Scope

AROUND = 4
"""Positions after a turn up to which its neighbours are looked for."""
RERANKED = 50
"""Hits that a reranker is given, at least."""
TRIES = 5
"""How often a search is made again because what it found was changed or deleted before its words were read."""


def find(
    query: str,
    scope: Scope,
    *,
    store: Store,
    embedder: Embedder,
    options: RecallOptions,
    top_k: int,
    where: Filter | None,
    threshold: float | None,
    isolate: bool,
    made_for: str,
    now: float,
    reranker: Reranker | None = None,
    late: LateIndex | None = None,
    tokens: TokenEmbedder | None = None,
) -> list[Hit]:
    """Return up to `top_k` hits in the store, best first; [] for a query without words, and below the floor.

    Args:
        query: As the caller gave it.
        scope: Whose memories, and which labels.
        store: Where.
        embedder: The store's.
        options: Weights of the ranking.
        top_k: At most so many.
        where: Only items for which it holds.
        threshold: See `rank`.
        isolate: Only items of the scope's session.
        reranker: Orders the best hits once more; None: no.
        now: Seconds since 1970: feedback fades.
        late: Token vectors of the store's items.
        tokens: Gives those of the question; None without late interaction.
        made_for: What the store was made for when the embedder was chosen; raises if it is another one now.

    Raises:
        EmbedderMismatchError: The store was reindexed for another embedder meanwhile.
    """
    words = clean(query)
    if not words.strip() or not store.has_items(scope.user_id):
        return []
    vector = checked(embedder.embed_query(words)[None, :], count=1, dimension=embedder.dimension)[0]
    terms = query_weights(words)
    question = read_question(words, today=date.today())
    model = "" if tokens is None else tokens.token_fingerprint
    pieces = None if tokens is None or question.cjk else tokens.embed_query_tokens(words)
    form = query_form(words, embedder)
    tries = TRIES
    while True:
        tries -= 1
        evidence = store.search(
            scope.user_id,
            vector,
            terms,
            session_id=scope.session_id,
            agent_id=scope.agent_id,
            isolate=isolate,
            where=where,
            archived=asks_for_archived(where),
            repeated=asks_for(where, "session_id"),
            embedder=made_for,
        )
        fetched = _Fetched(store, scope.user_id, evidence.seq)
        told = None
        if options.feedback_weight:
            told = store.feedback.of(scope.user_id, dimension=len(vector), seq=evidence.seq)
        hits = rank(
            evidence,
            question=question,
            form=form,
            embedder=embedder,
            top_k=top_k if reranker is None else max(top_k, RERANKED),
            threshold=threshold,
            options=options,
            fetch=fetched,
            terms=len(terms),
            reached=lambda keys: store.graph.links(scope.user_id, keys.tolist(), entities=ENTITIES, each=HUB),
            late=None if late is None or pieces is None else partial(late.scores, scope.user_id, model, pieces),
            feedback=None
            if told is None
            else moves(
                told,
                asked_of(terms, vector, form=form, embedder=embedder),
                embedder=embedder,
                now=now,
                options=options,
            ),
        )
        if fetched.complete or not tries:
            return hits if reranker is None else rerank_hits(words, hits, reranker, keep=top_k)


def said_around(store: Store, user_id: str, item: TextualMemoryItem) -> list[Message]:
    """Return what was said in a session shortly before and after a turn, itself included, oldest first."""
    first = item.metadata.sources[0]
    session = first.session_id or item.metadata.session_id
    told = store.said_before(user_id, session, (first.index or 0) + AROUND, limit=2 * AROUND - 2)
    return [message for _, message in told]


class _Fetched:
    """Gives the items that an evidence is about, as it found them, and knows whether there was one that it couldn't."""

    def __init__(self, store: Store, user_id: str, seq: int) -> None:
        self._store = store
        self._user_id = user_id
        self._seq = seq
        self.complete = True

    def __call__(self, keys: Keys) -> list[TextualMemoryItem | None]:
        # Not one that was changed since: its words are others than the ones whose similarity is known.
        items = self._store.fetch(self._user_id, keys, until=self._seq)
        self.complete = self.complete and None not in items
        return items
