"""Token vectors for what is to be written: every turn between those around it, and turns beside it encoded again."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field

from memreader.extract.fast import FAST_TAG
from memreader.items import TextualMemoryItem
from memreader.ports import TokenEmbedder
from memreader.stores import Store
from memreader.types import Framed, Message, TokenVectors

NEW = 2**62
"""Positions from here on are of messages that are about to be written at the end of their session."""
BEFORE = 2
"""Turns before one that it is encoded with; after it, one."""
PART = 64


@dataclass(frozen=True, slots=True)
class Encoded:
    """Token vectors of a batch."""

    own: list[TokenVectors | None]
    """Of each item, in order; None for one that gets none."""
    others: tuple[tuple[str, str, TokenVectors], ...] = ()
    """Id, words and vectors of items that are there already and stand beside new ones."""
    heard: tuple[tuple[str, str], ...] = ()
    """Source key and words of the messages from the store that they were encoded with."""


def encode(
    items: Sequence[TextualMemoryItem],
    embedder: TokenEmbedder,
    store: Store,
    user_id: str,
    *,
    keys: Sequence[tuple[str, ...]] = (),
    said: Sequence[tuple[str, Message]] = (),
    unseen: Collection[str] = (),
    progress: Callable[[int], None] | None = None,
) -> Encoded:
    """Return the token vectors of items that are about to be written.

    A turn is encoded with the two before and the one after it; a memory that stands for itself alone. Windows and
    pieces of documents get none: what is compared is a turn's words.

    Args:
        items: One user's.
        embedder: Gives the vectors.
        store: Knows what was said before.
        user_id: Whose.
        keys: Of each item, what it is made from; without, its sources say where it stands.
        said: Source key and message of what is about to be written with the items: of one session, in order.
        unseen: Source keys of those of them that no other turn is encoded with: nobody is to see them.
        progress: Called with how many more are done.
    """
    around = _Around(store, user_id)
    places = _places(items, keys, said, unseen, around)
    framed = {place: Framed(item.memory) for place, item in enumerate(items) if not _is_raw(item)}
    framed |= {place: around.framed(items[place].memory, *where) for place, where in places.items()}
    beside = _beside(items, places, around) if said else []
    vectors = _embedded([*framed.values(), *(one for _, one in beside)], embedder, progress)
    own: list[TokenVectors | None] = [None] * len(items)
    for place, found in zip(framed, vectors, strict=False):
        own[place] = found
    again = zip(beside, vectors[len(framed) :], strict=True)
    others = tuple((item_id, one.text, found) for (item_id, one), found in again)
    return Encoded(own, others, tuple(around.heard.items()))


def encode_alone(texts: Sequence[str], embedder: TokenEmbedder | None) -> list[TokenVectors | None]:
    """Return the token vectors of memories that stand for themselves; Nones without an embedder."""
    if embedder is None:
        return [None] * len(texts)
    return list(embedder.embed_tokens([Framed(text) for text in texts]))


def gets_tokens(item: TextualMemoryItem) -> bool:
    """Return whether an item gets token vectors: a turn or a statement does."""
    return _is_turn(item) or not _is_raw(item)


def _places(
    items: Sequence[TextualMemoryItem],
    keys: Sequence[tuple[str, ...]],
    said: Sequence[tuple[str, Message]],
    unseen: Collection[str],
    around: _Around,
) -> dict[int, tuple[str | None, int]]:
    """Return session and position of each turn among the items, and tell `around` of them."""
    turns = {place: item for place, item in enumerate(items) if _is_turn(item)}
    if not turns:
        return {}
    if not said:
        places: dict[int, tuple[str | None, int]] = {}
        for place, item in turns.items():
            places[place] = session, position = item.metadata.session_id, item.metadata.sources[0].index or 0
            around.put(session, position, item.memory)
        return places
    session = next(iter(turns.values())).metadata.session_id
    position_of = around.store.tokens.positions(around.user_id, (key for key, _ in said))
    for number, (key, message) in enumerate(said):
        position_of.setdefault(key, NEW + number)
        if message.is_readable and key not in unseen:
            around.put(session, position_of[key], _line(message))
    return {place: (session, position_of[keys[place][0]]) for place in turns if keys[place][0] in position_of}


def _beside(
    items: Sequence[TextualMemoryItem], places: dict[int, tuple[str | None, int]], around: _Around
) -> list[tuple[str, Framed]]:
    """Return the turns in the store whose context the new ones change: their ids, and they in their new context."""
    if not places:
        return []
    some = items[next(iter(places))].metadata
    found: dict[str, Framed] = {}
    for line in around.changed(some.session_id):
        ids = around.store.items_of(around.user_id, [line.key], agent_id=some.agent_id)
        for item in around.store.fetch(around.user_id, ids):
            if item is not None and _is_turn(item):
                found[item.id] = around.framed(item.memory, some.session_id, line.position)
    return list(found.items())


def _embedded(
    framed: Sequence[Framed], embedder: TokenEmbedder, progress: Callable[[int], None] | None
) -> list[TokenVectors]:
    vectors: list[TokenVectors] = []
    for start in range(0, len(framed), PART):
        part = framed[start : start + PART]
        vectors += embedder.embed_tokens(part)
        if progress is not None:
            progress(len(part))
    return vectors


@dataclass(frozen=True, slots=True)
class _Line:
    position: int
    text: str
    key: str = ""
    """Of a message in the store."""


@dataclass(slots=True)
class _Around:
    """What is said around a turn: the messages in the store, and over them those that are about to be written."""

    store: Store
    user_id: str
    heard: dict[str, str] = field(default_factory=dict)
    _new: dict[str | None, dict[int, str]] = field(default_factory=dict)
    _sorted: dict[str | None, list[int]] = field(default_factory=dict)

    def put(self, session_id: str | None, position: int, text: str) -> None:
        self._new.setdefault(session_id, {}).setdefault(position, text)
        self._sorted.pop(session_id, None)

    def framed(self, text: str, session_id: str | None, position: int) -> Framed:
        before = self._before(session_id, position)
        after = self._after(session_id, position, 1)
        return Framed(text, tuple(line.text for line in before), after[0].text if after else "")

    def changed(self, session_id: str | None) -> list[_Line]:
        """Return the messages in the store that stand next to new ones, each once."""
        found: dict[int, _Line] = {}
        for position in self._positions(session_id):
            near = [*self._before(session_id, position)[-1:], *self._after(session_id, position, BEFORE)]
            found.update((line.position, line) for line in near if line.key)
        return list(found.values())

    def _before(self, session_id: str | None, position: int) -> list[_Line]:
        positions = self._positions(session_id)
        at = bisect_left(positions, position)
        lines = [_Line(place, self._new[session_id][place]) for place in positions[max(0, at - BEFORE) : at]]
        if len(lines) == BEFORE and lines[0].position >= NEW:
            return lines
        return self._merged(session_id, lines, position, later=False)[-BEFORE:]

    def _after(self, session_id: str | None, position: int, count: int) -> list[_Line]:
        positions = self._positions(session_id)
        at = bisect_left(positions, position + 1)
        lines = [_Line(place, self._new[session_id][place]) for place in positions[at : at + count]]
        return lines if position >= NEW else self._merged(session_id, lines, position, later=True)[:count]

    def _merged(self, session_id: str | None, lines: list[_Line], position: int, *, later: bool) -> list[_Line]:
        told = self.store.tokens.near(self.user_id, session_id, position, limit=BEFORE, later=later)
        new = self._new.get(session_id, {})
        merged = [*lines]
        for key, message in told:
            if message.index not in new:
                self.heard[key] = message.content
                merged.append(_Line(message.index, _line(message), key))
        return sorted(merged, key=lambda line: line.position)

    def _positions(self, session_id: str | None) -> list[int]:
        if session_id not in self._sorted:
            self._sorted[session_id] = sorted(self._new.get(session_id, {}))
        return self._sorted[session_id]


def _line(message: Message) -> str:
    return f"{message.speaker}: {message.content}"


def _is_raw(item: TextualMemoryItem) -> bool:
    return FAST_TAG in item.metadata.tags


def _is_turn(item: TextualMemoryItem) -> bool:
    sources = item.metadata.sources
    chat = all(source.type == "chat" and source.index == sources[0].index for source in sources)
    return _is_raw(item) and bool(sources) and chat
