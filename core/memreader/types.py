"""The values that flow through reading and recall: frozen, slotted, free of any framework."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from memreader.items import SourceMessage, TextualMemoryItem

Recall: TypeAlias = Literal["user", "session"]
"""Search in all sessions of the user, or in one only."""
Vectors: TypeAlias = npt.NDArray[np.float32]
"""float32, shape (n, d)."""


@dataclass(frozen=True, slots=True)
class TokenVectors:
    """The word pieces of a text and a vector of each, in its context."""

    pieces: npt.NDArray[np.uint16]
    """Ids of the pieces, shape (n,)."""
    vectors: npt.NDArray[np.int8]
    """Shape (n, d): unit vectors times 127, rounded."""


@dataclass(frozen=True, slots=True)
class Framed:
    """A text and what stands around it, by which it is understood."""

    text: str
    before: tuple[str, ...] = ()
    """What was said before it, oldest first."""
    after: str = ""


Progress: TypeAlias = Callable[[str, int, int], None]
"""Called with a stage ("read", "embed", "reindex", ...), how much of it is done, and of how much."""

Durability = Literal["process", "power"]
"""What a write survives: the death of the process, or that of the machine too."""

Role = Literal["user", "assistant", "system", "developer", "tool", "function", "participant"]
ROLES: frozenset[str] = frozenset({"user", "assistant", "system", "developer", "tool", "function", "participant"})
"""Every role a message can have; `participant` is a person in a human chat."""

FLAGS: frozenset[str] = frozenset(
    {
        "hidden", "context", "thinking", "tool_call", "tool_result", "inactive_branch", "system_event",
        "media_only", "edited", "deleted", "bot", "sidechain",
    }
)  # fmt: skip
"""Why a message may be unlike plain speech. Flagged messages are kept; only unflagged and edited ones are read."""

READABLE_FLAGS: frozenset[str] = frozenset({"edited"})

PartKind = Literal["text", "image", "file", "audio", "refusal", "tool_call", "tool_result", "thinking"]


@dataclass(frozen=True, slots=True)
class Part:
    """One piece of a message: words, or a reference to something that isn't words."""

    kind: PartKind
    text: str = ""
    """The words: the text itself, a caption or alt text, a refusal, a tool's answer."""
    reference: str | None = None
    """Where the thing is: URL, file id, file name, or `sha256:...` of inline bytes. Never base64."""
    name: str | None = None
    """File name, or the tool's name."""
    media_type: str | None = None
    data: bytes | None = field(default=None, repr=False)
    """Inline bytes (a file or image sent as base64), decoded."""
    call: str | None = None
    """Arguments of a tool call as JSON text; the call's id of a tool result."""


@dataclass(frozen=True, slots=True)
class Message:
    """One message of a conversation, cleaned.

    `content` is what offsets in sources count over (code points). `index` is the position in the whole session.

    >>> Message("user", "hi", 0).is_readable
    True
    >>> Message("tool", "42", 1, flags=frozenset({"tool_result"})).is_readable
    False
    """

    role: str
    content: str
    index: int = 0
    name: str | None = None
    chat_time: str | None = None
    """ISO 8601, as given or taken from the message before; None when nobody said."""
    time_inferred: bool = False
    """True when `chat_time` is the time of reading: it then enters neither an id nor a window's text."""
    time_given: bool = False
    """True when the caller gave this very message its time (an inherited one is not given)."""
    message_id: str | None = None
    parent_id: str | None = None
    parts: tuple[Part, ...] = ()
    flags: frozenset[str] = frozenset()
    locator: str | None = None
    """Where in the raw input the message stood, for example `[0][3]`."""
    raw: str | None = field(default=None, repr=False)
    """The message as it came in, as JSON text; None when it came as a plain string."""

    @property
    def speaker(self) -> str:
        """The speaker's name, or the role where there is none."""
        return self.name or self.role

    @property
    def is_readable(self) -> bool:
        """Whether this message is read into memories: it has words and no flag but `edited`."""
        return self.flags <= READABLE_FLAGS and bool(self.content.strip())


@dataclass(frozen=True, slots=True)
class Conversation:
    """Messages of one session, in order."""

    messages: tuple[Message, ...]
    locator: str | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)
    """What the caller said about the whole conversation; lands in `metadata.info` of every item."""
    tags: tuple[str, ...] = ()

    @property
    def flag_counts(self) -> dict[str, int]:
        """How many messages carry each flag, flags in alphabetical order."""
        flags = [flag for message in self.messages for flag in message.flags]
        return {flag: flags.count(flag) for flag in sorted(set(flags))}


@dataclass(frozen=True, slots=True)
class Document:
    """A parsed document: cleaned text that offsets count over, and where it came from."""

    text: str = field(repr=False)
    doc_path: str
    """Path, file name, or `text:<first 16 hex digits of sha256>` for text given as such."""
    sha256: str
    """Of the original bytes (of the UTF-8 text for text given as such)."""
    media_type: str = "text/plain"
    title: str | None = None
    page_starts: tuple[int, ...] = ()
    """Offset in `text` at which each page begins; empty when the format has no pages."""
    locator: str | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)
    tags: tuple[str, ...] = ()
    context: str = ""
    """The words a message put around the file, empty for a file given alone."""
    doc_time: str | None = None
    """When it was sent, ISO 8601; None when nobody said."""
    message_id: str | None = None
    """Of the message that it came in; None for a file given alone, or where the message has no id."""
    file_key: str | None = None
    """Absolute path of a file on disk: the same path with other bytes is the same document, changed."""

    def page_at(self, offset: int) -> int | None:
        """Return the 1-based page that `offset` lies on, or None if the document has no pages.

        >>> Document("one two", "a.pdf", "", page_starts=(0, 4)).page_at(5)
        2
        """
        if not self.page_starts:
            return None
        return max(1, sum(1 for start in self.page_starts if start <= offset))


@dataclass(frozen=True, slots=True)
class FileInput:
    """A file that the caller handed in, not parsed yet: a path, or bytes with a name."""

    name: str
    path: Path | None = None
    data: bytes | None = field(default=None, repr=False)
    locator: str | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)
    tags: tuple[str, ...] = ()
    context: str = ""
    doc_time: str | None = None
    message_id: str | None = None


Input: TypeAlias = "Conversation | Document | FileInput | TextualMemoryItem"
"""What `normalize` makes of any raw input."""


@dataclass(frozen=True, slots=True)
class Span:
    """`message.content[start:end]` as one line of a window."""

    message: Message
    start: int
    end: int
    tokens: int
    """Tokens of the rendered line, newline included."""

    @property
    def text(self) -> str:
        """The cited words."""
        return self.message.content[self.start : self.end]


@dataclass(frozen=True, slots=True)
class Window:
    """Consecutive lines of a conversation that fit a token budget together."""

    spans: tuple[Span, ...]
    tokens: int
    carried: int = 0
    """How many leading spans repeat the end of the window before."""

    @property
    def messages(self) -> tuple[Message, ...]:
        """The messages of this window, in order, carried ones included."""
        spans = self.spans
        return tuple(s.message for i, s in enumerate(spans) if i == 0 or spans[i - 1].message is not s.message)

    def __iter__(self) -> Iterator[Span]:
        return iter(self.spans)


@dataclass(frozen=True, slots=True)
class Chunk:
    """A piece of a text: `text_of_document[start:end] == chunk.text`, offsets in code points."""

    text: str
    start: int
    end: int
    token_count: int
    headers: tuple[str, ...] = ()
    """Markdown headings above this chunk, outermost first."""


@dataclass(frozen=True, slots=True)
class Scope:
    """Whose memories: `user_id` is the key, compared exactly; the others are labels and filters.

    Raises:
        ValueError: A label is not a non-empty string (None is fine but for `user_id`), or can't be stored as UTF-8.
    """

    user_id: str
    session_id: str | None = None
    agent_id: str | None = None

    def __post_init__(self) -> None:
        for name in ("user_id", "session_id", "agent_id"):
            value = getattr(self, name)
            if value is None and name != "user_id":
                continue
            if not isinstance(value, str) or not value.strip():
                raise ValueError(f"{name} must be a non-empty string, got {value!r}")
            if any("\ud800" <= character <= "\udfff" or character == "\0" for character in value):
                raise ValueError(f"{name} holds a character that can't be stored")


@dataclass(frozen=True, slots=True)
class Failure:
    """Something that could not be read, as a value."""

    kind: str
    """Name of the error's class."""
    reason: str
    """What is wrong and what to do; names the document."""
    locator: str | None = None
    """Where it stood in the input (`[1]`), or the document's name."""


@dataclass(frozen=True, slots=True)
class Dropped:
    """Something that was read and left out on purpose."""

    text: str
    reason: str
    locator: str | None = None


@dataclass(frozen=True, slots=True)
class Candidate:
    """What reading found before it becomes an item: the words, their evidence, and how they were read."""

    text: str
    sources: tuple[SourceMessage, ...]
    key: str
    memory_type: str
    tags: tuple[str, ...] = ()
    memory_time: str | None = None
    time_inferred: bool = False
    """True when `memory_time` is only the time of reading."""
    source_keys: tuple[str, ...] = ()
    """Source keys (DESIGN 7) of the messages or the document behind it."""
    info: Mapping[str, Any] = field(default_factory=dict)
    token_count: int | None = None
    is_fast: bool = True
    """Whether a model has yet to read it."""
    background: str = ""
    entities: tuple[str, ...] = ()
    relations: tuple[tuple[str, str, str], ...] = ()
    lifetime: Literal["long", "short"] = "long"
    """Short: of use in its session only."""
    made_from: tuple[str, ...] = ()
    """Ids of the raw items that it was refined from."""
    missing: tuple[str, ...] = ()
    """What a model left out of it and nothing else tells: "key", "entities", "time"; see `lacking`."""


@dataclass(frozen=True, slots=True)
class Hit:
    """One found memory.

    `score` is in [0, 1] and comparable across queries; `similarity` is the cosine, or None when no vector took part;
    `parts` are the component scores by name.
    """

    item: TextualMemoryItem
    score: float
    similarity: float | None = None
    parts: Mapping[str, float] = field(default_factory=dict)
    raw: tuple[str, ...] = ()
    """Ids of the raw items that it was made from and that were found, too: they stand under it, not beside it."""
