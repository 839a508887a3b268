"""Relative dates in Chinese, simplified and traditional."""

from __future__ import annotations

import re
from datetime import date

from memreader.dates.found import Rule, before
from memreader.dates.numerals import NUMERAL, numeral_value
from memreader.dates.spans import (
    Span,
    Unit,
    day_from,
    month_from,
    month_of,
    season_of,
    unit_from,
    week_from,
    weekday_of,
    weekend_from,
    year_of,
)

_DAYS = {
    "今": 0, "昨": -1, "明": 1, "前": -2, "后": 2, "後": 2, "大前": -3, "大后": 3, "大後": 3,
}  # fmt: skip
_YEARS = {"大前": -3, "前": -2, "去": -1, "今": 0, "明": 1, "后": 2, "後": 2}
_SHIFTS = {"上上": -2, "上": -1, "这": 0, "這": 0, "本": 0, "下": 1, "下下": 2}
_UNITS: dict[str, Unit] = {"天": "day", "日": "day", "月": "month", "年": "year"}

_PART = (
    "(?:的?(?:一?大?早上|一?大早|早晨|清早|清晨|凌晨|上午|中午|下午|午[後后]|傍晚|晚[上间間]|深夜|半夜|夜[里裡晚]"
    "|[早晚](?![饭飯餐点點会會安报報])))?"
)
_NUMBER = rf"(?:\d{{1,4}}|[{NUMERAL}几幾数數多]{{1,6}})"
_ANY_NUMBER = rf"(?<![\d{NUMERAL}几幾数數多第半])(?<![\d{NUMERAL}几幾][.,~～至到-])(?P<count>{_NUMBER})"
_COUNTED = rf"{_ANY_NUMBER}\s?(?P<unit>[天日年周週]|[个個]?(?:星期|礼拜|禮拜)|[个個]月)(?P<half>半)?(?P<more>[多来來])?"
_SEASON = "(?P<season>[春夏秋冬])(?:[天季日]|(?![节節联聯晚运運装裝游遊至令]))"
_DAY_OF_MONTH = rf"(?P<day>\d{{1,2}}|[{NUMERAL}]{{1,3}})\s?[日号號](?![线線楼樓])"
_WEEKDAY = (
    "(?P<weekday>一(?![直起共定些次个個样樣整切般位条條只隻件场場家天年月周週])|[二三四五六](?![个個次天年月位人条條件名遍场場百千万萬])"
    "|日(?![本元常语語文产產均程报報])|天(?![气氣天空上下]))"
)
_WEEK = "(?:周|週|星期|礼拜|禮拜)"
_ROUND = re.compile(r"(?:大约|大約|约|約|大概|将近|將近|近|差不多|超过|超過|不到|至少|最多|左右|[或、]|每)\s?$")
"""Before a count: not exact, or a range."""


def _day(match: re.Match[str], base: date) -> Span:
    return day_from(base, _DAYS[match["name"]])


def _week(match: re.Match[str], base: date) -> Span:
    shift = _SHIFTS[match["which"]]
    if match["end"]:
        return weekend_from(base, shift)
    if match["weekday"]:
        return weekday_of(base, shift, "一二三四五六日".index(match["weekday"].replace("天", "日")))
    return week_from(base, shift)


def _month(match: re.Match[str], base: date) -> Span | None:
    first, _ = month_from(base, _SHIFTS[match["which"]])
    return _month_or_day(match, first.year, first.month)


def _year(match: re.Match[str], base: date) -> Span | None:
    year = base.year + _YEARS[match["name"]]
    if match["today"]:
        day = base.replace(year=year)
        return day, day
    if match["season"]:
        return season_of(year, "春夏秋冬".index(match["season"]))
    if not match["month"]:
        return year_of(year)
    month = numeral_value(match["month"])
    return None if month is None else _month_or_day(match, year, month)


def _month_or_day(match: re.Match[str], year: int, month: int) -> Span | None:
    if not match["day"]:
        return month_of(year, month)
    number = numeral_value(match["day"])
    if number is None:
        return None
    day = date(year, month, number)
    return day, day


def _counted(match: re.Match[str], base: date, sign: int) -> Span | None:
    count = numeral_value(match["count"])
    if count is None or match["more"] or _ROUND.search(before(match, 4)):
        return None
    unit = _UNITS.get(match["unit"][-1], "week")
    if match["half"]:
        return month_from(base, sign * (12 * count + 6)) if unit == "year" else None
    return unit_from(base, unit, sign * count)


def _ago(match: re.Match[str], base: date) -> Span | None:
    return _counted(match, base, -1)


def _later(match: re.Match[str], base: date) -> Span | None:
    """Return when it is, if the words say that they count from now; 三天后 alone counts from something else."""
    return _counted(match, base, 1) if match["now"] else None


def _half_a_year(match: re.Match[str], base: date) -> Span | None:
    return None if _ROUND.search(before(match, 4)) else month_from(base, -6)


_START = "(?:现在|現在|今天)"
_NOW = f"(?P<now>[从從自]{_START}(?:起|[开開]始|算起)?[，,]?(?:再?[过過])?|{_START}起|(?<!不)再[过過])"

CHINESE = (
    Rule(re.compile(rf"(?<![当當])(?P<name>今)(?:[天日](?!头条|頭條|下(?!午))|儿个?|兒個?){_PART}"), _day),
    Rule(re.compile(rf"(?<!一)(?P<name>昨)(?:[天日]|儿个?|兒個?){_PART}"), _day),
    Rule(re.compile(rf"(?<![聪聰光])(?P<name>明)(?:天(?![真堂])|日(?!之星|香|方舟)|儿个?|兒個?){_PART}"), _day),
    Rule(re.compile("(?P<name>[今昨明])(?:[晚早](?!期)上?|夜(?!间|間)|晨)"), _day),
    Rule(
        re.compile(rf"(?<![以之目从從提生])(?P<name>大?前)天(?![气氣空]|天(?![气氣])|下(?!午)){_PART}"),
        _day,
    ),
    Rule(
        re.compile(
            rf"(?<![以之今明此随隨最先])(?<!先天)(?P<name>大?[后後])天(?![气氣空性]|天(?![气氣])|下(?!午)|培[养養]|[环環]境|努力|形成|免疫|[习習]得){_PART}"
        ),
        _day,
    ),
    Rule(
        re.compile(
            rf"(?<![晚早以马馬加网網路身地天大])(?P<which>上上|下下|上|下|这|這|本)(?:一(?=[周週星礼禮])|[个個])?"
            rf"{_WEEK}(?![围圍边邊折到密转轉身杰年岁歲刊旋全]|期(?![中末])|五[一])(?:(?P<end>末)|{_WEEKDAY}{_PART})?"
        ),
        _week,
    ),
    Rule(
        re.compile(
            "(?<![晚早天以马馬加网網路身地])(?P<which>上上|下下|上|下|这|這|本)(?:一?[个個]月|月(?![亮球光色饼餅台]))份?"
            f"(?:的?{_DAY_OF_MONTH}|月?[底初末]|[上中下]旬)?"
        ),
        _month,
    ),
    Rule(
        re.compile(
            rf"(?<![以之目从從提生过過此最])(?P<name>大?前|去|今|明|[后後])年(?![轻輕纪紀龄齡代])"
            rf"(?:(?P<today>的?今[天日])|的?(?P<month>\d{{1,2}}|[{NUMERAL}]{{1,3}})月份?(?:{_DAY_OF_MONTH}|[底初末]|[上中下]旬)?"
            rf"|的?{_SEASON}|年?[底初末]|年中|[上下]半年)?"
        ),
        _year,
    ),
    Rule(re.compile(rf"{_COUNTED}(?:之|以)?前(?![后後夕台])"), _ago),
    Rule(re.compile(rf"(?:{_NOW}\s?)?{_COUNTED}(?:之|以)?[后後]"), _later),
    Rule(re.compile(rf"(?P<now>(?<!不)再[过過]\s?){_COUNTED}(?![前后後]|[之以][前后後])"), _later),
    Rule(re.compile(r"(?<![年月个個天大多小一\d])半年(?:之|以)?前(?![后後夕])"), _half_a_year),
)
