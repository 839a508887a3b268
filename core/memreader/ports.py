"""What memreader needs from outside, as protocols; the docstring is the contract.

`memreader.testing` ships a contract class for each, so that your own implementation can be tested.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from memreader.items import TextualMemoryItem
from memreader.records import Batch, Changes, Entity, Keys, Link, RawItem, Relation, Selection, Version, Written
from memreader.types import Framed, Message, TokenVectors
from memreader.types import Vectors as Vectors


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens and calls that a language model took."""

    calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            self.calls + other.calls,
            self.prompt_tokens + other.prompt_tokens,
            self.completion_tokens + other.completion_tokens,
        )


@dataclass(frozen=True, slots=True)
class Reply:
    """A language model's answer."""

    text: str
    usage: Usage = Usage(calls=1)
    truncated: bool = False
    """Whether the model stopped at its length limit, so that the text ends in the middle."""


@runtime_checkable
class ChatModel(Protocol):
    """Answers a list of messages with text. Used by several threads at once."""

    @property
    def name(self) -> str:
        """Name of the model, for people."""
        ...

    def complete(self, messages: Sequence[Mapping[str, Any]], *, schema: Mapping[str, Any] | None = None) -> Reply:
        """Return the answer to `messages` (dicts with role and content). Raises whatever went wrong.

        `schema` is the JSON schema of the answer that is wanted: a wish, which a model that knows none takes no notice
        of.
        """
        ...

    async def acomplete(
        self, messages: Sequence[Mapping[str, Any]], *, schema: Mapping[str, Any] | None = None
    ) -> Reply:
        """Return the same as `complete`, without blocking the event loop."""
        ...


@runtime_checkable
class Embedder(Protocol):
    """Turns texts into unit vectors.

    An embedder that hardly knows Chinese, Japanese and Korean may say so by an attribute `english_only = True`; recall
    then leans on words for these.
    """

    @property
    def name(self) -> str:
        """Name of the model, for people and error messages."""
        ...

    @property
    def dimension(self) -> int:
        """Length d of every vector this embedder returns."""
        ...

    @property
    def max_tokens(self) -> int:
        """Longest text, in tokens of the model, that is embedded in one piece."""
        ...

    @property
    def fingerprint(self) -> str:
        """Equal for two embedders exactly if they give the same vectors."""
        ...

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Return float32 vectors of texts to be stored, shape (len(texts), d), in order, L2-normalised.

        An empty `texts` gives shape (0, d). A text longer than `max_tokens` is never silently cut.
        """
        ...

    def embed_query(self, text: str) -> Vectors:
        """Return the vector of a question, shape (d,), L2-normalised, in the space of `embed`."""
        ...


@runtime_checkable
class Reranker(Protocol):
    """Judges how well texts answer a question, as a cross-encoder does. Used by several threads at once."""

    @property
    def name(self) -> str:
        """Name of the model, for people and error messages."""
        ...

    def rerank(self, query: str, texts: Sequence[str]) -> Sequence[float]:
        """Return one finite score per text, in order, on any scale: the higher, the better the text answers `query`.

        An empty `texts` gives an empty sequence. Raises whatever went wrong.
        """
        ...


@runtime_checkable
class TokenEmbedder(Protocol):
    """Gives a vector for every word piece of a text, in its context, for late interaction."""

    @property
    def token_fingerprint(self) -> str:
        """Equal for two of them exactly if they give the same vectors."""
        ...

    def embed_tokens(self, texts: Sequence[Framed]) -> list[TokenVectors]:
        """Return the vectors of each text's own pieces, in order; what stands around it is only read."""
        ...

    def embed_query_tokens(self, text: str) -> TokenVectors:
        """Return the vectors of a question's pieces, in the space of `embed_tokens`."""
        ...


@runtime_checkable
class Tokenizer(Protocol):
    """Counts and cuts tokens."""

    @property
    def name(self) -> str:
        """Name of the encoding; part of a reading's fingerprint."""
        ...

    def count(self, text: str) -> int:
        """Return the number of tokens in `text`; special-token text counts as plain text."""
        ...

    def byte_ends(self, text: str) -> npt.NDArray[np.int64]:
        """Return for each token of `text` the UTF-8 byte offset at which it ends, ascending.

        The last equals `len(text.encode())`; an empty text gives an empty array.
        """
        ...


@runtime_checkable
class ItemStore(Protocol):
    """The truth: messages, documents and items of many users. What a call returns is durable.

    Every method takes the user's id, compares it exactly, and treats what is another user's as absent.
    """

    def write(self, batch: Batch) -> Written:
        """Write everything in `batch`, or nothing.

        A deletion takes all words with it: vectors, terms, earlier versions, and what of the messages and documents no
        other item cites; adding these again brings them back.

        A message gets the next position of its session, or keeps the one it has; `index` in the chat sources of the
        items follows. A document under a known `doc_key` with another source key takes the old one's items away, and so
        does a message under a known source key with another digest. An id that is there is kept, unless the record
        `replaces` it.

        With `spelled`, new items whose words the user rejected are left out and named in `refused`.

        A batch with a `base` is written only while that is what it was when it was read.

        Raises:
            ItemExistsError: The batch has `refuse_known` and an item of it is there.
            MemoryFullError: It adds activated items, the user has more than its `cap` by that, and that says "reject".
            DimensionMismatchError: A vector has another length than the store's.
        """
        ...

    def find(self, user_id: str, selection: Selection, *, limit: int = -1, offset: int = 0) -> Keys:
        """Return the numbers of the items that the selection means, in the order of their first add; -1: no limit."""
        ...

    def fetch(
        self, user_id: str, ids: Sequence[str] | Keys, *, until: int | None = None
    ) -> list[TextualMemoryItem | None]:
        """Return items by id, or by number (an int64 array), in the order asked; None where absent.

        With `until`, an item that was changed after this change number is absent, too.
        """
        ...

    def unread(self, user_id: str, sources: Mapping[str, str | None], reading_key: str) -> set[str]:
        """Return the source keys whose reading is still to be done, given source key -> digest (None: not compared).

        It is when no batch with this reading key has `read` it, when the message was kept with another digest (it was
        edited), or when an item that goes because of such an edit was also made from it.
        """
        ...

    def raw(
        self, user_id: str, selection: Selection, *, ids: Sequence[str] | None = None, limit: int = -1
    ) -> list[RawItem]:
        """Return the items that a model has yet to read, first added first.

        These are activated or under review, `is_fast`, and were in no batch's `refined`.

        With `ids`, only those among them, in the order asked; -1: no limit.
        """
        ...

    def said_before(
        self, user_id: str, session_id: str | None, position: int, *, limit: int
    ) -> list[tuple[str, Message]]:
        """Return the last messages of a session before a position that can be read, at most `limit`, oldest first.

        Each comes with its source key. None of which a turn, or all that was made from it, is under review.
        """
        ...

    def changes(self, user_id: str, after: int, *, limit: int) -> Changes:
        """Return what changed after a change sequence number, at most `limit` items; 0 is from the beginning.

        Items under review (status "pending") are not among the `keys`.
        """
        ...

    def history(self, user_id: str, item_id: str) -> list[Version]:
        """Return the versions of an item, oldest first; [] for an id that never was."""
        ...


@runtime_checkable
class VectorIndex(Protocol):
    """Row-numbered unit vectors of one user; exact. Rows are never moved or removed; the owner leaves out dead ones.

    Not thread-safe: the owner keeps `add` apart from everything else.
    """

    def __len__(self) -> int:
        """Return the number of rows."""
        ...

    @property
    def dimension(self) -> int:
        """Length of every vector."""
        ...

    @property
    def nbytes(self) -> int:
        """Memory that the rows take; what a cache of indexes counts."""
        ...

    def add(self, vectors: Vectors) -> None:
        """Append rows, float32, shape (n, dimension).

        Raises:
            DimensionMismatchError: The vectors have another length.
        """
        ...

    def similarities(self, query: Vectors, rows: Keys | None = None) -> Vectors:
        """Return the cosine of `query`, shape (dimension,), with each of `rows` (all when None), in their order.

        Raises:
            DimensionMismatchError: The query has another length.
        """
        ...

    def vectors(self) -> Vectors:
        """Return a copy of all rows, shape (len, dimension)."""
        ...


@runtime_checkable
class PostingIndex(Protocol):
    """Which rows of one user hold which terms, and how often."""

    @property
    def nbytes(self) -> int:
        """Memory that the postings take; what a cache of indexes counts."""
        ...

    def extend(self, rows: Keys, terms: Keys, counts: Keys) -> None:
        """Append postings, arrays of equal length; rows ascend within a call and from call to call."""
        ...

    def get(self, term: int) -> tuple[Keys, Keys]:
        """Return the rows that hold `term`, ascending, and its occurrences in each; both empty for an unknown term."""
        ...

    def arrays(self) -> tuple[Keys, Keys, Keys]:
        """Return everything as rows, terms and counts, from which `extend` makes an equal index."""
        ...


@runtime_checkable
class GraphStore(Protocol):
    """Entities that a user's items mention, and relations that they state; gone with the items that brought them.

    Items come in through `ItemStore.write`: `metadata.entities`, and the record's relations and aliases. Names that an
    item states to be one, or that were merged, are one entity in all that is returned.
    """

    def entities(self, user_id: str, *, limit: int = -1, offset: int = 0) -> list[Entity]:
        """Return the user's entities, those that most items mention first, then by name."""
        ...

    def mentions(self, user_id: str, names: Sequence[str]) -> list[str]:
        """Return the ids of the items that mention any of these names, in any spelling, oldest first, each once."""
        ...

    def neighbours(self, user_id: str, *names: str) -> list[Entity]:
        """Return the entities that an item mentions or relates together with any of these, the most frequent first.

        The names themselves are left out.
        """
        ...

    def relations(self, user_id: str, name: str | None = None) -> list[Relation]:
        """Return the relations that have this name as head or tail, or all of them, oldest first."""
        ...

    def together(self, user_id: str) -> list[tuple[str, str, int]]:
        """Return every two names that an item mentions together, and how many items do; each pair once."""
        ...

    def mentioned(self, user_id: str, *, each: int) -> list[tuple[str, str]]:
        """Return (key of an entity, id of an item that mentions it), oldest item first.

        Args:
            user_id: Whose.
            each: Items of one entity, at most; the newest ones.
        """
        ...

    def links(self, user_id: str, items: Sequence[int], *, entities: int, each: int) -> list[Link]:
        """Return the entities that items mention, or that a relation joins to one of those, and who mentions them.

        First those that the items mention themselves, in the order of the items. Costs no more for a large store.

        Args:
            user_id: Whose.
            items: Numbers of items, as `Changes` has them.
            entities: So many, at most.
            each: Items of one entity, at most, and one more if there are more; the newest.
        """
        ...

    def decided(self, user_id: str) -> list[tuple[str, str]]:
        """Return pairs of keys that are known to be one, or told apart."""
        ...

    def merge(self, user_id: str, one: str, other: str) -> None:
        """Make two names one entity, shown by the first; kept while both are mentioned, or until they are split.

        Raises:
            EntityNotFoundError: The user has no memory that mentions one of them.
        """
        ...

    def split(self, user_id: str, name: str) -> None:
        """Take a name out of what it is one with, whether the user or an item said so.

        Raises:
            EntityNotFoundError: No memory of the user mentions it.
        """
        ...
