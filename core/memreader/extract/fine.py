"""Memories by a model: a passage in, cited candidates out; what could not be read is named, never lost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any, TypeVar

from memreader.calling import Answer, ModelFailure, Prompt, Task
from memreader.extract.failing import failure_of
from memreader.extract.fast import first_sentence
from memreader.extract.ground import cited_lines, dated, said_by
from memreader.extract.naming import quoted_names
from memreader.extract.passage import Line, Passage, between_marks, render_passage
from memreader.extract.reply import parse_reply
from memreader.extract.schema import REPLY_SCHEMA, FoundMemory, FoundReply, read_fields
from memreader.extract.words import normalised
from memreader.plan import Plan, ask
from memreader.prompts import Prompts
from memreader.types import Candidate, Dropped, Failure

T = TypeVar("T")

ECHO = 12
"""Characters from which words that stand in the prompt too are no coincidence."""


@dataclass(frozen=True, slots=True)
class FineOptions:
    """How passages are put to a model."""

    prompts: Prompts
    instructions: str = ""
    chat_prompt: str = "chat"
    """Name of the prompt for conversations."""


@dataclass(frozen=True, slots=True)
class Found:
    """A candidate, and which lines it rests on."""

    candidate: Candidate
    lines: tuple[Line, ...]

    def joined(self, other: Found) -> Found:
        """Return this one with what the other rests on, too."""
        one, two = self.candidate, other.candidate
        candidate = replace(
            one,
            sources=_both(one.sources, two.sources),
            source_keys=_both(one.source_keys, two.source_keys),
            made_from=_both(one.made_from, two.made_from),
            entities=_both(one.entities, two.entities),
            relations=_both(one.relations, two.relations),
            tags=_both(one.tags, two.tags),
        )
        candidate = replace(candidate, **_brought(one, two))
        return Found(candidate, _both(self.lines, other.lines))


def _brought(one: Candidate, two: Candidate) -> dict[str, Any]:
    """Return what changes of a candidate that lacks something as the same one is found again."""
    missing = tuple(name for name in one.missing if name in two.missing)
    brought: dict[str, Any] = {"missing": missing}
    if "key" in one.missing and "key" not in two.missing:
        brought["key"] = two.key
    if "time" in one.missing and "time" not in two.missing:
        brought |= {"memory_time": two.memory_time, "time_inferred": two.time_inferred}
    return brought


def _both(one: tuple[T, ...], other: tuple[T, ...]) -> tuple[T, ...]:
    return tuple(dict.fromkeys((*one, *other)))


@dataclass(frozen=True, slots=True)
class PassageReading:
    """What a model made of a passage."""

    passage: Passage
    found: tuple[Found, ...] = ()
    failure: Failure | None = None
    """Why `unread` is not empty."""
    dropped: tuple[Dropped, ...] = ()
    unread: tuple[Line, ...] = ()
    """Fresh lines that the model has not read: all after a failure, the last ones where its answer was cut off."""
    summary: str = ""
    language: str = "und"
    unchecked: Failure | None = None
    """Why no gate could judge the memories, which then stay as they are."""


@dataclass(slots=True)
class Carried:
    """What the passages before said, for the next one."""

    summaries: list[str] = field(default_factory=list)
    entities: dict[str, None] = field(default_factory=dict)

    def add(self, reading: PassageReading) -> None:
        """Take in what a passage said."""
        if reading.summary:
            self.summaries.append(reading.summary)
        for found in reading.found:
            self.entities.update(dict.fromkeys(found.candidate.entities))

    @property
    def text(self) -> str:
        """The last summaries and the names so far, in a few lines."""
        names = list(self.entities)[-40:]
        return "\n".join([*self.summaries[-3:], *([", ".join(names)] if names else [])])


def read_passage(
    passage: Passage, *, language: str, options: FineOptions, carried: str = "", unwanted: Sequence[str] = ()
) -> Plan[PassageReading]:
    """Return what a model makes of a passage, by one call.

    Args:
        passage: What to read.
        language: Of its text, ISO 639-1.
        options: Prompts and instructions.
        carried: What was said before.
        unwanted: Names that are not worth a memory on their own, the least wanted first.
    """
    prompt = passage_prompt(passage, language=language, options=options, carried=carried, unwanted=unwanted)
    (answer,) = yield from ask([prompt])
    asked = str(prompt.messages[-1]["content"]).replace(render_passage(passage, language), "")
    return reading_of(answer, passage, language, asked=asked)


def passage_prompt(
    passage: Passage, *, language: str, options: FineOptions, carried: str = "", unwanted: Sequence[str] = ()
) -> Prompt:
    """Return what a model is asked about a passage."""
    task: Task = "document" if passage.kind == "doc" else "chat"
    name = "document" if passage.kind == "doc" else options.chat_prompt
    text = render_passage(passage, language)
    values = {"document": text, "title": passage.title} if passage.kind == "doc" else {"conversation": text}
    filled = options.prompts.render(
        name,
        language,
        **values,
        instructions=options.instructions,
        carried=between_marks(carried) if carried else "",
        unwanted=quoted_names(unwanted),
    )
    return Prompt(({"role": "user", "content": filled},), schema=REPLY_SCHEMA, task=task)


def reading_of(answer: Answer, passage: Passage, language: str, *, asked: str = "") -> PassageReading:
    """Return what an answer says about a passage; whatever it is.

    Args:
        answer: Of the model.
        passage: What it was asked about.
        language: Of the passage.
        asked: The prompt without the passage: what stands there, in its examples, is no memory.
    """
    if isinstance(answer, ModelFailure):
        return _failed(passage, failure_of(answer), language)
    parsed = parse_reply(answer.text, truncated=answer.truncated)
    reply = None if parsed.status == "failed" else read_fields(parsed.value)
    if reply is None:
        # What exactly is wrong with it would quote it, and reasons are logged.
        what = "an empty answer" if not answer.text.strip() else "an answer that holds no memories"
        return _failed(passage, Failure("UnreadableReply", f"the model gave {what}"), language)
    echoed = [memory for memory in reply.memories if _is_echo(memory.value, asked, passage)]
    memories = [memory for memory in reply.memories if memory not in echoed]
    if echoed and not memories:
        return _failed(passage, Failure("UnreadableReply", "the model repeated its instructions"), language)
    found = tuple(_found(memory, reply, passage, language) for memory in memories)
    echoes = (Dropped(memory.value, "it stands in the prompt, not in what was read") for memory in echoed)
    dropped = (*reply.dropped, *echoes, *(Dropped("", f"lost in a damaged answer: {what}") for what in parsed.lost))
    unread: tuple[Line, ...] = ()
    failure = None
    if parsed.status == "truncated" or (answer.truncated and parsed.status != "strict"):
        unread = _after_last(found, passage)
        if unread:
            kept = f"what was complete ({len(found)}) is kept" if found else "no memory was complete"
            failure = Failure(
                "TruncatedReply", f"the model's answer was cut off; {kept}, the last lines are still to be read"
            )
    return PassageReading(passage, found, failure, dropped, unread, reply.summary, language)


def _is_echo(value: str, asked: str, passage: Passage) -> bool:
    """Return whether a memory was taken from the prompt: its words stand there, and not in the passage."""
    words = normalised(value)
    return len(words) >= ECHO and words in _prompt_words(asked) and words not in normalised(passage.text)


@lru_cache(maxsize=16)
def _prompt_words(asked: str) -> str:
    """Return a prompt without its passage, `normalised`; the same for all passages of a reading."""
    return normalised(asked)


def _failed(passage: Passage, failure: Failure, language: str) -> PassageReading:
    return PassageReading(passage, failure=failure, unread=passage.fresh, language=language)


def _after_last(found: Sequence[Found], passage: Passage) -> tuple[Line, ...]:
    """Return the fresh lines from the last one that a memory rests on; a model reads in order, and there may have been
    more to say about that one.
    """
    cited = {id(line) for one in found for line in one.lines}
    last = max((place for place, line in enumerate(passage.lines) if id(line) in cited), default=-1)
    return tuple(line for line in passage.lines[max(last, 0) :] if line.state == "fresh")


def _found(memory: FoundMemory, reply: FoundReply, passage: Passage, language: str) -> Found:
    lines = cited_lines(memory, passage)
    text, kind = said_by(memory, lines, language)
    text, happened, inferred = dated(text, memory.time, lines, passage, language)
    short = memory.lifetime == "short"
    # Who stands in a relation is named by the answer, too.
    names = memory.entities or tuple(dict.fromkeys(end for head, _, tail in memory.relations for end in (head, tail)))
    # A time in words that name no day is none, either.
    unsaid = (*memory.unsaid, *(["time"] if memory.time else []))
    known = {"entities": short or bool(names), "time": happened is not None and not inferred}
    # What was only shown and is kept nowhere (a `chat_history`) can't be cited.
    told = [line for line in lines if line.state != "context" or any(line.source_keys)]
    candidate = Candidate(
        text=text,
        sources=tuple(dict.fromkeys(source for line in told for source in line.sources)),
        key=memory.key or first_sentence(text),
        memory_type=kind,
        tags=tuple(dict.fromkeys((*memory.tags, *passage.tags))),
        memory_time=happened,
        time_inferred=inferred,
        source_keys=tuple(dict.fromkeys(key for line in told for key in line.source_keys)),
        info=passage.info,
        is_fast=False,
        background=reply.summary,
        entities=() if short else names if "entities" in memory.unsaid else memory.entities,
        relations=() if short else memory.relations,
        lifetime="short" if short else "long",
        made_from=tuple(dict.fromkeys(item for line in lines for item in line.made_from)),
        missing=tuple(name for name in unsaid if not known.get(name)),
    )
    return Found(candidate, lines)
