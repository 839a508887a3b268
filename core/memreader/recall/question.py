"""What a query asks for: its form, its dates and its people."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date

from memreader.recall.dates_in import Days, NamedDate, Scores, dates_in, nearness
from memreader.recall.lexical import is_mostly_cjk
from memreader.recall.marks import content_words
from memreader.recall.naming import capitalised, speaker_named

LONGEST = 15
"""Content words of a question; what has more is something said."""
LOOKED_AT = 4_000
"""Characters of a query that are looked at, from its start."""

_COURTESY = re.compile(
    r"""\s*(?:(?:hi|hey|hello|please|so|and|ok|okay|well|um)\b[\s,!.]*)*
    (?P<wish>
        (?:(?:can|could|would|will)\ you\ )?(?:please\ |kindly\ )?(?:tell|remind|show)\ (?:me|us)
        |(?:do|can|would)\ (?:you|we)\ (?:happen\ to\ )?(?:know|remember|recall)
        |(?:i(?:\ am|[’']m)?|we)\ (?:(?:want|[’']d\ like|would\ like)\ to\ know|wonder(?:ing)?)
        |i(?:[’']d|\ would)\ like\ to\ know
    )?\ *(?:about\ |again\ )?[\s,:]*""",
    re.IGNORECASE | re.VERBOSE,
)
"""What stands before the question proper and asks for nothing itself."""
_PREPOSITION = r"(?:(?:in|on|at|to|from|for|with|by|of|about|during|since|until|under|after|before|around)\s)?"
_ASKING = re.compile(
    rf"{_PREPOSITION}(?:who|whom|whose|what|which|when|where|why|how)(?:['’]?(?:s|re|d|ll|ve))?\b"
    r"|(?:list|name)\s(?!of\b)",
    re.IGNORECASE,
)
_YES_NO = re.compile(
    r"(?:is|are|was|were|do|does|did|has|have|had|can|will|isn|aren|wasn|weren|don|doesn|didn|hasn|haven|won)(?:['’]t)?\b",
    re.IGNORECASE,
)
_GUESS = re.compile(r"\b(?:would|might|could|likely|probably|traits?)\b", re.IGNORECASE)

_AUXILIARY = (
    r"(?:is|are|was|were|am|do|does|did|has|have|had|can|could|will|would|should|might|must|(?:['’](?:s|re|ve|d)))"
)
_PLURAL = (
    rf"(?:(?!{_AUXILIARY}\b)(?!\w*(?:ss|us|is|ous|news)\b)[a-z]{{2,}}s"
    r"|people|children|men|women|feet|teeth|mice|geese|wives|lives|knives)"
)
_LIST = re.compile(
    rf"{_PREPOSITION}(?:what|which)\b(?:(?:['’]re|\s(?:are|were))\b|.*\b(?:has|have|had)\b"
    rf"|(?:\s(?!{_AUXILIARY}\b)[\w-]+){{0,3}}?\s{_PLURAL}\s(?:(?:of|in|on|for|from|about|with|to|by|at|that)\s.*\b)?"
    rf"{_AUXILIARY}\b)|(?:list|name)\s(?!of\b)|.*\b(?:names|kinds|types|sorts)\sof\b",
    re.IGNORECASE,
)
"""What is asked for stands in the plural before its verb; a verb in -s (which song helps her) has no other after it."""

_WHEN = re.compile(
    rf"{_PREPOSITION}(?:when\b|(?:what|which)\s(?:\w+\s)?(?:date|year|month|day|time|week|season)\b"
    rf"(?!\s(?!{_AUXILIARY}\b|(?:of|in|on|for|to|at|from|with|that|and|or|exactly|again|precisely)\b)\w))"
    r"|.*\bhow\slong\sago\b",
    re.IGNORECASE,
)
_HOW_MANY = re.compile(
    r"\bhow\s(?:many|much|long|old|often|far|tall|high|big|heavy|large)\b(?!\sago)|\bwhat\s(?:number|age|percentage|amount)\b",
    re.IGNORECASE,
)
_WHO = re.compile(rf"{_PREPOSITION}who(?:m|se)?\b|.*\b(?:and|or)\swho\b", re.IGNORECASE)
_WHERE = re.compile(
    rf"{_PREPOSITION}(?:where\b|(?:what|which)\s(?:\w+\s)?(?:city|town|village|country|state|county|continent|island|street"
    r"|place|area|region|location|neighbou?rhood)\b)",
    re.IGNORECASE,
)

_ASKING_CHINESE = re.compile(
    "[?？吗嗎呢谁誰哪]|什么|什麼|甚麼|啥|怎么|怎麼|怎样|怎樣|如何|为何|為何|多少|多久|多[大长長远遠高]|几(?!乎)|幾(?!乎)|何[时時地处處]"
    "|是不是|有没有|有沒有|会不会|會不會|能不能|是否"
)
_LIST_CHINESE = re.compile(
    "哪些|哪[几幾]|[有过過](?:什么|什麼|啥)|都[^，。？?]{0,8}(?:什么|什麼|啥|谁|誰|哪)|(?:列出|所有|分别|分別)"
)
_GUESS_CHINESE = re.compile(
    "[吗嗎]|会不会|會不會|是不是|是否|有没有|有沒有|能不能|喜不喜欢|可能|也许|也許|或许|或許|大概|估计|估計|应该会|應該會"
)
_WHEN_CHINESE = re.compile(
    "什么时[候间]|[什甚]麼時[候間]|何时|何時|哪[一]?[天年月周週日]|哪个(?:月|星期|周|季节)|哪個(?:月|星期|週|季節)|[几幾](?:月|号|號|点|點)|多久(?:之|以)?前|星期[几幾]"
    "|[周週][几幾]"
)
_HOW_MANY_CHINESE = re.compile(
    "多少|多[大长長远遠高重](?!的)|多久(?!(?:之|以)?前)|[几幾](?![乎何]|个?[月年天]前|[月号號点點])|第[几幾]"
)
_WHO_CHINESE = re.compile("[谁誰](?![都也])|哪[一]?位|什么人|什麼人|哪个人|哪個人|叫什么|叫什麼")
_WHERE_CHINESE = re.compile(
    "哪[里裡儿兒](?![都也])|什么地方|什麼地方|何[地处處]|哪[个個座]?(?:城市|国家|國家|地方|省|县|縣|市|区|區|国|國)|在哪(?![些种種])|去哪(?![些种種])"
)


@dataclass(frozen=True, slots=True)
class Question:
    """What a query asks for. A flag that doesn't show in the words is False; nothing here depends on any memory."""

    text: str
    cjk: bool = False
    """Mostly in Chinese, Japanese or Korean script."""
    utterance: bool = False
    """Something said, or a long text, rather than a short question: it asks for none of the following."""
    list: bool = False
    """Asks for several things."""
    infer: bool = False
    """Asks for a guess, or for yes or no: no turn says it in so many words."""
    when: bool = False
    how_many: bool = False
    who: bool = False
    where: bool = False
    names: tuple[str, ...] = ()
    """Capitalised words inside its sentences."""
    dates: tuple[NamedDate, ...] = ()

    def speaker_of(self, names: Sequence[str]) -> int | None:
        """Return the place of the speaker whom the query is about, None if it names none, or several alike.

        The rules are those of `speaker_named`.
        """
        return speaker_named(self.text[:LOOKED_AT], names)

    def date_scores(self, days: Days) -> Scores:
        """Return how near each day (an ordinal, 0 for none) is to the dates of the query, 0 to 2; see `nearness`."""
        return nearness(self.dates, days)


def read_question(text: str, *, today: date | None) -> Question:
    """Return what a query in English or Chinese asks for; in another language, only what shows in it all the same.

    Args:
        text: The query as it came.
        today: The day that "last summer" and 两周前 are counted from; None leaves such words out.

    >>> question = read_question("Could you tell me where Ana moved in May?", today=None)
    >>> question.where, question.infer, question.utterance, question.names
    (True, False, False, ('Ana', 'May'))
    >>> read_question("她去过哪些城市？", today=None).list
    True
    """
    read = " ".join(text[:LOOKED_AT].split())
    cjk = is_mostly_cjk(read)
    if cjk:
        flags, asking = _chinese_flags(read), _ASKING_CHINESE.search(read) is not None
    else:
        courtesy = _COURTESY.match(read)
        wish = courtesy is not None and courtesy["wish"] is not None
        asked = read[courtesy.end() :] if courtesy else read
        flags = _english_flags(asked)
        asking = wish or "?" in read or "？" in read or _ASKING.match(asked) is not None
    utterance = not asking or content_words(read) > LONGEST
    return Question(
        text,
        cjk=cjk,
        utterance=utterance,
        names=capitalised(read),
        dates=dates_in(read, today),
        **({} if utterance else flags),
    )


def _english_flags(asked: str) -> dict[str, bool]:
    return {
        "list": bool(_LIST.match(asked)),
        "infer": bool(_GUESS.search(asked) or _YES_NO.match(asked)),
        "when": bool(_WHEN.match(asked)),
        "how_many": bool(_HOW_MANY.search(asked)),
        "who": bool(_WHO.match(asked)),
        "where": bool(_WHERE.match(asked)),
    }


def _chinese_flags(asked: str) -> dict[str, bool]:
    return {
        "list": bool(_LIST_CHINESE.search(asked)),
        "infer": bool(_GUESS_CHINESE.search(asked)),
        "when": bool(_WHEN_CHINESE.search(asked)),
        "how_many": bool(_HOW_MANY_CHINESE.search(asked)),
        "who": bool(_WHO_CHINESE.search(asked)),
        "where": bool(_WHERE_CHINESE.search(asked)),
    }
