"""What a memory that a model made lacks: which fields its answer left out, and nothing else tells."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypeAlias, get_args

from memreader.items import TextualMemoryMetadata

Missing: TypeAlias = Literal["key", "entities", "time"]

MISSING: tuple[Missing, ...] = get_args(Missing)
"""What can be missing of a memory."""
NOTE = "missing"
"""Key of `metadata.info` under which a partial memory names what it lacks."""
FIELD_OF: Mapping[Missing, str] = {"key": "key", "entities": "entities", "time": "memory_time"}


def lacking(known: TextualMemoryMetadata) -> tuple[Missing, ...]:
    """Return what a partial memory lacks, () for one that is whole.

    Where it doesn't say what, that is whatever is empty.
    """
    if not known.partial:
        return ()
    noted = known.info.get(NOTE)
    if isinstance(noted, list):
        return tuple(name for name in MISSING if name in noted)
    return tuple(name for name in MISSING if not getattr(known, FIELD_OF[name]))


def marks(info: Mapping[str, Any], missing: Sequence[str]) -> dict[str, Any]:
    """Return the fields `partial` and `info` of a memory that lacks this, or nothing.

    >>> marks({"topic": "tea"}, ["time"]), marks({"missing": ["time"]}, [])
    ({'partial': True, 'info': {'topic': 'tea', 'missing': ['time']}}, {'partial': False, 'info': {}})
    """
    rest = {name: value for name, value in info.items() if name != NOTE}
    return {"partial": bool(missing), "info": {**rest, NOTE: list(missing)} if missing else rest}


def marks_after(known: TextualMemoryMetadata, fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields `partial` and `info` of a partial memory after a change: what is given it lacks no longer.

    Args:
        known: Before the change.
        fields: Of the metadata, that are changed. Where they say themselves what is missing, that counts.
    """
    missing = lacking(known)
    info = fields.get("info", known.info)
    if not missing or not isinstance(info, Mapping) or not fields.get("partial", True):
        return {}
    if info.get(NOTE, known.info.get(NOTE)) != known.info.get(NOTE):
        return {}
    left = [name for name in missing if fields.get(FIELD_OF[name]) in (None, getattr(known, FIELD_OF[name]))]
    return marks(info, left)


def completed(known: TextualMemoryMetadata, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields that change as a partial memory is given some of those it lacks.

    Entities join those that it got since, with another memory's.
    """
    fields = dict(given)
    if "entities" in fields:
        fields["entities"] = list(dict.fromkeys((*known.entities, *fields["entities"])))
    return fields | marks(known.info, [name for name in lacking(known) if FIELD_OF[name] not in fields])


def filled_by(known: TextualMemoryMetadata, more: TextualMemoryMetadata) -> dict[str, Any]:
    """Return the fields of a partial memory that change as the same memory is found again, perhaps with what it lacks.

    Entities are left out: those of both count.
    """
    missing = lacking(known)
    if not missing:
        return {}
    still = lacking(more)
    left = [name for name in missing if name in still]
    brought = [name for name in missing if name not in left and name != "entities"]
    return {FIELD_OF[name]: getattr(more, FIELD_OF[name]) for name in brought} | marks(known.info, left)
