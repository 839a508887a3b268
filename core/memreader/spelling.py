"""When two spellings of a name are one name."""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

_CJK = "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\u3040-\u30ff\U00020000-\U0003ffff"
_BETWEEN_CJK = re.compile(rf"(?<=[{_CJK}])\s+(?=[{_CJK}])")
_ONE_FORM = {
    **dict.fromkeys("‘’‛ʼ`´", "'"),
    **dict.fromkeys("‐‑‒–—−", "-"),
    **dict.fromkeys("•‧∙⋅・", "·"),
}
_SIGNS = str.maketrans(_ONE_FORM)
_OPENING = "\"'“”„«»‹›《》〈〉「」『』【】〔〕()[]{}<>,;:!?、，。；：！？…*_~|·- "
_CLOSING = _OPENING + "."
_OWNER = re.compile(r"(?<=[^\W_])'s\Z")
_TITLE_STOP = re.compile(r"\b(mr|mrs|ms|mx|dr|prof|st|jr|sr|inc|ltd|corp|co)\.")
_OWN_S = frozenset(
    """
    mcdonald's macy's levi's kellogg's sotheby's christie's lowe's kohl's trader-joe's domino's denny's hershey's
    moody's sainsbury's lay's chili's arby's hardee's zaxby's applebee's dunkin's
    """.split()
)
"""Names that end in 's themselves."""
MAX_LENGTH = 400
"""Characters of a name that count."""


@lru_cache(maxsize=20_000)
def entity_key(name: str) -> str:
    """Return what makes two spellings of a name one.

    What doesn't count: case, width, runs of spaces, spaces between Chinese characters, kinds of quotes, hyphens and
    middle dots, quotes and punctuation around the name, an owner's 's, the full stop of "Mr." and "Inc.". What counts:
    accents, order, inner punctuation ("C++", ".NET"), and titles: Mr. Smith and Mrs. Smith are two people, and so are
    王先生 and 王女士. "" only for a name without any visible character; a name of nothing but punctuation keeps it.

    >>> entity_key(" Zhang  SAN ") == entity_key("“ｚｈａｎｇ san’s”")
    True
    >>> entity_key("张 三"), entity_key("Mr. Smith"), entity_key("C++"), entity_key("Ann") == entity_key("Anna")
    ('张三', 'mr smith', 'c++', False)
    """
    key = _folded(name[:MAX_LENGTH])
    while (simpler := _without_dress(key)) != key:
        key = simpler
    return key


def _folded(name: str) -> str:
    """Return `name` in one case, width and kind of signs; folding can make new combinations, hence again."""
    visible = "".join(c for c in name if unicodedata.category(c) not in {"Cf", "Cc", "Cs"} or c.isspace())
    for _ in range(4):
        folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", visible).casefold())
        folded = "".join(c for c in folded if unicodedata.category(c) != "Cf")
        if folded == visible:
            break
        visible = folded
    return _BETWEEN_CJK.sub("", " ".join(visible.translate(_SIGNS).split()))


def _without_dress(key: str) -> str:
    bare = key.lstrip(_OPENING).rstrip(_CLOSING)
    if "'" in bare and bare.replace(" ", "-") not in _OWN_S:
        bare = _OWNER.sub("", bare)
    return _TITLE_STOP.sub(r"\1", bare) or key
