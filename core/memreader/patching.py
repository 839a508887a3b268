"""An item with some of its fields changed."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any, TypeAlias

from pydantic import ValidationError

from memreader.errors import InputError
from memreader.extract.fast import first_sentence
from memreader.graph.mentions import entities_after
from memreader.items import MAX_VERSION, TextualMemoryItem, TextualMemoryMetadata
from memreader.lacking import marks_after
from memreader.lifetimes import SESSION_TTL_HOURS, chosen_end

Patch: TypeAlias = "str | Mapping[str, Any] | TextualMemoryItem"
"""New words; or `memory` and `metadata` (or fields of the metadata), of which what is given is changed."""

KEPT = frozenset({"user_id", "created_at", "version", "updated_at", "embedding"})
"""Fields that follow from the item's life, not from a patch; given values of these are passed over."""


def patched(
    item: TextualMemoryItem, patch: Patch, *, session_ttl_hours: float = SESSION_TTL_HOURS
) -> TextualMemoryItem:
    """Return `item` with the given fields changed, its version one higher and `updated_at` now; all values are checked.

    A field that is given is replaced as a whole, lists and `info` too. An item given as patch changes the fields that
    were set when it was made. A `key` and `entities` that were taken from the old words follow the new ones, unless
    given. So do `visibility` and `expires_at` another `lifetime`: "session" lives `session_ttl_hours` from now on. What
    a partial memory is given, it lacks no longer.

    Raises:
        InputError: A field is unknown or its value is not valid, or the patch has another `id` or `user_id`, or the
            `lifetime` "session" without a session.

    >>> patched(TextualMemoryItem(id="a", memory="likes tea"), {"memory": "likes coffee"}).memory
    'likes coffee'
    """
    memory, fields = _parts(item, patch)
    data = item.metadata.model_dump(exclude={"embedding"})
    data |= _life(item.metadata, fields, session_ttl_hours) | fields
    if isinstance(memory, str) and "key" not in fields:
        data["key"] = _key(item.metadata.key, item.memory, memory)
    if isinstance(memory, str) and memory != item.memory and "entities" not in fields:
        data["entities"] = entities_after(item, memory)
    data |= marks_after(item.metadata, fields)
    data["version"] = min(item.metadata.version + 1, MAX_VERSION)
    data["updated_at"] = datetime.now().astimezone().isoformat(timespec="seconds")
    try:
        return TextualMemoryItem(
            id=item.id, memory=item.memory if memory is None else memory, metadata=TextualMemoryMetadata(**data)
        )
    except ValidationError as error:
        problems = "; ".join(f"{'.'.join(map(str, each['loc']))}: {each['msg']}" for each in error.errors())
    # Outside the except, so that the words of the memory, which pydantic's error quotes, are not chained to this one.
    raise InputError(f"not a valid change of a memory item: {problems}")


def _life(known: TextualMemoryMetadata, fields: Mapping[str, Any], hours: float) -> dict[str, Any]:
    """Return what follows from another lifetime than the item has; {} where it stays the same."""
    lifetime = fields.get("lifetime", known.lifetime)
    if lifetime == known.lifetime:
        return {}
    if lifetime != "session":
        return {"visibility": "private", "expires_at": None}
    if fields.get("session_id", known.session_id) is None:
        raise InputError("lifetime 'session' needs a session that sees the item: give its session_id, too")
    return {"visibility": "session", "expires_at": chosen_end(ttl=hours * 3600, expires_at=None)}


def _parts(item: TextualMemoryItem, patch: Patch) -> tuple[Any, dict[str, Any]]:
    """Return the new words (None: the old ones) and the metadata's fields to change."""
    if isinstance(patch, str):
        return patch, {}
    if isinstance(patch, TextualMemoryItem):
        patch = patch.model_dump(exclude_unset=True)
    if not isinstance(patch, Mapping):
        raise InputError(f"a change is a text, a dict of fields or an item, not {type(patch).__name__}")
    given = dict(patch)
    memory = given.pop("memory", None)
    if given.pop("id", item.id) != item.id:
        raise InputError("the id of an item never changes; add a new item, and delete this one")
    fields = given.pop("metadata", None) or {}
    if isinstance(fields, TextualMemoryMetadata):
        fields = fields.model_dump(exclude_unset=True)
    if not isinstance(fields, Mapping):
        raise InputError(f"'metadata' is a dict, not {type(fields).__name__}")
    fields = {**fields, **given}
    unknown = [str(name) for name in fields if name not in TextualMemoryMetadata.model_fields]
    if unknown:
        raise InputError(f"unknown fields {unknown}; put values of your own into 'info'")
    if fields.get("user_id", item.metadata.user_id) not in (item.metadata.user_id, None):
        raise InputError("an item stays its user's; add it to the other user's memory, and delete this one")
    return memory, {name: value for name, value in fields.items() if name not in KEPT}


def _key(key: str | None, old: str, new: str) -> str | None:
    """Return the key of the new words: their first sentence, if that is what it was of the old ones, else as it was.

    Both may begin with the speaker or a heading, which is not part of it.
    """
    at = old.find(key) if key else -1
    if at < 0 or first_sentence(old[at:]) != key:
        return key
    return first_sentence(new.removeprefix(old[:at])) or key
