"""What becomes of a new statement beside an old one, by rules that need no model."""

from __future__ import annotations

import re
from datetime import date

from memreader.dates import find_dates
from memreader.reconcile.jobs import kind_of_job
from memreader.reconcile.places import can_move
from memreader.reconcile.slots import MAX_CHARS, Slot, slots
from memreader.reconcile.statement import Statement, order
from memreader.reconcile.surface import surface_key
from memreader.records import Decision, Side

_NEEDS_NEW = ("prefers", "drives", "diet", "day", "hour")
_FOLLOWS = {
    "single": ("together", "engaged", "married"),
    "together": ("single", "engaged", "married"),
    "engaged": ("single", "married"),
    "married": ("divorced", "widowed", "separated", "single"),
    "separated": ("divorced", "married"),
    "divorced": ("together", "engaged", "married"),
    "widowed": ("together", "engaged", "married"),
}
_NOT = re.compile(
    r"\b(?:not|no|never|nobody|nothing|none|neither|nor|without|cannot)\b|[不没沒無无未別别非]", re.IGNORECASE
)
_NUMBER = re.compile(r"\d+(?:[.,:]\d+)*")
_NAME = re.compile(r"(?<!^)\b[A-Z][\w'-]*")
_NOTED = re.compile(r"[(（]\d{4}-\d\d")
_YEAR = re.compile(r"(?<![\d.:/-])((?:19|20)\d\d)(?=年|\b(?![-/:]))")
_DATED = re.compile(
    r"(?<!\d)(?:19|20)\d\d(?!\d)|\b(?:ago|last|yesterday|since|early|late)\b|\b(?:in|on)\s(?:(?:mid|late|early)[\s-])?(?:Jan|Feb|Mar|Apr|May"
    r"|Jun|Jul|Aug|Sep|Oct|Nov|Dec)|\d月|[上去前今昨本]个?[年月周天]|上个?星期",
)
_HAN = re.compile("[\u3400-\u9fff]")


def decide(new: Statement, old: Statement) -> Decision:
    """Return what becomes of `new` beside `old`. In any doubt `add`: both stay.

    - `skip`: the same text, and `old` has all the sources and entities of `new` and its time.
    - `merge`: the same words (see `surface_key`). The more complete text stays. "yesterday", said on two days, is not
      the same.
    - `supersede`: the same subject and attribute (see `slots`) with another value, of which the later one happened
      surely later and surely replaces the other; the other says nothing else that would be lost. What decides is when
      things happened, not which came in first: `keeps` is "old" where `old` is the later one.

    Pure, linear in the texts, and never raises. Swapped statements give the same decision, seen from the other side.
    """
    if surface_key(new.text) == surface_key(old.text):
        return _of_same_words(new, old)
    return _of_change(new, old) or Decision("add", _difference(new.text, old.text))


def more_complete(new: Statement, old: Statement) -> Side:
    """Return whose text says more by its length; of equal ones the same text whichever is the new one."""
    return "new" if _size(new.text) > _size(old.text) else "old"


def _size(text: str) -> tuple[int, int, str]:
    return sum(map(str.isalnum, text)), len(" ".join(text.split())), text


def _of_same_words(new: Statement, old: Statement) -> Decision:
    if _dates(new) != _dates(old):
        return Decision("add", "the same words about another day")
    told = new.text == old.text and new.at == old.at and new.place == old.place
    if told and set(new.sources) <= set(old.sources) and set(new.entities) <= set(old.entities):
        return Decision("skip", "nothing new", "old")
    return Decision("merge", "same words", more_complete(new, old))


def _dates(statement: Statement) -> list[str]:
    """Return the days that relative words name; none without a known time, or where the day stands beside them."""
    day = statement.day
    text = statement.text
    if day is None or _NOTED.search(text):
        return []
    return [found.iso for found in find_dates(text, day) if found.relative]


def _of_change(new: Statement, old: Statement) -> Decision | None:
    """Return that one statement replaces the other, or why not although both give a value of the same; else None."""
    ours, theirs = slots(new.text), slots(old.text)
    pairs = [(a, b) for a in ours for b in theirs if (a.subject, a.attribute) == (b.subject, b.attribute)]
    reason = None
    for mine, other in pairs:
        if mine.value == other.value and not mine.ends and not other.ends:
            continue
        turn = order(new, old)
        if not turn:
            return Decision("add", "equal times" if turn == 0 else "nobody knows which is later")
        later, earlier = (mine, other) if turn > 0 else (other, mine)
        told, before = (new, old) if turn > 0 else (old, new)
        if not _replaces(later, earlier):
            reason = reason or f"both may be so ({mine.attribute})"
        elif mine.attribute not in ("day", "hour") and not _in_time(told, before):
            reason = "it tells of another time"
        else:
            what = "that it ended" if later.ends else "another value"
            return Decision(
                "supersede",
                f"same subject and attribute ({mine.attribute}), later {what}",
                "new" if turn > 0 else "old",
            )
    return Decision("add", reason) if reason else None


def _in_time(told: Statement, before: Statement) -> bool:
    """Return whether the days that both name fit: none lies ahead, and the later one names none before the other."""
    floor = before.day
    for statement in (told, before):
        text, day = statement.text, statement.day
        if not _DATED.search(text):
            continue
        if day is None or floor is None:
            return False
        spans = [(one.first, one.last) for one in find_dates(text, day)]
        spans += [(date(int(year), 1, 1), date(int(year), 12, 31)) for year in _YEAR.findall(text)]
        if not spans or any(first > day for first, _ in spans):
            return False
        if statement is told and any(last < floor for _, last in spans):
            return False
    return True


def _replaces(later: Slot, earlier: Slot) -> bool:
    """Return whether of two values of one attribute the later one says that the earlier one is over."""
    if not earlier.whole or earlier.ends:
        return False
    attribute, was, now = later.attribute, earlier.value, later.value
    if later.ends:
        return was == now
    if later.vague or (earlier.vague and not later.new):
        return False
    if attribute.startswith(("does ", "is ")) or _is_part(was, now) or bool(_HAN.search(was)) != bool(_HAN.search(now)):
        return False
    if attribute in ("home", "town of work"):
        return can_move(was, now, said=later.new)
    if attribute == "status":
        (state, _, whom), (next_state, _, other) = was.partition(" "), now.partition(" ")
        return next_state in _FOLLOWS.get(state, ()) and (not whom or not other or whom == other)
    if attribute.startswith(("age", "year of study", "years of ", "months of ")):
        return was.isdigit() and now.isdigit() and int(now) > int(was)
    if attribute == "occupation":
        kinds = kind_of_job(was), kind_of_job(now)
        return None not in kinds and (later.new or kinds[0] != kinds[1])
    return later.new or not attribute.startswith(_NEEDS_NEW)


def _is_part(one: str, other: str) -> bool:
    """Return whether one value is only a vaguer word for the other, as far as its words tell."""
    if _HAN.search(one) or _HAN.search(other):
        return one in other or other in one
    first, second = (set(re.findall(r"\w+", value)) for value in (one, other))
    return first <= second or second <= first


def _difference(new: str, old: str) -> str:
    """Return in a few words what sets two statements apart, for whoever reads the decision."""
    if len(new) > MAX_CHARS or len(old) > MAX_CHARS:
        return "different words"
    if bool(_NOT.search(surface_key(new))) != bool(_NOT.search(surface_key(old))):
        return "one is negated"
    for what, pattern in (("numbers", _NUMBER), ("names", _NAME)):
        first, second = pattern.findall(new), pattern.findall(old)
        if first != second:
            return f"{what} differ: {_some(first)} / {_some(second)}"
    first, second = surface_key(new).split(), surface_key(old).split()
    if sorted(first) == sorted(second):
        return "the same words in another order"
    if set(first) < set(second) or set(second) < set(first):
        return "one says more than the other"
    return "different words"


def _some(found: list[str]) -> str:
    return " ".join(found[:5])[:60] or "none"
