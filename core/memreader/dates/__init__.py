"""Dates in words, resolved against the time they were said at: English and Chinese, without a model.

    >>> from datetime import date
    >>> [found.iso for found in find_dates("yesterday, 上周三, next Friday", date(2023, 5, 8))]
    ['2023-05-07', '2023-05-03', '2023-05-19']

What is found, and by which rules where speakers differ:

- **A date is as exact as its words.** "three days ago" is a day, "two weeks ago" the week that lies two weeks back,
  3个月前 a month, "five years ago" a year. What isn't exact ("a few days ago", "about a week ago", 几天前) is left out,
  and so is what hangs on something said elsewhere ("on Friday", "the next day", "two days later", 三天后, 当天).
- **Weeks begin on Monday** (ISO 8601), as in both languages' calendars of work.
- **"last Wednesday"** is the most recent one before the day it was said on, 1 to 7 days back, even if that lies in the
  same week. **上周三** is the Wednesday of last week, exactly, for 上周 names the week; so is "Wednesday of last week".
- **"next Friday"** is the Friday of next week: for the one about to come most people say "this Friday" or "on Friday".
  "this Friday" and 这周五 lie in the week of the day they were said on; "this coming Friday" is the first one after it.
- **"last summer", "last May"**: the most recent that is over. "this summer": that of the year; "next summer": that of
  the next year. "this winter" is the one that goes on, else the nearest. Seasons are the meteorological ones of the
  northern half of the earth (spring: March to May); for a speaker from the southern half, who gives no sign of it, they
  are wrong.
- **"May 7", 5月7日** lie in the year that puts them nearest; birthdays and what happens every year get no year.
- **"last night"** is the evening before, also when said after midnight. "The last week", "my last year" are no dates.
- **"in two days"** lies ahead, unless the clause tells of the past ("read it in two days").
- Lunar dates and feasts are left out, and `3/4/2023`, which is a day in March or in April.
"""

from memreader.dates.annotate import annotate
from memreader.dates.find import find_dates
from memreader.dates.found import FoundDate
from memreader.dates.resolve import resolve_date

__all__ = ["FoundDate", "annotate", "find_dates", "resolve_date"]
