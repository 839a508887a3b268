"""Which neighbouring turns make a found turn readable: the question before an answer, the answer to a question."""

from __future__ import annotations

import re
from collections.abc import Sequence

from memreader.items import TextualMemoryItem
from memreader.recall.lexical import is_mostly_cjk
from memreader.recall.marks import content_words, spoken_marks
from memreader.traits import HAS_QUESTION, QUESTION_END, REACTION, SHORT
from memreader.types import Message

ANSWER_WORDS = 10
"""Content words below which a turn after a question is an answer that says little without it."""
BEFORE, AFTER = 2, 1
"""How many turns on each side are looked at."""
_LOOKED_AT = 2_000
"""Characters of a turn that are looked at, at the end that matters."""

_PRONOUN = re.compile(
    r"\W*(?:(?:he|she|it|they|him|her|them|his|hers|its|their|theirs|this|that|these|those|both)(?:['’](?:s|re|ll|d|ve))?"
    r"|me\ too|same\ here|neither\ do\ i|so\ (?:do|am|did)\ i)\b",
    re.IGNORECASE | re.VERBOSE,
)
_PRONOUN_CHINESE = re.compile(r"\W*(?:[他她它]|[这這那](?!么|麼)|我也|也)")


def is_turn(item: TextualMemoryItem) -> bool:
    """Return whether an item is one turn of a chat as it was said, with a place in its session."""
    metadata = item.metadata
    places = {source.index for source in metadata.sources if source.type == "chat"}
    documents = any(source.type != "chat" for source in metadata.sources)
    return metadata.is_fast and not metadata.evolve_from and not documents and len(places) == 1 and None not in places


def needed_turns(item: TextualMemoryItem, around: Sequence[Message]) -> list[Message]:
    """Return those of the turns around a found one that it can't be understood without, the nearest first.

    A turn needs the one before it if it is short, opens with a reaction or a pronoun, or is a shortish answer to a
    question; that one may need its own. A turn that asks something needs the next one.

    Args:
        item: What was found; nothing but a turn (see `is_turn`) needs anything.
        around: Messages of the same session, in any order; those that are not read are passed over.
    """
    if not is_turn(item):
        return []
    sources = item.metadata.sources
    words = "".join(source.content or "" for source in sources)
    # Its words may have been changed since.
    words = words if words and item.memory.endswith(words) else item.memory
    index = sources[0].index or 0
    told = sorted((message for message in around if message.is_readable), key=lambda message: message.index)
    earlier = [message for message in told if message.index < index][-BEFORE:]
    later = [message for message in told if message.index > index][:AFTER]
    needed: list[Message] = []
    # The second half of a long turn leans on its first.
    if not sources[0].start:
        needed = _leaned_on(words, earlier)
    return needed + later if _marks(words[-_LOOKED_AT:]) & HAS_QUESTION else needed


def _leaned_on(words: str, earlier: Sequence[Message]) -> list[Message]:
    needed: list[Message] = []
    for message in reversed(earlier):
        if not _leans(words, message.content):
            break
        needed.append(message)
        words = message.content
    return needed


def _leans(words: str, before: str) -> bool:
    """Return whether a turn says little without the one before it."""
    words = words[:_LOOKED_AT]
    if _marks(words) & (REACTION | SHORT) or _opening(words).match(words):
        return True
    return bool(_marks(before[-_LOOKED_AT:]) & QUESTION_END) and content_words(words) < ANSWER_WORDS


def _marks(words: str) -> int:
    # By its script: a turn of two words has no language that could be detected.
    return spoken_marks(words, "zh" if is_mostly_cjk(words) else "en")


def _opening(words: str) -> re.Pattern[str]:
    return _PRONOUN_CHINESE if is_mostly_cjk(words) else _PRONOUN
