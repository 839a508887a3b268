"""What was said last in a session: the conversation itself, as it was said, not what was made of it."""

from __future__ import annotations

from memreader.checks import check_page
from memreader.stores import Store
from memreader.types import Message, Scope

_END = 2**62
"""A position after that of every message."""


def said_last(store: Store, scope: Scope, *, limit: int) -> list[Message]:
    """Return the last messages of a session that have words, at most `limit`, oldest first; [] for none.

    What tools answered, what is system text, and what was deleted is left out.

    Args:
        store: Where.
        scope: The user and the session; None stands for the messages that were added without one.
        limit: At least 0.

    Raises:
        TypeError: `limit` is no whole number.
        ValueError: It is below 0.
    """
    check_page(limit, 0)
    return [message for _, message in store.said_before(scope.user_id, scope.session_id, _END, limit=limit)]
