"""Where to look for statements that the rules could merge or supersede."""

from __future__ import annotations

from memreader.identity import digest
from memreader.reconcile.slots import slots
from memreader.reconcile.surface import surface_key


def keys(text: str) -> tuple[str, ...]:
    """Return keys to look up by equality: two statements that `decide` does more with than add share at least one.

    The first stands for the words themselves, the others for whose values of what the statement gives. Sharing one
    promises nothing.

    >>> len(set(keys("User lives in Porto.")) & set(keys("The user moved to Lisbon!")))
    1
    """
    values = (f"value:{digest([slot.subject, slot.attribute])}" for slot in slots(text))
    return tuple(dict.fromkeys((f"words:{digest(surface_key(text))}", *values)))
