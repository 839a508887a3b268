"""Reading only, no store: raw input in, cited and embedded memory items out."""

from __future__ import annotations

import copy
import logging
import os
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import Any, Literal, Unpack

from memreader.checks import check_files, checked_info
from memreader.distill import ModelSettings, distiller_of
from memreader.embedding import MiniLMEmbedder, checked_embedder, embed_texts
from memreader.errors import ModelRequiredError
from memreader.extract.fine import PassageReading
from memreader.extract.passage import raw_candidate
from memreader.extract.same import merged
from memreader.items import TextualMemoryItem
from memreader.normalize import normalize
from memreader.normalize.time import parse_time, zone_of
from memreader.options import ReadOptions, Unit
from memreader.parsing import ParseLimits
from memreader.plan import Job, awaiting, blocking
from memreader.ports import Embedder, Tokenizer, Usage
from memreader.raw import raw_passages, refined_item
from memreader.reading import InputReading, Labels, Tools, make_items, read_input, tag_list
from memreader.records import RawItem
from memreader.tokenizing import load_tokenizer
from memreader.types import Conversation, Dropped, Failure, Input, Message, Progress

logger = logging.getLogger(__name__)

Mode = Literal["fast", "fine"]
DataType = Literal["chat", "doc"]


@dataclass(frozen=True, slots=True)
class ReadReport:
    """What reading gave, and what it could not read and why."""

    groups: list[list[TextualMemoryItem]] = field(default_factory=list)
    """One list per conversation or document, in input order; an unreadable one gives an empty list."""
    dropped: list[Dropped] = field(default_factory=list)
    failures: list[Failure] = field(default_factory=list)
    usage: Usage = field(default_factory=Usage)
    flags: dict[str, int] = field(default_factory=dict)
    """How many messages carried each flag; flagged messages (but edited ones) are not read into memories."""

    @property
    def items(self) -> list[TextualMemoryItem]:
        """All items in one list, in order."""
        return [item for group in self.groups for item in group]


class MemReader:
    """Reads conversations and documents into memory items.

    Args:
        embedder: Fills `metadata.embedding`; the embedded model when None, loaded at first use.
        tokenizer: Counts tokens; the shipped o200k_base when None, loaded at first use.
        options: Limits and units.
        limits: What a document may cost.
        llm: Reads in mode "fine", which is then the default. A `ports.ChatModel`: `OpenAIChatModel(...)`, or another
            library's by `langchain_memreader.as_chat_model` or `llamaindex_memreader.as_chat_model`.
        general_llm: Does the gates' work; `llm` when None, as for the others.
        preference_llm: Reads preferences.
        image_llm: Looks at images.
        document_llm: Reads documents.
        prompts: Texts that take the place of the shipped ones; see `memreader.prompts.Prompts`.
        instructions: Your domain's rules, put beside the prompt.
        model_options: Patience, concurrency and budget.

    Raises:
        TypeError: A model or embedder has not the methods of its port.
        PromptError: A prompt lacks a placeholder, or has one that nothing fills.

    >>> reader = MemReader()
    >>> report = reader.read([{"role": "user", "content": "I moved to Lisbon."}], user_id="ana")
    >>> report.items[0].memory, report.items[0].metadata.sources[0].content
    ('user: I moved to Lisbon.', 'I moved to Lisbon.')
    """

    def __init__(
        self,
        *,
        embedder: Embedder | None = None,
        tokenizer: Tokenizer | None = None,
        options: ReadOptions | None = None,
        limits: ParseLimits | None = None,
        **models: Unpack[ModelSettings],
    ) -> None:
        self.embedder: Embedder = MiniLMEmbedder() if embedder is None else checked_embedder(embedder)
        self.options = options or ReadOptions()
        self.limits = limits or ParseLimits()
        self._tokenizer = tokenizer
        self.distiller = distiller_of(models, self.options)

    def _with_embedder(self, embedder: Embedder) -> MemReader:
        """Return the same reader with another embedder."""
        other = copy.copy(self)
        other.embedder = checked_embedder(embedder)
        return other

    @property
    def tokenizer(self) -> Tokenizer:
        """The tokenizer in use."""
        if self._tokenizer is None:
            self._tokenizer = load_tokenizer()
        return self._tokenizer

    @property
    def default_mode(self) -> Mode:
        """What a call without a `mode` does: "fine" with a language model, "fast" without."""
        return "fast" if self.distiller.models.llm is None else "fine"

    def _read_job(
        self,
        data: Any,
        *,
        user_id: str | None = None,
        session_id: str | None = None,
        agent_id: str | None = None,
        mode: Mode | None = None,
        type: DataType | None = None,
        metadata: Mapping[str, Any] | None = None,
        tags: Sequence[str] = (),
        at: datetime | str | None = None,
        files_root: str | os.PathLike[str] | None = None,
        as_text: bool = False,
        progress: Progress | None = None,
    ) -> Job[ReadReport]:
        """Return the items of everything in `data`, embedded, and what could not be read.

        Args:
            data: Anything `Memory.add` takes.
            user_id: Goes into ids and metadata, as do the other labels.
            session_id: See above.
            agent_id: See above.
            mode: "fast" reads without a model, "fine" with one; None: "fine" if there is one.
            type: "doc" takes strings as documents; otherwise the content tells.
            metadata: The caller's own, into `metadata.info` of every item.
            tags: Added to every item.
            at: Time of messages that have none.
            files_root: Folder that strings given as documents are names below.
            as_text: One-line strings that look like file names are documents' text.
            progress: Called with (stage, done, total).

        Raises:
            InputError: Something is of no readable shape; it names the position.
            ModelRequiredError: mode="fine" without a model.
        """
        mode = self.checked_mode(mode)
        inputs = self.normalized(data, type=type, at=at, files_root=files_root, as_text=as_text)
        labels = Labels(user_id, session_id, agent_id, dict(metadata or {}), tag_list(tags))
        tools = self.tools(self.options.unit or "turn", mode)
        return (yield from self._report(inputs, labels, tools, at=self.time_of(at), progress=progress))

    read = blocking(_read_job, "read")
    aread = awaiting(_read_job, "aread")

    def _get_memory_job(
        self,
        scene_data: Any,
        type: DataType | None = None,
        info: Mapping[str, Any] | None = None,
        mode: Mode = "fine",
        *,
        user_name: str | None = None,
        chat_history: Sequence[Mapping[str, Any]] | None = None,
        custom_tags: Sequence[str] = (),
    ) -> Job[list[list[TextualMemoryItem]]]:
        """Return one list of embedded items per conversation or document, in input order (MemOS's entry).

        Args:
            scene_data: A list of conversations, documents, strings or Paths.
            type: "chat", "doc", or None: content tells.
            info: Must hold non-empty strings `user_id` and `session_id`; `custom_tags` in it become tags, other keys
                land in `metadata.info`.
            mode: "fast" reads windows without a model; "fine" needs one.
            user_name: Lands in `metadata.info`.
            chat_history: What was said before: shown to a model, not read.
            custom_tags: Added to every item.

        Raises:
            ValueError: Empty `scene_data`, unknown `mode` or `type`, or `info` lacks a field; it is named.
            ModelRequiredError: mode="fine" without a model.

        What can't be read (a damaged document, an image) gives no item and a log line; what a model fails to read gives
        one raw item per window; `read` reports both as values.
        """
        labels = checked_info(info)
        if type not in (None, "chat", "doc"):
            raise ValueError(f"type must be 'chat' or 'doc', got {type!r}")
        if not scene_data:
            raise ValueError("scene_data is empty. Pass at least one conversation or document.")
        mode = self.checked_mode(mode)
        extra = {} if user_name is None else {"user_name": user_name}
        labels = replace(labels, info={**labels.info, **extra}, tags=(*labels.tags, *tag_list(custom_tags)))
        tools = self.tools(self.options.unit or "window", mode, context=self._history(chat_history))
        report = yield from self._report(self.normalized(scene_data, type=type), labels, tools)
        for failure in report.failures:
            logger.warning("not read: %s: %s", failure.locator, failure.reason)
        if report.dropped:
            logger.warning("%d parts of messages or answers were left out; read() says which", len(report.dropped))
        return report.groups

    get_memory = blocking(_get_memory_job, "get_memory")
    aget_memory = awaiting(_get_memory_job, "aget_memory")

    def _transfer_job(
        self,
        items: Sequence[TextualMemoryItem],
        type: DataType | None = None,  # noqa: ARG002 - the seed's signature
    ) -> Job[list[TextualMemoryItem]]:
        """Return items read fast, refined by a model (MemOS's second step); nothing to refine gives an empty list.

        Turns of one conversation are read together, a document's chunks each. What is made of them names them in
        `evolve_from`, with their labels, tags and info. What the model fails to read comes back as it was, after a log
        line. The given items are not changed.

        Args:
            items: Of one or several conversations and documents.
            type: Not needed: their sources tell.

        Raises:
            ModelRequiredError: There is something to refine, and no language model.
        """
        if not items:
            return []
        if not all(isinstance(item, TextualMemoryItem) for item in items):
            raise TypeError("items is a flat list of items: [item for group in get_memory(...) for item in group]")
        self.checked_mode("fine")
        passages = raw_passages([RawItem(item, {}) for item in items], options=self.options, tokenizer=self.tokenizer)
        readings: dict[int, PassageReading] = {}
        yield from self.distiller.job(passages, self.distiller.caller(), readings.__setitem__)
        by_id = {item.id: item for item in items}
        groups = groupby((readings[place] for place in range(len(passages))), key=lambda read: read.passage.group)
        made = partial(refined_item, raws=by_id, session_ttl_hours=self.options.session_ttl_hours)
        refined = [made(one.candidate) for _, group in groups for one in merged(list(group))[0]]
        for reading in readings.values():
            if reading.failure is not None:
                logger.warning("not refined: %s", reading.failure.reason)
        unread = {name for reading in readings.values() for line in reading.unread for name in line.made_from}
        refined += [item for item in items if item.id in unread]
        vectors = embed_texts(self.embedder, [item.memory for item in refined])
        return [
            item.with_embedding(vectors.vectors[place])
            for place, item in enumerate(refined)
            if place not in vectors.failures
        ]

    fine_transfer_simple_mem = blocking(_transfer_job, "fine_transfer_simple_mem")
    afine_transfer_simple_mem = awaiting(_transfer_job, "afine_transfer_simple_mem")

    def normalized(
        self,
        data: Any,
        *,
        type: DataType | None = None,
        at: datetime | str | None = None,
        files_root: str | os.PathLike[str] | None = None,
        as_text: bool = False,
    ) -> list[Input]:
        """Return `data` as conversations, documents, files and items, in order; see `memreader.normalize`.

        Raises:
            InputError: Something is of no readable shape, or a name below `files_root` is a link that leads out of it.
            FileNotFoundError: A path doesn't exist.
        """
        root = None if files_root is None else Path(files_root)
        inputs = normalize(data, type=type, timezone=self.options.timezone, files_root=root, as_text=as_text, at=at)
        check_files(inputs, root)
        return inputs

    def time_of(self, at: datetime | str | None) -> str | None:
        """Return the caller's time of a call as ISO 8601, None for None."""
        return None if at is None else parse_time(at, timezone=zone_of(self.options.timezone))

    def tools(self, unit: Unit, mode: Mode = "fast", *, context: Sequence[tuple[str, Message]] = ()) -> Tools:
        """Return what reading with this unit needs, for `reading.read_input`."""
        fine = self.distiller.options if mode == "fine" else None
        return Tools(
            self.options, self.tokenizer, unit, self.embedder.max_tokens, self.limits, fine, context=tuple(context)
        )

    @property
    def has_model(self) -> bool:
        """Whether there is a model to read with."""
        models = self.distiller.models
        return models.llm is not None or models.document_llm is not None

    def checked_mode(self, mode: Mode | None) -> Mode:
        """Return the mode of a call.

        Raises:
            ValueError: There is no such mode.
            ModelRequiredError: It needs a model, and there is none.
        """
        mode = self.default_mode if mode is None else mode
        if mode not in ("fast", "fine"):
            raise ValueError(f"mode must be 'fast' or 'fine', got {mode!r}")
        if mode == "fine" and not self.has_model:
            raise ModelRequiredError(mode=mode)
        return mode

    def _history(self, chat_history: Sequence[Mapping[str, Any]] | None) -> list[tuple[str, Message]]:
        if not chat_history:
            return []
        given = self.normalized(list(chat_history))
        return [("", message) for entry in given if isinstance(entry, Conversation) for message in entry.messages]

    def _report(self, inputs: Sequence[Input], labels: Labels, tools: Tools, **how: Any) -> Job[ReadReport]:
        """Return the items of the inputs; `how` holds `at` and `progress`."""
        report, flags, seen = ReadReport(), Counter[str](), Counter[str]()
        readings = [
            read_input(entry, tools, session_id=labels.session_id, at=how.get("at"), seen=seen) for entry in inputs
        ]
        progress: Progress | None = how.get("progress")
        if tools.fine is not None:
            usage = yield from self._distil(readings, progress)
            report = ReadReport(usage=usage)
        for reading in readings:
            items = [*reading.given, *(item for item, _ in make_items(reading, labels, tools))]
            embedded = embed_texts(self.embedder, [item.memory for item in items], progress=_steps(progress, items))
            report.failures.extend(reading.failures)
            report.dropped.extend(reading.dropped)
            report.failures.extend(embedded.as_failures([item.id for item in items]))
            report.groups.append(
                [
                    item.with_embedding(embedded.vectors[place])
                    for place, item in enumerate(items)
                    if place not in embedded.failures
                ]
            )
            flags.update(reading.flags)
        report.flags.update(sorted(flags.items()))
        return report

    def _distil(self, readings: Sequence[InputReading], progress: Progress | None) -> Job[Usage]:
        """Put a model's candidates into the readings, and raw ones for the lines that it failed to read."""
        passages = [
            replace(passage, group=number) for number, reading in enumerate(readings) for passage in reading.passages
        ]
        done: dict[int, list[PassageReading]] = defaultdict(list)

        def take(_place: int, reading: PassageReading) -> None:
            done[reading.passage.group].append(reading)

        caller = self.distiller.caller()
        yield from self.distiller.job(passages, caller, take, progress=progress)
        for number, reading in enumerate(readings):
            found, dropped = merged(done[number])
            reading.candidates += [one.candidate for one in found]
            reading.dropped += [*dropped, *(one for read in done[number] for one in read.dropped)]
            for read in done[number]:
                if read.unchecked is not None:
                    reading.failures.append(replace(read.unchecked, locator=read.passage.locator))
                if read.failure is not None:
                    reading.failures.append(replace(read.failure, locator=read.passage.locator))
                    reading.candidates.append(raw_candidate(read.passage, read.unread))
        return caller.usage


def _steps(progress: Progress | None, items: Sequence[TextualMemoryItem]) -> Callable[[int], None] | None:
    if progress is None:
        return None
    done = 0

    def step(count: int) -> None:
        nonlocal done
        done += count
        progress("embed", done, len(items))

    return step
