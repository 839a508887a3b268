"""Words of English that make a sentence one of no, of another's, of a past or of a possible fact; and base forms."""

from __future__ import annotations

import re

from memreader.reconcile.forms import Form
from memreader.reconcile.jobs import kind_of_job
from memreader.reconcile.surface import FIGURES

BLOCKED = Form(
    r"""\b(?:[Ii]f|would|could|might|may|should|must|plans?|planning|planned|wants?|wanted|hop(?:es?|ing|ed)|will|going\sto
    |consider(?:s|ing|ed)?|think(?:s|ing)?|thought|dream(?:s|ed|ing)?|intends?|wish(?:es)?|used\sto|were|had
    |previous(?:ly)?|former(?:ly)?|once|ex|until|till|temporar(?:y|ily)|for\snow|stay(?:s|ing|ed)?|visit(?:s|ing|ed)?
    |weekends?|part-time|sometimes|occasionally|often|usually|mostly|also|another|additional(?:ly)?|too|as\swell|either|besides
    |both|almost|nearly|[Mm]aybe|[Pp]erhaps|probably|possibly|apparently|supposedly|likely|says?|said|told|claim(?:s|ed)?
    |believ(?:es?|ed)|heard|according|pretend(?:s|ed)?|jok(?:es?|ed|ing)|not|never|no|nobody|without|when|while|as\sa\s(?:child|kid|student)
    |offered|interview(?:ed|ing)?|appl(?:ied|ying)|almost|unless|instead|ago\sin|growing\sup|grew\sup|rather|every|each|other
    |remote(?:ly)?|freelanc\w+|intern(?:ed|s)?|volunteer(?:s|ed|ing)?|summers?|winters?|semester|one\sof|abroad|briefly|before|after)\b|[?]
    |\bfor\s(?:a|an|\d+|the|a\sfew)\s(?:day|week|month|semester|while|summer|weekend)s?\b""",
    re.VERBOSE,
)
"""Of a home, an employer and the like: none of these says what is so now, and nothing else beside."""

NO_NAMES = frozenset(
    """
    he she it they we you who what which this that these those there here everyone everybody someone somebody nobody
    anyone anybody people most many some all one none both neither each every his her its their our your my the a an
    maybe perhaps if when while after before since because although though but and or so then now currently recently
    today yesterday tomorrow no not only even also assistant doctor teacher boss mom dad mother father brother sister
    friend team company office meeting life work home user's however meanwhile apparently mr mrs ms dr
    """.split()
)
"""Capitalised at the start of a sentence, and no name of a person that a later sentence means again."""

FIRMS = Form(
    r"\b(?:inc|corp|corporation|ltd|llc|gmbh|labs?|bank|group|technologies|systems|software|motors|airlines|pharma"
    r"|consulting|partners|capital|ventures|hospital|clinic|university)$|^(?:google|deepmind|microsoft|apple|amazon"
    r"|meta|openai|anthropic|nvidia|intel|amd|ibm|oracle|sap|salesforce|adobe|tesla|spacex|ford|toyota|honda|bmw"
    r"|volkswagen|audi|porsche|mercedes|siemens|bosch|philips|samsung|sony|lg|nokia|ericsson|huawei|xiaomi|lenovo"
    r"|alibaba|tencent|bytedance|baidu|meituan|shopify|stripe|airbus|boeing|lockheed martin|ge|general electric"
    r"|general motors|pfizer|novartis|roche|bayer|merck|johnson & johnson|unilever|nestl[eé]|procter & gamble|ikea"
    r"|h&m|zara|nike|adidas|walmart|target|deloitte|kpmg|pwc|ey|ernst & young|mckinsey|bcg|bain|accenture"
    r"|goldman sachs|morgan stanley|jpmorgan|jp morgan|citigroup|citibank|hsbc|barclays|ubs|credit suisse|blackrock"
    r"|visa|mastercard|paypal|cisco|dell|hp|qualcomm|arm|palantir|databricks|snowflake|unicef|unesco|who|nasa|cern"
    r"|oxfam|red cross)$"
)
"""Employers by their name's last word, or known ones: whoever joins "Ana" or "Mensa" has no new job."""

NOT_JOINED = Form(
    r"\b(?:facebook|instagram|tinder|bumble|hinge|twitter|x|linkedin|reddit|discord|telegram|tiktok|wechat|whatsapp|youtube"
    r"|goodreads|strava|peloton|costco|greenpeace|amnesty|mensa|rotary|toastmasters|scouts|fitness|gyms?|clubs?|society|league"
    r"|union|association|church|choir|teams?|class(?:es)?|courses?|programs?|programmes?|meetups?|academy|party|army|navy|band"
    r"|orchestra|dojo|studio|yoga|pilates|crossfit|fc|sc|united|crew|network|community|forum|group|zoom|slack|netflix|spotify"
    r"|prime|patreon|twitch|snapchat|threads|mastodon|duolingo|airbnb|uber|weight\swatchers|democrats|republicans|labour)\b"
)
"""What people join without working there."""

THINGS = (
    r"(?:(?:home|work|office|personal|private|business|school|main|mobile|cell|current|new|shipping|mailing|primary|backup)\s)?"
    r"(?:(?:phone|mobile|cell|account|passport|room|employee|license|licence)\snumber|phone|email(?:\saddress)?|address"
    r"|(?:monthly\s|weekly\s|annual\s)?(?:rent|salary|income)|weight|major|manager|supervisor|landlord"
    r"|job\stitle|title|position|hourly\srate|bedtime|(?:main|primary|current|default)\s[a-z]+(?:\s[a-z]+)?"
    r"|gpa|GPA|shoe\ssize|home\sairport|dentist|therapist|roommate|curfew|wake-up\stime)"
)
"""What somebody has one of, and can have another one of later."""

NUMBER_WORDS = re.compile(rf"\b(?:{'|'.join(FIGURES)})\b", re.IGNORECASE)
_DAY = (
    r"\b(?:mon|tues|wednes|thurs|fri|satur|sun)days?\b|\btomorrow\b|\bnext\s(?:week|month|year)\b"
    r"|\b(?:january|february|march|april|may|june|july|august|september|october|november|december)\b"
    r"|\d{4}-\d\d|\d(?:st|nd|rd|th)\b"
)
TIMES = {
    "day": Form(_DAY, re.IGNORECASE),
    "hour": Form(r"\d\s?(?:am|pm|a\.m|p\.m|o'clock)\b|\d:\d\d|\b(?:noon|midnight)\b|^\d{1,2}$", re.IGNORECASE),
}
_PEOPLE = ("manager", "supervisor", "landlord", "dentist", "therapist", "roommate", "airport")
_NO_PERSON = Form(
    r"(?:On|Out|At|In|Away|Not|Very|So|Too|American|British|English|Irish|Scottish|French|German|Spanish|Italian|Portuguese"
    r"|Dutch|Swedish|Danish|Polish|Russian|Greek|Turkish|Indian|Pakistani|Chinese|Japanese|Korean|Thai|Vietnamese|Brazilian"
    r"|Mexican|Canadian|Australian|African|European|Asian|Jewish|Muslim|Christian|Catholic)\b"
)
_SUBJECTS = Form(
    r"\b(?:physics|math(?:s|ematics)?|chemistry|biology|history|philosophy|economics|law|medicine|science|engineering"
    r"|psychology|sociology|linguistics|literature|arts?|music|design|architecture|business|finance|accounting|marketing"
    r"|statistics|english|french|german|spanish|education|nursing|geography|geology|politics|journalism|anthropology)$"
)


def fits(thing: str, value: str) -> bool:
    """Return whether a value is one that such a thing has: "strict" is no manager, only a word about one.

    >>> fits("manager", "Ben"), fits("manager", "strict"), fits("rent", "paid in cash"), fits("rent", "900 euros")
    (True, False, False, True)
    """
    if "email" in thing:
        return "@" in value
    if thing.endswith(("title", "position", "role")):
        return kind_of_job(value.lower()) is not None
    if thing.endswith(_PEOPLE):
        return value[:1].isupper() and _NO_PERSON.match(value) is None
    if thing.startswith(("main ", "primary ", "current ", "default ")):
        return value[:1].isupper() or (value[:1].isdigit() and "job" not in thing)
    if thing == "major":
        return _SUBJECTS.search(value.lower()) is not None
    if thing.endswith(("phone", "phone number", "mobile number", "cell number")):
        return re.fullmatch(r"\+?[\d\s()./-]{3,25}", value) is not None
    if thing.endswith("address"):
        return re.match(r"\d|[A-Z].*\d", value) is not None
    return re.match(r"[^\w\s]?\d", value) is not None or (thing.endswith("number") and any(map(str.isdigit, value)))


_STEMS = re.compile(r"(?:ing|es|s|e)$")
_DOUBLE = re.compile(r"([b-df-hj-np-tv-z])\1$")


def base_of(verb: str) -> str:
    """Return what a verb's present forms share: smokes, smoking, smoke; runs, running.

    >>> {base_of(verb) for verb in ("smokes", "smoking", "smoke")}, base_of("running") == base_of("runs")
    ({'smok'}, True)
    """
    stem = _STEMS.sub("", verb) if len(verb) > 3 else verb
    return _DOUBLE.sub(r"\1", stem)


def number_in(words: str) -> str:
    """Return a number in figures: "a", "an" and "one" are 1."""
    return "1" if words in ("a", "an", "one") else words
