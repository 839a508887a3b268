"""Reading only, no store: raw input in, cited and embedded memory items out."""

from __future__ import annotations

import errno
import logging
import os
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import Any, Literal

from memreader.embedding import MiniLMEmbedder, checked_embedder, embed_texts
from memreader.errors import InputError, ModelRequiredError
from memreader.items import TextualMemoryItem
from memreader.normalize import normalize
from memreader.normalize.time import parse_time, zone_of
from memreader.options import ReadOptions, Unit
from memreader.parsing import ParseLimits
from memreader.ports import Embedder, Tokenizer, Usage
from memreader.reading import Labels, Tools, make_items, read_input, tag_list
from memreader.tokenizing import load_tokenizer
from memreader.twins import off_loop
from memreader.types import Dropped, Failure, FileInput, Input

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
    ) -> None:
        self.embedder: Embedder = MiniLMEmbedder() if embedder is None else checked_embedder(embedder)
        self.options = options or ReadOptions()
        self.limits = limits or ParseLimits()
        self._tokenizer = tokenizer

    @property
    def tokenizer(self) -> Tokenizer:
        """The tokenizer in use."""
        if self._tokenizer is None:
            self._tokenizer = load_tokenizer()
        return self._tokenizer

    def read(
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
        progress: Callable[[int], None] | None = None,
    ) -> ReadReport:
        """Return the items of everything in `data`, embedded, and what could not be read.

        Args:
            data: Anything `Memory.add` takes.
            user_id: Goes into ids and metadata, as do the other labels.
            session_id: See above.
            agent_id: See above.
            mode: Only "fast" without a language model.
            type: "doc" takes strings as documents; otherwise the content tells.
            metadata: The caller's own, into `metadata.info` of every item.
            tags: Added to every item.
            at: Time of messages that have none.
            files_root: Folder that strings given as documents are names below.
            as_text: One-line strings that look like file names are documents' text.
            progress: Called with the number of texts embedded since the last call.

        Raises:
            InputError: Something is of no readable shape; it names the position.
            ModelRequiredError: mode="fine".
        """
        check_mode("fast" if mode is None else mode)
        inputs = self.normalized(data, type=type, at=at, files_root=files_root, as_text=as_text)
        labels = Labels(user_id, session_id, agent_id, dict(metadata or {}), tag_list(tags))
        return self._report(inputs, labels, self.options.unit or "turn", at=self.time_of(at), progress=progress)

    aread = off_loop(read)

    def get_memory(
        self,
        scene_data: Any,
        type: DataType | None = None,
        info: Mapping[str, Any] | None = None,
        mode: Mode = "fine",
        *,
        user_name: str | None = None,
        chat_history: Sequence[Mapping[str, Any]] | None = None,  # noqa: ARG002 - the seed's signature
        custom_tags: Sequence[str] = (),
    ) -> list[list[TextualMemoryItem]]:
        """Return one list of embedded items per conversation or document, in input order (MemOS's entry).

        Args:
            scene_data: A list of conversations, documents, strings or Paths.
            type: "chat", "doc", or None: content tells.
            info: Must hold non-empty strings `user_id` and `session_id`; `custom_tags` in it become tags, other keys
                land in `metadata.info`.
            mode: "fast" reads windows without a model; "fine" needs one.
            user_name: Lands in `metadata.info`.
            chat_history: Earlier messages as context for a model; without one they have no effect.
            custom_tags: Added to every item.

        Raises:
            ValueError: Empty `scene_data`, unknown `mode` or `type`, or `info` lacks a field; it is named.
            ModelRequiredError: mode="fine".

        What can't be read (a damaged document, an image) gives no item and a log line; `read` reports it as a value.
        """
        labels = checked_info(info)
        if type not in (None, "chat", "doc"):
            raise ValueError(f"type must be 'chat' or 'doc', got {type!r}")
        if not scene_data:
            raise ValueError("scene_data is empty. Pass at least one conversation or document.")
        check_mode(mode)
        extra = {} if user_name is None else {"user_name": user_name}
        labels = replace(labels, info={**labels.info, **extra}, tags=(*labels.tags, *tag_list(custom_tags)))
        report = self._report(self.normalized(scene_data, type=type), labels, self.options.unit or "window")
        unread: list[Failure | Dropped] = [*report.failures, *report.dropped]
        for missed in unread:
            logger.warning("not read: %s: %s", missed.locator, missed.reason)
        return report.groups

    aget_memory = off_loop(get_memory)

    def fine_transfer_simple_mem(
        self,
        items: Sequence[TextualMemoryItem],
        type: DataType | None = None,  # noqa: ARG002 - the seed's signature
    ) -> list[TextualMemoryItem]:
        """Refine items read fast (MemOS's second step); nothing to refine gives an empty list.

        Raises:
            ModelRequiredError: There is something to refine, and no language model.
        """
        if items:
            raise ModelRequiredError(mode="fine")
        return []

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

    def tools(self, unit: Unit) -> Tools:
        """Return what reading with this unit needs, for `reading.read_input`."""
        return Tools(self.options, self.tokenizer, unit, self.embedder.max_tokens, self.limits)

    def _report(self, inputs: Sequence[Input], labels: Labels, unit: Unit, **how: Any) -> ReadReport:
        """Return the items of the inputs; `how` holds `at` and `progress`."""
        tools = self.tools(unit)
        report = ReadReport()
        flags: Counter[str] = Counter()
        seen: Counter[str] = Counter()
        for entry in inputs:
            reading = read_input(entry, tools, session_id=labels.session_id, at=how.get("at"), seen=seen)
            items = [*reading.given, *(item for item, _ in make_items(reading, labels, tools.reading_key))]
            embedded = embed_texts(self.embedder, [item.memory for item in items], progress=how.get("progress"))
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


def check_files(inputs: Sequence[Input], root: Path | None) -> None:
    """Raise if a file is missing, or if one named below `root` leads out of it; nothing is opened."""
    for entry in inputs:
        if not isinstance(entry, FileInput) or entry.path is None:
            continue
        if not os.path.lexists(entry.path):
            raise FileNotFoundError(errno.ENOENT, "no such file", str(entry.path))
        inside = root is not None and entry.path.absolute().is_relative_to(root.absolute())
        if root is not None and inside and not entry.path.resolve().is_relative_to(root.resolve()):
            raise InputError(f"{entry.name!r} leads out of files_root", locator=entry.locator)


def check_mode(mode: str) -> None:
    """Raise what an unknown mode, or one that needs a model, deserves."""
    if mode not in ("fast", "fine"):
        raise ValueError(f"mode must be 'fast' or 'fine', got {mode!r}")
    if mode == "fine":
        raise ModelRequiredError(mode=mode)


def checked_info(info: Mapping[str, Any] | None) -> Labels:
    """Return the labels that the seed's `info` holds; the mapping is not changed.

    Raises:
        ValueError: It is no mapping, or lacks a non-empty `user_id` or `session_id`; the missing ones are named.
    """
    if not isinstance(info, Mapping):
        raise ValueError(f"info must be a dict with user_id and session_id, got {type(info).__name__}")
    missing = [
        name for name in ("user_id", "session_id") if not isinstance(info.get(name), str) or not info[name].strip()
    ]
    if missing:
        raise ValueError(f"info lacks a non-empty string for: {', '.join(missing)}")
    known = ("user_id", "session_id", "agent_id", "custom_tags")
    extra = {key: value for key, value in info.items() if key not in known}
    return Labels(info["user_id"], info["session_id"], info.get("agent_id"), extra, tag_list(info.get("custom_tags")))
