"""What two spellings of one statement have in common."""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

from memreader.dates.numerals import numeral_value

_HAN = "\u3005\u3007\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_ASCII_WORD = "A-Za-z0-9"
_TOKEN = re.compile(
    rf"""
    (?P<address>https?://[!-~]+ | [{_ASCII_WORD}._%+-]{{1,64}}@[{_ASCII_WORD}-]+(?:\.[{_ASCII_WORD}-]+)+)
    | (?P<sign>(?<![{_ASCII_WORD})\]'"])[-\u2212](?=[\d.]))
    | (?P<number>\d+(?:[.,:/-]\d+)*)
    | (?P<refusal>(?:[不没沒别別无無非未否]|\bno\b|\bnot\b)(?=\s*[,，;；:：。、…—-]))
    | (?P<han>[{_HAN}])
    | (?P<dotted>(?<![\w.])\.(?=[a-z\d]))
    | (?P<grade>\b[a-z]{{1,2}}-(?![\w-]))
    | (?P<word>[^\W\d_{_HAN}]+(?:'[^\W\d_{_HAN}]+)*)
    | (?P<asks>\?)
    | (?P<drawl>~(?!\s*\d))
    | (?P<other>\S)
    """,
    re.VERBOSE,
)
_PLAIN_TOKEN = re.compile(
    rf"""\b[a-z]{{1,2}}-(?![\w-]) | [a-z]+(?:'[a-z]+)* | [0-9]+(?:[.,:/-][0-9]+)* | (?<![\w.])\.(?=[a-z0-9])
    | (?<![{_ASCII_WORD})\]'"])-(?=[0-9.]) | [\#%&@^?$+<=>|] | ~(?=\s*[0-9])""",
    re.VERBOSE,
)
"""What `_TOKEN` finds in lower case ASCII, less the tokens that tell nothing, and without addresses and refusals."""
_NOT_PLAIN = re.compile(r"@|://|not?\s*[,;:-]")
"""What may be an address or a refusal."""
_ENDS_OF_ADDRESS = ".,;:!?)]}>'\""
_THOUSANDS = re.compile(r"\d{1,3}(?:,\d{3})+")
_TELLING = frozenset({"Mn", "Mc", "Sc", "Sm", "So"})
_MARKS = "#%&@^"
_VARIATION = "\ufe0e\ufe0f"
_ALIKE = str.maketrans("’‘ʼ`´‐‑‒–—﹣", "'''''------")
_SHORT = re.compile(r"\b(?:(ca)n't|(wo)n't|(sha)n't|([a-z]+)n't)\b|'(re|m|ve|ll)\b|\bcannot\b", re.IGNORECASE)
_SHORT_VERBS = {"re": " are", "m": " am", "ve": " have", "ll": " will"}
_WITHOUT_APOSTROPHE = re.compile(
    r"\b(do|does|did|is|are|was|were|has|have|had|could|would|should)nt\b|\b(ca|wo)nt\b", re.ASCII | re.IGNORECASE
)
_THE_USER = re.compile(r"\bthe\s+(?=user\b)", re.IGNORECASE)
_INITIALS = re.compile(r"\b(?:[A-Z]\.){2,}")
_RAISED = re.compile("[⁰¹²³⁴⁵⁶⁷⁸⁹]+")
_FRACTION = re.compile("([¼-¾⅐-⅞])")
_COUNTED = re.compile(
    r"([零〇一二两兩三四五六七八九十百]{1,5})(?=[个個岁歲年月日号號天周週只隻条條本名位次杯辆輛台套张張公斤米块塊元小口件份层棵颗场节步])"
)
FIGURES = {
    word: str(number)
    for number, word in enumerate(
        """two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen
        eighteen nineteen twenty""".split(),
        2,
    )
} | {"thirty": "30", "forty": "40", "fifty": "50", "sixty": "60", "seventy": "70", "eighty": "80", "ninety": "90"}
"""English number words; "one" is more often none."""
_TOLD = FIGURES | {"-": "\u2212"}


@lru_cache(maxsize=16)
def surface_key(text: str) -> str:
    """Return what is equal for two texts that are the same but for case, width, punctuation and space.

    Also the same: "doesn't" and "does not", "the user" and "user", 5 and five, 三只 and 3只. What can make another
    statement of it stays: signs ($ % + - ° 😀), the points inside numbers, times and addresses, "C++", "A-", ".NET",
    "it's" beside "its", a question mark, and the pause behind a refusal ("不，是他" is not "不是他"). A text of nothing
    but punctuation is its own key. Linear; never raises; "" only for a text of spaces.

    >>> surface_key("The user likes  TEA."), surface_key("用户 喜欢喝茶！")
    ('user likes tea', '用 户 喜 欢 喝 茶')
    """
    shown = plain(text).casefold()
    if shown.isascii() and not _NOT_PLAIN.search(shown):
        tokens = [_TOLD.get(token, token) for token in _PLAIN_TOKEN.findall(shown)]
        if "," in shown:
            tokens = list(map(_without_commas, tokens))
    else:
        tokens = [token for match in _TOKEN.finditer(shown) if (token := _told(match))]
    return " ".join(tokens) or " ".join(unicodedata.normalize("NFKC", text).split())


@lru_cache(maxsize=16)
def plain(text: str) -> str:
    """Return `text` in one width, with one kind of apostrophe and hyphen, short forms written out.

    >>> plain("She doesn’t pay １００")
    'She does not pay 100'
    """
    # Each pattern is looked for only where the letters are without which it can't be there.
    if text.isascii():
        shown = text.replace("`", "'")
    else:
        raised = _RAISED.sub(lambda match: "^" + match[0], text)
        shown = unicodedata.normalize("NFKC", _FRACTION.sub(r" \1", raised)).translate(_ALIKE)
    if "'" in shown or "cannot" in shown.lower():
        shown = _SHORT.sub(_written_out, shown)
    lower = shown.lower()
    if "nt" in lower:
        shown = _WITHOUT_APOSTROPHE.sub(_with_not, shown)
    if shown.count(".") > 1:
        shown = _INITIALS.sub(lambda match: match[0].replace(".", ""), shown)
    if "user" in lower:
        shown = _THE_USER.sub("", shown)
    return shown if shown.isascii() else _COUNTED.sub(_in_figures, shown)


def _written_out(match: re.Match[str]) -> str:
    can, will, shall, other, verb = match.groups()
    if verb:
        return _SHORT_VERBS[verb.lower()]
    return (
        "can not" if can else "will not" if will else "shall not" if shall else f"{other} not" if other else "can not"
    )


def _with_not(match: re.Match[str]) -> str:
    return f"{match[1]} not" if match[1] else "can not" if match[2].lower() == "ca" else "will not"


def _in_figures(match: re.Match[str]) -> str:
    value = numeral_value(match[1])
    return match[0] if value is None else str(value)


def _without_commas(token: str) -> str:
    return token.replace(",", "") if _THOUSANDS.fullmatch(token) else token


def _told(match: re.Match[str]) -> str:
    """Return what a piece of text tells; "" if nothing."""
    kind, token = match.lastgroup, match[0]
    if kind == "address":
        return token.rstrip(_ENDS_OF_ADDRESS)
    if kind == "number":
        return _without_commas(token)
    if kind == "sign":
        return "\u2212"
    if kind == "refusal":
        return f"{token},"
    if kind == "drawl":
        return ""
    if kind == "word":
        return FIGURES.get(token, token)
    if kind != "other":
        return token
    tells = token in _MARKS or token.isalnum() or unicodedata.category(token) in _TELLING or "🏻" <= token <= "🏿"
    return token if tells and token not in _VARIATION else ""
