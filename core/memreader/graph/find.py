"""Names in a text by rules, without a model: what is found is a name, and much that is one isn't found."""

from __future__ import annotations

import re
from collections.abc import Collection

from memreader.graph.chinese import chinese_names
from memreader.graph.english import english_names
from memreader.graph.english_kinds import quoted_titles
from memreader.graph.found import CJK, Found, Kind, masked, occurrences, without_overlaps

__all__ = ["Found", "Kind", "entities_in"]

_ROLES = frozenset("user assistant system tool human ai bot speaker agent customer function developer".split())
_CJK = re.compile(f"[{CJK}]")


def entities_in(text: str, *, speakers: Collection[str] = (), language: str | None = None) -> tuple[Found, ...]:
    """Return the names in `text`, in its order, without overlaps; () if nothing is sure.

    English: words with a capital inside a sentence, several of them with of, de, van inside; at the start of a
    sentence only well-known given names and places, speakers, and what has a capital elsewhere inside one. Chinese:
    surnames with a title behind or a word before that names stand after, works in 《》, places and organisations after
    in, to, at.
    Never pronouns, days, months, greetings, headings, shouting, code, addresses. An owner's 's is no part of a name.

    Precision goes before recall: a name that is missed can be found by a model later, a word that is taken for a name
    stands in the graph. Linear in the length of the text.

    Args:
        text: Any text, one message or a whole document.
        speakers: Names of the people who talk, known from the messages; bare roles ("user") are no names.
        language: ISO 639-1 code if known. "de" writes every noun with a capital, so that only known names count.

    >>> [(found.name, found.kind) for found in entities_in("Maybe Ana's flight to Lisbon is late. 王老师在北京。")]
    [('Ana', 'person'), ('Lisbon', 'place'), ('王老师', 'person'), ('北京', 'place')]
    """
    people = [name for name in speakers if len(name.strip()) > 1 and name.strip().lower() not in _ROLES]
    prose = masked(text)
    found = [*quoted_titles(prose)]
    if not prose.isascii() and _CJK.search(prose):
        # Latin names are found by their capitals.
        found += occurrences(prose, {name.strip() for name in people if _CJK.search(name)}, "person")
        found += chinese_names(prose)
    found += english_names(prose, speakers=people, language=language)
    return without_overlaps(found)
