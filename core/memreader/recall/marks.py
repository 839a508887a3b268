"""What the words of an item show at a glance, in English and Chinese: questions, reactions, times, numbers, names.

The word lists are closed classes of the two languages: words of time and number, and how people react. They hold no
topic and no name.
"""

from __future__ import annotations

import re
import unicodedata

from memreader.recall.lexical import characters, terms
from memreader.traits import CAPITAL, HAS_QUESTION, NUMBER, QUESTION_END, REACTION, SHORT, TIME

LEAST_WORDS = 5
"""Content words from which a turn is not short."""
CHARACTERS_TO_WORDS = 0.6
"""Content words in a Chinese character: most words have one or two."""

_CJK = re.compile("[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\u3040-\u30ff\uac00-\ud7af\U00020000-\U0003ffff]")
_ADDRESS = re.compile(r"(?:https?://|www\.)[!-~]*[\w/]", re.IGNORECASE | re.ASCII)

_ASKED = re.compile(r"[?？](?=[\s?？!！~～…)）\]】\"'”’」』*_]|\Z|[^!-~])")
_ASKING_PARTICLES = ("吗", "嗎")
_LAST_LETTER = re.compile(r"\w\W*\Z")

_WORD = re.compile(r"\w+")
_TIME_WORDS = frozenset(
    """
    yesterday today tonight tomorrow last next ago recently soon week weeks weekend weekends month months year years
    morning afternoon evening monday tuesday wednesday thursday friday saturday sunday mondays tuesdays wednesdays
    thursdays fridays saturdays sundays january february april june july august september october november december
    summer winter spring autumn
    """.split()
)
_OFTEN_NO_TIME = frozenset(("may", "march", "fall", "night"))
_TIME_PHRASE = re.compile(
    r"\b(?:(?:last|at) night|(?:in|this|last|next|the|of|every|early|late) fall"
    r"|(?:in|on|of|since|until|by|last|this|next|early|late|mid-?) (?:may|march)|(?:may|march) \d{1,4}"
    r"|\d{1,2} (?:may|march))\b",
    re.IGNORECASE,
)
_YEAR = re.compile(r"\b(?:19|20)\d\d\b")
_FIGURE = "[0-9一二三四五六七八九十两兩百千几幾半]"
_TIME_CHINESE = re.compile(
    rf"""[昨今明前后後]天|[昨今明]晚|[去今明前]年|[上下这這本]{{1,2}}[个個]?(?:月|周|週|星期|礼拜|禮拜)|周末|週末
    |(?:星期|礼拜|禮拜|周|週)[一二三四五六日天]|{_FIGURE}{{1,6}}(?:年|[个個]?月|[日号號]|天|[个個]?(?:星期|礼拜|禮拜|小[时時])|周|週|分[钟鐘]|[点點时時])
    |早上|上午|中午|下午|傍晚|晚上|凌晨|[春夏秋冬][天季]|最近|近来|近來|刚才|剛才|刚刚|剛剛|以前|从前|從前|小时候|小時候
    |[之以]前|马上|馬上|今后|今後|(?:19|20)\d\d""",
    re.VERBOSE,
)
_NUMBER_WORDS = frozenset(
    """
    two three four five six seven eight nine ten eleven twelve dozen dozens hundred hundreds thousand thousands million
    millions once twice couple few several
    """.split()
)
_NUMBER = re.compile(r"\b\d+\b")
_NUMBER_CHINESE = re.compile(
    r"\d|(?<![同统統唯专專第万萬])[一二三四五六七八九十两兩几幾半百千]{1,6}(?:多|来|來)?"
    r"(?:[个個只隻条條本次遍位名岁歲年月天日周週张張块塊元斤杯瓶件套台辆輛部家间間座场場楼樓倍颗顆棵双雙对對支枝匹头頭口顿頓节節門门趟点點号號公里米]"
    r"|小[时時]|分[钟鐘]|星期|公斤|千克)"
)

_CAPITAL = re.compile(r"(?<=[a-z,;] )[A-Z][a-z]+")

_REACTION = re.compile(
    r"""\W*(?:wow|whoa|thanks|thank\ you|thx|yeah|yes|yep|yup|no\ (?:problem|worries|way)|cool|great|awesome|nice
    |that[’']s|sounds|oh|ooh|aw+|ha(?:ha)+|lol|congrat(?:s|ulations)|hey|hi|sure|absolutely|definitely|totally|exactly|amazing|glad
    |you[’']re\ welcome|good|i\ agree|agreed|ok|okay|true|right|of\ course)\b""",
    re.IGNORECASE | re.VERBOSE,
)
_REACTION_CHINESE = re.compile(
    r"""\W*(?:哇+|谢谢|謝謝|多谢|多謝|感谢|感謝|好的|好呀|好啊|好吧|好棒|太[好棒赞讚酷]|真[棒好的]|不错|不錯|没[事错問问]|沒[事錯問]
    |不客气|不客氣|不用谢|不用謝|恭喜|当然|當然|是的|是啊|是呀|对[啊呀的吧]|對[啊呀的吧]|原来|原來|确实|確實|的确|的確
    |哈哈|嘿嘿|呵呵|哎呀|哎哟|天[哪啊呐]|[嗯哦噢喔嗨嘿啊哎唉]|你好|您好|嗨|早安|晚安|再见|再見|加油|厉害|厲害|明白|收到|没关系|沒關係
    |[好对對行](?=[\s，,。.!！~～]|\Z))""",
    re.VERBOSE,
)


def content_words(text: str) -> float:
    """Return how many content words `text` has; Chinese, Japanese and Korean characters count as `CHARACTERS_TO_WORDS`.

    >>> content_words("Ana went to the clinic"), content_words("我昨天去了上海")
    (3.0, 3.0)
    """
    if text.isascii():
        return float(len(terms(text)))
    spelled = sum(not _CJK.match(term) for term in terms(text))
    return spelled + CHARACTERS_TO_WORDS * len(characters(text))


def told_marks(text: str, language: str) -> int:
    """Return the marks of what `text` tells: `TIME`, `NUMBER`; in English `CAPITAL` too.

    Args:
        text: Any words.
        language: "en" or "zh"; of another language only figures are read.

    >>> told_marks("we left Porto two years ago", "en") == TIME | NUMBER | CAPITAL
    True
    """
    text = _ADDRESS.sub(" ", unicodedata.normalize("NFKC", text))
    if language == "zh":
        # Chinese writers mix in English words, and figures mean the same to both.
        time, number = _TIME_CHINESE.search(text), _NUMBER_CHINESE.search(text)
    else:
        time, number = _YEAR.search(text), _NUMBER.search(text)
    marks = (TIME if time else 0) | (NUMBER if number else 0)
    return marks | _english_marks(text) if language == "en" else marks


def _english_marks(text: str) -> int:
    words = set(_WORD.findall(text.lower()))
    marks = CAPITAL if _CAPITAL.search(text) else 0
    if words & _TIME_WORDS or (words & _OFTEN_NO_TIME and _TIME_PHRASE.search(text)):
        marks |= TIME
    return marks | NUMBER if words & _NUMBER_WORDS else marks


def spoken_marks(text: str, language: str) -> int:
    """Return the marks of a turn as a move in a talk: questions, `REACTION`, `SHORT`; 0 but for English and Chinese.

    >>> spoken_marks("Wow! And then?", "en") == QUESTION_END | HAS_QUESTION | REACTION | SHORT
    True
    >>> spoken_marks("我在 https://a.cn/?id=1 上订好了去上海的火车票", "zh")
    0
    """
    if language not in ("en", "zh"):
        return 0
    marks = 0
    text = _ADDRESS.sub(" ", text)
    last = _LAST_LETTER.search(text)
    end = last[0] if last else text
    if "?" in end or "？" in end or end[:1] in _ASKING_PARTICLES:
        marks |= QUESTION_END | HAS_QUESTION
    elif _ASKED.search(text):
        marks |= HAS_QUESTION
    if (_REACTION if language == "en" else _REACTION_CHINESE).match(text):
        marks |= REACTION
    if content_words(text) < LEAST_WORDS:
        marks |= SHORT
    return marks
