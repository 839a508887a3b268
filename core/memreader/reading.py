"""One conversation, document or file at a time: which sources it has, and the items that reading them makes."""

from __future__ import annotations

import hashlib
import os
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from typing import Any

from memreader.errors import DocumentError, EmptyDocumentError, InputError, MissingExtraError
from memreader.extract.fast import chat_candidates, document_candidates
from memreader.extract.fine import FineOptions
from memreader.extract.passage import Passage, chat_passages, document_passages
from memreader.graph.mentions import mentioned_in
from memreader.identity import content_digest, digest, document_key, item_id, message_keys
from memreader.items import TextualMemoryItem, TextualMemoryMetadata
from memreader.lacking import marks
from memreader.lifetimes import SESSION_TTL_HOURS, Lifetime, session_end
from memreader.normalize import file_inputs
from memreader.options import ReadOptions, Unit
from memreader.parsing import ParseLimits, document_path, load_file, parse_file
from memreader.ports import Tokenizer
from memreader.types import Candidate, Conversation, Document, Dropped, Failure, FileInput, Input, Message

FINE = "fine"
"""Reading key of items that a model made."""

Unread = Callable[[Mapping[str, str | None]], AbstractSet[str]]
"""Source key -> digest (None for documents) in; the keys that are still to be read out."""


@dataclass(frozen=True, slots=True)
class Labels:
    """What every item of one call carries."""

    user_id: str | None = None
    session_id: str | None = None
    agent_id: str | None = None
    info: Mapping[str, Any] = field(default_factory=dict)
    tags: tuple[str, ...] = ()
    lifetime: Lifetime = "long"
    expires_at: str | None = None
    """When they expire, see `lifetimes.ending`; None: as their lifetime has it."""


@dataclass(frozen=True, slots=True)
class Tools:
    """What reading needs beside the input."""

    options: ReadOptions
    tokenizer: Tokenizer
    unit: Unit
    max_tokens: int
    """What the embedder takes in one piece."""
    limits: ParseLimits
    fine: FineOptions | None = None
    """How a model is asked; None: read without one."""
    context: tuple[tuple[str, Message], ...] = ()
    """What was said before every conversation, with source keys; shown to a model, not read."""
    labels: tuple[str | None, ...] = ()
    """What the items are labelled with and the source keys don't say: the same read under other labels is read anew."""

    @property
    def reading_key(self) -> str:
        """Fingerprint of this reading."""
        key = self.options.reading_key(
            mode="fast", unit=self.unit, tokenizer=self.tokenizer.name, max_tokens=self.max_tokens
        )
        return digest(key, self.labels) if any(self.labels) else key

    def labelled(self, entry: Input, labels: Labels) -> Tools:
        """Return the tools for one input: a message's key has its session in it, nothing else's has."""
        session = None if isinstance(entry, Conversation) else labels.session_id
        return replace(self, labels=(labels.agent_id, session))


@dataclass(slots=True)
class InputReading:
    """What one input holds and what reading it made."""

    messages: list[tuple[str, Message]] = field(default_factory=list)
    """Source key and message, all of them, in order."""
    documents: list[tuple[str, Document]] = field(default_factory=list)
    candidates: list[Candidate] = field(default_factory=list)
    passages: list[Passage] = field(default_factory=list)
    """What a model has to read before there are candidates."""
    given: list[TextualMemoryItem] = field(default_factory=list)
    """Items that the caller made."""
    fresh: set[str] = field(default_factory=set)
    """Source keys that were read now."""
    known: list[str] = field(default_factory=list)
    """Source keys of documents that had been read before."""
    failures: list[Failure] = field(default_factory=list)
    dropped: list[Dropped] = field(default_factory=list)
    """Messages without a word: only a reference to media that nothing here reads, or nothing at all."""
    metadata: Mapping[str, Any] = field(default_factory=dict)
    tags: tuple[str, ...] = ()
    flags: Counter[str] = field(default_factory=Counter)


def tag_list(tags: Sequence[str] | None) -> tuple[str, ...]:
    """Return tags as a tuple; a bare string is one tag, not its letters.

    Raises:
        InputError: A tag is no text, or holds half a character, which can't be stored.

    >>> tag_list("work"), tag_list(["work", "home"]), tag_list(None)
    (('work',), ('work', 'home'), ())
    """
    given = (tags,) if isinstance(tags, str) else tuple(tags or ())
    for tag in given:
        if not isinstance(tag, str) or tag.encode("utf-8", "ignore").decode() != tag:
            raise InputError(f"a tag is a text without half characters, got {tag!r:.80}")
    return given


def info_of(metadata: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return the caller's own metadata as it is kept: JSON in, JSON out.

    Raises:
        InputError: It is no dict with text keys, or holds something that JSON can't.

    >>> info_of({"topic": "tea"})
    {'topic': 'tea'}
    """
    try:
        return TextualMemoryMetadata(info=dict(metadata or {})).info
    except (TypeError, ValueError):
        problem = "metadata (kept in metadata.info) is a dict with text keys and values that JSON can hold"
    # Outside the except, so that the values, which pydantic's error quotes, are not chained to this one.
    raise InputError(problem)


def read_input(
    entry: Input,
    tools: Tools,
    *,
    session_id: str | None = None,
    at: str | None = None,
    unread: Unread = set,
    seen: Counter[str] | None = None,
) -> InputReading:
    """Return the reading of one input; what `unread` leaves out is neither parsed into candidates nor counted as fresh.

    `seen` is one counter for all inputs of a call, see `identity.message_keys`.

    A document that can't be read is a failure in the result. A missing file raises FileNotFoundError: the call named
    something that isn't there.
    """
    reading = InputReading()
    if isinstance(entry, TextualMemoryItem):
        reading.given.append(entry)
    elif isinstance(entry, Conversation):
        keys = message_keys(entry.messages, session_id=session_id, at=at, seen=seen)
        _read_conversation(entry, keys, tools, unread, reading)
    else:
        reading.metadata, reading.tags = entry.metadata, entry.tags
        _read_document(entry, tools, unread, reading)
    return reading


def make_items(reading: InputReading, labels: Labels, tools: Tools) -> list[tuple[TextualMemoryItem, Candidate]]:
    """Return an item and the candidate it comes from, for every candidate, in order; ids as in DESIGN 7."""
    labels = replace(labels, tags=(*reading.tags, *labels.tags))
    seen: Counter[str] = Counter()
    how: dict[str, Any] = {"info": reading.metadata, "seen": seen}
    how["session_ttl_hours"] = tools.options.session_ttl_hours
    return [(make_item(candidate, labels, tools.reading_key, **how), candidate) for candidate in reading.candidates]


def make_item(
    candidate: Candidate,
    labels: Labels,
    reading_key: str,
    *,
    info: Mapping[str, Any] | None = None,
    seen: Counter[str] | None = None,
    session_ttl_hours: float = SESSION_TTL_HOURS,
) -> TextualMemoryItem:
    """Return the item of a candidate.

    What a model made has an id by its words and sources alone: another model that finds the same finds the same item.

    Args:
        candidate: Words and evidence.
        labels: Of the item.
        reading_key: How it was read, if without a model.
        info: Into `metadata.info`, below the candidate's own.
        seen: Counts how often an id was made already; updated.
        session_ttl_hours: See `ReadOptions`; for what a model takes for short-lived, too.
    """
    sources = [
        source if source.session_id else source.model_copy(update={"session_id": labels.session_id})
        for source in candidate.sources
    ]
    key = reading_key if candidate.is_fast else _fine_key(candidate, labels)
    base = (labels.user_id, candidate.source_keys, key, candidate.text)
    identity = item_id(*base)
    if seen is not None:
        seen[identity] += 1
        identity = identity if seen[identity] == 1 else item_id(*base, occurrence=seen[identity] - 1)
    in_session = labels.lifetime == "session" or (candidate.lifetime == "short" and labels.session_id is not None)
    own = {**(info or {}), **candidate.info, **labels.info}
    entities = candidate.entities
    if not entities and candidate.lifetime != "short":
        entities = mentioned_in(candidate.text, candidate.sources)
    metadata = TextualMemoryMetadata.model_validate(
        {
            "user_id": labels.user_id,
            "session_id": labels.session_id,
            "agent_id": labels.agent_id,
            "memory_type": candidate.memory_type,
            "type": "fact",
            "key": candidate.key,
            "tags": list(dict.fromkeys((*candidate.tags, *labels.tags))),
            "background": candidate.background,
            "source": "file" if sources and sources[0].type == "doc" else "conversation",
            "visibility": "session" if in_session else "private",
            "lifetime": "session" if in_session else "long",
            "expires_at": labels.expires_at,
            "entities": list(entities),
            "sources": sources,
            "memory_time": candidate.memory_time,
            "is_fast": candidate.is_fast,
            "evolve_from": list(candidate.made_from),
            **(marks(own, candidate.missing) if candidate.missing else {"info": own}),
        }
    )
    if in_session and metadata.expires_at is None:
        metadata.expires_at = session_end(metadata.created_at, session_ttl_hours)
    return TextualMemoryItem(id=identity, memory=candidate.text, metadata=metadata)


def _fine_key(candidate: Candidate, labels: Labels) -> str:
    """Return the reading key of what a model made: another for labels that the source keys don't say, see `Tools`."""
    in_session = any(source.type == "chat" for source in candidate.sources)
    own = (labels.agent_id, None if in_session else labels.session_id)
    return digest(FINE, own) if any(own) else FINE


def _read_conversation(
    entry: Conversation, keys: Sequence[str], tools: Tools, unread: Unread, reading: InputReading
) -> None:
    reading.messages = list(zip(keys, entry.messages, strict=True))
    reading.metadata, reading.tags = entry.metadata, entry.tags
    reading.flags.update(entry.flag_counts)
    reading.fresh = set(unread({key: content_digest(message) for key, message in reading.messages}))
    new = [(key, message) for key, message in reading.messages if key in reading.fresh]
    fresh_keys, fresh_messages = [key for key, _ in new], [message for _, message in new]
    cut: dict[str, Any] = {"options": tools.options, "tokenizer": tools.tokenizer}
    if tools.fine is not None:
        reading.passages.extend(chat_passages(fresh_messages, fresh_keys, context=tools.context, **cut))
    else:
        reading.candidates.extend(chat_candidates(fresh_messages, fresh_keys, unit=tools.unit, **cut))
    for key, message in reading.messages:
        if key in reading.fresh:
            reading.dropped.extend(_unread_parts(message))
        # Of known messages too: a file that was deleted since is unread again, whatever became of the words around it.
        for file in file_inputs(replace(entry, messages=(message,))):
            if not _read_document(file, tools, unread, reading):
                # Read again next time, so that the file gets another chance.
                reading.fresh.discard(key)


def _unread_parts(message: Message) -> Iterator[Dropped]:
    """Yield what of a message is kept as a reference only, and a message that says nothing at all."""
    for part in message.parts:
        if part.kind in ("image", "audio") or (part.kind == "file" and part.data is None):
            reason = f"the {part.kind} is kept as a reference, it was neither fetched nor read"
            yield Dropped(part.reference or part.name or part.kind, reason, message.locator)
    if not message.flags and not message.content.strip() and not message.parts:
        yield Dropped("", "the message has no words", message.locator)


def _read_document(entry: Document | FileInput, tools: Tools, unread: Unread, reading: InputReading) -> bool:
    """Read a document into `reading` and return whether it could be read; one that is known is not even parsed."""
    try:
        blank = entry if isinstance(entry, Document) else _unparsed(entry, tools.limits)
        key = document_key(blank.sha256, blank.file_key or blank.doc_path)
        if key in reading.fresh or key in reading.known:
            return True
        if not unread({key: None}):
            reading.known.append(key)
            return True
        document = entry if isinstance(entry, Document) else _parsed(entry, blank, tools.limits)
    except (DocumentError, MissingExtraError, PermissionError) as error:
        name = entry.locator or (entry.name if isinstance(entry, FileInput) else entry.doc_path)
        reading.failures.append(Failure(type(error).__name__, str(error), name))
        return False
    if not document.text.strip():
        empty = EmptyDocumentError(name=document.doc_path)
        reading.failures.append(Failure(type(empty).__name__, str(empty), entry.locator or document.doc_path))
        if document.file_key is not None:
            # Kept all the same: a file that was emptied takes its old words away.
            reading.documents.append((key, document))
        return False
    reading.documents.append((key, document))
    reading.fresh.add(key)
    cut: dict[str, Any] = {"options": tools.options, "tokenizer": tools.tokenizer, "max_tokens": tools.max_tokens}
    if tools.fine is not None:
        reading.passages.extend(document_passages(document, key, **cut))
    else:
        reading.candidates.extend(document_candidates(document, key, **cut))
    return True


def _unparsed(source: FileInput, limits: ParseLimits) -> Document:
    """Return the document of a file without its text: who it is, before the effort of parsing it."""
    data = load_file(source, limits=limits).data or b""
    file_key = None if source.path is None else os.path.abspath(source.path)
    return Document("", document_path(source), hashlib.sha256(data).hexdigest(), file_key=file_key)


def _parsed(source: FileInput, blank: Document, limits: ParseLimits) -> Document:
    try:
        return replace(parse_file(source, limits=limits), file_key=blank.file_key)
    except EmptyDocumentError:
        return blank
