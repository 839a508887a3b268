"""From a question to hits: embed it, ask the store, rank what it gives."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from functools import cached_property, partial
from typing import Any

from memreader.embedding.batching import checked
from memreader.filters import AllOf, Filter, parse_filter
from memreader.items import TextualMemoryItem
from memreader.ports import Embedder, Reranker, TokenEmbedder, Vectors
from memreader.recall import RecallOptions, query_form, query_weights, rank, read_question
from memreader.recall.expansion import ENTITIES, HUB
from memreader.recall.feedback import asked_of, moves
from memreader.recall.late import LateIndex
from memreader.recall.question import Question
from memreader.recall.reranking import rerank_hits
from memreader.recall.validity import asks_for, asks_for_archived
from memreader.records import Keys
from memreader.stores import Store
from memreader.text import clean
from memreader.types import Hit, Message, Scope, TokenVectors

_IS_PUBLIC = parse_filter({"visibility": "public"})
AROUND = 4
"""Positions after a turn up to which its neighbours are looked for."""
RERANKED = 50
"""Hits that a reranker is given, at least."""
TRIES = 5
"""How often a search is made again because what it found was changed or deleted before its words were read."""


class Asked:
    """A question, and what is made of it once, however many users' memories it goes to; only when it is needed.

    Args:
        query: As the caller gave it.
        embedder: The store's.
        tokens: Gives the token vectors of the question; None without late interaction.
    """

    def __init__(self, query: str, embedder: Embedder, tokens: TokenEmbedder | None = None) -> None:
        self.words = clean(query)
        self.embedder = embedder
        self.model = "" if tokens is None else tokens.token_fingerprint
        self._tokens = tokens

    @cached_property
    def vector(self) -> Vectors:
        """Shape (d,)."""
        embedder = self.embedder
        one: Vectors = checked(embedder.embed_query(self.words)[None, :], count=1, dimension=embedder.dimension)[0]
        return one

    @cached_property
    def terms(self) -> Mapping[int, float]:
        """Term ids, and how much each counts."""
        return query_weights(self.words)

    @cached_property
    def question(self) -> Question:
        """What it asks for."""
        return read_question(self.words, today=date.today())

    @cached_property
    def pieces(self) -> TokenVectors | None:
        """Vectors of its word pieces, shape (n, d); None without late interaction."""
        if self._tokens is None or self.question.cjk:
            return None
        return self._tokens.embed_query_tokens(self.words)


def find(
    asked: Asked,
    scope: Scope,
    *,
    store: Store,
    options: RecallOptions,
    top_k: int,
    where: Filter | None,
    threshold: float | None,
    isolate: bool,
    made_for: str,
    now: float,
    reranker: Reranker | None = None,
    late: LateIndex | None = None,
) -> list[Hit]:
    """Return up to `top_k` hits in the store, best first; [] for a query without words, and below the floor.

    Args:
        asked: What is asked.
        scope: Whose memories, and which labels.
        store: Where.
        options: Weights of the ranking.
        top_k: At most so many.
        where: Only items for which it holds.
        threshold: See `rank`.
        isolate: Only items of the scope's session.
        reranker: Orders the best hits once more; None: no.
        now: Seconds since 1970: feedback fades.
        late: Token vectors of the store's items.
        made_for: What the store was made for when the embedder was chosen; raises if it is another one now.

    Raises:
        EmbedderMismatchError: The store was reindexed for another embedder meanwhile.
    """
    words, embedder = asked.words, asked.embedder
    if not words.strip() or not store.has_items(scope.user_id):
        return []
    vector, terms, pieces = asked.vector, asked.terms, asked.pieces
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
            question=asked.question,
            form=form,
            embedder=embedder,
            top_k=top_k if reranker is None else max(top_k, RERANKED),
            threshold=threshold,
            options=options,
            fetch=fetched,
            terms=len(terms),
            reached=lambda keys: store.graph.links(scope.user_id, keys.tolist(), entities=ENTITIES, each=HUB),
            late=None if late is None or pieces is None else partial(late.scores, scope.user_id, asked.model, pieces),
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


def find_with_public(
    asked: Asked, scope: Scope, *, store: Store, top_k: int, where: Filter | None, reranker: Reranker | None, **how: Any
) -> list[Hit]:
    """Return what `find` does, and what it finds among the public memories of every other user, best first by score.

    Args:
        asked: What is asked.
        scope: Whose memories; of others only the agent's label counts.
        store: Where.
        top_k: At most so many in all.
        where: Only items for which it holds.
        reranker: Orders the best of all once more; None: no.
        how: What else `find` takes.
    """
    depth = top_k if reranker is None else max(top_k, RERANKED)
    hits = find(asked, scope, store=store, top_k=depth, where=where, **how)
    public = AllOf(tuple(part for part in (where, _IS_PUBLIC) if part is not None))
    for user_id in store.public_users(but=scope.user_id) if asked.words.strip() else ():
        other = Scope(user_id, None, scope.agent_id)
        hits += find(asked, other, store=store, top_k=depth, where=public, **how)
    hits = sorted(hits, key=lambda hit: -hit.score)[:depth]
    return hits if reranker is None else rerank_hits(asked.words, hits, reranker, keep=top_k)


def said_around(store: Store, user_id: str, item: TextualMemoryItem) -> list[Message]:
    """Return what was said in a session shortly before and after a turn, itself included, oldest first.

    Of another user's turn, which is public, that is nothing: what stands around it is not.
    """
    if item.metadata.user_id != user_id:
        return []
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
