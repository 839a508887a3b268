"""What the arguments of the verbs must be; each says what is wrong and what would be right."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, get_args

from memreader.errors import InputError
from memreader.items import TextualMemoryItem
from memreader.lifetimes import Lifetime, has_expired, now, session_end
from memreader.options import Reconcile
from memreader.reading import Labels, tag_list
from memreader.records import Cap, WhenFull
from memreader.types import Conversation, Document, FileInput, Input

OnConflict = Literal["error", "skip", "replace"]


def check_reconcile(given: Reconcile) -> Reconcile:
    """Return `given`, or raise ValueError."""
    if given not in get_args(Reconcile):
        raise ValueError(f"reconcile is True, False or 'model', got {given!r}")
    return given


def check_lifetime(given: Lifetime) -> Lifetime:
    """Return `given`, or raise ValueError."""
    if given not in get_args(Lifetime):
        raise ValueError(f"lifetime is 'long' or 'session', got {given!r}")
    return given


def check_lives(inputs: Sequence[Input], labels: Labels, *, session_ttl_hours: float) -> None:
    """Raise InputError for what is to live in a session and names none, and for items that have expired already."""
    for place, entry in enumerate(inputs):
        own = entry.metadata if isinstance(entry, TextualMemoryItem) else None
        in_session = labels.lifetime == "session" or (own is not None and own.lifetime == "session")
        if in_session and labels.session_id is None and (own is None or own.session_id is None):
            problem = (
                "lifetime 'session' needs a session that sees it: give session_id, or keep it with lifetime 'long'"
            )
            raise InputError(problem, locator=f"[{place}]")
        if own is None:
            continue
        end = own.expires_at or labels.expires_at
        if end is None and in_session:
            end = session_end(own.created_at, session_ttl_hours)
        if has_expired(end, now()):
            problem = f"the item has expired already ({end}), nothing was stored: give a later expires_at, or load() it"
            raise InputError(problem, locator=f"[{place}]")


def cap_of(max_items_per_user: int | None, when_full: WhenFull) -> Cap | None:
    """Return the bound on a user's items, None for none; raise what an impossible one deserves."""
    if when_full not in get_args(WhenFull):
        raise ValueError(f"when_full is 'reject' or 'archive', got {when_full!r}")
    if max_items_per_user is None:
        return None
    if not isinstance(max_items_per_user, int) or isinstance(max_items_per_user, bool):
        raise TypeError(f"max_items_per_user must be a whole number or None, got {max_items_per_user!r}")
    if max_items_per_user < 1:
        raise ValueError(f"max_items_per_user must be at least 1, got {max_items_per_user}")
    return Cap(max_items_per_user, when_full)


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


def check_page(limit: int | None, offset: int) -> None:
    """Raise what an impossible page deserves: TypeError or ValueError."""
    for name, value in (("limit", 0 if limit is None else limit), ("offset", offset)):
        if not isinstance(value, int) or isinstance(value, bool):
            raise TypeError(f"{name} must be a whole number, got {value!r}")
        if value < 0:
            raise ValueError(f"{name} must not be negative, got {value}")


def id_list(ids: str | Sequence[str]) -> list[str]:
    """Return ids as a list; one alone is one id, not its letters."""
    if isinstance(ids, str):
        return [ids]
    if not isinstance(ids, Iterable):
        raise TypeError(f"ids are texts, or a list of them, got {type(ids).__name__}")
    return list(ids)


def check_conflict(on_conflict: str) -> None:
    """Raise ValueError for what is no `OnConflict`."""
    if on_conflict not in get_args(OnConflict):
        raise ValueError(f"on_conflict must be 'error', 'skip' or 'replace', got {on_conflict!r}")


def check_size(inputs: Iterable[Input], *, max_mb: float) -> None:
    """Raise InputError when the words of `inputs` are more than `max_mb` MB; files have limits of their own."""
    left = max_mb * 1_000_000
    for entry in inputs:
        if isinstance(entry, Conversation):
            texts = [message.content for message in entry.messages]
        else:
            texts = [entry.text] if isinstance(entry, Document) else []
        for text in texts:
            # A code point has at most four bytes: only what may be too much is counted exactly.
            left -= len(text) if 4 * len(text) <= left else len(text.encode("utf-8", "surrogatepass"))
        if left < 0:
            raise InputError(f"more than {max_mb:g} MB of words in one call; add them in parts, or raise max_input_mb")
