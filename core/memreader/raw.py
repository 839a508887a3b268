"""Items that were read without a model, as passages for one; and the items that it makes of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

from memreader.chunking.rendering import show_speaker
from memreader.extract.fast import FAST_TAG
from memreader.extract.passage import Line, Passage, chat_passages, sentences
from memreader.identity import digest
from memreader.items import SourceMessage, TextualMemoryItem
from memreader.lifetimes import SESSION_TTL_HOURS, earliest
from memreader.options import ReadOptions
from memreader.ports import Tokenizer
from memreader.reading import Labels, make_item
from memreader.records import RawItem
from memreader.types import Candidate, Message

Before: TypeAlias = Callable[[TextualMemoryItem, int], Sequence[tuple[str, Message]]]
"""An item of a conversation and a position in; what was said before that, with source keys, oldest first, out."""


@dataclass(slots=True)
class _Told:
    """A message as far as raw items cite it."""

    source: SourceMessage
    key: str
    pieces: dict[int, str] = field(default_factory=dict)
    """Offset in the message -> words."""
    holders: list[tuple[int, int, str]] = field(default_factory=list)
    """Start, end and id of every raw item that cites it."""

    def message(self, index: int) -> Message:
        """Return the message; what nobody cites of it is blank."""
        content = ""
        for start, words in sorted(self.pieces.items()):
            content = content[:start].ljust(start) + words
        source = self.source
        return Message(
            source.role or "user",
            content,
            index,
            name=source.name,
            chat_time=source.chat_time,
            time_inferred=bool(source.time_inferred),
            message_id=source.message_id,
        )

    def owners(self, start: int, end: int) -> tuple[str, ...]:
        """Return the raw items that a part of the message is read for: the first that hold it.

        Windows overlap: the lines that two of them share are the first one's to read.
        """
        left, owners = set(range(start, end)), dict[str, None]()
        for first, last, name in self.holders:
            held = left.intersection(range(max(first, start), min(last, end)))
            if held:
                owners[name] = None
                left -= held
        return tuple(owners)


def raw_passages(
    raws: Sequence[RawItem],
    *,
    options: ReadOptions,
    tokenizer: Tokenizer,
    before: Before = lambda _item, _position: (),
) -> list[Passage]:
    """Return what is to be read of raw items: the windows of each conversation, and each chunk of a document.

    Turns come back together: a model that sees "Yes." alone understands nothing. Every line knows the raw items that
    hold it.

    Args:
        raws: In any order; those of one conversation have equal labels.
        options: How windows are cut.
        tokenizer: Counts tokens.
        before: Gives what was said before a conversation's first line.
    """
    groups: dict[str, list[RawItem]] = {}
    for raw in raws:
        groups.setdefault(_group(raw.item), []).append(raw)
    passages: list[Passage] = []
    for number, members in enumerate(groups.values()):
        if _stands_alone(members[0].item):
            made = [_alone(raw.item) for raw in members]
        elif members[0].item.metadata.sources[0].type == "doc":
            made = _of_document(members)
        else:
            made = _of_chat(members, options, tokenizer, before)
        passages += [replace(passage, group=number) for passage in made]
    return passages


def refined_item(
    candidate: Candidate, raws: Mapping[str, TextualMemoryItem], *, session_ttl_hours: float = SESSION_TTL_HOURS
) -> TextualMemoryItem:
    """Return the item of what a model found in raw items: with their labels, tags and info.

    It lives no longer than any of those that it was made from, and only their session sees it if only theirs sees one
    of them.

    Args:
        candidate: Made from at least one of them.
        raws: By id.
        session_ttl_hours: See `ReadOptions`.
    """
    parents = [raws[item_id].metadata for item_id in candidate.made_from if item_id in raws]
    info: dict[str, Any] = {}
    for parent in reversed(parents):
        info |= parent.info
    tags = [tag for parent in parents for tag in parent.tags if tag != FAST_TAG]
    first = parents[0]
    labels = Labels(
        first.user_id,
        first.session_id,
        first.agent_id,
        info,
        tuple(tags),
        "session" if any(parent.lifetime == "session" for parent in parents) else "long",
        earliest([parent.expires_at for parent in parents]),
    )
    item = make_item(candidate, labels, "", session_ttl_hours=session_ttl_hours)
    return item if first.source in (None, item.metadata.source) else _of_origin(item, first.source)


def _of_origin(item: TextualMemoryItem, source: str) -> TextualMemoryItem:
    return item.model_copy(update={"metadata": item.metadata.model_copy(update={"source": source})})


def _group(item: TextualMemoryItem) -> str:
    known = item.metadata
    if _stands_alone(item):
        return digest("alone", item.id)
    if known.sources[0].type == "doc":
        return digest(
            "doc",
            known.user_id,
            known.session_id,
            known.agent_id,
            known.sources[0].doc_path,
            known.sources[0].message_id,
        )
    return digest("chat", known.user_id, known.session_id, known.agent_id)


def _stands_alone(item: TextualMemoryItem) -> bool:
    """Return whether an item's own words are read: it cites none, or was given others since."""
    cited = [source.content for source in item.metadata.sources if source.content]
    return not cited or (item.metadata.version > 1 and not all(words in item.memory for words in cited))


def _alone(item: TextualMemoryItem) -> Passage:
    """Return an item as a passage of its own words."""
    known = item.metadata
    first = known.sources[0] if known.sources else SourceMessage()
    speaker = show_speaker(first.name, first.role or "")
    spoken = bool(speaker) and item.memory.startswith(f"{speaker}: ")
    line = Line(
        item.memory.removeprefix(f"{speaker}: ") if spoken else item.memory,
        tuple(known.sources),
        speaker=speaker if spoken else "",
        role=first.role if spoken else None,
        time=known.memory_time,
        made_from=(item.id,),
    )
    return Passage((line,), time=known.memory_time)


def _of_document(members: Iterable[RawItem]) -> list[Passage]:
    passages: list[Passage] = []
    read = 0
    for raw in sorted(members, key=lambda raw: raw.item.metadata.sources[0].start or 0):
        known, lines = raw.item.metadata, list[Line]()
        for source in known.sources:
            text, offset = source.content or "", source.start or 0
            for start, end in sentences(text):
                span = source.model_copy(
                    update={"content": text[start:end], "start": offset + start, "end": offset + end}
                )
                state = "fresh" if offset + end > read else "carried"
                keys = tuple(raw.source_keys)
                line = Line(text[start:end], (span,), keys, time=known.memory_time, made_from=(raw.item.id,))
                lines.append(replace(line, state="carried") if state == "carried" else line)
            read = max(read, offset + len(text))
        passage = Passage(tuple(lines), kind="doc", title=known.sources[0].doc_path or "", time=known.memory_time)
        if passage.fresh:
            passages.append(passage)
    return passages


def _of_chat(members: Sequence[RawItem], options: ReadOptions, tokenizer: Tokenizer, before: Before) -> list[Passage]:
    told = _told(members)
    messages = [one.message(index) for index, one in sorted(told.items())]
    keys = [one.key for _, one in sorted(told.items())]
    context = before(members[0].item, messages[0].index)
    passages = chat_passages(messages, keys, options=options, tokenizer=tokenizer, context=context)
    return [replace(passage, lines=tuple(_held(line, told) for line in passage.lines)) for passage in passages]


def _told(members: Sequence[RawItem]) -> dict[int, _Told]:
    """Return the messages that raw items cite, by their position; those without one follow in the order given."""
    told: dict[int, _Told] = {}
    following = 1 + max((source.index or 0 for raw in members for source in raw.item.metadata.sources), default=0)
    for raw in members:
        key_at = {position: key for key, position in raw.source_keys.items()}
        for source in raw.item.metadata.sources:
            index = source.index
            if index is None:
                index, following = following, following + 1
            one = told.setdefault(index, _Told(source, key_at.get(index, "")))
            start, words = source.start or 0, source.content or ""
            if len(words) > len(one.pieces.get(start, "")):
                one.pieces[start] = words
            one.holders.append((start, start + len(words), raw.item.id))
    return told


def _held(line: Line, told: Mapping[int, _Told]) -> Line:
    """Return a line of a chat with the raw items that hold it; none for what was only shown."""
    (source,) = line.sources
    keys = tuple(key for key in line.source_keys if key)
    one = told.get(-1 if source.index is None else source.index)
    if line.state == "context" or one is None:
        return replace(line, source_keys=keys)
    start, end = source.start or 0, source.end or 0
    # Cited as the raw items do: with what they know beside the words.
    known = one.source.model_copy(update={"content": source.content, "start": start, "end": end})
    return replace(line, source_keys=keys, sources=(known,), made_from=one.owners(start, end))
