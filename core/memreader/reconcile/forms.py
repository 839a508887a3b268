"""A form of words, compiled when it is first looked for: there are many, and an import must not wait for them."""

from __future__ import annotations

import re
from functools import cached_property


class Form:
    """A regular expression that costs nothing until it is used.

    Args:
        pattern: As `re.compile` takes it.
        flags: As `re.compile` takes them.
        words: English words, lower case, separated by spaces: whatever has this form has one of them, with no other
            letter beside it. "" for none known.

    >>> Form("lives? in").search("I live in Oslo") is not None
    True
    """

    def __init__(self, pattern: str, flags: int = 0, *, words: str = "") -> None:
        self._pattern = pattern
        self._flags = flags
        self.words = frozenset(words.split())

    @cached_property
    def _compiled(self) -> re.Pattern[str]:
        return re.compile(self._pattern, self._flags)

    def search(self, text: str) -> re.Match[str] | None:
        """Return the first place where the text has this form."""
        return self._compiled.search(text)

    def match(self, text: str) -> re.Match[str] | None:
        """Return the start of the text that has this form."""
        return self._compiled.match(text)

    def fullmatch(self, text: str) -> re.Match[str] | None:
        """Return the text, if all of it has this form."""
        return self._compiled.fullmatch(text)
