"""Which names are one, by all that is stated and decided about pairs of them; pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class Alias:
    """That a name stands for an entity, by their keys."""

    key: str
    entity: str
    origin: Literal["stated", "user", "apart"]
    """stated: by an item; user: the user says so; apart: the user says that they are two."""


class Groups:
    """The names that are one with others, over pairs taken both ways and on: so there are no cycles, and no order.

    Args:
        aliases: The user's, oldest first. A pair that is told apart isn't joined by what is stated of it, but may be by
            other pairs.
        items: Key -> how many items mention it; a key without any is never shown.

    >>> groups = Groups([Alias("bob", "robert", "user"), Alias("bobby", "bob", "stated")], {"bobby": 3, "robert": 1})
    >>> groups.shown("bobby"), groups.members("bob"), groups.members("ana")
    ('robert', ('bob', 'bobby', 'robert'), ('ana',))
    """

    def __init__(self, aliases: Sequence[Alias], items: Mapping[str, int]) -> None:
        apart = {frozenset((each.key, each.entity)) for each in aliases if each.origin == "apart"}
        joining = [
            each
            for each in aliases
            if each.origin == "user" or (each.origin == "stated" and frozenset((each.key, each.entity)) not in apart)
        ]
        parts: dict[str, list[Alias]] = {}
        members: dict[str, set[str]] = {}
        for each in joining:
            one, other = (members.setdefault(key, {key}) for key in (each.key, each.entity))
            if one is not other:
                small, large = sorted((one, other), key=len)
                large |= small
                members.update(dict.fromkeys(small, large))
        for each in joining:
            parts.setdefault(min(members[each.key]), []).append(each)
        self._members: dict[str, tuple[str, ...]] = {}
        self._shown: dict[str, str] = {}
        for first, edges in parts.items():
            group = tuple(sorted(members[first]))
            shown = _shown(group, edges, items)
            self._members.update(dict.fromkeys(group, group))
            self._shown.update(dict.fromkeys(group, shown))
        self.decided = tuple((each.key, each.entity) for each in aliases)
        """Pairs that are one or told apart."""

    def shown(self, key: str) -> str:
        """Return the key that a name is shown by; its own if it is one with no other."""
        return self._shown.get(key, key)

    def members(self, key: str) -> tuple[str, ...]:
        """Return all keys that are one with `key`, itself too, in alphabetical order."""
        return self._members.get(key, (key,))


def _shown(group: Sequence[str], edges: Sequence[Alias], items: Mapping[str, int]) -> str:
    """Return the name that stands for a group: what the user said last, what is nobody's alias, what is there most."""
    by_user = [each for each in edges if each.origin == "user"]
    aliases, stated = {each.key for each in by_user}, {each.key for each in edges if each.origin == "stated"}
    last = by_user[-1].entity if by_user else None
    free = [key for key in group if items.get(key) and key not in aliases]
    if not free and last is not None and items.get(last):
        return last
    chosen = free or [key for key in group if items.get(key)] or group
    named = {each.entity for each in by_user}
    return min(chosen, key=lambda key: (key not in named, key != last, key in stated, -items.get(key, 0), key))
