"""Memory items as the seeds define them: validated, JSON in and out.

Every value is checked; an invalid one raises `pydantic.ValidationError` (a ValueError) that names the field.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import date, datetime
from typing import Annotated, Any, Literal
from uuid import uuid4

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, field_validator

MemoryType = Literal[
    "WorkingMemory", "LongTermMemory", "UserMemory", "OuterMemory", "ToolSchemaMemory", "ToolTrajectoryMemory",
    "RawFileMemory", "SkillMemory", "PreferenceMemory", "Context",
]  # fmt: skip
Status = Literal["activated", "resolving", "archived", "deleted"]
ItemType = Literal["procedure", "fact", "event", "opinion"]
Origin = Literal["conversation", "retrieved", "web", "file", "system"]
Visibility = Literal["private", "public", "session"]

MAX_ID_LENGTH = 256


def _check_id(value: str) -> str:
    if not value or len(value) > MAX_ID_LENGTH:
        raise ValueError(f"an id has 1 to {MAX_ID_LENGTH} characters, got {len(value)}")
    return value


_DATE = re.compile(r"\d{4}-\d{2}-\d{2}\Z")


def _check_time(value: Any) -> Any:
    """Return `value` as an ISO 8601 string; a bare YYYY-MM-DD stays one."""
    if isinstance(value, datetime | date):
        return value.isoformat()
    if isinstance(value, str):
        try:
            date.fromisoformat(value) if _DATE.match(value) else datetime.fromisoformat(value)
        except ValueError as error:
            raise ValueError(f"not an ISO 8601 time (YYYY-MM-DD or YYYY-MM-DDTHH:MM:SS): {value[:40]!r}") from error
    return value


def _now() -> str:
    return datetime.now().astimezone().isoformat(timespec="seconds")


def _floats(value: Any) -> Any:
    """Return arrays and sequences of numbers as a list of floats."""
    return value.tolist() if hasattr(value, "tolist") else value


Id = Annotated[str, AfterValidator(_check_id)]
IsoTime = Annotated[str, BeforeValidator(_check_time)]


class SourceMessage(BaseModel):
    """Where a memory comes from: the cited span of one message or document.

    `content` is `text[start:end]` of the stored message content or parsed document text (offsets in code points);
    `index` is the message's position in the whole session.
    """

    model_config = ConfigDict(frozen=True, extra="allow")

    type: Literal["chat", "doc"] = "chat"
    role: str | None = None
    name: str | None = None
    content: str | None = None
    chat_time: IsoTime | None = None
    time_inferred: bool | None = None
    """True where nobody gave a time and `chat_time` is the time of reading."""
    message_id: str | None = None
    session_id: str | None = None
    index: int | None = Field(default=None, ge=0)
    doc_path: str | None = None
    page: int | None = Field(default=None, ge=1)
    start: int | None = Field(default=None, ge=0)
    end: int | None = Field(default=None, ge=0)


class TextualMemoryMetadata(BaseModel):
    """What is known about a memory beside its words."""

    model_config = ConfigDict(extra="forbid", validate_assignment=True)

    user_id: str | None = None
    session_id: str | None = None
    agent_id: str | None = None
    memory_type: MemoryType = "LongTermMemory"
    type: ItemType | None = None
    status: Status = "activated"
    key: str | None = None
    tags: list[str] = Field(default_factory=list)
    background: str = ""
    confidence: float = Field(default=0.99, ge=0.0, le=1.0)
    source: Origin | None = None
    visibility: Visibility = "private"
    entities: list[str] = Field(default_factory=list)
    sources: list[SourceMessage] = Field(default_factory=list)
    usage: list[str] = Field(default_factory=list)
    embedding: Annotated[list[float] | None, BeforeValidator(_floats)] = Field(default=None, repr=False)
    memory_time: IsoTime | None = None
    created_at: IsoTime = Field(default_factory=_now)
    updated_at: IsoTime = Field(default_factory=_now)
    is_fast: bool = False
    evolve_from: list[str] = Field(default_factory=list)
    evolve_to: list[str] = Field(default_factory=list)
    version: int = Field(default=1, ge=1)
    history: list[dict[str, Any]] = Field(default_factory=list)
    info: dict[str, Any] = Field(default_factory=dict)

    @field_validator("embedding")
    @classmethod
    def _finite(cls, value: list[float] | None) -> list[float] | None:
        if value is not None and not all(-1e30 < number < 1e30 for number in value):
            raise ValueError("holds a number that is not finite")
        return value


class TextualMemoryItem(BaseModel):
    """One memory: its words, and what is known about them.

    >>> item = TextualMemoryItem(memory="Ana lives in Lisbon.", metadata={"tags": ["home"]})
    >>> TextualMemoryItem.model_validate_json(item.model_dump_json()) == item
    True
    """

    model_config = ConfigDict(extra="forbid", validate_assignment=True)

    id: Id = Field(default_factory=lambda: str(uuid4()))
    memory: str
    metadata: TextualMemoryMetadata = Field(default_factory=TextualMemoryMetadata)

    @field_validator("memory")
    @classmethod
    def _has_words(cls, value: str) -> str:
        if not value.strip():
            raise ValueError("a memory has at least one character that is not a space")
        return value

    def to_dict(self, *, with_embedding: bool = True) -> dict[str, Any]:
        """Return JSON-ready values: id, memory, metadata."""
        exclude = None if with_embedding else {"metadata": {"embedding"}}
        return self.model_dump(mode="json", exclude=exclude)

    def with_embedding(self, vector: Sequence[float]) -> TextualMemoryItem:
        """Return a copy that carries `vector` in `metadata.embedding`."""
        metadata = self.metadata.model_copy(update={"embedding": _floats(vector)})
        return self.model_copy(update={"metadata": metadata})
