"""The forms of English sentences that give somebody's one value of something."""

from __future__ import annotations

import re

from memreader.reconcile.english_words import THINGS
from memreader.reconcile.forms import Form

_NAME = r"[A-Z][\w'-]*(?:\s(?:[A-Z][\w'-]*|de|van|von|bin|al)){0,3}"
_KIN = (
    "wife|husband|mother|father|mom|mum|dad|girlfriend|boyfriend|partner|spouse|fianc[eé]e?|brother|sister|son|daughter"
    "|friend|cousin|uncle|aunt|colleague|boss|neighbou?r"
)
ONE_OF_A_KIND = frozenset("wife husband mother father mom mum dad girlfriend boyfriend partner spouse".split())
_ANYBODY = rf"[Uu]ser|I|(?:[Uu]ser's|[Mm]y)\s(?:{_KIN})(?:\s{_NAME})?|{_NAME}"
_WHO = rf"(?P<subject>{_ANYBODY})(?:\s(?:has|have|is|am))?"
_OWNER = rf"(?P<subject>[Uu]ser|[Mm]y|(?:[Uu]ser's|[Mm]y)\s(?:{_KIN})(?:\s{_NAME})?|{_NAME})(?:(?<=[Mm]y)|'s)"
_MONTHS = "January|February|March|April|May|June|July|August|September|October|November|December"
_TIME = (
    rf"(?:in|since|on)\s(?:(?:early|mid|late)[\s-])?(?:(?:{_MONTHS})(?:\s\d{{1,2}})?,?\s?(?:\d{{4}})?|\d{{4}}(?:-\d\d){{0,2}})"
    r"|(?:last|this)\s(?:week|month|year|spring|summer|autumn|fall|winter)|(?:yesterday|today|recently|now|currently|nowadays)"
    r"|these\sdays|at\sthe\smoment|at\spresent|(?:a|\d+|a\sfew|a\scouple\sof)\s(?:day|week|month|year)s?\sago"
)
_AFTER = rf"(?:,?\s(?:{_TIME}))*"
_BEFORE = rf"(?:(?:{_TIME}|[Nn]ow|[Cc]urrently|[Rr]ecently),?\s)?"
_ADVERBS = r"(?:\s(?:now|currently|recently|just|finally|since|officially|already|still))*"
_PROPER = r"[A-Z][\w.'&-]*(?:,?\s(?:[A-Z][\w.'&-]*|of|de|la|do|da|del|and|&)){0,5}"
_REASON = (
    r"(?:\swith\s(?:his|her|their|my)\s(?:family|wife|husband|partner|parents|kids|children))?"
    r"(?P<more>\sfor\s(?:work|university|college|school|(?:a|his|her|their|my)\s(?:new\s)?job)(?:\sat\s[\w\s]{1,30})?)?"
)
_HOUSE = r"(?:an?\s(?:[a-z]+\s)?(?:house|flat|apartment|studio|condo|townhouse)\sin\s)?"
_AS = r"(?P<role>\sas\s(?:an?|the|their|his|her|my)\s[\w\s-]{2,40}?)?"
_THEIR = "(?:his|her|their|my)"
_KINDS_OF_MEETING = (
    "meeting|appointment|interview|call|flight|class|lesson|party|dinner|lunch|wedding|exam|session|deadline|presentation"
    "|surgery|concert|game|match|trip|train|delivery|launch|review|workshop|conference|checkup|reservation"
)


def _sentence(words: str, start: str, middle: str) -> Form:
    return Form(f"{_BEFORE}{start}{middle}{_AFTER}", words=words)


def _does(words: str, middle: str) -> Form:
    return _sentence(words, _WHO, rf"{_ADVERBS}\s(?:{middle})")


def _owns(words: str, middle: str) -> Form:
    return _sentence(words, _OWNER, rf"\s(?:{middle})")


_AT = rf"(?:the\s)?(?P<value>{_PROPER})"
RULES: tuple[tuple[str, Form, str], ...] = (
    (
        "home",
        _does(
            "live lives living reside resides residing",
            rf"(?:lives?|resides?|living|residing|been\sliving)\s(?:now\s)?in\s{_HOUSE}(?P<value>{_PROPER}){_REASON}",
        ),
        "",
    ),
    (
        "home",
        _does(
            "moved relocated resettled moves",
            rf"(?:moved|relocated|resettled|moves)\s(?:back\s)?(?:from\s(?:{_PROPER})\s)?to\s{_HOUSE}(?P<value>{_PROPER})"
            rf"(?:\sfrom\s(?:{_PROPER}))?{_REASON}",
        ),
        "new",
    ),
    (
        "home",
        _owns(
            "city location residence",
            rf"(?:current\s)?(?:city|location|residence|place\sof\sresidence)\sis\s(?P<value>{_PROPER})",
        ),
        "",
    ),
    ("home", _does("moved", rf"moved(?:,\s|\sand\s)(?:now\s)?lives?\s(?:now\s)?in\s(?P<value>{_PROPER})"), "new"),
    ("home", _does("based", rf"based\sin\s(?P<value>{_PROPER})"), ""),
    ("home", _owns("home", rf"home\sis\s(?:now\s)?in\s(?P<value>{_PROPER})"), ""),
    ("home", _does("longer", rf"no\slonger\s(?:lives?|resides?|living)\sin\s(?P<value>{_PROPER})"), "ends"),
    ("home", _does("moved", rf"(?:moved\s(?:away\sfrom|out\sof))\s(?P<value>{_PROPER})"), "ends"),
    (
        "employer",
        _does("work works working employed", rf"(?:works?|working|been\sworking|employed)\s(?:for|at|by)\s{_AT}{_AS}"),
        "",
    ),
    ("employer", _owns("employer", rf"(?:current\s|new\s)?employer\sis\s(?:now\s)?{_AT}"), ""),
    ("employer", _does("left", rf"left\s(?:the\s)?{_PROPER}\sfor\s{_AT}"), "new"),
    (
        "employer",
        _does(
            "work works working employed",
            r"(?:works?|working|employed)\s(?:for|at|by)\s(?P<value>an?\s[a-z][a-z\s-]{1,30}?)",
        ),
        "vague",
    ),
    (
        "employer",
        _does(
            "join joined work works started began got took accepted switched changed",
            r"(?:(?:left|quit|resigned\sfrom)\s(?:(?:his|her|their|my)\s(?:old\s)?job|[A-Z][\w&. ]{0,40}?)"
            r"(?:\sat\s[A-Z][\w&. ]{0,40}?)?(?:\sand|\sto|,)\s)?(?:now\s|has\s)?"
            r"(?:joined|join|(?:now\s)works?\s(?:for|at)|works?\sfor|(?:started|began)\s(?:working\s|(?:a\snew\s|her\snew\s"
            r"|his\snew\s|their\snew\s)job\s)(?:at|for|with)|(?:got|took|accepted)\sa\s(?:new\s)?job\s(?:at|with)"
            rf"|(?:switched|changed)\sjobs\s(?:from\s(?:{_PROPER})\s)?(?:to|and\s(?:now\s)?works?\s(?:for|at)))\s{_AT}{_AS}",
        ),
        "new",
    ),
    (
        "employer",
        _does(
            "quit left lost resigned retired longer stopped laid fired",
            r"(?:(?:quit|left|resigned\sfrom|lost)\s(?:(?:his|her|their|my)\sjob\s(?:at|with)\s)"
            r"|(?:resigned|retired)\sfrom\s|quit\s|no\slonger\s(?:works?|working|employed)\s(?:for|at|by)\s"
            rf"|stopped\sworking\s(?:for|at)\s|(?:was\s)?laid\soff\s(?:from|by)\s|(?:was\s)?fired\s(?:from|by)\s){_AT}",
        ),
        "ends",
    ),
    (
        "occupation",
        _does(
            "work works working employed",
            r"(?:works?|working|been\sworking|employed)\sas\san?\s(?P<value>[a-z][a-z\s-]{1,40}?)",
        ),
        "",
    ),
    (
        "occupation",
        _owns(
            "job occupation profession", r"(?:job|occupation|profession)\sis\s(?:an?\s)?(?P<value>[a-z][a-z\s-]{1,40}?)"
        ),
        "",
    ),
    (
        "occupation",
        _does(
            "became become promoted retrained switched",
            r"(?:became|become|(?:was\s|been\s)?promoted\sto|retrained\sas|switched\sto\sworking\sas)\s(?:an?\s)?(?P<value>[a-z][a-z\s-]{1,40}?)",
        ),
        "new job",
    ),
    ("occupation", _does("now", r"now\san?\s(?P<value>[a-z][a-z\s-]{1,40}?)"), "new job"),
    (
        "occupation",
        _sentence("is am", rf"(?P<subject>{_ANYBODY})", r"\s(?:is|am)\san?\s(?P<value>[a-z][a-z\s-]{1,30}?)"),
        "vague job",
    ),
    (
        "diet",
        _does(
            "vegetarian vegan pescatarian",
            r"(?:(?:now|become|became|went|gone|turned)\s)?(?P<value>vegetarian|vegan|pescatarian)",
        ),
        "diet",
    ),
    (
        "year of study",
        _does("freshman sophomore junior senior", r"(?:now\s)?an?\s(?P<value>freshman|sophomore|junior|senior)"),
        "",
    ),
    (
        "age",
        _sentence(
            "is am turned turns",
            rf"(?P<subject>{_ANYBODY})",
            r"\s(?:is|am|(?:has\s|have\s)?(?:just\s|recently\s)?turned|turns)(?:\snow|\scurrently)?\s(?P<value>\d{1,3})"
            r"(?P<old>\syears?\sold|\syears?\sof\sage)?",
        ),
        "",
    ),
    ("age", _owns("age", r"(?P<old>age)\sis(?:\snow)?\s(?P<value>\d{1,3})"), ""),
    (
        "weight",
        _does("weigh weighs", r"weighs?\s(?:about\s)?(?P<value>\d+(?:\.\d+)?)\s?(?P<unit>kg|kilos|pounds|lbs)"),
        "",
    ),
    (
        "school",
        _does(
            "study studies attend attends student enrolled",
            rf"(?:stud(?:y|ies)\sat|attends?|(?:is\s)?a\sstudent\s(?:at|of)|enrolled\s(?:at|in))\s{_AT}",
        ),
        "",
    ),
    ("school", _does("transferred", rf"transferred\s(?:from\s(?:the\s)?(?:{_PROPER})\s)?to\s{_AT}"), "new"),
    ("major", _does("major majors majoring", r"(?:majors?|majoring)\sin\s(?P<value>[\w\s]{2,40}?)"), ""),
    (
        "major",
        _does(
            "changed switched",
            rf"(?:changed|switched)\s(?:{_THEIR}\smajor|majors)\s(?:from\s[\w\s]{{2,40}}\s)?to\s(?P<value>[\w\s]{{2,40}}?)",
        ),
        "new",
    ),
    ("drives", _does("drive drives", r"drives?\san?\s(?P<value>[\w\s-]{2,40}?)"), "needs new"),
    (
        "prefers",
        _does("prefer prefers", r"prefers?\s(?P<value>[\w\s-]{2,40}?)\s(?:over|to)\s(?P<than>[\w\s-]{2,40}?)"),
        "needs new",
    ),
    (
        "main",
        _does(
            "use uses",
            rf"uses?\s(?:an?\s)?(?P<value>[\w\s.+#-]{{1,40}}?)\sas\s(?:{_THEIR}|the)\s(?P<what>(?:main|primary|default|daily)\s[\w\s]{{2,30}}?)",
        ),
        "",
    ),
    (
        "main",
        _does(
            "switched",
            rf"switched\s(?:from\s(?:an?\s)?[\w\s.+#-]{{1,40}}?\s)?to\s(?:an?\s)?(?P<value>[\w\s.+#-]{{1,40}}?)\sas\s"
            rf"(?:{_THEIR}|the)\s(?P<what>(?:main|primary|default|daily)\s[\w\s]{{2,30}}?)",
        ),
        "new",
    ),
    (
        "favorite",
        _owns(
            "favorite favourite",
            r"(?:new\s)?favou?rite\s(?P<what>[\w\s]{2,30}?)\sis(?:\snow)?\s(?P<value>[\w\s.'&-]{1,40}?)",
        ),
        "",
    ),
    (
        "favorite",
        _owns(
            "favorite favourite",
            r"favou?rite\s(?P<what>[\w\s]{2,30}?)\s(?:has\s)?changed\s(?:from\s[\w\s.'&-]{1,40}?\s)?to\s"
            r"(?P<value>[\w\s.'&-]{1,40}?)",
        ),
        "new",
    ),
    ("thing", _owns("is", rf"(?:new\s)?(?P<what>{THINGS})\sis(?:\snow)?\s(?P<value>\S+(?:\s\S+){{0,7}}?)"), ""),
    (
        "thing",
        _owns(
            "changed raised lowered increased decreased dropped rose updated went",
            rf"(?P<what>{THINGS})\s(?:has\s|was\s|has\sbeen\s)?(?:changed|raised|lowered|increased|decreased|dropped|rose"
            r"|updated|went\s(?:up|down))\s(?:from\s\S+(?:\s\S+){0,5}?\s)?to\s(?P<value>\S+(?:\s\S+){0,7}?)",
        ),
        "new",
    ),
    (
        "thing",
        _does(
            "changed updated",
            rf"(?:changed|updated)\s{_THEIR}\s(?P<what>{THINGS})\s(?:from\s\S+(?:\s\S+){{0,5}}?\s)?to\s"
            r"(?P<value>\S+(?:\s\S+){0,7}?)",
        ),
        "new",
    ),
)
STATUS = Form(
    rf"{_BEFORE}{_WHO}{_ADVERBS}\s(?:(?:got\s|gotten\s|been\s|become\s|became\s)?(?P<state>single|engaged|married|divorced|widowed|"
    rf"separated|dating|in\sa\srelationship|a\s(?:girl|boy)friend)(?:\s(?:to\s|from\s|with\s)?(?P<whom>{_NAME}))?"
    rf"|(?P<act>married|divorced|broke\sup\swith|broken\sup\swith|split\sup\swith)\s(?P<other>{_NAME})){_AFTER}",
    words="single engaged married divorced widowed separated dating relationship girlfriend boyfriend broke broken"
    " split",
)
STATES = {
    "dating": "together",
    "in a relationship": "together",
    "a girlfriend": "together",
    "a boyfriend": "together",
    "broke up with": "single",
    "broken up with": "single",
    "split up with": "single",
}
STATUS_IS = _owns(
    "status",
    r"(?:relationship|marital)\sstatus\s(?:is|changed\sto|has\schanged\sto)(?:\snow)?\s(?P<state>single|engaged|married|divorced"
    r"|widowed|separated|dating|in\sa\srelationship)",
)
MEETING = Form(
    rf"(?P<subject>(?:[Tt]he|[Mm]y|[Uu]ser's|{_NAME}'s)\s(?:[\w'-]+\s){{0,3}}?(?:{_KINDS_OF_MEETING})(?:\s(?:with|at|for|of|to)\s[\w'\s-]{{2,30}}?)?)"
    r"\s(?:(?P<moved>(?:is|was|has\sbeen|got|been)?\s?(?:now\s)?(?:moved|rescheduled|postponed|pushed\sback|pushed|delayed|brought\sforward|"
    r"shifted|changed)\s(?:from\s[\w\s:]{2,30}?\s)?to)|(?:is|was|takes\splace|starts)(?:\s(?:scheduled|set|planned|due|booked))?\s(?:on|at|for))"
    r"\s(?P<value>[\w:.,\s-]{1,40})",
    words=_KINDS_OF_MEETING.replace("|", " "),
)
YEARS = Form(
    rf"{_WHO}.*?\s(?P<count>\d{{1,2}}|an?|one)\s(?P<unit>years?|months?)(?!\s(?:ago|old|later|left|remaining|more|away))\b"
)
PERFECT = Form(r"\b(?:has|have)\b(?!\sto\b)(?=.*\bfor\s\d)|\b(?:has|have)\s\d+\s(?:years|months)(?:'|\sof)?\s|\bbeen\b")
HABIT = Form(rf"{_WHO}\s(?P<verb>[a-z]{{3,}})(?P<rest>(?:\s[\w'-]+){{0,6}})")
SWITCHED = Form(
    rf"{_WHO}{_ADVERBS}\sswitched\sfrom\s(?P<was>(?:an?\s)?[\w.+#-]+(?:\s[\w.+#-]+)?)\sto\s[\w\s.+#-]{{1,40}}",
    words="switched",
)
STOPPED = Form(
    rf"{_WHO}{_ADVERBS}\s(?:no\slonger\s(?P<verb>[a-z]{{2,}})|(?:stopped|quit|(?:gave|given)\sup)\s(?P<doing>[a-z]{{2,}}ing))"
    r"(?P<rest>(?:\s[\w'-]+){0,6})",
    words="longer stopped quit gave given",
)
ANYMORE = Form(
    rf"{_WHO}\s(?:does|do)\snot\s(?P<verb>[a-z]{{2,}})(?P<rest>(?:\s[\w'-]+){{0,6}}?)\s(?:anymore|any\smore|any\slonger)",
    words="not",
)
BE = Form(rf"(?P<subject>[Uu]ser|{_NAME})\sis(?P<ended>\sno\slonger)?(?P<rest>(?:\s[\w'-]+){{1,6}})", words="is")
ARTICLES = re.compile(r"\b(?:an?|the|his|her|their|my)\s", re.IGNORECASE)
