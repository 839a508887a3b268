"""Memory items as the seeds define them: validated, JSON in and out.

Every value is checked; an invalid one raises `pydantic.ValidationError` (a ValueError) that names the field.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from datetime import date, datetime
from typing import Annotated, Any, Literal
from uuid import uuid4

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, field_validator
from pydantic_core import PydanticSerializationError, to_jsonable_python

from memreader.lifetimes import Lifetime, ending

MemoryType = Literal[
    "WorkingMemory", "LongTermMemory", "UserMemory", "OuterMemory", "ToolSchemaMemory", "ToolTrajectoryMemory",
    "RawFileMemory", "SkillMemory", "PreferenceMemory", "Context",
]  # fmt: skip
Status = Literal["activated", "resolving", "archived", "deleted", "pending"]
ItemType = Literal["procedure", "fact", "event", "opinion"]
Origin = Literal["conversation", "retrieved", "web", "file", "system"]
Visibility = Literal["private", "public", "session"]

MAX_ID_LENGTH = 256
MAX_VERSION = 2**62
"""An item that came in with this version keeps it, however often it changes: a database can count no further."""


_SURROGATE = re.compile("[\ud800-\udfff]")


def _check_text(value: str) -> str:
    if _SURROGATE.search(value):
        raise ValueError("holds a lone surrogate, which is half a character and can't be stored")
    return value


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


def _check_end(value: Any) -> Any:
    """Return `value` as a moment of expiry, see `lifetimes.ending`."""
    return ending(value) if isinstance(value, date | str) else value


def _now() -> str:
    return datetime.now().astimezone().isoformat(timespec="seconds")


def _floats(value: Any) -> Any:
    """Return arrays and sequences of numbers as a list of floats."""
    return value.tolist() if hasattr(value, "tolist") else value


def _json_ready(value: Any) -> Any:
    """Return `value` as it comes back from JSON: dates as text, numbers that are not finite as None."""
    try:
        plain = to_jsonable_python(value, inf_nan_mode="null")
        json.dumps(plain, ensure_ascii=False, allow_nan=False).encode()
    except (PydanticSerializationError, ValueError, RecursionError):
        problem = "holds something that JSON can't: an object of an own class, bytes, a lone surrogate, or itself"
    else:
        return plain
    raise ValueError(problem)


Text = Annotated[str, AfterValidator(_check_text)]
Id = Annotated[Text, AfterValidator(_check_id)]
IsoTime = Annotated[str, BeforeValidator(_check_time)]
Expiry = Annotated[str, BeforeValidator(_check_end)]
Info = Annotated[dict[Text, Any], AfterValidator(_json_ready)]


class SourceMessage(BaseModel):
    """Where a memory comes from: the cited span of one message or document.

    `content` is `text[start:end]` of the stored message content or parsed document text (offsets in code points);
    `index` is the message's position in the whole session.
    """

    model_config = ConfigDict(frozen=True, extra="allow", hide_input_in_errors=True)

    __pydantic_extra__: dict[str, Annotated[Any, AfterValidator(_json_ready)]] = Field(init=False)

    type: Literal["chat", "doc"] = "chat"
    role: Text | None = None
    name: Text | None = None
    content: Text | None = None
    chat_time: IsoTime | None = None
    time_inferred: bool | None = None
    """True where nobody gave a time and `chat_time` is the time of reading."""
    message_id: Text | None = None
    session_id: Text | None = None
    index: int | None = Field(default=None, ge=0)
    doc_path: Text | None = None
    page: int | None = Field(default=None, ge=1)
    start: int | None = Field(default=None, ge=0)
    end: int | None = Field(default=None, ge=0)


class TextualMemoryMetadata(BaseModel):
    """What is known about a memory beside its words."""

    model_config = ConfigDict(extra="forbid", validate_assignment=True, hide_input_in_errors=True)

    user_id: Text | None = None
    session_id: Text | None = None
    agent_id: Text | None = None
    memory_type: MemoryType = "LongTermMemory"
    type: ItemType | None = None
    status: Status = "activated"
    key: Text | None = None
    tags: list[Text] = Field(default_factory=list)
    background: Text = ""
    confidence: float = Field(default=0.99, ge=0.0, le=1.0)
    source: Origin | None = None
    visibility: Visibility = "private"
    entities: list[Text] = Field(default_factory=list)
    sources: list[SourceMessage] = Field(default_factory=list)
    usage: list[Text] = Field(default_factory=list)
    embedding: Annotated[list[float] | None, BeforeValidator(_floats)] = Field(default=None, repr=False)
    memory_time: IsoTime | None = None
    valid_until: IsoTime | None = None
    """When what it says ended, as another memory has it; None while it is so."""
    lifetime: Lifetime = "long"
    """session: seen by its session alone, and expires."""
    expires_at: Expiry | None = None
    """From when on it is no longer found, in whole seconds with a zone; None: never. Given without a zone it is local
    time, and a date is its end."""
    created_at: IsoTime = Field(default_factory=_now)
    updated_at: IsoTime = Field(default_factory=_now)
    is_fast: bool = False
    partial: bool = False
    """Whether a model made it and left out its key, entities or time; `info["missing"]` says which."""
    evolve_from: list[Text] = Field(default_factory=list)
    evolve_to: list[Text] = Field(default_factory=list)
    version: int = Field(default=1, ge=1, le=MAX_VERSION)
    history: list[Info] = Field(default_factory=list)
    info: Info = Field(default_factory=dict)

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

    model_config = ConfigDict(extra="forbid", validate_assignment=True, hide_input_in_errors=True)

    id: Id = Field(default_factory=lambda: str(uuid4()))
    memory: Text
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
