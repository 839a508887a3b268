"""Which messages of a session were heard already, though LlamaIndex gives them no ids."""

from __future__ import annotations

import json
import threading
from collections import Counter, OrderedDict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any
from uuid import uuid5
from weakref import WeakKeyDictionary

from llamaindex_memreader.conversation import NAMESPACE
from memreader import Memory
from memreader.types import Scope

SESSIONS = 1024
"""Sessions whose messages are counted; of one that is forgotten, what is said again word for word is heard once."""


@dataclass(slots=True)
class _Session:
    left: list[str] = field(default_factory=list)
    """What has left the buffer, in order."""
    kept: set[str] = field(default_factory=set)
    """Ids of messages that are in the memory, or were until somebody deleted them."""
    asked: str | None = None
    """Id of the user's message that is being answered."""


class Heard:
    """Tells messages apart: who said it, what, and whether it was the first time in the session, the second, ...

    The same buffer gives the same ids whenever and in whatever process it is looked at, so that nothing is kept twice.
    That a message repeats one which left the buffer before is known only as long as this lives; unknown, it counts as
    the same message.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._sessions: OrderedDict[Scope, _Session] = OrderedDict()

    def identified(self, scope: Scope, said: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
        """Return the messages with ids, in order; one that has an id keeps it.

        Args:
            scope: Whose session.
            said: What is in its buffer, from the first message on; what leaves it; or the whole session.
        """
        counted = [(_words(message), message) for message in said]
        with self._lock:
            left = self._session(scope).left
            seen = Counter(() if _is_there_again(left, [words for words, _ in counted]) else left)
            made: list[dict[str, Any]] = []
            for words, message in counted:
                place = json.dumps([scope.session_id, words, seen[words]])
                seen[words] += 1
                made.append({"message_id": str(uuid5(NAMESPACE, place)), **message})
        return made

    def unheard(self, scope: Scope, said: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
        """Return those identified messages that are not kept yet."""
        with self._lock:
            kept = self._session(scope).kept
            return [message for message in said if message["message_id"] not in kept]

    def keep(self, scope: Scope, said: Iterable[Mapping[str, Any]]) -> None:
        """Note that identified messages are in the memory."""
        with self._lock:
            self._session(scope).kept.update(message["message_id"] for message in said)

    def leave(self, scope: Scope, said: Iterable[Mapping[str, Any]]) -> None:
        """Note that messages have left the buffer: the same words in it are others from now on."""
        words = [_words(message) for message in said]
        with self._lock:
            session = self._session(scope)
            session.left = words if _is_there_again(session.left, words) else session.left + words

    def ask(self, scope: Scope, said: Sequence[Mapping[str, Any]]) -> None:
        """Note which message is being answered: the last one of a buffer's identified ones, if it is the user's."""
        with self._lock:
            asks = bool(said) and said[-1]["role"] == "user"
            self._session(scope).asked = said[-1]["message_id"] if asks else None

    def asked(self, user_id: str, session_id: str | None) -> list[str]:
        """Return the ids of the user's messages that are being answered in this session."""
        with self._lock:
            sessions = self._sessions.items()
            whose = [
                session for scope, session in sessions if (scope.user_id, scope.session_id) == (user_id, session_id)
            ]
            return [session.asked for session in whose if session.asked is not None]

    def users_of(self, session_id: str | None) -> set[str]:
        """Return who has been heard in a session of this name."""
        with self._lock:
            return {scope.user_id for scope in self._sessions if scope.session_id == session_id}

    def _session(self, scope: Scope) -> _Session:
        session = self._sessions.setdefault(scope, _Session())
        self._sessions.move_to_end(scope)
        while len(self._sessions) > SESSIONS:
            self._sessions.popitem(last=False)
        return session


def _is_there_again(left: Sequence[str], words: Sequence[str]) -> bool:
    """Tell whether what left the buffer is in it again: a caller has set it to the whole session, or a part of it."""
    if len(words) < len(left):
        return bool(words) and left[: len(words)] == words
    return any(words[start : start + len(left)] == left for start in range(len(words) - len(left) + 1))


def _words(message: Mapping[str, Any]) -> str:
    said = [message["role"], message.get("name"), message["content"]]
    return blake2b("\0".join(_flat(said)).encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


def _flat(value: Any) -> Iterator[str]:
    """Yield what a message says, lists and dicts included, in an order and form that don't change."""
    if isinstance(value, Mapping):
        for key in sorted(value):
            yield f"{key}:"
            yield from _flat(value[key])
    elif isinstance(value, list | tuple):
        yield f"{len(value)}["
        for one in value:
            yield from _flat(one)
    else:
        yield blake2b(value, digest_size=16).hexdigest() if isinstance(value, bytes) else repr(value)


_of_memory: WeakKeyDictionary[Memory, Heard] = WeakKeyDictionary()
_lock = threading.Lock()


def heard_of(memory: Memory) -> Heard:
    """Return what was heard for a memory, however many blocks stand on it."""
    with _lock:
        return _of_memory.setdefault(memory, Heard())
