"""Names of entities: which spellings are one, and what of a name is a title."""

from __future__ import annotations

import re

from memreader.spelling import entity_key

__all__ = ["bare_name", "entity_key", "same_name"]

_TITLE_BEFORE = re.compile(
    r"(?:mr|mrs|ms|mx|miss|mister|dr|doctor|prof|professor|sir|madam|lady|lord|uncle|aunt|auntie|grandma|grandpa|coach|"
    r"captain)\.?\s+(?=\S)",
    re.IGNORECASE,
)
TITLES_AFTER = """
    先生 女士 小姐 太太 夫人 老师 老師 教授 医生 醫生 大夫 护士 经理 經理 主任 律师 律師 警官
    师傅 師傅 阿姨 叔叔 教练 校长 院长 局长 处长 科长 部长 市长 队长 班长 店长 组长 总监 总裁 董事长
    博士 同学 奶奶 爷爷 伯伯 大哥 大姐
""".split()
_TITLE_AFTER = re.compile(f"(?<=..)(?:{'|'.join(TITLES_AFTER)})$")


def same_name(one: str, other: str) -> bool:
    """Return whether two spellings are one name for sure; see `entity_key` for what counts.

    >>> same_name("Zhang San", "zhang san's"), same_name("Ann", "Anna")
    (True, False)
    """
    return entity_key(one) == entity_key(other) != ""


def bare_name(name: str) -> str:
    """Return the key of `name` without titles, for suggestions only: "Dr. Wu" and "Mrs. Wu" may be two people.

    A Chinese title goes only where two characters stay: what is left of 王先生 names nobody.

    >>> bare_name("Dr. Ana Wu"), bare_name("张三先生"), bare_name("王先生")
    ('ana wu', '张三', '王先生')
    """
    key = entity_key(name)
    return _TITLE_AFTER.sub("", _TITLE_BEFORE.sub("", key))
